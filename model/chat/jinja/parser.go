package jinja

import "slices"

// maxSource bounds a template, and maxParse how deep its expressions and blocks may nest.
const (
	maxSource = 4 << 20
	maxParse  = 300
)

type parser struct {
	src     string
	toks    []token
	i       int
	depth   int
	names   map[string]int32 // every variable name gets a number
	list    []string
	macros  []*macroDef // the macros around the place, innermost last
	loops   int         // loops around the place, within the innermost macro
	soft    int         // over 0 where an unknown filter is an error only when reached
	unknown error       // the first unknown filter or test of the statement that is surely reached
}

func (p *parser) id(name string) int32 {
	n, ok := p.names[name]
	if !ok {
		n = int32(len(p.list))
		p.names[name] = n
		p.list = append(p.list, name)
	}
	return n
}

func (p *parser) cur() token { return p.toks[p.i] }

func (p *parser) next() token {
	t := p.toks[p.i]
	if t.kind != tokEOF {
		p.i++
	}
	return t
}

func (p *parser) fail(t token, format string, a ...any) error {
	return syntaxErr(p.src, int(t.pos), format, a...)
}

func (p *parser) isOp(op string) bool { t := p.cur(); return t.kind == tokOp && t.text == op }

func (p *parser) isName(name string) bool { t := p.cur(); return t.kind == tokName && t.text == name }

func (p *parser) skipOp(op string) bool {
	if p.isOp(op) {
		p.i++
		return true
	}
	return false
}

func (p *parser) skipName(name string) bool {
	if p.isName(name) {
		p.i++
		return true
	}
	return false
}

func (p *parser) expectOp(op string) error {
	if !p.skipOp(op) {
		return p.fail(p.cur(), "expected token '%s', got %v", op, p.cur())
	}
	return nil
}

func (p *parser) expectName() (token, error) {
	t := p.next()
	if t.kind != tokName {
		return t, p.fail(t, "expected token 'name', got %v", t)
	}
	return t, nil
}

// enter counts a level of nesting; the caller leaves with p.depth--.
func (p *parser) enter() error {
	if p.depth++; p.depth > maxParse {
		return p.fail(p.cur(), "nested deeper than %d", maxParse)
	}
	return nil
}

// body parses up to a block tag with one of the given names and stops after that name.
func (p *parser) body(ends ...string) ([]stmt, string, error) {
	if err := p.enter(); err != nil {
		return nil, "", err
	}
	defer func() { p.depth-- }()
	var out []stmt
	for {
		t := p.next()
		switch t.kind {
		case tokEOF:
			if len(ends) == 0 {
				return out, "", nil
			}
			return nil, "", p.fail(t, "unexpected end of template: looking for '%s'", ends[0])
		case tokData:
			out = append(out, &dataStmt{lit(t.text)})
		case tokVarBegin:
			e, err := p.tuple(true)
			if err != nil {
				return nil, "", err
			}
			if err := p.end(tokVarEnd); err != nil {
				return nil, "", err
			}
			out = append(out, &printStmt{e, t.pos})
		case tokBlockBegin:
			name, err := p.expectName()
			if err != nil {
				return nil, "", err
			}
			if slices.Contains(ends, name.text) {
				return out, name.text, nil
			}
			s, err := p.statement(name)
			if err != nil {
				return nil, "", err
			}
			out = append(out, s)
		default:
			return nil, "", p.fail(t, "unexpected %v", t)
		}
	}
}

// end expects the end of a tag. A tag that names an unknown filter or test fails here.
func (p *parser) end(k kind) error {
	if err := p.unknown; err != nil {
		p.unknown = nil
		if p.soft == 0 {
			return err
		}
	}
	if t := p.next(); t.kind != k {
		what := "end of statement block"
		if k == tokVarEnd {
			what = "end of print statement"
		}
		return p.fail(t, "expected token '%s', got %v", what, t)
	}
	return nil
}

// block parses a body after its opening tag's end, and the closing tag.
func (p *parser) block(end string) ([]stmt, error) {
	if err := p.end(tokBlockEnd); err != nil {
		return nil, err
	}
	b, _, err := p.body(end)
	if err != nil {
		return nil, err
	}
	return b, p.end(tokBlockEnd)
}

func (p *parser) statement(name token) (stmt, error) {
	switch name.text {
	case "if":
		return p.ifStmt()
	case "for":
		return p.forStmt(name)
	case "set":
		return p.setStmt(name)
	case "macro":
		return p.macroStmt(name)
	case "call":
		return p.callStmt(name)
	case "filter":
		return p.filterStmt(name)
	case "with":
		return p.withStmt()
	case "generation":
		b, err := p.block("endgeneration")
		return &groupStmt{b}, err
	case "print":
		var out groupStmt
		for p.cur().kind != tokBlockEnd {
			if len(out.body) > 0 {
				if err := p.expectOp(","); err != nil {
					return nil, err
				}
			}
			e, err := p.expression(true)
			if err != nil {
				return nil, err
			}
			out.body = append(out.body, &printStmt{e, name.pos})
		}
		return &out, p.end(tokBlockEnd)
	case "break", "continue":
		if p.loops == 0 {
			return nil, p.fail(name, "'%s' outside of a loop", name.text)
		}
		c := ctlContinue
		if name.text == "break" {
			c = ctlBreak
		}
		return &ctlStmt{c}, p.end(tokBlockEnd)
	case "include", "import", "from", "extends", "block", "autoescape":
		return nil, p.fail(name, "'%s' is left out: a template is one closed text", name.text)
	}
	return nil, p.fail(name, "Encountered unknown tag '%s'.", name.text)
}

func (p *parser) ifStmt() (stmt, error) {
	out := &ifStmt{}
	for {
		cond, err := p.tuple(false)
		if err != nil {
			return nil, err
		}
		if err := p.end(tokBlockEnd); err != nil {
			return nil, err
		}
		p.soft++
		b, end, err := p.body("elif", "else", "endif")
		p.soft--
		if err != nil {
			return nil, err
		}
		out.arms = append(out.arms, ifArm{cond, b})
		if end == "elif" {
			continue
		}
		if end == "else" {
			p.soft++
			out.other, err = p.block("endif")
			p.soft--
			return out, err
		}
		return out, p.end(tokBlockEnd)
	}
}

func (p *parser) forStmt(at token) (stmt, error) {
	out := &forStmt{pos: at.pos}
	var err error
	if out.target, err = p.target(true); err != nil {
		return nil, err
	}
	if out.target.attr != "" {
		return nil, p.fail(at, "can't assign to an attribute in a loop")
	}
	if !p.skipName("in") {
		return nil, p.fail(p.cur(), "expected token 'in', got %v", p.cur())
	}
	if out.iter, err = p.tuple(false, "recursive"); err != nil {
		return nil, err
	}
	if p.skipName("if") {
		if out.cond, err = p.expression(true); err != nil {
			return nil, err
		}
	}
	out.recursive = p.skipName("recursive")
	if err := p.end(tokBlockEnd); err != nil {
		return nil, err
	}
	out.loopID = p.id("loop")
	p.loops++
	b, end, err := p.body("endfor", "else")
	p.loops--
	if err != nil {
		return nil, err
	}
	out.body = b
	if end == "else" {
		out.other, err = p.block("endfor")
		return out, err
	}
	return out, p.end(tokBlockEnd)
}

// target parses what is assigned to: names, tuples of names, or, where allowed, an attribute of a namespace.
func (p *parser) target(tuples bool) (*target, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	one := func() (*target, error) {
		if p.skipOp("(") {
			t, err := p.target(true)
			if err != nil {
				return nil, err
			}
			return t, p.expectOp(")")
		}
		n, err := p.expectName()
		if err != nil {
			return nil, err
		}
		if slices.Contains([]string{"true", "false", "none", "True", "False", "None"}, n.text) {
			return nil, p.fail(n, "can't assign to '%s'", n.text)
		}
		t := &target{pos: n.pos, id: p.id(n.text), name: n.text}
		if p.isOp(".") {
			p.i++
			a, err := p.expectName()
			if err != nil {
				return nil, err
			}
			t.attr = a.text
		}
		return t, nil
	}
	first, err := one()
	if err != nil || !tuples || !p.isOp(",") {
		return first, err
	}
	out := &target{pos: first.pos, parts: []*target{first}}
	for p.skipOp(",") {
		if t := p.cur(); t.kind != tokName && !p.isOp("(") || p.isName("in") {
			break
		}
		t, err := one()
		if err != nil {
			return nil, err
		}
		out.parts = append(out.parts, t)
	}
	return out, nil
}

func (p *parser) setStmt(at token) (stmt, error) {
	t, err := p.target(true)
	if err != nil {
		return nil, err
	}
	if p.skipOp("=") {
		e, err := p.tuple(true)
		if err != nil {
			return nil, err
		}
		return &setStmt{t, e}, p.end(tokBlockEnd)
	}
	var chain []filterCall
	if p.skipOp("|") {
		if chain, err = p.filters(); err != nil {
			return nil, err
		}
	}
	b, err := p.block("endset")
	return &setBlock{at.pos, t, chain, b}, err
}

// signature parses the parameters of a macro or call block.
func (p *parser) signature(m *macroDef) error {
	if err := p.expectOp("("); err != nil {
		return err
	}
	for !p.isOp(")") {
		if len(m.params) > 0 {
			if err := p.expectOp(","); err != nil {
				return err
			}
		}
		n, err := p.expectName()
		if err != nil {
			return err
		}
		pr := param{id: p.id(n.text), name: n.text}
		if p.skipOp("=") {
			if pr.def, err = p.expression(true); err != nil {
				return err
			}
		} else if len(m.params) > 0 && m.params[len(m.params)-1].def != nil {
			return p.fail(n, "non-default argument follows default argument")
		}
		m.params = append(m.params, pr)
	}
	return p.expectOp(")")
}

// macroBody parses a macro's body, noting which implicit names it uses.
func (p *parser) macroBody(m *macroDef, end string) error {
	loops := p.loops
	p.loops = 0
	p.macros = append(p.macros, m)
	b, err := p.block(end)
	p.macros = p.macros[:len(p.macros)-1]
	p.loops = loops
	m.body = b
	return err
}

func (p *parser) macroStmt(at token) (stmt, error) {
	n, err := p.expectName()
	if err != nil {
		return nil, err
	}
	m := p.newMacro(at.pos, n.text)
	if err := p.signature(m); err != nil {
		return nil, err
	}
	return &macroStmt{m, p.id(n.text)}, p.macroBody(m, "endmacro")
}

func (p *parser) newMacro(pos int32, name string) *macroDef {
	return &macroDef{pos: pos, name: name, callerID: p.id("caller"), varargsID: p.id("varargs"), kwargsID: p.id("kwargs")}
}

func (p *parser) callStmt(at token) (stmt, error) {
	m := p.newMacro(at.pos, "caller")
	if p.isOp("(") {
		if err := p.signature(m); err != nil {
			return nil, err
		}
	}
	e, err := p.expression(true)
	if err != nil {
		return nil, err
	}
	call, ok := e.(*callExpr)
	if !ok {
		return nil, p.fail(at, "expected call")
	}
	return &callStmt{call, m}, p.macroBody(m, "endcall")
}

func (p *parser) filterStmt(at token) (stmt, error) {
	chain, err := p.filters()
	if err != nil {
		return nil, err
	}
	b, err := p.block("endfilter")
	return &filterStmt{at.pos, chain, b}, err
}

func (p *parser) withStmt() (stmt, error) {
	out := &withStmt{}
	for p.cur().kind != tokBlockEnd {
		if len(out.targets) > 0 {
			if err := p.expectOp(","); err != nil {
				return nil, err
			}
		}
		t, err := p.target(false)
		if err != nil {
			return nil, err
		}
		if err := p.expectOp("="); err != nil {
			return nil, err
		}
		e, err := p.expression(true)
		if err != nil {
			return nil, err
		}
		out.targets, out.values = append(out.targets, t), append(out.values, e)
	}
	var err error
	out.body, err = p.block("endwith")
	return out, err
}
