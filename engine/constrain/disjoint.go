package constrain

// disjoint reports whether it is plain to see that no value satisfies both sets of schemas: they
// allow different types, values or, in a property that one of them requires, values again.
// False means nothing: the sets' grammar decides. Alternatives inside the sets are not looked at.
func (c *schemaCompiler) disjoint(a, b []item, depth int) (bool, error) {
	x, err := c.own(a)
	if err != nil {
		return false, err
	}
	y, err := c.own(b)
	if err != nil {
		return false, err
	}
	both := kindAll
	var xs, ys *facts // with an enum
	for _, f := range x {
		both &= f.kinds
		if f.hasEnum {
			xs = f
		}
	}
	for _, f := range y {
		both &= f.kinds
		if f.hasEnum {
			ys = f
		}
	}
	if both == 0 {
		return true, nil
	}
	if xs != nil && ys != nil {
		for k := range xs.enumKeys {
			if ys.enumKeys[k] {
				return false, nil
			}
		}
		return true, nil
	}
	if both != kindObject || depth > 3 {
		return false, nil
	}
	for _, fx := range x {
		for _, fy := range y {
			for _, p := range fx.props {
				for _, q := range fy.props {
					if p.name != q.name || !fx.requires(p.name) && !fy.requires(p.name) {
						continue
					}
					if apart, err := c.disjoint(of(p.value), of(q.value), depth+1); apart || err != nil {
						return apart, err
					}
				}
			}
		}
	}
	return false, nil
}

func (f *facts) requires(name string) bool {
	for _, r := range f.required {
		if r == name {
			return true
		}
	}
	return false
}

// own returns what a set's schemas say by themselves.
func (c *schemaCompiler) own(items []item) ([]*facts, error) {
	owns, _, err := c.expand(items)
	if err != nil {
		return nil, err
	}
	var all []*facts
	for _, o := range owns {
		f, err := c.facts(o.n)
		if err != nil {
			return nil, err
		}
		if f.never {
			f = &facts{maxLen: -1, maxItems: -1, maxProps: -1} // no type at all
		}
		all = append(all, f)
	}
	return all, nil
}
