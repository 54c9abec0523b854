package sample

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"github.com/hotpath-go/hotpath/internal/race"
)

var inf = float32(math.Inf(1))

// naive does what doc.go says in the plainest way: all tokens, one sort, one running sum.
func naive(row []float32, p Params, mask Mask, prompt, output []int32, u float64) (token int32, kept []Logit, probs []float64) {
	v := make([]float64, len(row))
	for i, x := range row {
		v[i] = float64(x)
	}
	count := map[int32]int{}
	for _, id := range prompt {
		count[id] += 0
	}
	for _, id := range output {
		count[id]++
	}
	for id, n := range count {
		x := v[id]
		if r := p.RepetitionPenalty; r != 0 {
			if x > 0 {
				x /= r
			} else {
				x *= r
			}
		}
		if n > 0 {
			x -= p.FrequencyPenalty*float64(n) + p.PresencePenalty
		}
		v[id] = float64(float32(x))
	}
	for _, b := range p.Bias {
		v[b.ID] = float64(float32(v[b.ID]) + b.Value)
	}
	for _, id := range p.Banned {
		v[id] = math.Inf(-1)
	}
	var list []Logit
	for i := range v {
		if mask.Has(int32(i)) && !math.IsInf(v[i], -1) {
			list = append(list, Logit{int32(i), float32(v[i])})
		}
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].Value > list[j].Value })
	if p.Temperature == 0 {
		return list[0].ID, list, nil
	}
	if p.TopK > 0 && p.TopK < len(list) {
		list = list[:p.TopK]
	}
	weights := make([]float64, len(list))
	total := 0.0
	for i, l := range list {
		weights[i] = math.Exp((float64(l.Value) - float64(list[0].Value)) / p.Temperature)
		total += weights[i]
	}
	if p.TopP > 0 && p.TopP < 1 {
		sum := 0.0
		for i, w := range weights {
			if sum += w; sum >= p.TopP*total {
				list, weights, total = list[:i+1], weights[:i+1], sum
				break
			}
		}
	}
	if p.MinP > 0 {
		n := 0
		for n < len(weights) && weights[n] >= p.MinP {
			n++
		}
		list, weights = list[:n], weights[:n]
		total = 0
		for _, w := range weights {
			total += w
		}
	}
	token = list[len(list)-1].ID
	sum := 0.0
	for i, w := range weights {
		if sum += w; sum > u*total {
			token = list[i].ID
			break
		}
	}
	for i := range weights {
		weights[i] /= total
	}
	return token, list, weights
}

// shape makes rows like those of models, peaked and flat, with ties.
func shape(r *rand.Rand, n int) []float32 {
	row := make([]float32, n)
	spread := []float64{0.1, 1, 3, 8, 40}[r.IntN(5)]
	round := r.IntN(3) == 0
	for i := range row {
		x := r.NormFloat64() * spread
		if round {
			x = math.Round(x)
		}
		row[i] = float32(x)
	}
	for range r.IntN(4) {
		row[r.IntN(n)] += float32(r.Float64() * 30)
	}
	for range r.IntN(3) {
		row[r.IntN(n)] = -inf
	}
	return row
}

func TestChooseEqualsFullSort(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	var s Sampler // one for all: nothing may leak from call to call
	rounds := 6000
	if race.Enabled {
		rounds = 200
	}
	for round := range rounds {
		n := 1 + r.IntN(300)
		if round%50 == 0 {
			n = 20_000
		}
		row := shape(r, n)
		p := Params{Temperature: []float64{0, 0.01, 0.7, 1, 1.5, 100}[r.IntN(6)]}
		if r.IntN(2) == 0 {
			p.TopP = []float64{1e-9, 0.1, 0.5, 0.9, 0.95, 0.999, 1}[r.IntN(7)]
		}
		if r.IntN(3) == 0 {
			p.TopK = 1 + r.IntN(n+5)
		}
		if r.IntN(3) == 0 {
			p.MinP = []float64{1e-30, 0.001, 0.05, 0.5, 1}[r.IntN(5)]
		}
		var prompt, output []int32
		if r.IntN(2) == 0 {
			p.RepetitionPenalty = 0.8 + r.Float64()
			p.FrequencyPenalty = r.Float64()*4 - 2
			p.PresencePenalty = r.Float64()*4 - 2
			for range r.IntN(20) {
				prompt = append(prompt, int32(r.IntN(n)))
				output = append(output, int32(r.IntN(n)))
			}
		}
		for id := 0; id < n; id += 1 + r.IntN(n) {
			p.Bias = append(p.Bias, Bias{int32(id), float32(r.NormFloat64() * 5)})
		}
		for range r.IntN(3) {
			p.Banned = append(p.Banned, int32(r.IntN(n)))
		}
		var mask Mask
		if r.IntN(2) == 0 {
			mask = NewMask(n)
			dense := r.IntN(2) == 0
			for i := range n {
				if dense && r.IntN(40) > 0 || r.IntN(10) == 0 {
					mask.Set(int32(i))
				}
			}
		}
		var h Counts
		h.AddPrompt(prompt...)
		for _, id := range output {
			h.AddOutput(id)
		}
		if err := p.Validate(); err != nil {
			t.Fatal(err)
		}
		possible := false
		for i := range row {
			possible = possible || mask.Has(int32(i)) && row[i] != -inf && !slices.Contains(p.Banned, int32(i))
		}
		before := slices.Clone(row)
		key := Key{r.Uint64(), r.Uint32(), r.Uint64()}
		c, err := s.Choose(row, &p, mask, &h, key)
		if !slices.Equal(row, before) {
			t.Fatalf("round %d: the row changed", round)
		}
		if !possible {
			if !errors.Is(err, ErrNoToken) {
				t.Fatalf("round %d: error %v, want ErrNoToken", round, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		want, kept, probs := naive(row, p, mask, prompt, output, key.Uniform())
		if c.Token != want {
			t.Fatalf("round %d: token %d, want %d of %d kept; %+v", round, c.Token, want, len(kept), p)
		}

		p.LogProbs, p.TopLogProbs, p.Processed = true, r.IntN(6), true
		d, err := s.Choose(row, &p, mask, &h, key)
		if err != nil || d.Token != c.Token {
			t.Fatalf("round %d: with log-probabilities %v %v, want token %d", round, d, err, c.Token)
		}
		if p.Temperature == 0 {
			continue
		}
		if len(d.Top) != min(p.TopLogProbs, len(kept)) {
			t.Fatalf("round %d: %d alternatives, want %d", round, len(d.Top), min(p.TopLogProbs, len(kept)))
		}
		for i, l := range append(slices.Clone(d.Top), LogProb{c.Token, d.LogProb}) {
			at := slices.IndexFunc(kept, func(k Logit) bool { return k.ID == l.ID })
			if i < len(d.Top) && at != i {
				t.Fatalf("round %d: alternative %d is token %d, want %d", round, i, l.ID, kept[i].ID)
			}
			if w := math.Log(probs[at]); math.Abs(l.Value-w) > 1e-9 && w > -700 {
				t.Fatalf("round %d: log-probability %v of %d, want %v", round, l.Value, l.ID, w)
			}
		}
	}
}

// Worked by hand: logits ln 8, ln 4, ln 2, ln 1, ln 1 are probabilities 8, 4, 2, 1, 1 of 16.
func TestWorkedExample(t *testing.T) {
	t.Parallel()
	ln := func(x float64) float32 { return float32(math.Log(x)) }
	row := []float32{ln(1), ln(8), ln(2), ln(4), ln(1)}
	for _, c := range []struct {
		name string
		p    Params
		want map[int32]float64 // probabilities of what can be drawn
	}{
		{"plain", Params{Temperature: 1}, map[int32]float64{1: .5, 3: .25, 2: .125, 0: .0625, 4: .0625}},
		{"half temperature squares", Params{Temperature: .5}, map[int32]float64{1: 64. / 86, 3: 16. / 86, 2: 4. / 86, 0: 1. / 86, 4: 1. / 86}},
		{"top-k", Params{Temperature: 1, TopK: 2}, map[int32]float64{1: 2. / 3, 3: 1. / 3}},
		{"top-k cuts a tie by id", Params{Temperature: 1, TopK: 4}, map[int32]float64{1: 8. / 15, 3: 4. / 15, 2: 2. / 15, 0: 1. / 15}},
		{"top-p", Params{Temperature: 1, TopP: .6}, map[int32]float64{1: 2. / 3, 3: 1. / 3}},
		{"top-p of what top-k left", Params{Temperature: 1, TopK: 2, TopP: .66}, map[int32]float64{1: 1}},
		{"tiny top-p keeps one", Params{Temperature: 1, TopP: 1e-12}, map[int32]float64{1: 1}},
		{"min-p", Params{Temperature: 1, MinP: .2}, map[int32]float64{1: 8. / 14, 3: 4. / 14, 2: 2. / 14}},
		{"bias", Params{Temperature: 1, TopK: 2, Bias: []Bias{{0, ln(16)}, {1, -inf}}}, map[int32]float64{0: .8, 3: .2}},
		{"banned", Params{Temperature: 1, TopK: 2, Banned: []int32{1, 9}}, map[int32]float64{3: 2. / 3, 2: 1. / 3}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var s Sampler
			p, row := c.p, slices.Clone(row) // Choose writes to the row while it works
			p.LogProbs, p.Processed, p.TopLogProbs = true, true, 10
			draws := 40_000
			if race.Enabled {
				draws = 5_000
			}
			got := map[int32]int{}
			for i := range draws {
				r, err := s.Choose(row, &p, nil, nil, Key{Seed: 42, Position: uint64(i)})
				if err != nil {
					t.Fatal(err)
				}
				got[r.Token]++
				if d := math.Abs(math.Exp(r.LogProb) - c.want[r.Token]); !(d < 1e-6) {
					t.Fatalf("token %d: log-probability %v, want ln %v", r.Token, r.LogProb, c.want[r.Token])
				}
				if len(r.Top) != len(c.want) {
					t.Fatalf("%d alternatives, want %d", len(r.Top), len(c.want))
				}
			}
			chi2 := 0.0
			for id, w := range c.want {
				e := w * float64(draws)
				chi2 += (float64(got[id]) - e) * (float64(got[id]) - e) / e
			}
			if chi2 > 23.5 { // four degrees of freedom, one in ten thousand
				t.Fatalf("chi-squared %v of %v, expected shares %v", chi2, got, c.want)
			}
		})
	}
}

func TestPenaltiesWorkedExample(t *testing.T) {
	t.Parallel()
	var h Counts
	h.AddPrompt(0, 1, 1)
	for _, id := range []int32{1, 2, 2, 2} {
		h.AddOutput(id)
	}
	p := Params{RepetitionPenalty: 2, FrequencyPenalty: .5, PresencePenalty: .25}
	row := []float32{4, -1, 6, 1}
	var s Sampler
	if err := s.edit(row, &p, &h); err != nil {
		t.Fatal(err)
	}
	// 4/2; -1*2 - 0.5 - 0.25; 6/2 - 1.5 - 0.25; untouched.
	if want := []float32{2, -2.75, 1.25, 1}; !slices.Equal(row, want) {
		t.Fatalf("got %v, want %v", row, want)
	}
	s.restore(row)
	if want := []float32{4, -1, 6, 1}; !slices.Equal(row, want) {
		t.Fatalf("restored %v, want %v", row, want)
	}
	if h.Output(2) != 3 || h.Output(0) != 0 || h.Len() != 4 {
		t.Fatalf("counts %d %d %d", h.Output(2), h.Output(0), h.Len())
	}
	fork := h.Clone()
	fork.AddOutput(0)
	if h.Output(0) != 0 || fork.Output(0) != 1 {
		t.Fatal("a clone shares its counts")
	}
	h.Reset()
	if h.Output(2) != 0 || h.Len() != 0 || fork.Output(2) != 3 {
		t.Fatal("Reset left something, or reached the clone")
	}
}

func TestRawLogProbsIgnoreSettings(t *testing.T) {
	t.Parallel()
	row := []float32{float32(math.Log(3)), 0, float32(math.Log(4))}
	p := Params{Temperature: 2, TopK: 1, LogProbs: true, TopLogProbs: 2, Bias: []Bias{{1, 50}}, Banned: []int32{2}}
	var s Sampler
	c, err := s.Choose(row, &p, nil, nil, Key{})
	if err != nil {
		t.Fatal(err)
	}
	if c.Token != 1 || math.Abs(c.LogProb-math.Log(1./8)) > 1e-6 {
		t.Fatalf("token %d with %v, want 1 with ln 1/8", c.Token, c.LogProb)
	}
	if len(c.Top) != 2 || c.Top[0].ID != 2 || math.Abs(c.Top[0].Value-math.Log(.5)) > 1e-6 || c.Top[1].ID != 0 {
		t.Fatalf("alternatives %v", c.Top)
	}
}

func TestHardRows(t *testing.T) {
	t.Parallel()
	nan := float32(math.NaN())
	negative := math.Float32frombits(0xFFC00000) // the NaN that x86 makes
	full := NewMask(3)
	full.Set(0)
	full.Set(2)
	for _, c := range []struct {
		name string
		row  []float32
		mask Mask
		want int32
		err  error
	}{
		{"lowest id of a tie", []float32{1, 5, 5}, nil, 1, nil},
		{"negative zero ties with zero", []float32{float32(math.Copysign(0, -1)), 0, -1}, nil, 0, nil},
		{"infinity wins", []float32{1, 2, inf}, nil, 2, nil},
		{"first infinity", []float32{1, inf, inf}, nil, 1, nil},
		{"negative infinities", []float32{-inf, -inf, -3}, nil, 2, nil},
		{"nothing left", []float32{-inf, -inf, -inf}, nil, 0, ErrNoToken},
		{"empty row", nil, nil, 0, ErrNoToken},
		{"empty mask", []float32{1, 2, 3}, NewMask(3), 0, ErrNoToken},
		{"short mask", []float32{1, 2, 3}, Mask{}, 0, ErrNoToken},
		{"nan", []float32{1, nan, 3}, nil, 0, ErrNaN},
		{"negative nan", []float32{1, 2, negative}, nil, 0, ErrNaN},
		{"only nan", []float32{negative}, nil, 0, ErrNaN},
		{"nan outside the mask", []float32{1, nan, 3}, full, 2, nil},
		{"extremes", []float32{math.MaxFloat32, -math.MaxFloat32, 0}, nil, 0, nil},
	} {
		for _, p := range []Params{{}, {Temperature: 1, TopK: 1}, {Temperature: 1e-320}, {Temperature: .001, TopP: .5}} {
			if c.name == "first infinity" || c.name == "lowest id of a tie" || c.name == "negative zero ties with zero" {
				if p.Temperature > 0 && p.TopK == 0 {
					continue // the tie is drawn
				}
			}
			var s Sampler
			got, err := s.Choose(c.row, &p, c.mask, nil, Key{})
			if !errors.Is(err, c.err) || got.Token != c.want {
				t.Errorf("%s, %+v: token %d, error %v; want %d, %v", c.name, p, got.Token, err, c.want, c.err)
			}
		}
	}
	var s Sampler
	p := Params{LogProbs: true, TopLogProbs: 3}
	c, err := s.Choose([]float32{inf, 3, inf}, &p, nil, nil, Key{})
	if err != nil || c.LogProb != -math.Ln2 || c.Top[1].Value != -math.Ln2 || !math.IsInf(c.Top[2].Value, -1) {
		t.Errorf("infinite logits: %+v, %v", c, err)
	}
	h := Counts{}
	h.AddPrompt(7)
	if _, err := s.Choose([]float32{1, 2}, &Params{RepetitionPenalty: 2}, nil, &h, Key{}); !errors.Is(err, ErrToken) {
		t.Errorf("history outside the row: %v", err)
	}
	row := []float32{1, 2}
	if _, err := s.Choose(row, &Params{Bias: []Bias{{0, 5}, {7, 1}}}, nil, nil, Key{}); !errors.Is(err, ErrToken) || row[0] != 1 {
		t.Errorf("bias outside the row: %v, row %v", err, row)
	}
}

func TestChooseAllocatesNothing(t *testing.T) {
	row := shape(rand.New(rand.NewPCG(3, 4)), 5000)
	var s Sampler
	var h Counts
	h.AddPrompt(1, 2, 3)
	p := Params{Temperature: .8, TopP: .9, MinP: .01, RepetitionPenalty: 1.1, LogProbs: true, TopLogProbs: 5}
	mask := NewMask(len(row))
	for i := range 4000 {
		mask.Set(int32(i))
	}
	i := uint64(0)
	if n := testing.AllocsPerRun(50, func() {
		i++
		if _, err := s.Choose(row, &p, mask, &h, Key{Position: i}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Choose(row, &p, nil, &h, Key{Position: i}); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Fatalf("%v allocations a token", n)
	}
}
