package tokenizer

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

const (
	maxPartBytes = 1 << 20
	maxDepth     = 8   // nested sequences
	maxParts     = 64  // parts of a sequence
	maxReplace   = 256 // bytes of a pattern or its replacement
)

// partJSON is any normalizer, pre-tokenizer, decoder or post-processor.
type partJSON struct {
	Type string `json:"type"`

	Normalizers   []json.RawMessage `json:"normalizers"`
	PreTokenizers []json.RawMessage `json:"pretokenizers"`
	Decoders      []json.RawMessage `json:"decoders"`
	Processors    []json.RawMessage `json:"processors"`

	Prepend string `json:"prepend"`
	Pattern struct {
		String *string `json:"String"`
		Regex  *string `json:"Regex"`
	} `json:"pattern"`
	Content          string `json:"content"`
	Behavior         string `json:"behavior"`
	Invert           bool   `json:"invert"`
	AddPrefixSpace   *bool  `json:"add_prefix_space"`
	Replacement      string `json:"replacement"`
	PrependScheme    string `json:"prepend_scheme"`
	Split            *bool  `json:"split"`
	UseRegex         *bool  `json:"use_regex"`
	IndividualDigits bool   `json:"individual_digits"`
	Start, Stop      int

	Single        []templateJSON `json:"single"`
	SpecialTokens map[string]struct {
		IDs []int64 `json:"ids"`
	} `json:"special_tokens"`
	Cls, Sep json.RawMessage
}

type templateJSON struct {
	SpecialToken *struct {
		ID string `json:"id"`
	} `json:"SpecialToken"`
	Sequence *struct {
		ID string `json:"id"`
	} `json:"Sequence"`
}

// readPart parses one part; ok is false for null.
func readPart(raw json.RawMessage, field string, depth int) (p partJSON, ok bool, err error) {
	if len(raw) == 0 || string(raw) == "null" {
		return p, false, nil
	}
	if depth > maxDepth {
		return p, false, overLimit("depth of "+field, depth, maxDepth)
	}
	if len(raw) > maxPartBytes {
		return p, false, overLimit("bytes of "+field, len(raw), maxPartBytes)
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return p, false, malformed(field, "%v", err)
	}
	for _, n := range []int{len(p.Normalizers), len(p.PreTokenizers), len(p.Decoders), len(p.Processors), len(p.Single)} {
		if n > maxParts {
			return p, false, overLimit("parts of "+field, n, maxParts)
		}
	}
	return p, true, nil
}

func (d *description) readNormalizer(raw json.RawMessage, field string, depth int) error {
	p, ok, err := readPart(raw, field, depth)
	if !ok {
		return err
	}
	switch p.Type {
	case "Sequence":
		for i, raw := range p.Normalizers {
			if err := d.readNormalizer(raw, fmt.Sprintf("%s.normalizers[%d]", field, i), depth+1); err != nil {
				return err
			}
		}
		if len(d.norm.steps) > maxParts {
			return overLimit("parts of "+field, len(d.norm.steps), maxParts)
		}
	case "NFC":
		d.norm.steps = append(d.norm.steps, normalStep{kind: normalNFC})
	case "Prepend":
		if len(p.Prepend) > maxReplace {
			return overLimit("bytes of "+field+".prepend", len(p.Prepend), maxReplace)
		}
		d.norm.steps = append(d.norm.steps, normalStep{kind: normalPrepend, to: p.Prepend})
	case "Replace":
		st, err := p.replace(field)
		if err != nil {
			return err
		}
		d.norm.steps = append(d.norm.steps, st)
	default:
		return unsupported(field+".type", "%q", clip(p.Type))
	}
	return nil
}

func (p *partJSON) replace(field string) (normalStep, error) {
	from := p.Pattern.String
	switch {
	case from == nil && p.Pattern.Regex != nil:
		return normalStep{}, unsupported(field+".pattern.Regex", "%q", clip(*p.Pattern.Regex))
	case from == nil || *from == "":
		return normalStep{}, malformed(field+".pattern", "no text to replace")
	case len(*from) > maxReplace:
		return normalStep{}, overLimit("bytes of "+field+".pattern", len(*from), maxReplace)
	case len(p.Content) > maxReplace:
		return normalStep{}, overLimit("bytes of "+field+".content", len(p.Content), maxReplace)
	}
	return normalStep{kind: normalReplace, from: *from, to: p.Content}, nil
}

func (d *description) readPreTokenizer(raw json.RawMessage, field string, depth int) error {
	p, ok, err := readPart(raw, field, depth)
	if !ok {
		return err
	}
	if d.byteLevel {
		return unsupported(field, "%q after ByteLevel", clip(p.Type))
	}
	switch p.Type {
	case "Sequence":
		for i, raw := range p.PreTokenizers {
			if err := d.readPreTokenizer(raw, fmt.Sprintf("%s.pretokenizers[%d]", field, i), depth+1); err != nil {
				return err
			}
		}
		if len(d.pre.list) > maxParts {
			return overLimit("parts of "+field, len(d.pre.list), maxParts)
		}
	case "ByteLevel":
		if p.AddPrefixSpace == nil || *p.AddPrefixSpace {
			return unsupported(field+".add_prefix_space", "true")
		}
		if p.UseRegex == nil || *p.UseRegex {
			d.pre.add("gpt2", gpt2Words{newClasses()})
		}
		d.byteLevel = true
	case "Digits":
		limit := 1
		if !p.IndividualDigits {
			limit = int(^uint(0) >> 1)
		}
		d.pre.add(fmt.Sprint("digits ", limit), numbers{newClasses(), limit})
	case "Split":
		return d.readSplit(&p, field)
	case "Metaspace":
		return d.readMetaspace(&p, field)
	default:
		return unsupported(field+".type", "%q", clip(p.Type))
	}
	return nil
}

// readMetaspace reads the pre-tokenizer that escapes spaces. Nothing may split before it, since it
// is applied to whole stretches of text.
func (d *description) readMetaspace(p *partJSON, field string) error {
	scheme := p.PrependScheme
	if scheme == "" {
		scheme = "always"
		if p.AddPrefixSpace != nil && !*p.AddPrefixSpace {
			scheme = "never"
		}
	}
	switch {
	case p.Replacement != blank:
		return unsupported(field+".replacement", "%q", clip(p.Replacement))
	case len(d.pre.list) > 0 || d.blanks.on:
		return unsupported(field, "Metaspace after another pre-tokenizer")
	case scheme != "always" && scheme != "first" && scheme != "never":
		return unsupported(field+".prepend_scheme", "%q", clip(scheme))
	}
	d.blanks = blanks{on: true, prepend: scheme != "never", firstOnly: scheme == "first"}
	d.pre.name += "metaspace " + scheme + ";"
	if p.Split == nil || *p.Split {
		d.pre.add("before blank", beforeBlank{})
	}
	return nil
}

func (d *description) readSplit(p *partJSON, field string) error {
	if text := p.Pattern.String; text != nil {
		switch {
		case *text == "":
			return malformed(field+".pattern.String", "empty")
		case p.Invert || p.Behavior != "MergedWithPrevious" && p.Behavior != "Isolated":
			return unsupported(field+".behavior", "%q (invert %v) with a text", clip(p.Behavior), p.Invert)
		}
		if d.replaced(*text) {
			return nil // the normalizer leaves none of it
		}
		d.pre.add(fmt.Sprintf("literal %q %s", *text, p.Behavior), literal{*text, p.Behavior == "MergedWithPrevious"})
		return nil
	}
	if p.Pattern.Regex == nil {
		return malformed(field+".pattern", "neither String nor Regex")
	}
	list, full, ok := knownPattern(*p.Pattern.Regex)
	if !ok {
		return unsupported(field+".pattern.Regex", "unknown pattern %q", clip(*p.Pattern.Regex))
	}
	// Where a pattern matches every character, dropping what is between matches drops nothing.
	if p.Behavior != "Isolated" && !(full && p.Behavior == "Removed" && p.Invert) {
		return unsupported(field+".behavior", "%q (invert %v)", clip(p.Behavior), p.Invert)
	}
	d.pre.add(*p.Pattern.Regex, list)
	return nil
}

// replaced reports whether normalised text never contains s.
func (d *description) replaced(s string) bool {
	gone := false
	for _, st := range d.norm.steps {
		switch {
		case st.kind == normalReplace && st.from == s && !strings.ContainsAny(st.to, s):
			gone = true
		case st.kind == normalNFC || strings.ContainsAny(st.to, s):
			gone = false
		}
	}
	return gone
}

func (d *description) readDecoder(raw json.RawMessage) error {
	p, ok, err := readPart(raw, "decoder", 0)
	if err != nil {
		return err
	}
	if !ok {
		return unsupported("decoder", "none: tokens would be joined by blanks")
	}
	switch p.Type {
	case "ByteLevel":
		d.dec.byteLevel = true
		return nil
	case "Sequence":
	default:
		return unsupported("decoder.type", "%q", clip(p.Type))
	}
	// Replace*, ByteFallback?, Fuse, Strip?: each later part only once, in this order.
	stage := 0
	for i, raw := range p.Decoders {
		field := fmt.Sprintf("decoder.decoders[%d]", i)
		q, ok, err := readPart(raw, field, 1)
		if err != nil {
			return err
		}
		if !ok {
			return malformed(field, "null")
		}
		at := slices.Index([]string{"", "Replace", "ByteFallback", "Fuse", "Strip"}, q.Type)
		if at <= 0 {
			return unsupported(field+".type", "%q", clip(q.Type))
		}
		if at < stage || at == stage && at != 1 || at == 4 && stage != 3 {
			return unsupported(field, "%s in this place", q.Type)
		}
		stage = at
		switch q.Type {
		case "Replace":
			st, err := q.replace(field)
			if err != nil {
				return err
			}
			d.dec.replace = append(d.dec.replace, st)
		case "ByteFallback":
			d.dec.byteFallback = true
		case "Strip":
			if q.Content != " " || q.Stop != 0 || q.Start < 0 || q.Start > maxReplace {
				return unsupported(field, "Strip of %q, start %d, stop %d", clip(q.Content), q.Start, q.Stop)
			}
			d.dec.strip = q.Start
		}
	}
	if stage < 3 {
		return unsupported("decoder.decoders", "no Fuse")
	}
	return nil
}

func (d *description) readPostProcessor(raw json.RawMessage, field string, depth int) error {
	p, ok, err := readPart(raw, field, depth)
	if !ok {
		return err
	}
	switch p.Type {
	case "Sequence":
		for i, raw := range p.Processors {
			if err := d.readPostProcessor(raw, fmt.Sprintf("%s.processors[%d]", field, i), depth+1); err != nil {
				return err
			}
		}
	case "ByteLevel": // moves offsets only
	case "TemplateProcessing":
		return d.readTemplate(&p, field)
	case "BertProcessing", "RobertaProcessing":
		for _, e := range []struct {
			name string
			raw  json.RawMessage
			to   *[]int32
		}{{"cls", p.Cls, &d.prefix}, {"sep", p.Sep, &d.suffix}} {
			var pair []any
			if err := json.Unmarshal(e.raw, &pair); err != nil || len(pair) != 2 {
				return malformed(field+"."+e.name, "not a token and its id")
			}
			n, ok := pair[1].(float64)
			if !ok || n != float64(int32(n)) || !d.vocab.has(int32(n)) {
				return malformed(field+"."+e.name, "id %v is not in the vocabulary of %d", pair[1], len(d.vocab.text))
			}
			*e.to = append(*e.to, int32(n))
		}
	default:
		return unsupported(field+".type", "%q", clip(p.Type))
	}
	return nil
}

func (d *description) readTemplate(p *partJSON, field string) error {
	var before, after []int32
	seen := false
	for i, part := range p.Single {
		at := fmt.Sprintf("%s.single[%d]", field, i)
		switch {
		case part.Sequence != nil:
			if seen || part.Sequence.ID != "A" {
				return unsupported(at, "sequence %q", clip(part.Sequence.ID))
			}
			seen = true
		case part.SpecialToken != nil:
			name := part.SpecialToken.ID
			tok, ok := p.SpecialTokens[name]
			if !ok {
				return malformed(at, "%q is not in special_tokens", clip(name))
			}
			if len(tok.IDs) > maxParts {
				return overLimit(fmt.Sprintf("%s.special_tokens[%q].ids", field, clip(name)), len(tok.IDs), maxParts)
			}
			for _, id := range tok.IDs {
				if id != int64(int32(id)) || !d.vocab.has(int32(id)) {
					return malformed(fmt.Sprintf("%s.special_tokens[%q].ids", field, clip(name)), "id %d is not in the vocabulary of %d", id, len(d.vocab.text))
				}
				if seen {
					after = append(after, int32(id))
				} else {
					before = append(before, int32(id))
				}
			}
		default:
			return malformed(at, "neither SpecialToken nor Sequence")
		}
	}
	if !seen {
		return malformed(field+".single", "no sequence")
	}
	d.prefix = append(before, d.prefix...)
	d.suffix = append(d.suffix, after...)
	return nil
}

// readConfig takes from tokenizer_config.json which tokens open and end a text.
func (d *description) readConfig(raw []byte) error {
	var c struct {
		BOS    json.RawMessage `json:"bos_token"`
		EOS    json.RawMessage `json:"eos_token"`
		AddBOS *bool           `json:"add_bos_token"`
		AddEOS *bool           `json:"add_eos_token"`
	}
	if len(raw) > maxFile {
		return overLimit("bytes of tokenizer_config.json", len(raw), maxFile)
	}
	if raw != nil {
		if err := json.Unmarshal(raw, &c); err != nil {
			return malformed("tokenizer_config.json", "%v", err)
		}
	}
	var err error
	if d.bos, err = d.configToken(c.BOS, "bos_token"); err != nil {
		return err
	}
	if d.eos, err = d.configToken(c.EOS, "eos_token"); err != nil {
		return err
	}
	if d.bos < 0 && c.BOS == nil {
		if len(d.prefix) > 0 {
			d.bos = d.prefix[0]
		} else {
			d.bos = d.vocab.firstControl(beginNames[:])
		}
	}
	if d.eos < 0 && c.EOS == nil {
		d.eos = d.vocab.firstControl(eosNames[:])
	}
	d.protect(d.bos, d.eos)
	d.wrap(c.AddBOS, c.AddEOS)
	return nil
}

// wrap brings the template and what the file says about BOS and EOS together; what it says wins.
func (d *description) wrap(addBOS, addEOS *bool) {
	d.addBOS = d.bos >= 0 && slices.Contains(d.prefix, d.bos)
	d.addEOS = d.eos >= 0 && slices.Contains(d.suffix, d.eos)
	if addBOS != nil && d.bos >= 0 && *addBOS != d.addBOS {
		d.addBOS = *addBOS
		if d.addBOS {
			d.prefix = append([]int32{d.bos}, d.prefix...)
		} else {
			d.prefix = slices.DeleteFunc(d.prefix, func(id int32) bool { return id == d.bos })
		}
	}
	if addEOS != nil && d.eos >= 0 && *addEOS != d.addEOS {
		d.addEOS = *addEOS
		if d.addEOS {
			d.suffix = append(d.suffix, d.eos)
		} else {
			d.suffix = slices.DeleteFunc(d.suffix, func(id int32) bool { return id == d.eos })
		}
	}
}

// configToken reads a token given as text or as an object with its content; -1 when absent or null.
func (d *description) configToken(raw json.RawMessage, field string) (int32, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return -1, nil
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		var o struct{ Content *string }
		if err := json.Unmarshal(raw, &o); err != nil || o.Content == nil {
			return -1, malformed("tokenizer_config.json: "+field, "neither a token nor null")
		}
		text = *o.Content
	}
	id, ok := d.vocab.id[text]
	if !ok {
		return -1, malformed("tokenizer_config.json: "+field, "%q is not in the vocabulary", clip(text))
	}
	return id, nil
}
