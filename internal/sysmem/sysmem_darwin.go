package sysmem

import "golang.org/x/sys/unix"

// The kernel gives no figure of what is available; half of the machine is a safe guess.
func available() int64 {
	n, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0
	}
	return int64(n / 2)
}
