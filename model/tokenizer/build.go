package tokenizer

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"slices"
	"strings"
	"unicode/utf8"
)

// description is what both file formats come down to.
type description struct {
	vocab  vocab
	added  []addedToken
	merges []merge

	byteLevel    bool
	byteFallback bool
	ignoreMerges bool
	wholeLines   bool
	fuseUnknown  bool
	unknown      int32
	virtual      []string

	norm   normalizer
	blanks blanks
	pre    preTokenizer
	dec    decoder

	bos, eos       int32
	addBOS, addEOS bool
	prefix, suffix []int32
	ends           []int32 // ids that the file says end a generation
}

// preTokenizer is a list of splitters with the name that stands for them in the hash.
type preTokenizer struct {
	list []splitter
	name string
}

func (p *preTokenizer) add(name string, s ...splitter) {
	p.list = append(p.list, s...)
	p.name += name + ";"
}

// build makes the Tokenizer. The description's ids are in range; its merges name existing tokens.
func (d *description) build() (*Tokenizer, error) {
	if err := d.norm.checkGrowth(); err != nil {
		return nil, err
	}
	t := &Tokenizer{
		vocab: d.vocab, dec: d.dec, norm: d.norm, blanks: d.blanks, pre: d.pre.list,
		byteLevel: d.byteLevel, ignoreMerges: d.ignoreMerges, wholeLines: d.wholeLines, fuseUnknown: d.fuseUnknown,
		unknown: d.unknown, virtual: d.virtual,
		bos: d.bos, eos: d.eos, addBOS: d.addBOS, addEOS: d.addEOS, prefix: d.prefix, suffix: d.suffix,
	}
	if t.dec.byteLevel {
		t.dec.fromRunes = runeBytes()
	}
	if err := t.fillPieces(&t.dec); err != nil {
		return nil, err
	}
	t.fillSymbols(d)
	t.fillPairs(d)
	if err := t.fillAdded(d.added); err != nil {
		return nil, err
	}
	t.eog = t.ends(d.ends)
	t.hash = d.sum(t)
	return t, nil
}

// fillSymbols sets what the characters or bytes of a word start as.
func (t *Tokenizer) fillSymbols(d *description) {
	for i := range t.bytes {
		t.bytes[i] = -1
	}
	if t.byteLevel {
		t.byteRunes = byteRunes()
		for b, r := range t.byteRunes {
			if id, ok := t.id[string(r)]; ok && t.mergeable(id) {
				t.bytes[b] = id
			}
		}
		return
	}
	all := true
	for b := range t.bytes {
		id, ok := t.id[byteTokenName(byte(b))]
		if ok && d.byteFallback && t.mergeable(id) {
			t.bytes[b] = id
		} else {
			all = false
		}
	}
	for text, id := range t.id {
		if r, n := utf8.DecodeRuneInString(text); n == len(text) && n > 0 && (r != utf8.RuneError || n > 1) && t.mergeable(id) {
			t.runes.set(r, id)
		}
	}
	for i, text := range t.virtual {
		r, _ := utf8.DecodeRuneInString(text)
		t.runes.set(r, int32(t.Size()+i))
	}
	r, _ := utf8.DecodeRuneInString(blank)
	t.cutSpaces = !t.ignoreMerges && (all || t.runes.get(r) >= 0)
}

// fillPairs sets the merge table. Merges into tokens that text must not produce are left out.
func (t *Tokenizer) fillPairs(d *description) {
	t.pairs = newPairTable(len(d.merges))
	for _, m := range d.merges {
		if !t.mergeable(m.result) {
			continue
		}
		t.pairs.set(m.left, m.right, m.rank, m.result)
		if t.cutSpaces && strings.HasPrefix(t.symbolText(m.right), blank) {
			r, _ := utf8.DecodeLastRuneInString(t.symbolText(m.left))
			if !slices.Contains(t.glue, r) {
				t.glue = append(t.glue, r)
			}
			t.cutSpaces = len(t.glue) <= 16
		}
	}
}

func (t *Tokenizer) symbolText(id int32) string {
	if int(id) >= t.Size() {
		return t.virtual[int(id)-t.Size()]
	}
	return t.text[id]
}

// protect makes the ids that open and end texts control tokens, whatever kind the file gives them.
func (d *description) protect(ids ...int32) {
	for _, id := range ids {
		if id < 0 {
			continue
		}
		if id == d.unknown {
			d.unknown = -1 // what cannot be spelt must not end a text
		}
		v := &d.vocab
		v.kind[id] = Control
		v.flags[id] |= flagSpecial | flagControl
		if !slices.ContainsFunc(d.added, func(a addedToken) bool { return a.id == id }) {
			d.added = append(d.added, addedToken{id: id, content: v.text[id]})
		}
	}
}

// checkGrowth refuses replacements that multiply a text's size.
func (n *normalizer) checkGrowth() error {
	const limit = 16
	growth := 1
	for _, st := range n.steps {
		if st.kind == normalReplace {
			growth *= max(1, (len(st.to)+len(st.from)-1)/len(st.from))
		}
		if growth > limit {
			return overLimit("growth of normalized text", growth, limit)
		}
	}
	return nil
}

func (t *Tokenizer) fillAdded(added []addedToken) error {
	var sets [2]struct{ raw, normalized []addedToken }
	var bufs [2][]byte
	total := 0
	for _, a := range added {
		if a.normalized {
			a.content = strings.Clone(t.norm.apply(&bufs, a.content, false))
		}
		if a.content == "" {
			continue
		}
		if total += len(a.content); total > maxAddedBytes {
			return overLimit("bytes of all added tokens", total, maxAddedBytes)
		}
		for mode := range sets {
			if Mode(mode) == Text && (t.flags[a.id]&flagControl != 0 || t.kind[a.id] == Unknown) {
				continue
			}
			if a.normalized {
				sets[mode].normalized = append(sets[mode].normalized, a)
			} else {
				sets[mode].raw = append(sets[mode].raw, a)
			}
		}
	}
	for mode := range sets {
		t.tree[mode] = addedSet{newMatcher(sets[mode].raw), newMatcher(sets[mode].normalized)}
	}
	return nil
}

// ends returns the ids that end a generation.
func (t *Tokenizer) ends(named []int32) []int32 {
	out := slices.Clone(named)
	if t.eos >= 0 {
		out = append(out, t.eos)
	}
	names := endNames[:]
	if t.isControlName("<|observation|>") && t.isControlName("<|user|>") {
		names = append(slices.Clip(names), "<|observation|>", "<|user|>") // GLM ends where others speak
	}
	for _, name := range names {
		if name == "<|end|>" && t.isControlName("<|return|>") && t.isControlName("<|call|>") {
			continue // in the harmony format it ends one message of several
		}
		if t.isControlName(name) {
			out = append(out, t.id[name])
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (t *Tokenizer) isControlName(name string) bool {
	id, ok := t.id[name]
	return ok && t.IsControl(id)
}

// firstControl returns the id of the first of the names that is a control token, or -1.
func (v *vocab) firstControl(names []string) int32 {
	for _, name := range names {
		if id, ok := v.id[name]; ok && v.flags[id]&flagControl != 0 {
			return id
		}
	}
	return -1
}

// sum hashes all that ids depend on.
func (d *description) sum(t *Tokenizer) (out [32]byte) {
	w := sumWriter{h: sha256.New()}
	w.text("hotpath tokenizer 1")
	w.text(fmt.Sprint(d.byteLevel, d.byteFallback, d.ignoreMerges, d.wholeLines, d.fuseUnknown, d.unknown))
	w.text(fmt.Sprintf("%q %q %q", d.norm.steps, d.pre.name, d.virtual))
	w.text(fmt.Sprint(d.dec.byteLevel, d.dec.byteFallback, d.dec.strip))
	w.text(fmt.Sprintf("%q", d.dec.replace))
	w.text(fmt.Sprint(d.bos, d.eos, d.addBOS, d.addEOS, d.prefix, d.suffix, t.eog))
	w.number(len(t.text))
	for i, text := range t.text {
		w.number(int(t.kind[i])<<8 | int(t.flags[i]))
		w.text(text)
	}
	w.number(len(d.merges))
	for _, m := range d.merges {
		w.number(int(m.left))
		w.number(int(m.right))
		w.number(int(m.result))
		w.number(int(m.rank))
	}
	w.number(len(d.added))
	for _, a := range d.added {
		w.text(fmt.Sprintf("%+v", a))
	}
	w.h.Write(w.buf)
	w.h.Sum(out[:0])
	return out
}

// sumWriter writes length-prefixed fields to a hash.
type sumWriter struct {
	h   hash.Hash
	buf []byte
}

func (w *sumWriter) number(n int) {
	w.buf = binary.LittleEndian.AppendUint32(w.buf, uint32(n))
	if len(w.buf) > 1<<15 {
		w.h.Write(w.buf)
		w.buf = w.buf[:0]
	}
}

func (w *sumWriter) text(s string) {
	w.number(len(s))
	w.buf = append(w.buf, s...)
}
