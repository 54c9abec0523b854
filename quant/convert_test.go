package quant_test

import (
	"errors"
	"math"
	"testing"

	"github.com/hotpath-go/hotpath/internal/testdata"
	"github.com/hotpath-go/hotpath/quant"
)

func TestConvertIsNeverCoarser(t *testing.T) {
	t.Parallel()
	exact := map[quant.Format]bool{quant.Q5_0: true, quant.IQ4_NL: true, quant.Q3_K: true, quant.MXFP4: true, quant.NVFP4: true}
	for _, e := range index(t) {
		if e.format.Native() {
			continue
		}
		t.Run(e.Type, func(t *testing.T) {
			t.Parallel()
			for _, kind := range []string{"", ".raw"} {
				data := testdata.Read(t, "quant/"+e.Type+kind+".blocks")
				values := len(data) / e.Bytes * e.Elements
				in, err := quant.NewTensor(e.format, values/256, 256, data)
				if err != nil {
					t.Fatal(err)
				}
				out, err := quant.Convert(in)
				if err != nil {
					t.Fatalf("%s: %v", kind, err)
				}
				if !out.Format.Native() {
					t.Fatalf("%v is not native", out.Format)
				}
				want, got := decode(t, in.Format, values, in.Data), decode(t, out.Format, values, out.Data)
				for b := 0; b < values; b += 32 {
					var top float64
					for _, v := range want[b : b+32] {
						top = max(top, math.Abs(float64(v)))
					}
					// Half a step of 1/127, and the rounding of the scale to 11 bits.
					limit := top * (0.5/127 + 1.0/1024)
					if exact[e.format] {
						limit = 0
					}
					for i := b; i < b+32; i++ {
						if d := math.Abs(float64(got[i] - want[i])); d > limit && !sameBits(got[i], want[i]) {
							t.Fatalf("%s value %d became %v in %v, was %v", kind, i, got[i], out.Format, want[i])
						}
					}
				}
			}
		})
	}
}

func TestConvertKeepsNativeAndRefusesUnknown(t *testing.T) {
	t.Parallel()
	in, _ := quant.NewTensor(quant.Q8_0, 1, 32, make([]byte, 34))
	if out, err := quant.Convert(in); err != nil || &out.Data[0] != &in.Data[0] {
		t.Errorf("a native tensor was copied, %v", err)
	}
	in, _ = quant.NewTensor(quant.IQ2_S, 1, 256, make([]byte, 82))
	if _, err := quant.Convert(in); !errors.Is(err, quant.ErrFormat) {
		t.Errorf("IQ2_S: %v", err)
	}
}
