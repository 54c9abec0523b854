package sysmem

import (
	"runtime"
	"testing"
)

func TestAvailable(t *testing.T) {
	t.Parallel()
	n := Available()
	switch runtime.GOOS {
	case "linux", "darwin", "windows":
		if n < 1<<20 || n > 1<<50 {
			t.Errorf("%d bytes available", n)
		}
	default:
		if n != 0 {
			t.Errorf("%d bytes on a system that does not say", n)
		}
	}
}

func TestMeminfo(t *testing.T) {
	t.Parallel()
	text := "MemTotal:       24575000 kB\nMemFree:         1 kB\nMemAvailable:   22000000 kB\nOdd: x kB\n"
	for field, want := range map[string]int64{"MemAvailable": 22000000 << 10, "MemFree": 1024, "Odd": 0, "None": 0} {
		if got := meminfo(text, field); got != want {
			t.Errorf("%s: %d, want %d", field, got, want)
		}
	}
}

func TestLimit(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"1048576\n": 1048576, "max\n": 0, "9223372036854771712": 0, "": 0, "-1": 0} {
		if got := limit(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
