package jinja

import "fmt"

// args are the arguments of a call.
type args struct {
	pos []Value
	kw  []kwArg
}

type kwArg struct {
	name string
	val  Value
}

// bind sorts the arguments into the named parameters; those not given are absent{}. The first required
// ones must be there.
func (a *args) bind(fn string, required int, names ...string) ([]Value, error) {
	if len(a.pos) > len(names) {
		return nil, failf("%s() takes at most %d arguments (%d given)", fn, len(names), len(a.pos))
	}
	out := make([]Value, len(names))
	for i := range out {
		if i < len(a.pos) {
			out[i] = a.pos[i]
		} else {
			out[i] = absent{}
		}
	}
next:
	for _, kw := range a.kw {
		for i, n := range names {
			if n != kw.name {
				continue
			}
			if i < len(a.pos) {
				return nil, failf("%s() got multiple values for argument '%s'", fn, n)
			}
			out[i] = kw.val
			continue next
		}
		return nil, failf("%s() got an unexpected keyword argument '%s'", fn, kw.name)
	}
	for i := range required {
		if _, none := out[i].(absent); none {
			return nil, failf("%s() missing required argument: '%s'", fn, names[i])
		}
	}
	return out, nil
}

// none refuses all arguments.
func (a *args) none(fn string) error {
	_, err := a.bind(fn, 0)
	return err
}

func given(v Value) bool {
	_, none := v.(absent)
	return !none
}

func intArg(fn, name string, v Value, def int64) (int64, error) {
	switch v := v.(type) {
	case absent:
		return def, nil
	case int64:
		return v, nil
	case bool:
		if v {
			return 1, nil
		}
		return 0, nil
	}
	return 0, failf("%s(): argument '%s' must be int, not %s", fn, name, typeName(v))
}

func textArg(fn, name string, v Value, def string) (Text, error) {
	switch v := v.(type) {
	case absent:
		return lit(def), nil
	case Text:
		return v, nil
	}
	return Text{}, failf("%s(): argument '%s' must be str, not %s", fn, name, typeName(v))
}

// callList is a call's arguments as written.
type callList struct {
	pos    []expr
	kw     []kwExpr
	star   expr
	starKw expr
}

type kwExpr struct {
	name string
	e    expr
}

func (l *callList) eval(x *exec, s *scope) (*args, error) {
	a := &args{}
	for _, e := range l.pos {
		v, err := e.eval(x, s)
		if err != nil {
			return nil, err
		}
		a.pos = append(a.pos, v)
	}
	for _, k := range l.kw {
		v, err := k.e.eval(x, s)
		if err != nil {
			return nil, err
		}
		a.kw = append(a.kw, kwArg{k.name, v})
	}
	if l.star != nil {
		v, err := l.star.eval(x, s)
		if err != nil {
			return nil, err
		}
		items, err := x.iterate(v)
		if err != nil {
			return nil, err
		}
		if err := x.chargeItems(len(items)); err != nil {
			return nil, err
		}
		a.pos = append(a.pos, items...)
	}
	if l.starKw != nil {
		v, err := l.starKw.eval(x, s)
		if err != nil {
			return nil, err
		}
		m, ok := v.(*Map)
		if !ok {
			return nil, failf("argument after ** must be a mapping, not %s", typeName(v))
		}
		for _, e := range m.entries {
			name, ok := e.key.(Text)
			if !ok {
				return nil, failf("keywords must be strings")
			}
			a.kw = append(a.kw, kwArg{name.s, e.val})
		}
	}
	return a, nil
}

type macroDef struct {
	pos    int32
	name   string
	params []param
	body   []stmt

	callerID, varargsID, kwargsID int32
	caller, varargs, kwargs       bool // whether the body uses them
}

type param struct {
	id   int32
	name string
	def  expr
}

// macro is a macro with the scope it was defined in.
type macro struct {
	def   *macroDef
	scope *scope
}

// call runs a value as a function.
func (x *exec) call(fn Value, a *args) (Value, error) {
	if err := x.step(); err != nil {
		return nil, err
	}
	switch fn := fn.(type) {
	case *function:
		return fn.call(x, a)
	case *macro:
		return x.callMacro(fn, a)
	case *loopVar:
		return x.callLoop(fn, a)
	case *undefined:
		return nil, fn.fail()
	}
	return nil, failf("'%s' object is not callable", typeName(fn))
}

func (x *exec) deeper() error {
	if x.depth++; x.depth > x.limits.Depth {
		return limitErr("calls under way", x.depth, x.limits.Depth)
	}
	return nil
}

func (x *exec) callMacro(m *macro, a *args) (Value, error) {
	defer func() { x.depth-- }()
	if err := x.deeper(); err != nil {
		return nil, err
	}
	d := m.def
	s := &scope{parent: m.scope}
	kw := append([]kwArg(nil), a.kw...)
	take := func(name string) (Value, bool) {
		for i, k := range kw {
			if k.name == name {
				kw = append(kw[:i], kw[i+1:]...)
				return k.val, true
			}
		}
		return nil, false
	}
	for i, p := range d.params {
		if i < len(a.pos) {
			s.set(p.id, a.pos[i])
		} else if v, ok := take(p.name); ok {
			s.set(p.id, v)
		} else if p.def != nil {
			v, err := p.def.eval(x, s)
			if err != nil {
				return nil, err
			}
			s.set(p.id, v)
		} else {
			s.set(p.id, &undefined{other: fmt.Sprintf("parameter '%s' was not provided", p.name)})
		}
	}
	if d.caller {
		if v, ok := take("caller"); ok {
			s.set(d.callerID, v)
		} else {
			s.set(d.callerID, &undefined{other: "No caller defined"})
		}
	}
	if d.kwargs {
		rest := &Map{}
		for _, k := range kw {
			rest.Set(k.name, k.val)
		}
		s.set(d.kwargsID, rest)
	} else if len(kw) > 0 {
		if kw[0].name == "caller" {
			return nil, failf("macro '%s' was invoked with two values for the special caller argument, or does not use it", d.name)
		}
		return nil, failf("macro '%s' takes no keyword argument '%s'", d.name, kw[0].name)
	}
	extra := a.pos[min(len(a.pos), len(d.params)):]
	if d.varargs {
		s.set(d.varargsID, &Tuple{Items: extra})
	} else if len(extra) > 0 {
		return nil, failf("macro '%s' takes not more than %d argument(s)", d.name, len(d.params))
	}
	return x.capture(func() error { _, err := x.run(d.body, s); return err })
}

// callLoop is loop(children) in a recursive loop.
func (x *exec) callLoop(l *loopVar, a *args) (Value, error) {
	if !l.st.recursive {
		return nil, failf("The loop must have the 'recursive' marker to be called recursively.")
	}
	v, err := a.bind("loop", 1, "iterable")
	if err != nil {
		return nil, err
	}
	defer func() { x.depth-- }()
	if err := x.deeper(); err != nil {
		return nil, err
	}
	return x.capture(func() error { return l.st.loop(x, v[0], l.outer, l.depth+1) })
}
