package cpu

import (
	"context"
	"errors"
	"fmt"

	"github.com/hotpath-go/hotpath/internal/pool"
	"github.com/hotpath-go/hotpath/internal/share"
	"github.com/hotpath-go/hotpath/model/arch"
	"github.com/hotpath-go/hotpath/quant"
)

// weights are the matrices of a program as the path multiplies them.
type weights struct {
	layers []layerWeights
	head   *matrix
	memory [][]byte // panels
	bytes  int64    // of panels and of rows that were converted
	stored int64    // of the matrices as the file has them, which is what progress counts
}

type layerWeights struct {
	q, k, v, o     *matrix
	gate, up, down *matrix
}

func (w *weights) close() error {
	for _, b := range w.memory {
		unreserve(b)
	}
	w.memory = nil
	return nil
}

// prepared holds the weights of all runners, so that those of one model share them.
var prepared share.Cache[*weights]

// openWeights returns the prepared weights of the program and what lets go of them.
func openWeights(ctx context.Context, r *Runner, arithmetic Arithmetic, progress func(done, total int64)) (*weights, func() error, error) {
	key := fmt.Sprintf("%p %s %v", r.program, r.k.name, arithmetic)
	told := progress == nil
	report := progress
	if report != nil {
		progress = func(done, total int64) { told = true; report(done, total) }
	}
	for {
		mine := false
		w, release, err := prepared.Get(key, func() (*weights, func() error, error) {
			mine = true
			w, err := loadWeights(ctx, r, arithmetic, progress)
			if err != nil {
				return nil, nil, err
			}
			return w, w.close, nil
		})
		if err == nil && !mine && progress != nil {
			progress(w.stored, w.stored)
		}
		// The one who loads may give up when others wait.
		if err == nil || !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			if err == nil && !told {
				report(1, 1) // another runner had prepared them
			}
			return w, release, err
		}
	}
}

// loadWeights prepares all matrices, with all workers. It stops between matrices when ctx ends.
func loadWeights(ctx context.Context, r *Runner, arithmetic Arithmetic, progress func(done, total int64)) (*weights, error) {
	w := &weights{layers: make([]layerWeights, len(r.program.Layers))}
	var total, done int64
	type item struct {
		linear *arch.Linear
		to     **matrix
	}
	var items []item
	add := func(l *arch.Linear, to **matrix) {
		items = append(items, item{l, to})
		total += int64(len(l.Weight.Data))
	}
	for i := range r.program.Layers {
		l, to := &r.program.Layers[i], &w.layers[i]
		if a, ok := l.Mixer.(*arch.Attention); ok {
			add(&a.Q, &to.q)
			add(&a.K, &to.k)
			add(&a.V, &to.v)
			add(&a.O, &to.o)
		}
		if g, ok := l.Forward.(*arch.Gated); ok {
			add(&g.Gate, &to.gate)
			add(&g.Up, &to.up)
			add(&g.Down, &to.down)
		}
	}
	add(&arch.Linear{Weight: r.program.Head}, &w.head)
	for _, it := range items {
		if err := ctx.Err(); err != nil {
			_ = w.close()
			return nil, err
		}
		m, source, packed, err := prepare(r.k, it.linear, arithmetic)
		if err != nil {
			_ = w.close()
			return nil, err
		}
		if packed > 0 {
			if m.data, err = reserve(packed); err != nil {
				_ = w.close()
				return nil, err
			}
			w.memory = append(w.memory, m.data)
			if err := pack(r.workers, m, source, it.linear.Weight, packStride, r.model.Release); err != nil {
				_ = w.close()
				return nil, err
			}
			w.bytes += int64(packed)
		} else if source.Format != it.linear.Weight.Format {
			w.bytes += int64(len(source.Data))
		}
		*it.to = m
		done += int64(len(it.linear.Weight.Data))
		if progress != nil {
			progress(done, total)
		}
	}
	w.stored = total
	return w, nil
}

// packStride is about how many bytes of a stored matrix are in memory beside its panels.
const packStride = 8 << 20

// pack writes the panels of a matrix from its source, a stride after the other, and lets go of the
// stored rows as it goes: a large embedding need not be in memory twice.
func pack(workers *pool.Pool, m *matrix, source, stored quant.Tensor, stride int, release func(quant.Tensor)) error {
	size := len(stored.Data) / max(1, stored.Rows)
	step := max(1, stride/max(1, size*panelRows))
	for from := 0; from < m.panels(); from += step {
		to := min(from+step, m.panels())
		if err := workers.Run(&packJob{m, source, from}, to-from); err != nil {
			return err
		}
		first, last := from*panelRows, min(to*panelRows, stored.Rows)
		release(quant.Tensor{Format: stored.Format, Rows: last - first, Cols: stored.Cols, Data: stored.Data[first*size : last*size]})
	}
	return nil
}

// packJob writes the panels of a matrix from one on.
type packJob struct {
	m    *matrix
	t    quant.Tensor
	from int
}

func (j *packJob) Do(_, panel int) {
	panel += j.from
	j.m.kernel.pack(j.m.data[panel*j.m.unit:][:j.m.unit], j.t, panel)
}
