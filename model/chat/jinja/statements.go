package jinja

type ctl uint8

const (
	ctlNone ctl = iota
	ctlBreak
	ctlContinue
)

type stmt interface {
	exec(x *exec, s *scope) (ctl, error)
}

type (
	dataStmt  struct{ text Text }
	printStmt struct {
		e   expr
		pos int32
	}
	groupStmt struct{ body []stmt }
	ctlStmt   struct{ c ctl }
	ifStmt    struct {
		arms  []ifArm
		other []stmt
	}
	ifArm struct {
		cond expr
		body []stmt
	}
	forStmt struct {
		pos       int32
		target    *target
		iter      expr
		cond      expr // nil: every item
		recursive bool
		loopID    int32
		body      []stmt
		other     []stmt
	}
	setStmt struct {
		t *target
		e expr
	}
	setBlock struct {
		pos   int32
		t     *target
		chain []filterCall
		body  []stmt
	}
	macroStmt struct {
		def *macroDef
		id  int32
	}
	callStmt struct {
		call *callExpr
		def  *macroDef
	}
	filterStmt struct {
		pos   int32
		chain []filterCall
		body  []stmt
	}
	withStmt struct {
		targets []*target
		values  []expr
		body    []stmt
	}
)

// target is what is assigned to: a name, a namespace's attribute, or a list of targets.
type target struct {
	pos   int32
	id    int32
	name  string
	attr  string
	parts []*target
}

func (x *exec) run(body []stmt, s *scope) (ctl, error) {
	for _, st := range body {
		if c, err := st.exec(x, s); err != nil || c != ctlNone {
			return c, err
		}
	}
	return ctlNone, nil
}

func (d *dataStmt) exec(x *exec, _ *scope) (ctl, error) { return ctlNone, x.write(d.text) }

func (p *printStmt) exec(x *exec, s *scope) (ctl, error) {
	v, err := p.e.eval(x, s)
	if err != nil {
		return ctlNone, err
	}
	t, err := x.str(v)
	if err == nil {
		err = x.write(t)
	}
	return ctlNone, place(err, x.t.src, p.pos)
}

func (g *groupStmt) exec(x *exec, s *scope) (ctl, error) { return x.run(g.body, s) }

func (c *ctlStmt) exec(*exec, *scope) (ctl, error) { return c.c, nil }

func (i *ifStmt) exec(x *exec, s *scope) (ctl, error) {
	for _, a := range i.arms {
		v, err := a.cond.eval(x, s)
		if err != nil {
			return ctlNone, err
		}
		if truth(v) {
			return x.run(a.body, s)
		}
	}
	return x.run(i.other, s)
}

func (x *exec) assign(t *target, v Value, s *scope) error {
	switch {
	case t.parts != nil:
		items, err := x.iterate(v)
		if err != nil {
			return place(err, x.t.src, t.pos)
		}
		if len(items) != len(t.parts) {
			err := failf("cannot unpack %d values into %d names", len(items), len(t.parts))
			return place(err, x.t.src, t.pos)
		}
		for i, part := range t.parts {
			if err := x.assign(part, items[i], s); err != nil {
				return err
			}
		}
	case t.attr != "":
		owner, _ := s.get(t.id)
		ns, ok := owner.(*namespace)
		if !ok {
			return place(failf("cannot assign attribute on non-namespace object"), x.t.src, t.pos)
		}
		ns.attrs.Set(t.attr, v)
	default:
		s.set(t.id, v)
	}
	return nil
}

func (st *setStmt) exec(x *exec, s *scope) (ctl, error) {
	v, err := st.e.eval(x, s)
	if err != nil {
		return ctlNone, err
	}
	return ctlNone, x.assign(st.t, v, s)
}

func (st *setBlock) exec(x *exec, s *scope) (ctl, error) {
	var v Value
	v, err := x.capture(func() error { _, err := x.run(st.body, &scope{parent: s}); return err })
	if err == nil {
		v, err = x.chain(st.chain, v, s)
	}
	if err != nil {
		return ctlNone, err
	}
	return ctlNone, x.assign(st.t, v, s)
}

func (st *filterStmt) exec(x *exec, s *scope) (ctl, error) {
	var v Value
	v, err := x.capture(func() error { _, err := x.run(st.body, &scope{parent: s}); return err })
	if err == nil {
		v, err = x.chain(st.chain, v, s)
	}
	if err != nil {
		return ctlNone, err
	}
	t, err := x.str(v)
	if err != nil {
		return ctlNone, err
	}
	return ctlNone, x.write(t)
}

func (st *withStmt) exec(x *exec, s *scope) (ctl, error) {
	inner := &scope{parent: s}
	for i, t := range st.targets {
		v, err := st.values[i].eval(x, s)
		if err != nil {
			return ctlNone, err
		}
		if err := x.assign(t, v, inner); err != nil {
			return ctlNone, err
		}
	}
	return x.run(st.body, inner)
}

// loopVar is the variable "loop" of a loop under way.
type loopVar struct {
	st    *forStmt
	items []Value
	i     int
	depth int
	outer *scope
	last  Value // what changed() saw last
	seen  bool
}

func (f *forStmt) exec(x *exec, s *scope) (ctl, error) {
	v, err := f.iter.eval(x, s)
	if err != nil {
		return ctlNone, err
	}
	return ctlNone, f.loop(x, v, s, 0)
}

// loop goes through the items of v. As in Jinja, a turn that ends with break or continue does not count
// when the else branch is decided.
func (f *forStmt) loop(x *exec, v Value, s *scope, depth int) error {
	items, err := x.iterate(v)
	if err != nil {
		return place(err, x.t.src, f.pos)
	}
	inner := &scope{parent: s}
	if f.cond != nil {
		if items, err = f.keep(x, items, inner); err != nil {
			return err
		}
	}
	lv := &loopVar{st: f, items: items, depth: depth, outer: s}
	other := true
	for i, it := range items {
		if err := x.step(); err != nil {
			return place(err, x.t.src, f.pos)
		}
		inner.clear()
		lv.i = i
		inner.set(f.loopID, lv)
		if err := x.assign(f.target, it, inner); err != nil {
			return err
		}
		c, err := x.run(f.body, inner)
		if err != nil {
			return err
		}
		if c == ctlBreak {
			break
		}
		if c == ctlNone {
			other = false
		}
	}
	if other && f.other != nil {
		_, err := x.run(f.other, &scope{parent: s})
		return err
	}
	return nil
}

func (f *forStmt) keep(x *exec, items []Value, inner *scope) ([]Value, error) {
	var out []Value
	for _, it := range items {
		if err := x.step(); err != nil {
			return nil, place(err, x.t.src, f.pos)
		}
		inner.clear()
		if err := x.assign(f.target, it, inner); err != nil {
			return nil, err
		}
		v, err := f.cond.eval(x, inner)
		if err != nil {
			return nil, err
		}
		if truth(v) {
			out = append(out, it)
		}
	}
	return out, nil
}

func (st *macroStmt) exec(_ *exec, s *scope) (ctl, error) {
	s.set(st.id, &macro{st.def, s})
	return ctlNone, nil
}

func (st *callStmt) exec(x *exec, s *scope) (ctl, error) {
	v, err := st.call.withCaller(x, s, &macro{st.def, s})
	if err != nil {
		return ctlNone, err
	}
	t, err := x.str(v)
	if err != nil {
		return ctlNone, err
	}
	return ctlNone, x.write(t)
}
