package main

import (
	"context"
	"testing"

	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/engine/backend/cpu"
	"github.com/hotpath-go/hotpath/model"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]test{
		"load":       {kind: loading, parallel: 1},
		"pp512":      {kind: prefill, rows: 512, parallel: 1},
		"tg128":      {kind: decoding, context: 128, rows: 1, parallel: 1},
		"tg128x8":    {kind: decoding, context: 128, rows: 1, parallel: 8},
		"warm4000":   {kind: deciding, context: 4000, rows: 40, parallel: 1},
		"w16x40p400": {kind: deciding, context: 400, rows: 40, parallel: 16},
		"cold12000":  {kind: cold, rows: 12040, parallel: 1},
	} {
		want.name = name
		if got, err := parse(name); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, want)
		}
	}
	for _, name := range []string{"", "pp", "pp0", "pp-1", "tg128x0", "tg128x8x", "load1", "pp99999999", "xx5"} {
		if got, err := parse(name); err == nil {
			t.Errorf("%q: %+v, want an error", name, got)
		}
	}
}

// TestEveryKind runs each kind of test on a runner with just the blocks that the test asks for.
func TestEveryKind(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, name := range []string{"pp40", "tg30", "tg30x5", "warm50", "w3x20p33", "cold30"} {
		p, err := parse(name)
		if err != nil {
			t.Fatal(err)
		}
		s := p.shape()
		r, err := openRig(ctx, model.Stories(), cpu.New(), backend.Options{
			Context: s.positions, PoolBlocks: s.pool(), ScratchBlocks: s.scratch(), Rows: s.rows(), Workers: 1,
		})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if took, err := r.measure(ctx, p); err != nil || took <= 0 {
			t.Errorf("%s: %v, %v", name, took, err)
		}
		r.close()
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	p, err := parse("pp100")
	if err != nil {
		t.Fatal(err)
	}
	if r := p.report([]float64{4, 1, 2}); r.Unit != "tok/s" || r.Median != 50 || r.Best != 100 || r.Samples != 3 {
		t.Errorf("%+v", r)
	}
	if p, err = parse("warm1"); err != nil {
		t.Fatal(err)
	}
	if r := p.report([]float64{4, 2}); r.Unit != "s" || r.Median != 3 || r.Best != 2 {
		t.Errorf("%+v", r)
	}
}
