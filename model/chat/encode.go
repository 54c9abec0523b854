package chat

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hotpath-go/hotpath/model/tokenizer"
)

// Encoder turns rendered prompts into token ids. It is immutable and safe for concurrent use.
type Encoder struct {
	tok      *tokenizer.Tokenizer
	control  map[string]control
	lengths  []int // of the control tokens' texts, longest first
	first    [256]bool
	bos      int32 // -1: none
	wantsBOS bool
}

// control is a control token; some take the white space beside them.
type control struct {
	id          int32
	left, right bool
}

// NewEncoder prepares an Encoder for a tokenizer.
func NewEncoder(tok *tokenizer.Tokenizer) *Encoder {
	e := &Encoder{tok: tok, control: map[string]control{}, bos: -1}
	if id, ok := tok.BOS(); ok {
		e.bos, e.wantsBOS = id, tok.AddBOS()
	}
	var buf []int32
	single := func(text string, id int32) bool {
		buf = tok.Encode(buf[:0], text, tokenizer.Special)
		return len(buf) == 1 && buf[0] == id
	}
	lengths := map[int]bool{}
	for id := range int32(tok.Size()) {
		if !tok.IsControl(id) {
			continue
		}
		t, ok := tok.Token(id)
		if !ok || t.Text == "" || !single(t.Text, id) {
			continue
		}
		e.control[t.Text] = control{id, single("\n"+t.Text, id), single(t.Text+"\n", id)}
		lengths[len(t.Text)] = true
		e.first[t.Text[0]] = true
	}
	for n := range lengths {
		e.lengths = append(e.lengths, n)
	}
	slices.Sort(e.lengths)
	slices.Reverse(e.lengths)
	return e
}

// fixed is a stretch of the text whose ids are known.
type fixed struct {
	start, end int
	ids        []int32
	control    bool // a control token: what follows begins a text to the tokenizer
}

// Encode appends the ids of a rendered prompt to dst. Control tokens are recognised where their text
// lies wholly in the template's scaffolding; each stretch between them is encoded as one text in the
// mode where nothing becomes a control token. An assistant turn with Message.IDs keeps those ids where
// the template renders exactly the text they stand for. The text is cut at the given offsets, which
// ascend, and no token crosses a cut; at[i] is the number of ids, dst's included, before cut i.
//
// With an empty dst the ids begin a sequence: they have exactly one BOS when the template writes one
// or the tokenizer asks for one, and none otherwise. Ids that follow others go on from their text, or
// begin one where the last is a control token.
func (e *Encoder) Encode(dst []int32, r *Rendered, cuts ...int) (ids []int32, at []int) {
	splices := e.splices(r, cuts)
	parts := breaks(e.controls(r, cuts, splices), r.openings(splices))
	ids = dst
	if len(dst) == 0 && e.bos >= 0 {
		isBOS := func(f fixed) bool { return len(f.ids) > 0 && f.ids[0] == e.bos }
		if len(parts) > 0 && parts[0].start == 0 && isBOS(parts[0]) {
			for len(parts) > 1 && parts[1].start == parts[0].end && isBOS(parts[1]) && len(parts[0].ids) == 1 {
				parts = parts[1:]
				parts[0].start = 0
			}
		} else if e.wantsBOS {
			ids = append(ids, e.bos)
		}
	}
	pos, next, inside := 0, 0, len(dst) > 0 && !e.tok.IsControl(dst[len(dst)-1])
	piece := func(end int) {
		if end <= pos {
			return
		}
		encode := e.tok.EncodeAfter
		switch {
		case inside:
			encode = e.tok.EncodeInside
		case pos == 0 && len(dst) == 0:
			encode = e.tok.Encode
		}
		ids = encode(ids, r.Text[pos:end], tokenizer.Text)
		pos, inside = end, true
	}
	text := func(end int) {
		for next < len(cuts) && cuts[next] <= end {
			piece(cuts[next])
			at = append(at, len(ids))
			next++
		}
		piece(end)
	}
	for _, f := range parts {
		text(f.start)
		ids = append(ids, f.ids...)
		pos, inside = f.end, !f.control
	}
	text(len(r.Text))
	return ids, at
}

// EncodeText appends the ids of a text from outside, in which nothing becomes a control token.
func (e *Encoder) EncodeText(dst []int32, text string) []int32 {
	return e.tok.Encode(dst, text, tokenizer.Text)
}

const white = " \t\n\v\f\r"

// controls adds to the splices the control tokens that the template wrote outside them.
func (e *Encoder) controls(r *Rendered, cuts []int, splices []fixed) []fixed {
	var out []fixed
	pos := 0 // nothing before it is free
	add := func(from, to int) {
		for i := max(from, pos); i < to; i++ {
			if !e.first[r.Text[i]] {
				continue
			}
			c, n := e.find(r.Text[i:to])
			if n == 0 || crosses(cuts, i, i+n) {
				continue
			}
			f := fixed{i, i + n, []int32{c.id}, true}
			if c.left {
				low := max(pos, cutBefore(cuts, i))
				f.start = low + len(strings.TrimRight(r.Text[low:i], white))
			}
			if c.right {
				high := cutAfter(cuts, f.end, len(r.Text))
				f.end = high - len(strings.TrimLeft(r.Text[f.end:high], white))
			}
			out = append(out, f)
			pos = f.end
			i = max(i, pos-1)
		}
	}
	stretch := 0 // start of the scaffolding under way; -1: none
	start := 0
	for i := 0; i <= len(r.Spans); i++ {
		scaffold := i < len(r.Spans) && r.Spans[i].Source == Scaffold
		if !scaffold && stretch >= 0 {
			for len(splices) > 0 && splices[0].start < start {
				add(stretch, splices[0].start)
				out = append(out, splices[0])
				pos = max(pos, splices[0].end)
				stretch = splices[0].end
				splices = splices[1:]
			}
			add(stretch, start)
			stretch = -1
		} else if scaffold && stretch < 0 {
			stretch = start
		}
		if i < len(r.Spans) {
			start = r.Spans[i].End
		}
	}
	return out
}

// find returns the longest control token that s begins with, and its length.
func (e *Encoder) find(s string) (control, int) {
	for _, n := range e.lengths {
		if n <= len(s) {
			if c, ok := e.control[s[:n]]; ok {
				return c, n
			}
		}
	}
	return control{}, 0
}

// crosses reports whether a cut lies inside (start, end).
func crosses(cuts []int, start, end int) bool {
	i, _ := slices.BinarySearch(cuts, start+1)
	return i < len(cuts) && cuts[i] < end
}

func cutBefore(cuts []int, at int) int {
	i, _ := slices.BinarySearch(cuts, at+1)
	if i == 0 {
		return 0
	}
	return cuts[i-1]
}

func cutAfter(cuts []int, at, end int) int {
	i, _ := slices.BinarySearch(cuts, at)
	if i == len(cuts) {
		return end
	}
	return cuts[i]
}

// splices returns the assistant turns whose own ids stand for exactly what the template rendered.
func (e *Encoder) splices(r *Rendered, cuts []int) []fixed {
	if len(r.ids) == 0 {
		return nil
	}
	type extent struct{ first, last int }
	extents := map[int]extent{}
	start := 0
	for _, s := range r.Spans {
		if i, ok := s.Source.Message(); ok && len(r.ids[i]) > 0 {
			x, seen := extents[i]
			if !seen {
				x.first = start
			}
			x.last = s.End
			extents[i] = x
		}
		start = s.End
	}
	var out []fixed
	low := 0
	for i, ids := range r.ids {
		x, ok := extents[i]
		if !ok {
			continue
		}
		for _, ids := range [][]int32{ids, e.withoutEnd(ids)} {
			f, ok := e.place(r, ids, x.first, x.last, low)
			if ok && !crosses(cuts, f.start, f.end) && r.only(i, f.start, f.end) {
				out = append(out, f)
				low = f.end
				break
			}
		}
	}
	return out
}

// openings returns where the scaffolding before each kept turn begins to open it: there a prompt was
// cut when the turn was generated, so no token crosses it now either.
func (r *Rendered) openings(splices []fixed) []int {
	m, ok := r.Last(ReplyStart)
	if !ok {
		return nil
	}
	opening := r.Text[m.Offset:]
	var at []int
	for _, f := range splices {
		if opening != "" && strings.HasSuffix(r.Text[:f.start], opening) {
			at = append(at, f.start-len(opening))
		}
	}
	return at
}

// breaks adds empty stretches at the given places, in order, where no other one is.
func breaks(parts []fixed, at []int) []fixed {
	for _, pos := range at {
		i, _ := slices.BinarySearchFunc(parts, pos, func(f fixed, pos int) int { return cmp.Compare(f.start, pos) })
		if i == 0 || parts[i-1].end <= pos {
			parts = slices.Insert(parts, i, fixed{start: pos, end: pos})
		}
	}
	return parts
}

// withoutEnd drops the ids at the end that end a generation.
func (e *Encoder) withoutEnd(ids []int32) []int32 {
	eog := e.tok.EOG()
	for len(ids) > 0 && slices.Contains(eog, ids[len(ids)-1]) {
		ids = ids[:len(ids)-1]
	}
	return ids
}

// decode returns the text of ids that follow others.
func (e *Encoder) decode(ids []int32) string {
	var b strings.Builder
	s := e.tok.Continue(false)
	for _, id := range ids {
		b.WriteString(s.Push(id))
	}
	b.WriteString(s.Flush())
	return b.String()
}

// place finds the text of ids around [first, last), at or after low.
func (e *Encoder) place(r *Rendered, ids []int32, first, last, low int) (fixed, bool) {
	if len(ids) == 0 {
		return fixed{}, false
	}
	text := e.decode(ids)
	from := max(low, last-len(text))
	to := min(len(r.Text), first+len(text))
	if text == "" || from > first || to < last {
		return fixed{}, false
	}
	i := strings.Index(r.Text[from:to], text)
	if i < 0 {
		return fixed{}, false
	}
	return fixed{start: from + i, end: from + i + len(text), ids: ids}, true
}

// only reports whether [start, end) holds data of no other message and none of the tools.
func (r *Rendered) only(message, start, end int) bool {
	at := 0
	for _, s := range r.Spans {
		if at < end && s.End > start && s.Source != Scaffold {
			if i, ok := s.Source.Message(); !ok || i != message {
				return false
			}
		}
		at = s.End
	}
	return true
}
