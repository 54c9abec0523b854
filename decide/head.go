package decide

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// Head answers one question from the model's hidden state at the row where its label would be read:
// a probe with no hidden layer, or with one of tanh units. It is data: package fit trains one from
// labelled examples. It is read-only once in use, and then safe for concurrent use.
type Head struct {
	Model    string
	Binding  Binding
	Question Question  // that it answers; the probabilities are in the order of its options
	Width    int       // of a hidden state
	Hidden   int       // units of the hidden layer; 0: none, the head is linear
	Mean     []float32 // Width: what is subtracted from a state
	Scale    []float32 // Width: what it is then multiplied with
	W1, B1   []float32 // Width x Hidden row after row, and Hidden; empty for a linear head
	W2, B2   []float32 // (Hidden or Width) x options row after row, and options
	Examples int       // that it was trained on
}

// Options returns how many options the head tells apart.
func (h *Head) Options() int { return len(h.B2) }

// Logits returns the logits of the options for a hidden state of Width values, which is not changed.
// Another width is ErrCalibrator.
func (h *Head) Logits(state []float32) ([]float64, error) {
	if len(state) != h.Width {
		return nil, fmt.Errorf("%w: a state of %d values, the head takes %d", ErrCalibrator, len(state), h.Width)
	}
	x := make([]float64, h.Width)
	for i, v := range state {
		x[i] = (float64(v) - float64(h.Mean[i])) * float64(h.Scale[i])
	}
	if h.Hidden > 0 {
		x = affine(x, h.W1, h.B1)
		for i := range x {
			x[i] = math.Tanh(x[i])
		}
	}
	return affine(x, h.W2, h.B2), nil
}

// Probabilities returns the softmax of Logits. A state that is not finite is ErrNaN.
func (h *Head) Probabilities(state []float32) ([]float64, error) {
	logits, err := h.Logits(state)
	if err != nil {
		return nil, err
	}
	if !finite(logits...) {
		return nil, fmt.Errorf("%w: hidden state of a head", ErrNaN)
	}
	return softmax(logits, 1), nil
}

// Answer returns the answer that a hidden state gives to the head's question, under the settings of
// a request. It has no label mass.
func (h *Head) Answer(r Request, state []float32) (Answer, error) {
	p, err := h.Probabilities(state)
	if err != nil {
		return Answer{}, err
	}
	r.SkipMass = true
	a, err := NewAnswer(r, h.Question, p)
	a.Calibrated = true
	return a, err
}

// affine returns x·w + b, w being len(x) rows of len(b).
func affine(x []float64, w, b []float32) []float64 {
	out := make([]float64, len(b))
	for j, v := range b {
		out[j] = float64(v)
	}
	for i, v := range x {
		row := w[i*len(b):][:len(b)]
		for j, u := range row {
			out[j] += v * float64(u)
		}
	}
	return out
}

// savedHead is a Head in its file: numbers are the little-endian bytes of float32.
type savedHead struct {
	saved
	Model    string        `json:"model"`
	Binding  Binding       `json:"binding"`
	Question savedQuestion `json:"question"`
	Width    int           `json:"width"`
	Hidden   int           `json:"hidden"`
	Mean     []byte        `json:"mean"`
	Scale    []byte        `json:"scale"`
	W1       []byte        `json:"w1,omitempty"`
	B1       []byte        `json:"b1,omitempty"`
	W2       []byte        `json:"w2"`
	B2       []byte        `json:"b2"`
	Examples int           `json:"examples"`
}

type savedQuestion struct {
	ID           string   `json:"id"`
	Kind         Kind     `json:"kind"`
	Instructions string   `json:"instructions"`
	Options      []Option `json:"options,omitempty"`
}

// Save writes the head as JSON.
func (h *Head) Save(w io.Writer) error {
	if err := h.check(); err != nil {
		return err
	}
	q := h.Question
	return save(w, savedHead{
		saved: saved{headFormat, savedVersion}, Model: h.Model, Binding: h.Binding,
		Question: savedQuestion{q.ID, q.Kind, q.Instructions, q.Options},
		Width:    h.Width, Hidden: h.Hidden, Mean: bytesOf(h.Mean), Scale: bytesOf(h.Scale),
		W1: bytesOf(h.W1), B1: bytesOf(h.B1), W2: bytesOf(h.W2), B2: bytesOf(h.B2), Examples: h.Examples,
	})
}

// LoadHead reads what Save wrote, up to 64 MiB. The error is ErrSaved. That the head fits the model
// in use is for Binding.Fits to say.
func LoadHead(r io.Reader) (*Head, error) {
	var f savedHead
	if err := load(r, &f); err != nil {
		return nil, err
	}
	if err := f.saved.check(headFormat); err != nil {
		return nil, err
	}
	h := &Head{
		Model: f.Model, Binding: f.Binding, Width: f.Width, Hidden: f.Hidden, Examples: f.Examples,
		Question: Question{ID: f.Question.ID, Kind: f.Question.Kind, Instructions: f.Question.Instructions, Options: f.Question.Options},
	}
	for _, x := range []struct {
		dst *[]float32
		src []byte
	}{{&h.Mean, f.Mean}, {&h.Scale, f.Scale}, {&h.W1, f.W1}, {&h.B1, f.B1}, {&h.W2, f.W2}, {&h.B2, f.B2}} {
		if len(x.src)%4 != 0 {
			return nil, fmt.Errorf("%w: %d bytes of numbers of 4", ErrSaved, len(x.src))
		}
		*x.dst = floatsOf(x.src)
	}
	return h, h.check()
}

// check refuses parts of sizes that do not fit each other.
func (h *Head) check() error {
	if h.Width < 1 || h.Hidden < 0 || h.Width > maxSaved || h.Hidden > maxSaved {
		return fmt.Errorf("%w: width %d, hidden %d", ErrSaved, h.Width, h.Hidden)
	}
	options := len(namesOf(&h.Question))
	in := h.Width
	if h.Hidden > 0 {
		in = h.Hidden
	}
	for _, x := range []struct {
		name string
		data []float32
		want int
	}{
		{"mean", h.Mean, h.Width}, {"scale", h.Scale, h.Width}, {"w1", h.W1, h.Width * h.Hidden}, {"b1", h.B1, h.Hidden},
		{"w2", h.W2, in * options}, {"b2", h.B2, options},
	} {
		if len(x.data) != x.want {
			return fmt.Errorf("%w: %s: %d numbers, must be %d", ErrSaved, x.name, len(x.data), x.want)
		}
		for _, v := range x.data {
			if !finite(float64(v)) {
				return fmt.Errorf("%w: %s: numbers that are not finite", ErrSaved, x.name)
			}
		}
	}
	if err := h.Question.check(); err != nil {
		return fmt.Errorf("%w: %w", ErrSaved, err)
	}
	return nil
}

func bytesOf(x []float32) []byte {
	b := make([]byte, 0, 4*len(x))
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

func floatsOf(b []byte) []float32 {
	x := make([]float32, len(b)/4)
	for i := range x {
		x[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return x
}
