package sample

import "slices"

// Counts is the token history that penalties look at: which tokens the prompt and the output
// hold, and how often the output holds them. The zero value is an empty history. Adding is
// amortised constant time; a Counts is for one goroutine at a time.
type Counts struct {
	index  map[int32]int32 // id to place in seen
	seen   []seen
	output int
}

type seen struct {
	id     int32
	output uint32
}

// AddPrompt adds tokens of the prompt.
func (c *Counts) AddPrompt(ids ...int32) {
	for _, id := range ids {
		c.place(id)
	}
}

// AddOutput adds a chosen token.
func (c *Counts) AddOutput(id int32) {
	c.seen[c.place(id)].output++
	c.output++
}

// Output returns how often the output holds the id.
func (c *Counts) Output(id int32) int {
	if i, ok := c.index[id]; ok {
		return int(c.seen[i].output)
	}
	return 0
}

// Len returns the number of output tokens.
func (c *Counts) Len() int { return c.output }

// Clone returns an independent copy, for a fork.
func (c *Counts) Clone() *Counts {
	d := &Counts{seen: slices.Clone(c.seen), output: c.output, index: make(map[int32]int32, len(c.index))}
	for id, i := range c.index {
		d.index[id] = i
	}
	return d
}

// Reset empties the history and keeps its memory.
func (c *Counts) Reset() {
	clear(c.index)
	c.seen, c.output = c.seen[:0], 0
}

func (c *Counts) place(id int32) int32 {
	if i, ok := c.index[id]; ok {
		return i
	}
	if c.index == nil {
		c.index = make(map[int32]int32)
	}
	i := int32(len(c.seen))
	c.index[id] = i
	c.seen = append(c.seen, seen{id: id})
	return i
}
