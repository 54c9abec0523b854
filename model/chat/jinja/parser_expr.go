package jinja

import (
	"slices"
	"strconv"
)

// expression parses one expression, with or without a trailing "a if b else c".
func (p *parser) expression(cond bool) (expr, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	if !cond {
		return p.or()
	}
	unknown := p.unknown
	e, err := p.or()
	for n := 0; err == nil && p.skipName("if"); n++ {
		if n == maxParse {
			return nil, p.fail(p.cur(), "nested deeper than %d", maxParse)
		}
		c := &condExpr{then: e}
		if c.cond, err = p.or(); err == nil && p.skipName("else") {
			c.other, err = p.expression(true)
		}
		p.unknown = unknown // a part of a choice may never be reached
		e = c
	}
	return e, err
}

// tuple parses an expression, or several with commas between, which make a tuple.
func (p *parser) tuple(cond bool, ends ...string) (expr, error) {
	first, err := p.expression(cond)
	if err != nil || !p.isOp(",") {
		return first, err
	}
	return p.tupleRest(first, cond, ends...)
}

func (p *parser) tupleRest(first expr, cond bool, ends ...string) (expr, error) {
	out := &tupleExpr{items: []expr{first}}
	for p.skipOp(",") {
		t := p.cur()
		if t.kind == tokVarEnd || t.kind == tokBlockEnd || p.isOp(")") || t.kind == tokName && slices.Contains(ends, t.text) {
			break
		}
		e, err := p.expression(cond)
		if err != nil {
			return nil, err
		}
		out.items = append(out.items, e)
	}
	return out, nil
}

// chain guards a loop that nests an expression once a turn.
func (p *parser) chain(n int) error {
	if n >= maxParse {
		return p.fail(p.cur(), "a chain of more than %d operators", maxParse)
	}
	return nil
}

func (p *parser) or() (expr, error) {
	left, err := p.and()
	for n := 0; err == nil && p.skipName("or"); n++ {
		if err = p.chain(n); err != nil {
			return nil, err
		}
		var right expr
		right, err = p.and()
		left = &logicExpr{left, right, true}
	}
	return left, err
}

func (p *parser) and() (expr, error) {
	left, err := p.not()
	for n := 0; err == nil && p.skipName("and"); n++ {
		if err = p.chain(n); err != nil {
			return nil, err
		}
		var right expr
		right, err = p.not()
		left = &logicExpr{left, right, false}
	}
	return left, err
}

func (p *parser) not() (expr, error) {
	n := 0
	for p.skipName("not") {
		n++
	}
	e, err := p.compare()
	for ; n > 0 && err == nil; n = n - 1 {
		if _, double := e.(*notExpr); double && n >= 2 {
			n-- // not not not x is not x
			continue
		}
		e = &notExpr{e}
	}
	return e, err
}

func (p *parser) compare() (expr, error) {
	left, err := p.sum()
	if err != nil {
		return nil, err
	}
	out := &compareExpr{first: left}
	for {
		t := p.cur()
		op := ""
		switch {
		case t.kind == tokOp && slices.Contains([]string{"==", "!=", "<", "<=", ">", ">="}, t.text):
			op = t.text
			p.i++
		case p.isName("in"):
			op = "in"
			p.i++
		case p.isName("not") && p.toks[p.i+1].kind == tokName && p.toks[p.i+1].text == "in":
			op = "not in"
			p.i += 2
		}
		if op == "" {
			break
		}
		right, err := p.sum()
		if err != nil {
			return nil, err
		}
		out.rest = append(out.rest, compareTo{op, right, t.pos})
	}
	if out.rest == nil {
		return left, nil
	}
	return out, nil
}

func (p *parser) binary(sub func() (expr, error), ops ...string) (expr, error) {
	left, err := sub()
	for n := 0; err == nil; n++ {
		t := p.cur()
		if t.kind != tokOp || !slices.Contains(ops, t.text) {
			return left, nil
		}
		if err = p.chain(n); err != nil {
			return nil, err
		}
		p.i++
		var right expr
		right, err = sub()
		left = &binaryExpr{t.text, left, right, t.pos}
	}
	return left, err
}

func (p *parser) sum() (expr, error) { return p.binary(p.concat, "+", "-") }

func (p *parser) concat() (expr, error) {
	first, err := p.product()
	if err != nil || !p.isOp("~") {
		return first, err
	}
	out := &concatExpr{items: []expr{first}, pos: p.cur().pos}
	for p.skipOp("~") {
		e, err := p.product()
		if err != nil {
			return nil, err
		}
		out.items = append(out.items, e)
	}
	return out, nil
}

func (p *parser) product() (expr, error) { return p.binary(p.power, "*", "/", "//", "%") }

func (p *parser) power() (expr, error) {
	return p.binary(func() (expr, error) { return p.unary(true) }, "**")
}

func (p *parser) unary(filters bool) (expr, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	t := p.cur()
	var e expr
	var err error
	if t.kind == tokOp && (t.text == "-" || t.text == "+") {
		p.i++
		e, err = p.unary(false)
		e = &unaryExpr{t.text, e, t.pos}
	} else {
		e, err = p.primary()
	}
	if err == nil {
		e, err = p.postfix(e)
	}
	if err == nil && filters {
		e, err = p.filtered(e)
	}
	return e, err
}

func (p *parser) primary() (expr, error) {
	t := p.next()
	switch t.kind {
	case tokName:
		switch t.text {
		case "true", "True":
			return &constExpr{true}, nil
		case "false", "False":
			return &constExpr{false}, nil
		case "none", "None":
			return &constExpr{nil}, nil
		}
		p.noteImplicit(t.text)
		return &nameExpr{p.id(t.text), t.text, t.pos}, nil
	case tokString:
		s := t.text
		for p.cur().kind == tokString {
			s += p.next().text
		}
		return &constExpr{lit(s)}, nil
	case tokInt:
		if len(t.text) > 2 && t.text[0] == '0' && t.text[1] > '9' {
			n, err := strconv.ParseInt(t.text, 0, 64)
			if err != nil {
				return nil, p.fail(t, "number too large: %s", t.text)
			}
			return &constExpr{n}, nil
		}
		v, err := number(t.text)
		if err != nil {
			return nil, p.fail(t, "malformed number %s", t.text)
		}
		return &constExpr{v}, nil
	case tokFloat:
		f, _ := strconv.ParseFloat(t.text, 64)
		return &constExpr{f}, nil
	case tokOp:
		switch t.text {
		case "(":
			if p.skipOp(")") {
				return &tupleExpr{}, nil
			}
			e, err := p.tuple(true)
			if err != nil {
				return nil, err
			}
			return e, p.expectOp(")")
		case "[":
			return p.listLiteral()
		case "{":
			return p.mapLiteral(t)
		}
	}
	return nil, p.fail(t, "unexpected %v", t)
}

// noteImplicit records the use of the names that a macro offers only to bodies that use them.
func (p *parser) noteImplicit(name string) {
	for _, m := range p.macros {
		switch name {
		case "caller":
			m.caller = true
		case "varargs":
			m.varargs = true
		case "kwargs":
			m.kwargs = true
		}
	}
}

func (p *parser) listLiteral() (expr, error) {
	out := &listExpr{}
	for !p.isOp("]") {
		if len(out.items) > 0 {
			if err := p.expectOp(","); err != nil {
				return nil, err
			}
			if p.isOp("]") {
				break
			}
		}
		e, err := p.expression(true)
		if err != nil {
			return nil, err
		}
		out.items = append(out.items, e)
	}
	return out, p.expectOp("]")
}

func (p *parser) mapLiteral(at token) (expr, error) {
	out := &mapExpr{pos: at.pos}
	for !p.isOp("}") {
		if len(out.keys) > 0 {
			if err := p.expectOp(","); err != nil {
				return nil, err
			}
			if p.isOp("}") {
				break
			}
		}
		k, err := p.expression(true)
		if err != nil {
			return nil, err
		}
		if err := p.expectOp(":"); err != nil {
			return nil, err
		}
		v, err := p.expression(true)
		if err != nil {
			return nil, err
		}
		out.keys, out.vals = append(out.keys, k), append(out.vals, v)
	}
	return out, p.expectOp("}")
}

func (p *parser) postfix(e expr) (expr, error) {
	for n := 0; ; n++ {
		if err := p.chain(n); err != nil {
			return nil, err
		}
		t := p.cur()
		if t.kind != tokOp {
			return e, nil
		}
		var err error
		switch t.text {
		case ".":
			p.i++
			a := p.next()
			switch a.kind {
			case tokName:
				e = &attrExpr{e, a.text, a.pos}
			case tokInt:
				var v Value
				if v, err = number(a.text); err != nil {
					return nil, p.fail(a, "malformed number %s", a.text)
				}
				e = &indexExpr{e, &constExpr{v}, a.pos}
			default:
				return nil, p.fail(a, "expected name or number")
			}
		case "[":
			e, err = p.subscript(e)
		case "(":
			e, err = p.call(e)
		default:
			return e, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (p *parser) subscript(e expr) (expr, error) {
	at := p.next()
	if p.isOp("]") {
		return nil, p.fail(p.cur(), "expected subscript expression")
	}
	var s sliceExpr
	parts := []*expr{&s.lo, &s.hi, &s.step}
	colons := 0
	for !p.isOp("]") {
		if p.skipOp(":") {
			if colons++; colons > 2 {
				return nil, p.fail(p.cur(), "a slice has at most three parts")
			}
			continue
		}
		if p.isOp(",") && colons == 0 && s.lo != nil {
			idx, err := p.tupleRest(s.lo, true)
			if err != nil {
				return nil, err
			}
			return &indexExpr{e, idx, at.pos}, p.expectOp("]")
		}
		if *parts[colons] != nil {
			return nil, p.fail(p.cur(), "expected token ']', got %v", p.cur())
		}
		v, err := p.expression(true)
		if err != nil {
			return nil, err
		}
		*parts[colons] = v
	}
	p.i++
	if colons == 0 {
		return &indexExpr{e, s.lo, at.pos}, nil
	}
	s.of, s.pos = e, at.pos
	return &s, nil
}

func (p *parser) callArgs() (*callList, error) {
	if err := p.expectOp("("); err != nil {
		return nil, err
	}
	out := &callList{}
	for first := true; !p.isOp(")"); first = false {
		if !first {
			if err := p.expectOp(","); err != nil {
				return nil, err
			}
			if p.isOp(")") {
				break
			}
		}
		t := p.cur()
		var err error
		switch {
		case p.skipOp("**"):
			out.starKw, err = p.expression(true)
		case p.skipOp("*"):
			if out.star != nil || out.starKw != nil {
				return nil, p.fail(t, "invalid syntax for function call expression")
			}
			out.star, err = p.expression(true)
		case t.kind == tokName && p.toks[p.i+1].kind == tokOp && p.toks[p.i+1].text == "=":
			p.i += 2
			var e expr
			e, err = p.expression(true)
			out.kw = append(out.kw, kwExpr{t.text, e})
		default:
			if len(out.kw) > 0 || out.star != nil || out.starKw != nil {
				return nil, p.fail(t, "invalid syntax for function call expression")
			}
			var e expr
			e, err = p.expression(true)
			out.pos = append(out.pos, e)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, p.expectOp(")")
}

func (p *parser) call(fn expr) (expr, error) {
	pos := p.cur().pos
	a, err := p.callArgs()
	return &callExpr{fn, a, pos}, err
}

// filters parses "name(args)|name(args)…", the first bar already read.
func (p *parser) filters() ([]filterCall, error) {
	var out []filterCall
	for {
		if err := p.chain(len(out)); err != nil {
			return nil, err
		}
		f, err := p.filter()
		if err != nil {
			return nil, err
		}
		if out = append(out, f); !p.skipOp("|") {
			return out, nil
		}
	}
}

func (p *parser) dotted() (token, error) {
	n, err := p.expectName()
	for err == nil && p.skipOp(".") {
		var more token
		more, err = p.expectName()
		n.text += "." + more.text
	}
	return n, err
}

func (p *parser) filter() (filterCall, error) {
	n, err := p.dotted()
	if err != nil {
		return filterCall{}, err
	}
	f := filterCall{name: n.text, fn: filterNamed(n.text), pos: n.pos, args: &callList{}}
	if f.fn == nil && p.unknown == nil {
		p.unknown = p.fail(n, "No filter named '%s'.", n.text)
	}
	if p.isOp("(") {
		f.args, err = p.callArgs()
	}
	return f, err
}

// filtered parses filters, tests, and calls of their results.
func (p *parser) filtered(e expr) (expr, error) {
	for n := 0; ; n++ {
		if err := p.chain(n); err != nil {
			return nil, err
		}
		var err error
		switch {
		case p.skipOp("|"):
			var f filterCall
			f, err = p.filter()
			e = &filterExpr{e, f}
		case p.isName("is"):
			e, err = p.test(e)
		case p.isOp("("):
			e, err = p.call(e)
		default:
			return e, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (p *parser) test(e expr) (expr, error) {
	p.i++
	negated := p.skipName("not")
	n, err := p.dotted()
	if err != nil {
		return nil, err
	}
	out := &testExpr{of: e, name: n.text, fn: testNamed(n.text), args: &callList{}, pos: n.pos}
	if out.fn == nil && p.unknown == nil {
		p.unknown = p.fail(n, "No test named '%s'.", n.text)
	}
	t := p.cur()
	switch {
	case p.isOp("("):
		out.args, err = p.callArgs()
	case t.kind == tokString || t.kind == tokInt || t.kind == tokFloat || p.isOp("[") || p.isOp("{") ||
		t.kind == tokName && !slices.Contains([]string{"else", "or", "and", "if", "recursive"}, t.text):
		if t.kind == tokName && t.text == "is" {
			return nil, p.fail(t, "You cannot chain multiple tests with is")
		}
		var a expr
		if a, err = p.primary(); err == nil {
			a, err = p.postfix(a)
		}
		out.args.pos = []expr{a}
	}
	if err != nil {
		return nil, err
	}
	if negated {
		return &notExpr{out}, nil
	}
	return out, nil
}
