package backend

import (
	"fmt"
	"slices"

	"github.com/hotpath-go/hotpath/engine/sample"
)

// Fill derives from a row's logits everything that the want asks for, but Hidden. Buffers of the
// Result are reused; what is not asked for becomes empty. A logit that is not a number, or a choice
// that cannot be made, leaves nothing but Err. It is what a Runner without its own kernels for wants
// may use, and what the engine uses for wants that a Runner lacks.
func (r *Result) Fill(w *Want, logits []float32, s *sample.Sampler) {
	r.Reset()
	if err := r.fill(w, logits, s); err != nil {
		r.Reset()
		r.Err = err
	}
}

func (r *Result) fill(w *Want, logits []float32, s *sample.Sampler) error {
	for i, v := range logits {
		if v != v {
			return fmt.Errorf("%w: logit %d of %d", ErrNaN, i, len(logits))
		}
	}
	if w.Logits {
		r.Logits = append(r.Logits, logits...)
	}
	for _, id := range w.Labels {
		r.Labels = append(r.Labels, logits[id])
	}
	if w.LogSumExp {
		r.LogSumExp = float32(sample.LogSumExp(logits))
	}
	if w.TopK > 0 {
		top, err := sample.TopK(nil, logits, nil, w.TopK)
		if err != nil {
			return err
		}
		for _, l := range top {
			r.TopIDs = append(r.TopIDs, l.ID)
			r.TopLogits = append(r.TopLogits, l.Value)
		}
	}
	if w.Sample != nil {
		c, err := s.Choose(logits, w.Sample.Params, w.Sample.Mask, w.Sample.History, w.Sample.Key)
		if err != nil {
			return err
		}
		c.Top = append(r.Choice.Top, c.Top...) // the sampler's own list lives until its next call
		r.Choice = c
	}
	return nil
}

// Reset empties the Result and keeps its buffers.
func (r *Result) Reset() {
	*r = Result{
		Logits:    r.Logits[:0],
		Labels:    r.Labels[:0],
		TopIDs:    r.TopIDs[:0],
		TopLogits: r.TopLogits[:0],
		Choice:    sample.Choice{Top: r.Choice.Top[:0]},
		Hidden:    r.Hidden[:0],
	}
}

// Resize gives the output n empty results and keeps their buffers.
func (o *Output) Resize(n int) {
	o.Results = slices.Grow(o.Results[:0], n)[:n]
	for i := range o.Results {
		o.Results[i].Reset()
	}
}
