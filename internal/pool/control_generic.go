//go:build noasm || !(amd64 || arm64)

package pool

import "runtime"

func pause() { runtime.Gosched() }

func setControl(uint64) uint64 { return controlDefault }
