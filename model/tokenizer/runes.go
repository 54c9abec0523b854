package tokenizer

// runeTable maps characters to token ids, -1 where there is none. Pages are made as needed.
type runeTable struct {
	pages [0x1100]*[256]int32
}

func (t *runeTable) set(r rune, id int32) {
	p := t.pages[r>>8]
	if p == nil {
		p = new([256]int32)
		for i := range p {
			p[i] = -1
		}
		t.pages[r>>8] = p
	}
	p[r&0xFF] = id
}

func (t *runeTable) get(r rune) int32 {
	if p := t.pages[r>>8]; p != nil {
		return p[r&0xFF]
	}
	return -1
}
