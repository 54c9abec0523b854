//go:build linux

package cpu

import (
	"fmt"
	"testing"

	"github.com/hotpath-go/hotpath/quant"
	"golang.org/x/sys/unix"
)

// cpuSeconds is the processor time of the process, which on a machine that others use says more
// than the clock.
func cpuSeconds() float64 {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u)
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// Products of a matrix that fits no cache: bytes/s of weights for few rows, operations/s for many.
func BenchmarkProduct(b *testing.B) {
	const outputs, cols = 1 << 15, 1024
	for _, k := range available() {
		if k.name == "generic" {
			continue
		}
		for _, f := range []quant.Format{quant.Q8_0, quant.Q4_0, quant.Q4_K, quant.Q6_K, quant.BF16, quant.F16, quant.F32} {
			kernel := k.linear[f]
			m := &matrix{rows: outputs, cols: cols, kernel: kernel, unit: kernel.packBytes(cols)}
			m.data, _ = reserve(m.unit * m.panels())
			for i := range m.data {
				m.data[i] = 60
			}
			for _, n := range []int{1, 8, 64} {
				in := &input{k: k}
				in.reset(n, cols, kernel.form)
				for r := range n {
					for i := range in.row(r) {
						in.row(r)[i] = float32(i%17) - 8
					}
					in.fill(r, 0, cols)
				}
				y := make([]float32, n*outputs)
				b.Run(fmt.Sprintf("%s/%v/%d", k.name, f, n), func(b *testing.B) {
					from := cpuSeconds()
					group := kernel.group(n)
					for b.Loop() {
						for p := 0; p < m.panels(); p += 8 * group {
							kernel.multiply(m, in, p, min(p+8*group, m.panels()), y, outputs)
						}
					}
					busy := (cpuSeconds() - from) / float64(b.N) * 1e9
					b.ReportMetric(float64(len(m.data))/busy, "GB/cpu-s")
					b.ReportMetric(2*float64(n)*outputs*cols/busy, "GOP/cpu-s")
				})
			}
			unreserve(m.data)
		}
	}
}
