package sysmem

import (
	"os"
	"path"
	"strings"
)

func available() int64 {
	text, _ := os.ReadFile("/proc/meminfo")
	free := meminfo(string(text), "MemAvailable")
	groups, _ := os.ReadFile("/proc/self/cgroup")
	for line := range strings.Lines(string(groups)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		switch {
		case parts[1] == "": // version 2
			free = least(free, left("/sys/fs/cgroup", parts[2], "memory.max", "memory.current"))
		case strings.Contains(","+parts[1]+",", ",memory,"):
			free = least(free, left("/sys/fs/cgroup/memory", parts[2], "memory.limit_in_bytes", "memory.usage_in_bytes"))
		}
	}
	return free
}

// left returns what the tightest group from dir up to root leaves.
func left(root, dir, most, used string) int64 {
	var free int64
	for {
		limits, err := os.ReadFile(path.Join(root, dir, most))
		if n := limit(string(limits)); err == nil && n > 0 {
			now, _ := os.ReadFile(path.Join(root, dir, used))
			free = least(free, max(n-limit(string(now)), 1))
		}
		if dir == "/" || dir == "." || dir == "" {
			return free
		}
		dir = path.Dir(dir)
	}
}
