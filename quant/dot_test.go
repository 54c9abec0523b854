package quant_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/hotpath-go/hotpath/quant"
)

func gaussian(seed uint64, n int) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(r.NormFloat64())
	}
	return out
}

func encode(t *testing.T, f quant.Format, src []float32) []byte {
	t.Helper()
	n, err := f.RowBytes(len(src))
	if err != nil {
		t.Fatal(err)
	}
	out := make([]byte, n)
	if err := quant.Encode(out, f, src); err != nil {
		t.Fatal(err)
	}
	return out
}

func decode(t *testing.T, f quant.Format, n int, src []byte) []float32 {
	t.Helper()
	out := make([]float32, n)
	if err := quant.Decode(out, f, src); err != nil {
		t.Fatal(err)
	}
	return out
}

// The oracle multiplies decoded weights with decoded activations in float64.
func TestDotInt8EqualsDecodedProduct(t *testing.T) {
	t.Parallel()
	const n = 1024
	x := gaussian(1, n)
	clear(x[64:96])
	row, err := quant.NewInt8Row(n)
	if err != nil {
		t.Fatal(err)
	}
	row.Quantize(x)
	for _, f := range []quant.Format{quant.Q8_0, quant.Q4_0, quant.Q4_K, quant.Q6_K} {
		src := gaussian(2, n)
		for i := range src {
			src[i] += 0.3 // so that minima and sums of codes matter
		}
		w := encode(t, f, src)
		var want, size float64
		for i, v := range decode(t, f, n, w) {
			p := float64(v) * float64(row.Codes[i]) * float64(row.Scales[i/32])
			want, size = want+p, size+math.Abs(p)
		}
		if got := quant.DotInt8(f)(w, row); math.Abs(float64(got)-want) > 1e-6*size {
			t.Errorf("%v: %v, want %v", f, got, want)
		}
	}
	if quant.DotInt8(quant.F32) != nil || quant.DotFloat(quant.Q8_0) != nil {
		t.Error("a product for a format without one")
	}
}

func TestDotFloatEqualsDecodedProduct(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 7, 8, 9, 40, 1024} {
		x, src := gaussian(3, n), gaussian(4, n)
		for _, f := range []quant.Format{quant.F32, quant.F16, quant.BF16} {
			w := encode(t, f, src)
			var want, size float64
			for i, v := range decode(t, f, n, w) {
				want, size = want+float64(v)*float64(x[i]), size+math.Abs(float64(v)*float64(x[i]))
			}
			if got := quant.DotFloat(f)(w, x); math.Abs(float64(got)-want) > 1e-6*size {
				t.Errorf("%v, %d values: %v, want %v", f, n, got, want)
			}
		}
	}
}

func TestQuantizeActivations(t *testing.T) {
	t.Parallel()
	row, _ := quant.NewInt8Row(6 * 32)
	x := gaussian(5, 6*32)
	copy(x[:4], []float32{127, 0.5, 1.5, -2.5}) // scale 1: ties go to even
	clear(x[32:64])
	for i := 64; i < 96; i++ {
		x[i] = 1e-38
	}
	x[100], x[130] = float32(math.NaN()), float32(math.Inf(-1))
	row.Quantize(x)
	if c := row.Codes; c[0] != 127 || c[1] != 0 || c[2] != 2 || c[3] != -2 || row.Scales[0] != 1 {
		t.Errorf("codes %v, scale %v", c[:4], row.Scales[0])
	}
	for b, want := range []float64{1, 0, 0, math.NaN(), math.NaN()} {
		if s := float64(row.Scales[b]); s != want && !(s != s && want != want) {
			t.Errorf("block %d has scale %v, want %v", b, s, want)
		}
	}
	for i, c := range row.Codes {
		if row.Scales[i/32] > 0 && math.Abs(float64(x[i])-float64(c)*float64(row.Scales[i/32])) > 0.501*float64(row.Scales[i/32]) {
			t.Errorf("value %d, %v: code %d of %v", i, x[i], c, row.Scales[i/32])
		}
	}
	for i, s := range row.Sums {
		for _, c := range row.Codes[16*i : 16*i+16] {
			s -= int32(c)
		}
		if s != 0 {
			t.Errorf("sum %d is off by %d", i, s)
		}
	}
	if _, err := quant.NewInt8Row(33); err == nil {
		t.Error("33 activations were accepted")
	}
}

func BenchmarkDot(b *testing.B) {
	const n = 4096
	x := gaussian(6, n)
	row, _ := quant.NewInt8Row(n)
	row.Quantize(x)
	for _, f := range []quant.Format{quant.F32, quant.F16, quant.BF16, quant.Q8_0, quant.Q4_0, quant.Q4_K, quant.Q6_K} {
		size, _ := f.RowBytes(n)
		w := make([]byte, size)
		if err := quant.Encode(w, f, gaussian(7, n)); err != nil {
			b.Fatal(err)
		}
		b.Run(f.String(), func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				if dot := quant.DotInt8(f); dot != nil {
					dot(w, row)
				} else {
					quant.DotFloat(f)(w, x)
				}
			}
		})
	}
}
