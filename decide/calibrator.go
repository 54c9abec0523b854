package decide

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
)

// Calibrator turns a model's probabilities into ones that hold: of the answers given with 0.8, about
// eight in ten are right. It is data: package fit makes one from labelled examples. The zero
// Calibrator changes nothing. It is read-only once in use, and then safe for concurrent use.
//
// Where it was fitted for a question it takes the place of the temperature that the model's own file
// may ship; for other questions that one stays.
type Calibrator struct {
	Model   string  `json:"model"` // name of the model, for people
	Binding Binding `json:"binding"`
	// Bands are the temperatures; the first that holds a question counts.
	Bands []Band `json:"bands,omitempty"`
	// Platt is for booleans, and comes before a band.
	Platt *Platt `json:"platt,omitempty"`
	// Vectors are for single questions, and come before everything else.
	Vectors []Vector `json:"vectors,omitempty"`
}

// How says how a question was read. Numbers that were fitted on answers read in one way are applied
// to no others.
type How struct {
	Method Method  `json:"method"`
	Orders int     `json:"orders,omitempty"` // as asked for; 0 for Each
	Length Length  `json:"length,omitempty"` // of Path
	Prior  float64 `json:"prior,omitempty"`
}

// Band is a temperature for the questions of one kind with From to To options.
type Band struct {
	How
	Kind        Kind    `json:"kind"`
	From        int     `json:"from"`
	To          int     `json:"to"`
	Temperature float64 `json:"temperature"` // above 0; logits are divided by it
	Examples    int     `json:"examples"`    // that it was fitted on
}

// Platt makes the log-odds x of yes into Scale·x + Shift.
type Platt struct {
	How
	Scale    float64 `json:"scale"`
	Shift    float64 `json:"shift"`
	Examples int     `json:"examples"`
}

// Vector makes the logit x of option i into Scale[i]·x + Shift[i], for one question.
type Vector struct {
	How
	Question Hash      `json:"question"` // its Key
	Scale    []float64 `json:"scale"`
	Shift    []float64 `json:"shift"`
	Examples int       `json:"examples"`
}

// Temperature returns the temperature for questions read in a way, by kind and number of options,
// and 1 where there is none.
func (c *Calibrator) Temperature(h How, kind Kind, options int) float64 {
	if i := c.band(h, kind, options); i >= 0 {
		return c.Bands[i].Temperature
	}
	return 1
}

func (c *Calibrator) band(h How, kind Kind, options int) int {
	return slices.IndexFunc(c.Bands, func(b Band) bool {
		return b.How == h && b.Kind == kind && b.From <= options && options <= b.To
	})
}

// Apply returns the probabilities of a question's options, given how it was read and their logits or
// log-probabilities in the caller's order, the temperature that made them (1 for Platt and vector scaling), and whether
// anything was fitted for such a question. Logits of -Inf stay at 0. logits is not changed.
func (c *Calibrator) Apply(h How, q *Question, logits []float64) (p []float64, temperature float64, fitted bool) {
	if len(logits) == 0 {
		return nil, 1, false
	}
	if len(c.Vectors) > 0 {
		key := q.Key()
		for _, v := range c.Vectors {
			if v.How == h && v.Question == key && len(v.Scale) == len(logits) {
				out := make([]float64, len(logits))
				for i, x := range logits {
					out[i] = v.Scale[i]*x + v.Shift[i]
				}
				return softmax(out, 1), 1, true
			}
		}
	}
	if c.Platt != nil && c.Platt.How == h && q.Kind == KindBoolean && len(logits) == 2 && !math.IsInf(logits[0], 0) && !math.IsInf(logits[1], 0) {
		return softmax([]float64{c.Platt.Scale*(logits[0]-logits[1]) + c.Platt.Shift, 0}, 1), 1, true
	}
	if i := c.band(h, q.Kind, len(logits)); i >= 0 {
		return softmax(logits, c.Bands[i].Temperature), c.Bands[i].Temperature, true
	}
	return softmax(logits, 1), 1, false
}

// how says how the distribution was read.
func (d *distribution) how(prior float64) How {
	h := How{Method: d.asked.method, Orders: d.asked.orders, Prior: prior}
	switch h.Method {
	case Each:
		h.Orders = 0
	case Path:
		h.Length = d.asked.length
	}
	return h
}

// of applies the calibrator to probabilities, and leaves those of a question it was not fitted for.
func (c *Calibrator) of(h How, q *Question, p []float64) ([]float64, float64, bool) {
	out, temperature, fitted := c.Apply(h, q, logarithms(p))
	if !fitted {
		return p, 1, false
	}
	return out, temperature, true
}

func logarithms(p []float64) []float64 {
	logits := make([]float64, len(p))
	for i, x := range p {
		logits[i] = math.Log(x)
	}
	return logits
}

// maxSaved bounds what Load reads, in bytes.
const maxSaved = 64 << 20

// saved is the head of the files that this package writes.
type saved struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
}

const (
	calibratorFormat = "hotpath calibrator"
	headFormat       = "hotpath decision head"
	savedVersion     = 1
)

// Save writes the calibrator as JSON.
func (c *Calibrator) Save(w io.Writer) error {
	if err := c.check(); err != nil {
		return err
	}
	return save(w, struct {
		saved
		*Calibrator
	}{saved{calibratorFormat, savedVersion}, c})
}

// LoadCalibrator reads what Save wrote, up to 64 MiB. The error is ErrSaved. That the calibrator fits
// the model in use is for Binding.Fits to say; engines ask it.
func LoadCalibrator(r io.Reader) (*Calibrator, error) {
	var f struct {
		saved
		Calibrator
	}
	if err := load(r, &f); err != nil {
		return nil, err
	}
	if err := f.saved.check(calibratorFormat); err != nil {
		return nil, err
	}
	return &f.Calibrator, f.Calibrator.check()
}

func save(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

func load(r io.Reader, v any) error {
	b, err := io.ReadAll(io.LimitReader(r, maxSaved+1))
	switch {
	case err != nil:
		return err
	case len(b) > maxSaved:
		return fmt.Errorf("%w: more than %d bytes", ErrSaved, maxSaved)
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%w: %w", ErrSaved, err)
	}
	return nil
}

func (s saved) check(format string) error {
	if s.Format != format {
		return fmt.Errorf("%w: format %q, must be %q", ErrSaved, s.Format, format)
	}
	if s.Version != savedVersion {
		return fmt.Errorf("%w: version %d, this reads version %d", ErrSaved, s.Version, savedVersion)
	}
	return nil
}

// check refuses numbers that no fit gives.
func (c *Calibrator) check() error {
	for i, b := range c.Bands {
		if b.Kind < KindBoolean || b.Kind > KindScore || b.From < 1 || b.To < b.From {
			return fmt.Errorf("%w: bands[%d]: kind %d, %d to %d options", ErrSaved, i, b.Kind, b.From, b.To)
		}
		if !(b.Temperature > 0) || math.IsInf(b.Temperature, 0) {
			return fmt.Errorf("%w: bands[%d].temperature: %v, must be above 0", ErrSaved, i, b.Temperature)
		}
	}
	if p := c.Platt; p != nil && !finite(p.Scale, p.Shift) {
		return fmt.Errorf("%w: platt: %v and %v, must be finite", ErrSaved, p.Scale, p.Shift)
	}
	for i, v := range c.Vectors {
		if len(v.Scale) != len(v.Shift) || len(v.Scale) == 0 {
			return fmt.Errorf("%w: vectors[%d]: %d scales and %d shifts", ErrSaved, i, len(v.Scale), len(v.Shift))
		}
		if !finite(v.Scale...) || !finite(v.Shift...) {
			return fmt.Errorf("%w: vectors[%d]: numbers that are not finite", ErrSaved, i)
		}
	}
	return nil
}

func finite(list ...float64) bool {
	return !slices.ContainsFunc(list, func(x float64) bool { return x != x || math.IsInf(x, 0) })
}
