package sysmem

import (
	"os"
	"path/filepath"
	"testing"
)

// TestTightestGroup finds the smallest remainder between a group and the root.
func TestTightestGroup(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write := func(dir, most, used string) {
		p := filepath.Join(root, dir)
		if err := os.MkdirAll(p, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"memory.max": most, "memory.current": used} {
			if err := os.WriteFile(filepath.Join(p, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	write("a", "5000", "1000")
	write("a/b", "max", "0")
	write("a/b/c", "9000", "100")
	if got := left(root, "/a/b/c", "memory.max", "memory.current"); got != 4000 {
		t.Errorf("%d bytes left, want 4000", got)
	}
	if got := left(root, "/none", "memory.max", "memory.current"); got != 0 {
		t.Errorf("%d bytes left without groups, want 0", got)
	}
}
