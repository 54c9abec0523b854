package jinja

type expr interface {
	eval(x *exec, s *scope) (Value, error)
}

type (
	constExpr struct{ v Value }
	nameExpr  struct {
		id   int32
		name string
		pos  int32
	}
	listExpr  struct{ items []expr }
	tupleExpr struct{ items []expr }
	mapExpr   struct {
		keys, vals []expr
		pos        int32
	}
	condExpr struct {
		then, cond, other expr // other may be nil
	}
	logicExpr struct {
		left, right expr
		or          bool
	}
	notExpr   struct{ e expr }
	unaryExpr struct {
		op  string
		e   expr
		pos int32
	}
	binaryExpr struct {
		op          string
		left, right expr
		pos         int32
	}
	concatExpr struct {
		items []expr
		pos   int32
	}
	compareExpr struct {
		first expr
		rest  []compareTo
	}
	compareTo struct {
		op  string
		e   expr
		pos int32
	}
	attrExpr struct {
		of   expr
		name string
		pos  int32
	}
	indexExpr struct {
		of, index expr
		pos       int32
	}
	sliceExpr struct {
		of, lo, hi, step expr
		pos              int32
	}
	callExpr struct {
		fn   expr
		args *callList
		pos  int32
	}
	filterExpr struct {
		of expr
		f  filterCall
	}
	filterCall struct {
		name string
		fn   filterFunc // nil: unknown
		args *callList
		pos  int32
	}
	testExpr struct {
		of   expr
		name string
		fn   testFunc // nil: unknown
		args *callList
		pos  int32
	}
)

func (e *constExpr) eval(*exec, *scope) (Value, error) { return e.v, nil }

func (e *nameExpr) eval(_ *exec, s *scope) (Value, error) {
	if v, ok := s.get(e.id); ok {
		return v, nil
	}
	if f := globalNamed(e.name); f != nil {
		return &function{e.name, f}, nil
	}
	return &undefined{name: e.name}, nil
}

func evalAll(x *exec, s *scope, es []expr) ([]Value, error) {
	out := make([]Value, len(es))
	for i, e := range es {
		v, err := e.eval(x, s)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, x.chargeItems(len(es))
}

func (e *listExpr) eval(x *exec, s *scope) (Value, error) {
	items, err := evalAll(x, s, e.items)
	return &List{items}, err
}

func (e *tupleExpr) eval(x *exec, s *scope) (Value, error) {
	items, err := evalAll(x, s, e.items)
	return &Tuple{Items: items}, err
}

func (e *mapExpr) eval(x *exec, s *scope) (Value, error) {
	m := &Map{}
	for i := range e.keys {
		k, err := e.keys[i].eval(x, s)
		if err != nil {
			return nil, err
		}
		v, err := e.vals[i].eval(x, s)
		if err != nil {
			return nil, err
		}
		if !m.put(k, v) {
			return nil, place(failf("unhashable type: '%s'", typeName(k)), x.t.src, e.pos)
		}
	}
	return m, x.chargeItems(2 * len(e.keys))
}

func (e *condExpr) eval(x *exec, s *scope) (Value, error) {
	c, err := e.cond.eval(x, s)
	switch {
	case err != nil:
		return nil, err
	case truth(c):
		return e.then.eval(x, s)
	case e.other != nil:
		return e.other.eval(x, s)
	}
	return &undefined{other: "the inline if-expression evaluated to false and no else section was defined."}, nil
}

func (e *logicExpr) eval(x *exec, s *scope) (Value, error) {
	v, err := e.left.eval(x, s)
	if err != nil || truth(v) == e.or {
		return v, err
	}
	return e.right.eval(x, s)
}

func (e *notExpr) eval(x *exec, s *scope) (Value, error) {
	v, err := e.e.eval(x, s)
	if err != nil {
		return nil, err
	}
	return !truth(v), nil
}

func (e *unaryExpr) eval(x *exec, s *scope) (Value, error) {
	v, err := e.e.eval(x, s)
	if err != nil {
		return nil, err
	}
	v, err = unary(e.op, v)
	return v, place(err, x.t.src, e.pos)
}

func (e *binaryExpr) eval(x *exec, s *scope) (Value, error) {
	l, err := e.left.eval(x, s)
	if err != nil {
		return nil, err
	}
	r, err := e.right.eval(x, s)
	if err != nil {
		return nil, err
	}
	v, err := x.binary(e.op, l, r)
	return v, place(err, x.t.src, e.pos)
}

func (e *concatExpr) eval(x *exec, s *scope) (Value, error) {
	parts := make([]Text, len(e.items))
	n := 0
	for i, it := range e.items {
		v, err := it.eval(x, s)
		if err != nil {
			return nil, err
		}
		if parts[i], err = x.str(v); err != nil {
			return nil, place(err, x.t.src, e.pos)
		}
		n += parts[i].Len()
	}
	if err := x.charge(n); err != nil {
		return nil, place(err, x.t.src, e.pos)
	}
	return concat(parts...), nil
}

func (e *compareExpr) eval(x *exec, s *scope) (Value, error) {
	l, err := e.first.eval(x, s)
	if err != nil {
		return nil, err
	}
	for _, c := range e.rest {
		r, err := c.e.eval(x, s)
		if err != nil {
			return nil, err
		}
		ok, err := x.compareOp(c.op, l, r)
		if err != nil {
			return nil, place(err, x.t.src, c.pos)
		}
		if !ok {
			return false, nil
		}
		l = r
	}
	return true, nil
}

func (e *attrExpr) eval(x *exec, s *scope) (Value, error) {
	v, err := e.of.eval(x, s)
	if err != nil {
		return nil, err
	}
	if err := x.work(v); err != nil { // for the method that is called next
		return nil, place(err, x.t.src, e.pos)
	}
	v, err = getAttr(v, e.name)
	return v, place(err, x.t.src, e.pos)
}

func (e *indexExpr) eval(x *exec, s *scope) (Value, error) {
	v, err := e.of.eval(x, s)
	if err != nil {
		return nil, err
	}
	i, err := e.index.eval(x, s)
	if err != nil {
		return nil, err
	}
	if t, ok := v.(Text); ok {
		if err := x.work(t); err != nil {
			return nil, place(err, x.t.src, e.pos)
		}
	}
	v, err = getItem(v, i)
	return v, place(err, x.t.src, e.pos)
}

func (e *sliceExpr) eval(x *exec, s *scope) (Value, error) {
	v, err := e.of.eval(x, s)
	if err != nil {
		return nil, err
	}
	var parts [3]Value
	for i, p := range []expr{e.lo, e.hi, e.step} {
		if p == nil {
			continue
		}
		if parts[i], err = p.eval(x, s); err != nil {
			return nil, err
		}
	}
	if err := x.work(v); err != nil {
		return nil, place(err, x.t.src, e.pos)
	}
	v, err = x.slice(v, parts[0], parts[1], parts[2])
	return v, place(err, x.t.src, e.pos)
}

func (e *callExpr) eval(x *exec, s *scope) (Value, error) { return e.withCaller(x, s, nil) }

func (e *callExpr) withCaller(x *exec, s *scope, caller *macro) (Value, error) {
	fn, err := e.fn.eval(x, s)
	if err != nil {
		return nil, err
	}
	a, err := e.args.eval(x, s)
	if err != nil {
		return nil, place(err, x.t.src, e.pos)
	}
	if caller != nil {
		a.kw = append(a.kw, kwArg{"caller", caller})
	}
	v, err := x.call(fn, a)
	return v, place(err, x.t.src, e.pos)
}

func (e *filterExpr) eval(x *exec, s *scope) (Value, error) {
	v, err := e.of.eval(x, s)
	if err != nil {
		return nil, err
	}
	return x.filter(&e.f, v, s)
}

func (x *exec) filter(f *filterCall, v Value, s *scope) (Value, error) {
	a, err := f.args.eval(x, s)
	if err == nil {
		err = x.step()
	}
	if err == nil {
		err = x.work(v)
	}
	if err == nil {
		if f.fn == nil {
			err = failf("No filter named '%s' found.", f.name)
		} else {
			v, err = f.fn(x, v, a)
		}
	}
	return v, place(err, x.t.src, f.pos)
}

func (x *exec) chain(fs []filterCall, v Value, s *scope) (Value, error) {
	var err error
	for i := range fs {
		if v, err = x.filter(&fs[i], v, s); err != nil {
			return nil, err
		}
	}
	return v, nil
}

func (e *testExpr) eval(x *exec, s *scope) (Value, error) {
	v, err := e.of.eval(x, s)
	if err != nil {
		return nil, err
	}
	a, err := e.args.eval(x, s)
	if err != nil {
		return nil, err
	}
	if e.fn == nil {
		return nil, place(failf("No test named '%s' found.", e.name), x.t.src, e.pos)
	}
	if err := x.work(v); err != nil {
		return nil, place(err, x.t.src, e.pos)
	}
	ok, err := e.fn(x, v, a)
	return ok, place(err, x.t.src, e.pos)
}
