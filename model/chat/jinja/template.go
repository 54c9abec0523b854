package jinja

import "time"

// Template is a parsed template. It is immutable and safe for use by several goroutines at once.
type Template struct {
	src   string
	names []string // variable names by number
	body  []stmt
}

// Parse compiles a template. An error is an *Error with the place of the fault.
func Parse(src string) (*Template, error) {
	if len(src) > maxSource {
		return nil, &Error{Kind: ErrSyntax, Msg: limitErr("bytes of template source", len(src), maxSource).(*Error).Msg}
	}
	src = normalise(src)
	toks, err := lex(src)
	if err != nil {
		return nil, err
	}
	p := &parser{src: src, toks: toks, names: map[string]int32{}}
	body, _, err := p.body()
	if err != nil {
		return nil, err
	}
	return &Template{src: src, names: p.list, body: body}, nil
}

// Uses reports whether the template mentions a variable of the given name anywhere.
func (t *Template) Uses(name string) bool {
	for _, n := range t.names {
		if n == name {
			return true
		}
	}
	return false
}

// Limits bound one render. A zero field takes its default; there is no way to lift a bound.
type Limits struct {
	Steps  int // loop turns, calls, filter applications, and each KiB an operation looks through; default 5,000,000
	Depth  int // macros and recursive loops under way; default 200, at most 1,000
	Output int // bytes of the output, and of any string made on the way; default 64 MiB
	Memory int // bytes of all strings and 16 bytes an item of all sequences made; default 1 GiB
}

func (l Limits) withDefaults() Limits {
	set := func(v *int, def int) {
		if *v <= 0 {
			*v = def
		}
	}
	set(&l.Steps, 5_000_000)
	set(&l.Depth, 200)
	set(&l.Output, 64<<20)
	set(&l.Memory, 1<<30)
	l.Depth = min(l.Depth, 1000)
	l.Output = min(l.Output, maxText)
	return l
}

// maxText bounds any one string, whatever the Limits.
const maxText = 1 << 30

// Options of a render.
type Options struct {
	Now    time.Time // what strftime_now formats, in its own zone
	Limits Limits
}

// Output is what a render wrote: a text that knows where each byte came from.
type Output struct {
	Text
	Ends []int // where each of the template's statements that wrote something ended, ascending
}

// Execute renders the template over the given variables, which it does not change. An error is an
// *Error; nothing of the output is returned with it.
func (t *Template) Execute(vars *Map, o Options) (Output, error) {
	x := &exec{t: t, now: o.Now, limits: o.Limits.withDefaults()}
	x.cmp.limit = 10 * x.limits.Steps
	x.root.flat = make([]Value, len(t.names))
	for i, n := range t.names {
		if v, ok := vars.Get(n); ok {
			x.root.flat[i] = v
		} else {
			x.root.flat[i] = absent{}
		}
	}
	x.out = &x.main
	if _, err := x.run(t.body, &x.root); err != nil {
		return Output{}, err
	}
	return Output{x.main.text(false), x.ends}, nil
}

// exec is one render under way.
type exec struct {
	t      *Template
	now    time.Time
	limits Limits
	main   builder  // what Execute returns
	ends   []int    // where writes to main ended
	out    *builder // main, or what a capture collects
	root   scope
	steps  int
	depth  int
	made   int
	cmp    comparison
}

func (x *exec) step() error {
	if x.steps++; x.steps > x.limits.Steps {
		return limitErr("steps of a render", x.steps, x.limits.Steps)
	}
	return nil
}

// work counts the steps of an operation that may look at all of v.
func (x *exec) work(v Value) error {
	switch v := v.(type) {
	case Text:
		x.steps += len(v.s) >> 10
	case *List:
		x.steps += len(v.Items) >> 6
	case *Tuple:
		x.steps += len(v.Items) >> 6
	}
	if x.steps > x.limits.Steps {
		return limitErr("steps of a render", x.steps, x.limits.Steps)
	}
	return nil
}

// charge accounts for n bytes of a new string.
func (x *exec) charge(n int) error {
	if n > x.limits.Output {
		return limitErr("bytes of a string", n, x.limits.Output)
	}
	if x.made += n; x.made > x.limits.Memory {
		return limitErr("bytes made by a render", x.made, x.limits.Memory)
	}
	return nil
}

func (x *exec) chargeItems(n int) error {
	if n > x.limits.Memory/16 {
		return limitErr("items of a sequence", n, x.limits.Memory/16)
	}
	if x.made += 16 * n; x.made > x.limits.Memory {
		return limitErr("bytes made by a render", x.made, x.limits.Memory)
	}
	return nil
}

// write appends to the output.
func (x *exec) write(t Text) error {
	if n := len(x.out.buf) + len(t.s); n > x.limits.Output {
		return limitErr("bytes of output", n, x.limits.Output)
	}
	if err := x.charge(len(t.s)); err != nil {
		return err
	}
	x.out.add(t)
	if x.out == &x.main && len(t.s) > 0 {
		x.ends = append(x.ends, len(x.main.buf))
	}
	return nil
}

// capture runs f with its output kept apart, and returns it.
func (x *exec) capture(f func() error) (Text, error) {
	outer := x.out
	var b builder
	x.out = &b
	err := f()
	x.out = outer
	if err != nil {
		return Text{}, err
	}
	return b.text(false), nil
}

// scope holds variables. The root's are in a flat table, the others' in short lists.
type scope struct {
	parent *scope
	flat   []Value
	ids    []int32
	vals   []Value
}

func (s *scope) get(id int32) (Value, bool) {
	for ; s.flat == nil; s = s.parent {
		for i, k := range s.ids {
			if k == id {
				return s.vals[i], true
			}
		}
	}
	v := s.flat[id]
	_, none := v.(absent)
	return v, !none
}

func (s *scope) set(id int32, v Value) {
	if s.flat != nil {
		s.flat[id] = v
		return
	}
	for i, k := range s.ids {
		if k == id {
			s.vals[i] = v
			return
		}
	}
	s.ids, s.vals = append(s.ids, id), append(s.vals, v)
}

// clear empties a scope for the next turn of a loop, keeping its room.
func (s *scope) clear() { s.ids, s.vals = s.ids[:0], s.vals[:0] }
