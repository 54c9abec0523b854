package tokenizer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// The largest published tokenizer.json has 33 MB, and 6,415 added tokens.
const (
	maxFile  = 256 << 20
	maxAdded = 1 << 17
)

type fileJSON struct {
	AddedTokens   json.RawMessage `json:"added_tokens"`
	Normalizer    json.RawMessage `json:"normalizer"`
	PreTokenizer  json.RawMessage `json:"pre_tokenizer"`
	PostProcessor json.RawMessage `json:"post_processor"`
	Decoder       json.RawMessage `json:"decoder"`
	Model         struct {
		Type         string          `json:"type"`
		Vocab        json.RawMessage `json:"vocab"`
		Merges       json.RawMessage `json:"merges"`
		Unknown      *string         `json:"unk_token"`
		Prefix       *string         `json:"continuing_subword_prefix"`
		Suffix       *string         `json:"end_of_word_suffix"`
		Dropout      *float64        `json:"dropout"`
		FuseUnknown  bool            `json:"fuse_unk"`
		ByteFallback bool            `json:"byte_fallback"`
		IgnoreMerges bool            `json:"ignore_merges"`
	} `json:"model"`
}

type addedJSON struct {
	ID         int64  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
	Special    bool   `json:"special"`
}

// readAdded reads added_tokens one by one, so that a long list is refused before it takes memory.
func readAdded(raw json.RawMessage) (list []addedJSON, err error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('[') {
		return nil, malformed("added_tokens", "not a list")
	}
	for dec.More() {
		if len(list) == maxAdded {
			return nil, overLimit("added_tokens", len(list)+1, maxAdded)
		}
		var a addedJSON
		if err := dec.Decode(&a); err != nil {
			return nil, malformed(fmt.Sprintf("added_tokens[%d]", len(list)), "%v", err)
		}
		list = append(list, a)
	}
	return list, nil
}

// FromJSON reads a tokenizer.json with a BPE model, and from tokenizer_config.json, which may be
// nil, only which tokens open and end a text and whether they are added. Where neither says it,
// the well-known names are taken. Truncation and padding settings are ignored.
//
// Errors wrap ErrFormat, ErrUnsupported or ErrLimit and name the field.
func FromJSON(tokenizerJSON, tokenizerConfigJSON []byte) (*Tokenizer, error) {
	if len(tokenizerJSON) > maxFile {
		return nil, overLimit("bytes of tokenizer.json", len(tokenizerJSON), maxFile)
	}
	var f fileJSON
	if err := json.Unmarshal(tokenizerJSON, &f); err != nil {
		return nil, malformed("tokenizer.json", "%v", err)
	}
	m := &f.Model
	switch {
	case m.Type != "BPE" && (m.Type != "" || m.Merges == nil):
		return nil, unsupported("model.type", "%q", m.Type)
	case m.Prefix != nil && *m.Prefix != "":
		return nil, unsupported("model.continuing_subword_prefix", "%q", *m.Prefix)
	case m.Suffix != nil && *m.Suffix != "":
		return nil, unsupported("model.end_of_word_suffix", "%q", *m.Suffix)
	case m.Dropout != nil && *m.Dropout != 0:
		return nil, unsupported("model.dropout", "%v: encoding would be random", *m.Dropout)
	}
	d := &description{
		byteFallback: m.ByteFallback, ignoreMerges: m.IgnoreMerges, fuseUnknown: m.FuseUnknown,
		unknown: -1, bos: -1, eos: -1,
	}
	if err := d.readVocab(&f); err != nil {
		return nil, err
	}
	if err := d.readMerges(m.Merges); err != nil {
		return nil, err
	}
	if err := d.readNormalizer(f.Normalizer, "normalizer", 0); err != nil {
		return nil, err
	}
	if err := d.readPreTokenizer(f.PreTokenizer, "pre_tokenizer", 0); err != nil {
		return nil, err
	}
	if err := d.readDecoder(f.Decoder); err != nil {
		return nil, err
	}
	if err := d.readPostProcessor(f.PostProcessor, "post_processor", 0); err != nil {
		return nil, err
	}
	if err := d.readConfig(tokenizerConfigJSON); err != nil {
		return nil, err
	}
	return d.build()
}

// wordJSON is an entry of model.vocab.
type wordJSON struct {
	text string
	id   int
}

func (d *description) readVocab(f *fileJSON) error {
	words, err := readWords(f.Model.Vocab)
	if err != nil {
		return err
	}
	added, err := readAdded(f.AddedTokens)
	if err != nil {
		return err
	}
	// Ids may leave holes, but not so many that the table outgrows the file.
	count := len(words) + len(added)
	limit := min(2*count+1<<16, maxTokens)
	largest := -1
	for _, w := range words {
		if w.id >= limit {
			return malformed("model.vocab", "token %q: id %d, limit %d for %d tokens", clip(w.text), w.id, limit, count)
		}
		largest = max(largest, w.id)
	}
	if len(words) == 0 {
		return malformed("model.vocab", "no tokens")
	}
	d.vocab.id = make(map[string]int32, count)
	d.vocab.reserve(largest + 1 + len(added))
	for _, w := range words {
		kind := Normal
		if f.Model.Unknown != nil && w.text == *f.Model.Unknown {
			kind = Unknown
		} else if _, ok := byteToken(w.text); ok && d.byteFallback {
			kind = Byte
		}
		if d.vocab.has(int32(w.id)) {
			return malformed("model.vocab", "tokens %q and %q: same id %d", clip(d.vocab.text[w.id]), clip(w.text), w.id)
		}
		if _, ok := d.vocab.id[w.text]; ok {
			return malformed("model.vocab", "token %q: given twice", clip(w.text))
		}
		d.vocab.add(w.id, w.text, kind, false)
	}
	for i, a := range added {
		field := fmt.Sprintf("added_tokens[%d]", i)
		switch {
		case a.ID < 0 || a.ID >= int64(limit):
			return malformed(field+".id", "%d, limit %d for %d tokens", a.ID, limit, count)
		case a.Content == "":
			return malformed(field+".content", "empty")
		case len(a.Content) > maxTokenBytes:
			return overLimit("bytes of "+field+".content", len(a.Content), maxTokenBytes)
		}
		id := int32(a.ID)
		if have, ok := d.vocab.id[a.Content]; ok && have != id {
			return malformed(field, "%q: id %d here, %d before", clip(a.Content), id, have)
		}
		if d.vocab.has(id) && d.vocab.text[id] != a.Content {
			return malformed(field, "id %d: %q here, %q before", id, clip(a.Content), clip(d.vocab.text[id]))
		}
		kind := UserDefined
		switch {
		case f.Model.Unknown != nil && a.Content == *f.Model.Unknown:
			kind = Unknown
		case a.Special:
			kind = Control
		}
		d.vocab.add(int(id), a.Content, kind, a.Special)
		d.added = append(d.added, addedToken{
			id: id, content: a.Content, singleWord: a.SingleWord,
			trimL: a.LStrip, trimR: a.RStrip, normalized: a.Normalized,
		})
	}
	if f.Model.Unknown != nil {
		id, ok := d.vocab.id[*f.Model.Unknown]
		if !ok {
			return malformed("model.unk_token", "%q is not in the vocabulary", clip(*f.Model.Unknown))
		}
		d.unknown = id
	}
	return nil
}

// readWords reads an object of token to id, keeping what a map would hide: keys given twice.
func readWords(raw json.RawMessage) ([]wordJSON, error) {
	in := jsonScanner{b: raw}
	if !in.take('{') {
		return nil, malformed("model.vocab", "not an object of token to id")
	}
	var words []wordJSON
	for !in.take('}') {
		text, ok := in.text()
		if !ok {
			return nil, malformed("model.vocab", "token %d: not a text", len(words))
		}
		if len(text) > maxTokenBytes {
			return nil, overLimit(fmt.Sprintf("bytes of token %d of model.vocab", len(words)), len(text), maxTokenBytes)
		}
		id, ok := in.number()
		if !ok {
			return nil, malformed("model.vocab", "token %q: id is not a whole number from 0 to %d", clip(string(text)), maxTokens)
		}
		words = append(words, wordJSON{string(text), id})
		if len(words) > maxTokens {
			return nil, overLimit("tokens of model.vocab", len(words), maxTokens)
		}
	}
	return words, nil
}

// readMerges reads a list of "left right" or ["left","right"].
func (d *description) readMerges(raw json.RawMessage) error {
	in := jsonScanner{b: raw}
	if !in.take('[') {
		return malformed("model.merges", "not a list")
	}
	for i := 0; !in.take(']'); i++ {
		if i >= maxMerges {
			return overLimit("model.merges", i+1, maxMerges)
		}
		var left, right []byte
		var ok bool
		if in.take('[') {
			var okL, okR bool
			left, okL = in.text()
			right, okR = in.text()
			ok = okL && okR && in.take(']')
		} else if left, ok = in.text(); ok {
			left, right, ok = bytes.Cut(left, []byte(" "))
			ok = ok && bytes.IndexByte(right, ' ') < 0
		}
		if !ok {
			return malformed(fmt.Sprintf("model.merges[%d]", i), "not a pair of tokens")
		}
		if len(left) == 0 || len(right) == 0 {
			return malformed(fmt.Sprintf("model.merges[%d]", i), "empty part")
		}
		if !d.addMerge(view(left), view(right), i) {
			return malformed(fmt.Sprintf("model.merges[%d]", i), "%q, %q or both together are not in the vocabulary", clip(string(left)), clip(string(right)))
		}
	}
	return nil
}

// addMerge adds a merge rule by the texts of its parts and reports whether the vocabulary has these
// and their concatenation.
func (d *description) addMerge(left, right string, rank int) bool {
	l, okL := d.vocab.id[left]
	r, okR := d.vocab.id[right]
	if !okL || !okR {
		return false
	}
	var buf [64]byte
	id, ok := d.vocab.id[string(append(append(buf[:0], left...), right...))]
	if ok {
		d.merges = append(d.merges, merge{l, r, id, uint32(rank)})
	}
	return ok
}

// clip shortens a text for an error message.
func clip(s string) string {
	const limit = 64
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}
