package sysmem

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

// status is MEMORYSTATUSEX.
type status struct {
	length, load               uint32
	totalPhys, availPhys       uint64
	totalPage, availPage       uint64
	totalVirtual, availVirtual uint64
	availExtended              uint64
}

func available() int64 {
	s := status{length: uint32(unsafe.Sizeof(status{}))}
	proc := windows.NewLazySystemDLL("kernel32.dll").NewProc("GlobalMemoryStatusEx")
	if proc.Find() != nil {
		return 0
	}
	if ok, _, _ := proc.Call(uintptr(unsafe.Pointer(&s))); ok == 0 {
		return 0
	}
	return int64(min(s.availPhys, s.availPage))
}
