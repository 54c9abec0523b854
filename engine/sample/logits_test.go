package sample

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The known answers of the Random123 distribution for philox4x32, ten rounds.
func TestPhiloxKnownAnswers(t *testing.T) {
	t.Parallel()
	const f = 0xffffffff
	for _, c := range []struct {
		ctr  [4]uint32
		key  [2]uint32
		want [4]uint32
	}{
		{[4]uint32{}, [2]uint32{}, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{[4]uint32{f, f, f, f}, [2]uint32{f, f}, [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, [2]uint32{0xa4093822, 0x299f31d0},
			[4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	} {
		if got := philox(c.ctr, c.key); got != c.want {
			t.Errorf("philox(%x, %x) = %x, want %x", c.ctr, c.key, got, c.want)
		}
	}
}

func TestUniformDependsOnEveryPart(t *testing.T) {
	t.Parallel()
	base := Key{Seed: math.MaxUint64, Choice: 1, Position: 5}
	seen := map[float64]Key{}
	for _, k := range []Key{base, {}, {math.MaxUint64 >> 1, 1, 5}, {math.MaxUint64, 0, 5}, {math.MaxUint64, 1, 4}, {math.MaxUint64, 1, 5 + 1<<32}} {
		u := k.Uniform()
		if !(u >= 0 && u < 1) || u != k.Uniform() {
			t.Fatalf("%v: %v", k, u)
		}
		if other, ok := seen[u]; ok {
			t.Fatalf("%v and %v share %v", k, other, u)
		}
		seen[u] = k
	}
	var bins [16]float64
	const n = 32_000
	for i := range n {
		bins[int(Key{Seed: 9, Position: uint64(i)}.Uniform()*16)]++
	}
	chi2 := 0.0
	for _, b := range bins {
		chi2 += (b - n/16) * (b - n/16) / (n / 16)
	}
	if chi2 > 44.3 { // fifteen degrees of freedom, one in ten thousand
		t.Fatalf("chi-squared %v", chi2)
	}
}

func TestExp(t *testing.T) {
	t.Parallel()
	for x := 0.0; x > lowest; x -= 0.0137 {
		if got, want := exp(x), math.Exp(x); math.Abs(got-want) > 3e-12*want {
			t.Fatalf("exp(%v) = %v, want %v", x, got, want)
		}
	}
	for i, root := range roots {
		if math.Abs(root-math.Exp2(float64(i)/128)) > 3e-16 {
			t.Fatalf("root %d: %v", i, root)
		}
	}
	if exp(0) != 1 || exp(lowest) > 1e-300 {
		t.Fatal("edges")
	}
}

func TestLogSumExp(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		row := shape(r, 1+r.IntN(3000))
		sum := 0.0
		m := slices.Max(row)
		for _, v := range row {
			sum += math.Exp(float64(v) - float64(m))
		}
		if got, want := LogSumExp(row), float64(m)+math.Log(sum); math.Abs(got-want) > 1e-11*(1+math.Abs(want)) {
			t.Fatalf("%v, want %v", got, want)
		}
	}
	for _, c := range []struct {
		row  []float32
		want float64
	}{{nil, math.Inf(-1)}, {[]float32{-inf}, math.Inf(-1)}, {[]float32{inf, 1}, math.Inf(1)}, {[]float32{0, 0}, math.Ln2}, {[]float32{1000, 1000}, 1000 + math.Ln2}} {
		if got := LogSumExp(c.row); got != c.want {
			t.Errorf("%v: %v, want %v", c.row, got, c.want)
		}
	}
	if got := LogSumExp([]float32{1, math.Float32frombits(0xFFC00000), inf}); got == got {
		t.Errorf("a NaN gives %v", got)
	}
}

func TestTopK(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	for range 500 {
		row := shape(r, 1+r.IntN(200))
		mask := NewMask(len(row))
		var all []Logit
		for i, v := range row {
			if r.IntN(3) > 0 {
				mask.Set(int32(i))
				all = append(all, Logit{int32(i), v})
			}
		}
		slices.SortStableFunc(all, func(a, b Logit) int {
			switch {
			case a.Value > b.Value:
				return -1
			case a.Value < b.Value:
				return 1
			}
			return 0
		})
		k := r.IntN(len(row) + 3)
		got, err := TopK([]Logit{{ID: -7}}, row, mask, k)
		if err != nil || got[0].ID != -7 || !slices.Equal(got[1:], all[:min(k, len(all))]) {
			t.Fatalf("top %d: %v, %v; want %v", k, got, err, all[:min(k, len(all))])
		}
	}
	if _, err := TopK(nil, []float32{1, 2, float32(math.NaN())}, nil, 1); !errors.Is(err, ErrNaN) {
		t.Fatalf("error %v, want ErrNaN", err)
	}
}

func TestMask(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(9, 10))
	for range 500 {
		row := make([]float32, 1+r.IntN(200))
		m := NewMask(len(row) + r.IntN(3)*40 - 40)
		want := map[int32]bool{}
		p := r.IntN(9)
		for i := range len(m) * 32 {
			if r.IntN(8) < p || i/32 == 1 {
				m.Set(int32(i))
				want[int32(i)] = true
			}
		}
		low := float32(r.IntN(100))
		var above, got []int
		count := 0
		for i := range row {
			row[i] = float32(r.IntN(100))
			if m.Has(int32(i)) != want[int32(i)] {
				t.Fatalf("Has(%d)", i)
			}
			if want[int32(i)] {
				count++
				if row[i] > low {
					above = append(above, i)
				}
			}
		}
		for i := m.next(row, 0, low); i < len(row); i = m.next(row, i+1, low) {
			got = append(got, i)
		}
		if !slices.Equal(got, above) || m.count(len(row)) != count {
			t.Fatalf("mask %x, row %v above %v: %v of %d, want %v of %d", m, row, low, got, m.count(len(row)), above, count)
		}
	}
	m := Mask{^uint32(0)}
	if m.Clear(3); m.Has(3) || m.Has(-1) || m.Has(32) || !m.Has(31) {
		t.Fatal("Has outside or after Clear")
	}
}

func TestNext(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(17, 18))
	for range 3000 {
		row := make([]float32, r.IntN(70))
		for i := range row {
			row[i] = float32(r.IntN(100))
			if r.IntN(200) == 0 {
				row[i] = float32(math.NaN())
			}
		}
		low := float32(r.IntN(110))
		from := r.IntN(len(row) + 1)
		want := from
		for want < len(row) && row[want] <= low {
			want++
		}
		if got := next(row, from, low); got != want {
			t.Fatalf("next(%v, %d, %v) = %d, want %d", row, from, low, got, want)
		}
		if got := nextGeneric(row, from, low); got != want {
			t.Fatalf("nextGeneric(%v, %d, %v) = %d, want %d", row, from, low, got, want)
		}
	}
}
