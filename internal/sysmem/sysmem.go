// Package sysmem tells how much memory the process may still use.
package sysmem

import (
	"strconv"
	"strings"
)

// Available returns how many bytes the process may still use: the lesser of the machine's available
// memory and what the control groups of the process leave. It is 0 when the system does not say.
func Available() int64 { return available() }

// least returns the smaller of two sizes, where 0 means unknown.
func least(a, b int64) int64 {
	switch {
	case a <= 0:
		return b
	case b <= 0:
		return a
	}
	return min(a, b)
}

// meminfo finds a field of /proc/meminfo, in bytes; 0 when it is not there.
func meminfo(text, field string) int64 {
	for line := range strings.Lines(text) {
		name, rest, ok := strings.Cut(line, ":")
		if !ok || name != field {
			continue
		}
		kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
		if err != nil || kb < 0 || kb > 1<<52 {
			return 0
		}
		return kb << 10
	}
	return 0
}

// limit parses a control group's limit; "max" and the huge value that means none are 0.
func limit(text string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || n <= 0 || n > 1<<60 {
		return 0
	}
	return n
}
