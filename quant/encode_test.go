package quant_test

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"github.com/hotpath-go/hotpath/internal/testdata"
	"github.com/hotpath-go/hotpath/quant"
)

// The groups of the source whose error the index reports.
var normalGroups = map[int]bool{0: true, 1: true, 9: true, 15: true}

func TestEncodeErrorNearOtherEngine(t *testing.T) {
	t.Parallel()
	for _, e := range index(t) {
		if !quant.CanEncode(e.format) {
			continue
		}
		t.Run(e.Type, func(t *testing.T) {
			t.Parallel()
			src := floats(testdata.Read(t, "quant/"+e.Type+".src.f32"))
			size, err := e.format.RowBytes(len(src))
			if err != nil {
				t.Fatal(err)
			}
			blocks, got := make([]byte, size), make([]float32, len(src))
			if err := quant.Encode(blocks, e.format, src); err != nil {
				t.Fatal(err)
			}
			if err := quant.Decode(got, e.format, blocks); err != nil {
				t.Fatal(err)
			}
			var num, den float64
			for i, v := range src {
				d := float64(got[i]) - float64(v)
				if d != d {
					t.Fatalf("value %d, %v, became NaN", i, v)
				}
				if normalGroups[i/e.Group%16] {
					num, den = num+d*d, den+float64(v)*float64(v)
				}
				if kind := i / e.Group % 16; (kind == 2 || kind == 14) && got[i] != 0 && e.format.BlockLen() > 1 {
					t.Fatalf("group of kind %d: value %d, %v, became %v", kind, i, v, got[i])
				}
			}
			if rel := math.Sqrt(num / den); rel > 1.02*e.Error {
				t.Errorf("relative rms error %.4g, the other engine has %.4g", rel, e.Error)
			} else {
				t.Logf("relative rms error %.4g, the other engine has %.4g", rel, e.Error)
			}
			if e.format == quant.F16 || e.format == quant.BF16 {
				if !bytes.Equal(blocks, testdata.Read(t, "quant/"+e.Type+".blocks")) {
					t.Error("bytes differ from the other engine's")
				}
			}
		})
	}
}

// A decoded block holds values of its format, so encoding them again must lose almost nothing.
func TestEncodeKeepsOwnValues(t *testing.T) {
	t.Parallel()
	for _, f := range []quant.Format{quant.Q8_0, quant.Q4_0, quant.Q6_K} {
		blocks := testdata.Read(t, "quant/"+f.String()+".blocks")
		n := len(blocks) / f.BlockBytes() * f.BlockLen()
		want, got, again := make([]float32, n), make([]float32, n), make([]byte, len(blocks))
		if err := errors.Join(quant.Decode(want, f, blocks), quant.Encode(again, f, want), quant.Decode(got, f, again)); err != nil {
			t.Fatal(err)
		}
		var num, den float64
		for i := range want {
			num += float64(got[i]-want[i]) * float64(got[i]-want[i])
			den += float64(want[i]) * float64(want[i])
		}
		if math.Sqrt(num/den) > 0.003 {
			t.Errorf("%v: %.4g lost", f, math.Sqrt(num/den))
		}
	}
}

func TestEncodeRefuses(t *testing.T) {
	t.Parallel()
	src := make([]float32, 32)
	if err := quant.Encode(make([]byte, 18), quant.IQ4_NL, src); !errors.Is(err, quant.ErrFormat) {
		t.Errorf("IQ4_NL: %v", err)
	}
	if err := quant.Encode(make([]byte, 33), quant.Q8_0, src); !errors.Is(err, quant.ErrLength) {
		t.Errorf("short: %v", err)
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		src[7] = float32(v)
		if err := quant.Encode(make([]byte, 34), quant.Q8_0, src); !errors.Is(err, quant.ErrValue) {
			t.Errorf("%v: %v", v, err)
		}
	}
}

func TestHalfRoundTripsEveryValue(t *testing.T) {
	t.Parallel()
	for i := range 1 << 16 {
		h := uint16(i)
		f := quant.F16ToFloat32(h)
		back := quant.Float32ToF16(f)
		if f != f {
			if v := quant.F16ToFloat32(back); v == v {
				t.Fatalf("F16 NaN %#x came back as %#x", h, back)
			}
		} else if back != h {
			t.Fatalf("F16 %#x came back as %#x", h, back)
		}
		b := quant.BF16ToFloat32(h)
		back = quant.Float32ToBF16(b)
		if b != b {
			if v := quant.BF16ToFloat32(back); v == v {
				t.Fatalf("BF16 NaN %#x came back as %#x", h, back)
			}
		} else if back != h {
			t.Fatalf("BF16 %#x came back as %#x", h, back)
		}
	}
}

// Between two neighbours the nearer one is taken, and at the middle the even one.
func TestHalfRoundsToNearestEven(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		top  uint16 // the largest finite value
		to   func(float32) uint16
		from func(uint16) float32
	}{
		{"F16", 0x7bff, quant.Float32ToF16, quant.F16ToFloat32},
		{"BF16", 0x7f7f, quant.Float32ToBF16, quant.BF16ToFloat32},
	} {
		for h := range c.top {
			lo, hi := float64(c.from(h)), float64(c.from(h+1))
			mid := float32((lo + hi) / 2) // exact: one bit more than the neighbours have
			for _, k := range []struct {
				v    float32
				want uint16
			}{
				{mid, h + h&1},
				{math.Nextafter32(mid, 0), h},
				{math.Nextafter32(mid, math.MaxFloat32), h + 1},
			} {
				if k.v == 0 && k.want != 0 { // below the smallest float32
					continue
				}
				if got := c.to(k.v); got != k.want {
					t.Fatalf("%s of %v is %#x, want %#x", c.name, k.v, got, k.want)
				}
				if got := c.to(-k.v); got != k.want|0x8000 {
					t.Fatalf("%s of %v is %#x, want %#x", c.name, -k.v, got, k.want|0x8000)
				}
			}
		}
		if c.to(float32(math.Inf(1))) != c.top+1 {
			t.Errorf("%s of infinity", c.name)
		}
	}
	if quant.Float32ToF16(65519.99) != 0x7bff || quant.Float32ToF16(65520) != 0x7c00 {
		t.Error("F16 overflow")
	}
}
