package tokenizer

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hotpath-go/hotpath/model/gguf"
)

// ErrNone reports a GGUF file without a vocabulary.
var ErrNone = errors.New("tokenizer: no vocabulary")

const prefixGGUF = "tokenizer.ggml."

// FromGGUF reads the tokenizer.ggml.* values of a file: the models "gpt2" (byte-level BPE, with a
// known tokenizer.ggml.pre), "llama" (SentencePiece BPE) and "gemma4". Ids are those of the model's
// own tokenizer: Qwen's texts are normalised to NFC, although the file has no field for it. Where
// a text occurs twice in the vocabulary, the larger id stands for it.
//
// Errors wrap ErrNone, ErrFormat, ErrUnsupported or ErrLimit and name the key.
func FromGGUF(m *gguf.Metadata) (*Tokenizer, error) {
	g := ggufReader{m.Fields(), &description{unknown: -1, bos: -1, eos: -1}}
	d := g.d
	model := g.Text(prefixGGUF+"model", "")
	if err := g.err(); err != nil {
		return nil, err
	}
	if model == "" || model == "none" || model == "no_vocab" {
		return nil, fmt.Errorf("%w: %smodel is %q", ErrNone, prefixGGUF, model)
	}
	if err := g.readVocab(); err != nil {
		return nil, err
	}
	addBOS, addSep := false, false
	var err error
	switch model {
	case "gpt2":
		pre := g.Text(prefixGGUF+"pre", "")
		if err := g.err(); err != nil {
			return nil, err
		}
		p, ok := ggufPres(pre)
		if !ok {
			return nil, unsupported(prefixGGUF+"pre", "%q", clip(pre))
		}
		d.byteLevel, d.dec.byteLevel = true, true
		d.ignoreMerges, d.pre = p.ignoreMerges, p.pre
		if p.nfc {
			d.norm.steps = []normalStep{{kind: normalNFC}}
		}
		addBOS, addSep = p.addBOS, p.addSep
		d.unknown, err = g.id("unknown_token_id")
		if err == nil {
			err = g.readMerges()
		}
	case "llama":
		addBOS = true
		err = g.readSentencePiece()
	case "gemma4":
		addBOS = true
		d.wholeLines = true
		d.pre.add("lines", lines{})
		err = g.readEscaped(g.Bool(prefixGGUF+"add_space_prefix", false))
		if err == nil {
			err = g.readMerges()
		}
	default:
		err = unsupported(prefixGGUF+"model", "%q", clip(model))
	}
	if err == nil {
		err = g.readEnds(model, addBOS, addSep)
	}
	if err != nil {
		return nil, err
	}
	return d.build()
}

// ggufPre is what a tokenizer.ggml.pre name stands for.
type ggufPre struct {
	pre                               preTokenizer
	nfc, ignoreMerges, addBOS, addSep bool
}

func ggufPres(name string) (p ggufPre, ok bool) {
	var patterns []string
	switch name {
	case "llama3", "llama-v3", "llama-bpe", "lfm2", "falcon3", "falcon-h1", "pixtral", "midm-2.0":
		patterns, p.ignoreMerges, p.addBOS = []string{patternLlama3}, true, true
	case "dbrx", "smaug-bpe", "glm4", "chatglm-bpe":
		patterns = []string{patternLlama3}
	case "qwen2":
		patterns, p.nfc = []string{patternQwen2}, true
	case "stablelm2", "hunyuan", "deepseek-r1-qwen":
		patterns = []string{patternQwen2}
	case "qwen35":
		patterns, p.nfc = []string{patternQwen35}, true
	case "gpt-4o", "llama4":
		patterns = []string{patternGPT4o}
	case "tekken":
		patterns, p.ignoreMerges, p.addBOS = []string{patternTekken}, true, true
	case "deepseek-v3":
		patterns = []string{patternDigits3, patternCJK, patternDeepSeek}
	case "gpt2", "gpt-2", "phi-2", "mpt", "olmo":
		patterns = []string{patternGPT2}
	case "smollm", "starcoder", "refact", "command-r", "codeshell", "exaone":
		patterns = []string{patternDigit, patternGPT2}
	case "minicpm5":
		patterns, p.ignoreMerges = []string{patternDigits3, patternMiniCPM5}, true
	case "modern-bert":
		patterns, p.nfc, p.addBOS, p.addSep = []string{patternGPT2}, true, true, true
	default:
		return p, false
	}
	for _, pattern := range patterns {
		s, _, _ := knownPattern(pattern)
		p.pre.add(pattern, s)
	}
	return p, true
}

// ggufReader fills a description from metadata.
type ggufReader struct {
	*gguf.Fields
	d *description
}

// err returns the first error of the fields read so far.
func (g ggufReader) err() error {
	if err := g.Err(); err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return nil
}

// id reads a token id, -1 where the file has none.
func (g ggufReader) id(name string) (int32, error) {
	key := prefixGGUF + name
	n := g.Int(key, -1)
	if err := g.err(); err != nil {
		return -1, err
	}
	if n == -1 || n == math.MaxUint32 {
		return -1, nil // both are in use for "none"
	}
	if n < 0 || n >= len(g.d.vocab.text) {
		return -1, malformed(key, "%d is not in the vocabulary of %d", n, len(g.d.vocab.text))
	}
	return int32(n), nil
}

func (g ggufReader) readVocab() error {
	v := &g.d.vocab
	tokens := g.Strings(prefixGGUF + "tokens")
	types := g.Int32s(prefixGGUF+"token_type", nil)
	if err := g.err(); err != nil {
		return err
	}
	switch {
	case len(tokens) == 0:
		return malformed(prefixGGUF+"tokens", "no tokens")
	case len(tokens) > maxTokens:
		return overLimit(prefixGGUF+"tokens", len(tokens), maxTokens)
	case types != nil && len(types) != len(tokens):
		return malformed(prefixGGUF+"token_type", "%d types for %d tokens", len(types), len(tokens))
	}
	v.id = make(map[string]int32, len(tokens))
	v.reserve(len(tokens))
	for i, text := range tokens {
		if len(text) > maxTokenBytes {
			return overLimit(fmt.Sprintf("bytes of %stokens[%d]", prefixGGUF, i), len(text), maxTokenBytes)
		}
		kind := Normal
		if types != nil {
			switch n := types[i]; {
			case n < 0 || n > 6:
				return malformed(fmt.Sprintf("%stoken_type[%d]", prefixGGUF, i), "%d, known are 0 to 6", n)
			case n > 0:
				kind = Kind(n - 1)
			}
		} else if _, ok := byteToken(text); ok {
			kind = Byte
		}
		v.add(i, text, kind, kind == Control || kind == Unknown)
	}
	return nil
}

// readMerges reads the merges of "gpt2" and "gemma4": "left right", where left may begin with the
// blank that separates them.
func (g ggufReader) readMerges() error {
	list := g.Strings(prefixGGUF + "merges")
	if err := g.err(); err != nil {
		return err
	}
	if len(list) > maxMerges {
		return overLimit(prefixGGUF+"merges", len(list), maxMerges)
	}
	g.d.merges = make([]merge, 0, len(list))
	for i, text := range list {
		at := -1
		if len(text) > 1 {
			at = strings.IndexByte(text[1:], ' ')
		}
		if at < 0 || at+2 == len(text) {
			return malformed(fmt.Sprintf("%smerges[%d]", prefixGGUF, i), "%q is not a pair of tokens", clip(text))
		}
		// Rules of tokens that were cut from the vocabulary occur; no text can apply them.
		g.d.addMerge(text[:at+1], text[at+2:], i)
	}
	return nil
}

// readEscaped sets up texts whose spaces become ▁, with bytes for characters without a token.
func (g ggufReader) readEscaped(spacePrefix bool) (err error) {
	d := g.d
	d.byteFallback, d.fuseUnknown = true, true
	d.dec.byteFallback = true
	d.dec.replace = []normalStep{{kind: normalReplace, from: blank, to: " "}}
	if spacePrefix {
		d.norm.steps = append(d.norm.steps, normalStep{kind: normalPrepend, to: blank})
		d.dec.strip = 1
	}
	d.norm.steps = append(d.norm.steps, normalStep{kind: normalReplace, from: " ", to: blank})
	d.unknown, err = g.id("unknown_token_id")
	return err
}

// readSentencePiece turns scores into merges: any two pieces whose concatenation is a piece merge,
// the highest score first.
func (g ggufReader) readSentencePiece() error {
	d := g.d
	spacePrefix := g.Bool(prefixGGUF+"add_space_prefix", true)
	scores := g.Float32s(prefixGGUF + "scores")
	if err := g.err(); err != nil {
		return err
	}
	if len(scores) != len(d.vocab.text) {
		return malformed(prefixGGUF+"scores", "%d scores for %d tokens", len(scores), len(d.vocab.text))
	}
	if err := g.readEscaped(spacePrefix); err != nil {
		return err
	}
	for i, s := range scores {
		if s != s {
			return malformed(fmt.Sprintf("%sscores[%d]", prefixGGUF, i), "not a number")
		}
	}
	ranks := scoreRanks(scores)
	virtual := make(map[rune]int32)
	symbol := func(text string) (int32, bool) {
		if id, ok := d.vocab.id[text]; ok && d.vocab.mergeable(id) {
			return id, true
		}
		r, n := utf8.DecodeRuneInString(text)
		if n != len(text) || r == utf8.RuneError && n == 1 {
			return 0, false
		}
		id, ok := virtual[r]
		if !ok {
			// Only part of pieces, never one itself; spelt by its bytes when it stays alone.
			id = int32(len(d.vocab.text) + len(d.virtual))
			virtual[r] = id
			d.virtual = append(d.virtual, text)
		}
		return id, true
	}
	for i, text := range d.vocab.text {
		if id := d.vocab.id[text]; id != int32(i) || !d.vocab.mergeable(id) || d.vocab.kind[id] == Byte {
			continue
		}
		for at := range text {
			if at == 0 {
				continue
			}
			l, ok := symbol(text[:at])
			if !ok {
				continue
			}
			if r, ok := symbol(text[at:]); ok {
				d.merges = append(d.merges, merge{l, r, int32(i), ranks[i]})
			}
		}
		if len(d.merges) > maxMerges {
			return overLimit("merges by "+prefixGGUF+"scores", len(d.merges), maxMerges)
		}
	}
	return nil
}

// scoreRanks numbers scores from the highest on; equal scores share a number.
func scoreRanks(scores []float32) []uint32 {
	order := slices.Clone(scores)
	slices.SortFunc(order, func(a, b float32) int { return cmp.Compare(b, a) })
	order = slices.Compact(order)
	rank := make(map[float32]uint32, len(order))
	for i, s := range order {
		rank[s] = uint32(i)
	}
	out := make([]uint32, len(scores))
	for i, s := range scores {
		out[i] = rank[s]
	}
	return out
}

// readEnds lists the added tokens and reads which open and end a text and a generation.
func (g ggufReader) readEnds(model string, addBOS, addSep bool) error {
	d := g.d
	ids := make(map[string]int32)
	for _, name := range []string{"bos", "eos", "cls", "seperator", "eot", "eom", "fim_pad", "fim_rep", "fim_sep"} {
		id, err := g.id(name + "_token_id")
		if err != nil {
			return err
		}
		ids[name] = id
	}
	d.bos, d.eos = ids["bos"], ids["eos"]
	if d.bos < 0 {
		d.bos = ids["cls"]
	}
	if d.bos < 0 {
		d.bos = d.vocab.firstControl(beginNames[:])
	}
	if d.eos < 0 {
		d.eos = d.vocab.firstControl(eosNames[:])
	}
	for _, name := range []string{"eot", "eom", "fim_pad", "fim_rep", "fim_sep"} {
		if id := ids[name]; id >= 0 {
			d.ends = append(d.ends, id)
		}
	}
	for i, kind := range d.vocab.kind {
		if text := d.vocab.text[i]; text != "" && d.vocab.id[text] == int32(i) && (kind == Control || kind == UserDefined || kind == Unknown) {
			d.added = append(d.added, addedToken{id: int32(i), content: text})
		}
	}
	d.protect(append([]int32{d.bos, d.eos}, d.ends...)...)
	addBOS = g.Bool(prefixGGUF+"add_bos_token", addBOS) || model == "gemma4"
	addEOS := g.Bool(prefixGGUF+"add_eos_token", false)
	addSep = g.Bool(prefixGGUF+"add_sep_token", addSep)
	if err := g.err(); err != nil {
		return err
	}
	d.addBOS, d.addEOS = addBOS && d.bos >= 0, addEOS && d.eos >= 0
	if d.addBOS {
		d.prefix = []int32{d.bos}
	}
	if sep := ids["seperator"]; addSep && sep >= 0 {
		d.suffix = []int32{sep}
	} else if d.addEOS {
		d.suffix = []int32{d.eos}
	}
	return nil
}
