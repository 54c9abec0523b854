package decide

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
)

var (
	// ErrCalibrator is returned for a calibrator or head that was fitted under another model, template
	// or label scheme.
	ErrCalibrator = errors.New("decide: calibrator does not fit")
	// ErrSaved is returned for a file that holds no calibrator or head, or a damaged one.
	ErrSaved = errors.New("decide: not a saved calibrator or head")
)

// Hash is a SHA-256 that is written as hexadecimal digits.
type Hash [32]byte

// MarshalText returns 64 hexadecimal digits.
func (h Hash) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, h[:]), nil }

// UnmarshalText reads 64 hexadecimal digits.
func (h *Hash) UnmarshalText(b []byte) error {
	if len(b) != 2*len(h) {
		return fmt.Errorf("%w: a hash of %d digits, must be %d", ErrSaved, len(b), 2*len(h))
	}
	_, err := hex.Decode(h[:], b)
	return err
}

// Binding is what fitted numbers depend on. They are wrong, without anybody seeing it, under another.
type Binding struct {
	Model    Hash `json:"model"`    // model.Model's ID
	Template Hash `json:"template"` // of the chat template's source
	Scheme   Hash `json:"scheme"`   // of how questions are written and options labelled on this model
}

// Fits returns ErrCalibrator, naming what differs, unless other is the same binding.
func (b Binding) Fits(other Binding) error {
	for _, f := range []struct {
		name string
		a, b Hash
	}{{"model", b.Model, other.Model}, {"template", b.Template, other.Template}, {"label scheme", b.Scheme, other.Scheme}} {
		if f.a != f.b {
			return fmt.Errorf("%w: fitted under the %s %x, this is %x", ErrCalibrator, f.name, f.a[:6], f.b[:6])
		}
	}
	return nil
}

// schemeProbes are the questions whose tokens and labels stand for how all are written.
var schemeProbes = []Question{
	{ID: "a", Kind: KindBoolean, Instructions: "Is it?", Options: []Option{{Name: "yes", Description: "it is"}, {Name: "no", Description: "it is not"}}},
	{ID: "b", Kind: KindChoice, Instructions: "Which?", Options: []Option{{Name: "one", Description: "the first"}, {Name: "two"}, {Name: "three"}}},
	{ID: "c", Kind: KindScore, Instructions: "How much?", Options: Names("none", "some", "all")},
}

// Binding returns what a calibrator fitted on the compiler's model is bound to. The label scheme is
// hashed from the very tokens and labels of a few questions.
func (c *Compiler) Binding() (Binding, error) {
	f, err := c.form(schemeProbes, "", c.usual())
	if err != nil {
		return Binding{}, err
	}
	var buf []byte
	ids := func(list []int32) {
		buf = binary.AppendUvarint(buf, uint64(len(list)))
		for _, id := range list {
			buf = binary.AppendUvarint(buf, uint64(uint32(id)))
		}
	}
	for _, s := range f.spans {
		buf = binary.AppendUvarint(buf, uint64(s.Parent))
		ids(s.Tokens)
		for _, r := range s.Reads {
			buf = binary.AppendUvarint(buf, uint64(r.Row))
			ids(r.Labels)
		}
	}
	if likeliest, err := c.likeliest(); err != nil {
		return Binding{}, err
	} else if likeliest {
		buf = append(buf, "max"...)
	}
	return Binding{Model: c.model.ID, Template: sha256.Sum256([]byte(c.model.Template)), Scheme: sha256.Sum256(buf)}, nil
}

// Key identifies a question as it is asked: by kind, instructions, criteria, and options in their
// order. The ID has no part in it.
func (q *Question) Key() Hash {
	bare := Question{Kind: q.Kind, Instructions: q.Instructions, Criteria: q.Criteria, Options: q.Options}
	return keyOf(BorderNone, "", bare.asShown())
}
