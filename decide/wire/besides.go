package wire

import "strconv"

// besides are the fields that vLLM's route and our own ones read beside state and questions.
type besides struct{ instructions, salt, priority, id node }

// into adds the fields, where the dialect reads them, to those of an object.
func (b *besides) into(d Dialect, fields map[string]*node) {
	if d.engineFields {
		fields["instructions"], fields["cache_salt"] = &b.instructions, &b.salt
		fields["priority"], fields["request_id"] = &b.priority, &b.id
	}
}

// set stores what was read.
func (b *besides) set(c *Call) error {
	for _, f := range []struct {
		n   node
		dst *string
	}{{b.instructions, &c.Request.Instructions}, {b.salt, &c.Request.Namespace}, {b.id, &c.ID}} {
		if !f.n.null() {
			if err := f.n.want(`"`, "a string"); err != nil {
				return err
			}
			*f.dst = f.n.str()
		}
	}
	if !b.priority.null() {
		x, err := strconv.ParseInt(b.priority.text, 10, 32)
		if err != nil {
			return b.priority.fail(CodeType, "must be a whole number of 32 bits")
		}
		c.Request.Priority = -int(x) // on the wire, as vLLM has it, lower runs first
	}
	return nil
}

// besides writes the fields that set reads.
func (d Dialect) besides(c *Call) []member {
	if !d.engineFields {
		return nil
	}
	var list []member
	if s := c.Request.Instructions; s != "" {
		list = append(list, member{"instructions", s})
	}
	if s := c.Request.Namespace; s != "" {
		list = append(list, member{"cache_salt", s})
	}
	if p := c.Request.Priority; p != 0 {
		list = append(list, member{"priority", -p})
	}
	if c.ID != "" {
		list = append(list, member{"request_id", c.ID})
	}
	return list
}
