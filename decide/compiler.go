package decide

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/model/chat"
	"github.com/hotpath-go/hotpath/model/tokenizer"
)

// Options are what the opener of a model fixes for its decisions. The zero Options are the defaults.
type Options struct {
	Clock time.Time // that templates may ask for
	// Calibrator is applied to every answer; nil: none. Compile is ErrCalibrator where it was fitted
	// under another binding.
	Calibrator *Calibrator
}

// Compiler encodes the states and compiles the questions of one model. It keeps what it found out
// about the model's template, and the states and questions of late, within a bound. It is safe for
// concurrent use.
type Compiler struct {
	model   *model.Model
	options Options

	encoder  func() *chat.Encoder
	scaffold func() (scaffold, error)
	declared func() (*declared, error)
	// likeliest says that of the spellings of a label the likeliest counts alone.
	likeliest func() (bool, error)
	fits      func() error
	blank     func() bool // the vocabulary puts a blank before what follows a control token

	mu     sync.Mutex
	frames [borders]*frame

	states recent[Encoded]
	asked  recent[*asked]
	priors recent[[]float64]
}

// What a Compiler keeps at most, twice: tokens of states, about as many values of questions, and
// values of priors.
const (
	keepTokens = 1 << 20
	keepPriors = 1 << 18
)

// NewCompiler returns a Compiler for a model, which must stay open while it is used.
func NewCompiler(m *model.Model, o Options) *Compiler {
	c := &Compiler{model: m, options: o}
	c.states.most, c.asked.most, c.priors.most = keepTokens, keepTokens, keepPriors
	c.encoder = sync.OnceValue(func() *chat.Encoder {
		if _, enc, err := m.Chat(); err == nil {
			return enc
		}
		return chat.NewEncoder(m.Tokenizer)
	})
	c.scaffold = sync.OnceValues(func() (scaffold, error) {
		t, _, err := m.Chat()
		if err != nil {
			return scaffold{}, err
		}
		s, err := newScaffold(t, o.Clock)
		if err != nil {
			err = fmt.Errorf("%s: %w", m.Name, err)
		}
		return s, err
	})
	c.blank = sync.OnceValue(func() bool {
		begun := m.Tokenizer.EncodeAfter(nil, neutralUser, tokenizer.Text)
		return !slices.Equal(begun, m.Tokenizer.EncodeInside(nil, neutralUser, tokenizer.Text))
	})
	c.fits = sync.OnceValue(func() error {
		if o.Calibrator == nil {
			return nil
		}
		b, err := c.Binding()
		if err != nil {
			return err
		}
		return o.Calibrator.Binding.Fits(b)
	})
	c.likeliest = sync.OnceValues(func() (bool, error) {
		likeliest, _, err := parseSpellings(m)
		return likeliest, err
	})
	c.declared = sync.OnceValues(func() (*declared, error) {
		if _, alone, err := parseSpellings(m); alone || err != nil {
			return nil, err
		}
		return parseDeclared(m)
	})
	return c
}

// Check is ErrDeclared where the model's file declares a read that cannot be had. Compile says it too;
// an engine asks when it opens.
func (c *Compiler) Check() error {
	_, err := c.declared()
	return err
}

// usual returns the border that most states of the model end in.
func (c *Compiler) usual() Border {
	d, err := c.declared()
	switch {
	case d != nil || err != nil:
		return BorderDeclared
	case c.model.Template != "":
		return BorderTurn
	}
	return BorderRaw
}

// frame returns the frame of a border.
func (c *Compiler) frame(b Border) (*frame, error) {
	switch b {
	case BorderDeclared:
		b = BorderRaw // for the methods that the model does not declare
	case BorderRaw, BorderTurn, BorderInside, turnAfterControl:
	default:
		return nil, fmt.Errorf("%w: no spans for the border %v", ErrPlan, b)
	}
	enc := c.encoder()
	var s scaffold
	if b != BorderRaw {
		var err error
		if s, err = c.scaffold(); err != nil {
			return nil, err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.frames[b] == nil {
		if b == BorderRaw {
			c.frames[b] = rawFrame(c.model.Tokenizer, enc)
		} else {
			c.frames[b] = s.frame(c.model.Tokenizer, enc, b)
		}
	}
	return c.frames[b], nil
}
