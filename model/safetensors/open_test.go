package safetensors_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/hotpath-go/hotpath/internal/mmap"
	"github.com/hotpath-go/hotpath/model/safetensors"
)

const index = "model.safetensors.index.json"

// folder writes files into a new folder and returns it.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func u8(name string) string { return string(file("{"+tensor(name, "U8", "[1]", 0, 1)+"}", 1)) }

func names(f *safetensors.File) []string {
	var out []string
	for _, x := range f.Tensors() {
		out = append(out, x.Name)
	}
	return out
}

func TestOpenFolder(t *testing.T) {
	t.Parallel()
	two := string(file("{"+tensor("c", "U8", "[1]", 0, 1)+","+tensor("a", "U8", "[1]", 1, 2)+"}", 2))
	shards := map[string]string{
		index:           `{"metadata":{"total_size":3},"weight_map":{"a":"2.safetensors","b":"1.safetensors","c":"2.safetensors"}}`,
		"1.safetensors": u8("b"), "2.safetensors": two, "config.json": `{"x": 1}`,
	}
	single := map[string]string{"model.safetensors": u8("whole"), index: "not read"}
	for name, c := range map[string]struct {
		files map[string]string
		open  string
		want  []string
	}{
		"index in a folder": {shards, "", []string{"a", "b", "c"}},
		"index by name":     {shards, index, []string{"a", "b", "c"}},
		"one shard":         {shards, "2.safetensors", []string{"c", "a"}},
		"one file":          {single, "", []string{"whole"}},
	} {
		dir := folder(t, c.files)
		f, err := safetensors.Open(filepath.Join(dir, c.open))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := names(f); !slices.Equal(got, c.want) {
			t.Errorf("%s: tensors %q, want %q", name, got, c.want)
		}
		if x, _ := f.Tensor("a"); len(x.Data) > 0 && x.Data[0] != 1 {
			t.Errorf("%s: a is %d", name, x.Data[0])
		}
		config, err := f.Config()
		if _, has := c.files["config.json"]; has {
			if err != nil || config.Fields().Int("x") != 1 {
				t.Errorf("%s: config %v", name, err)
			}
		} else if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: config that is not there: %v", name, err)
		}
		for range 2 {
			if err := f.Close(); err != nil {
				t.Errorf("%s: Close: %v", name, err)
			}
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		err   error
	}{
		"empty folder":      {nil, fs.ErrNotExist},
		"no weight map":     {map[string]string{index: `{}`}, safetensors.ErrIndex},
		"index is no JSON":  {map[string]string{index: `x`}, safetensors.ErrJSON},
		"map is no object":  {map[string]string{index: `{"weight_map":[]}`}, safetensors.ErrJSON},
		"name is a number":  {map[string]string{index: `{"weight_map":{"a":1}}`}, safetensors.ErrIndex},
		"name is null":      {map[string]string{index: `{"weight_map":{"a":null}}`}, safetensors.ErrIndex},
		"duplicate tensor":  {map[string]string{index: `{"weight_map":{"a":"1.safetensors","a":"1.safetensors"}}`, "1.safetensors": u8("a")}, safetensors.ErrDuplicate},
		"shard missing":     {map[string]string{index: `{"weight_map":{"a":"1.safetensors"}}`}, fs.ErrNotExist},
		"tensor missing":    {map[string]string{index: `{"weight_map":{"a":"1.safetensors"}}`, "1.safetensors": u8("b")}, safetensors.ErrIndex},
		"shard is cut off":  {map[string]string{index: `{"weight_map":{"a":"1.safetensors"}}`, "1.safetensors": u8("a")[:20]}, safetensors.ErrTruncated},
		"file is no model":  {map[string]string{"model.safetensors": "hello"}, safetensors.ErrTruncated},
		"path to the shard": {map[string]string{index: `{"weight_map":{"a":"./1.safetensors"}}`, "1.safetensors": u8("a")}, safetensors.ErrIndex},
	} {
		if f, err := safetensors.Open(folder(t, c.files)); f != nil || !errors.Is(err, c.err) {
			t.Errorf("%s: got %v, %v; want %v", name, f, err, c.err)
		}
	}
	if _, err := safetensors.Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
}

// TestIndexStaysInFolder has a readable file outside the folder, and names for it.
func TestIndexStaysInFolder(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(folder(t, map[string]string{"out.safetensors": u8("a")}), "out.safetensors")
	dir := folder(t, nil)
	up, err := filepath.Rel(dir, outside)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{outside, filepath.ToSlash(outside), up, filepath.ToSlash(up), `..\\out.safetensors`, "C:out.safetensors", "..", ".", "", "NUL:"} {
		name = filepath.ToSlash(name)
		if err := os.WriteFile(filepath.Join(dir, index), []byte(`{"weight_map":{"a":"`+name+`"}}`), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := safetensors.Open(dir); !errors.Is(err, safetensors.ErrIndex) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestShrunkFile(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the system does not let a mapped file shrink")
	}
	const size = 1 << 18
	dir := folder(t, map[string]string{"model.safetensors": string(file("{"+tensor("a", "U8", "[262144]", 0, size)+"}", size))})
	f, err := safetensors.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.Truncate(filepath.Join(dir, "model.safetensors"), 4096); err != nil {
		t.Fatal(err)
	}
	a, err := f.Need("a", size)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0
	err = mmap.Guard(func() error {
		for _, x := range a.Data {
			sum += int(x)
		}
		return nil
	})
	if !errors.Is(err, mmap.ErrFault) {
		t.Errorf("reading the tensor: %v", err)
	}
}
