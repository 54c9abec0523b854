package tokenizer

import "sync"

// Mode says what Encode does with the text of special tokens.
type Mode uint8

const (
	// Text is for text from outside: no id that IsControl reports is ever produced, whatever the
	// text spells. User-defined tokens that stand for plain text (runs of spaces, HTML tags) are.
	Text Mode = iota
	// Special is for a template's own scaffolding: every added token is recognised in the text.
	Special
)

// Kind is the role of a token.
type Kind uint8

const (
	Normal      Kind = iota // a piece that encoding produces
	Unknown                 // stands for what the vocabulary cannot spell
	Control                 // structure, not text: begin, end, turn
	UserDefined             // added, matched in the text before anything else
	Unused                  // reserved; never produced
	Byte                    // one byte, for characters without a token
)

var kindNames = [...]string{"normal", "unknown", "control", "user-defined", "unused", "byte"}

// String returns the kind's name in lower case.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "invalid"
}

// Token describes one entry of the vocabulary.
type Token struct {
	Text  string // as the vocabulary stores it ("Ġthe", "▁the", "<0x0A>")
	Bytes []byte // what it decodes to; the caller's own copy
	Kind  Kind
}

// Template holds the ids that the model's own post-processor puts around a single text. The
// slices are the caller's own copies.
type Template struct {
	Prefix, Suffix []int32
}

// Tokenizer turns text into token ids and back. It is immutable and safe for concurrent use.
type Tokenizer struct {
	vocab
	dec    decoder
	norm   normalizer
	blanks blanks
	pre    []splitter
	tree   [2]addedSet // by Mode

	byteLevel    bool
	byteRunes    [256]rune
	ignoreMerges bool // a word that is a token is taken whole
	wholeLines   bool // a run of newlines that is a token is taken whole
	fuseUnknown  bool
	unknown      int32 // -1: what cannot be spelt is left out
	bytes        [256]int32
	runes        runeTable
	pairs        pairTable
	virtual      []string // characters that occur only inside tokens; their ids follow the vocabulary's
	cutSpaces    bool
	glue         []rune // last characters of pieces that merge with a following ▁

	bos, eos       int32
	addBOS, addEOS bool
	prefix, suffix []int32
	eog            []int32
	hash           [32]byte
	scratches      sync.Pool
}

// Size returns the number of ids, one more than the largest. Some vocabularies leave holes, for
// which Token returns false.
func (t *Tokenizer) Size() int { return len(t.text) }

// Token returns the entry with the given id, and false when there is none.
func (t *Tokenizer) Token(id int32) (Token, bool) {
	if !t.has(id) {
		return Token{}, false
	}
	return Token{Text: t.text[id], Bytes: []byte(t.piece(id)), Kind: t.kind[id]}, true
}

// ID returns the id of the token stored as text, and false when there is none. Where a vocabulary
// holds a text twice, it is the larger id.
func (t *Tokenizer) ID(text string) (int32, bool) {
	id, ok := t.id[text]
	return id, ok
}

// BOS returns the id that opens a sequence, and false when the model has none.
func (t *Tokenizer) BOS() (int32, bool) { return t.bos, t.bos >= 0 }

// EOS returns the id that ends a sequence, and false when the model has none.
func (t *Tokenizer) EOS() (int32, bool) { return t.eos, t.eos >= 0 }

// AddBOS reports whether the model expects BOS before a text.
func (t *Tokenizer) AddBOS() bool { return t.addBOS }

// AddEOS reports whether the model expects EOS after a text.
func (t *Tokenizer) AddEOS() bool { return t.addEOS }

// EOG returns every id that ends a generation, ascending: EOS, the end-of-turn and end-of-message
// ids that the description names, and control tokens with well-known names such as <|im_end|>.
func (t *Tokenizer) EOG() []int32 { return append([]int32(nil), t.eog...) }

// IsControl reports whether id is structure that text from outside must not produce: the Control
// kind, and user-defined tokens that models use as markers (<think>, <tool_call>, <|fim_prefix|>).
// Ids outside the vocabulary are not.
func (t *Tokenizer) IsControl(id int32) bool {
	return t.has(id) && t.flags[id]&flagControl != 0
}

// Template returns the ids that the model's post-processor puts around a text: what Encode leaves
// out and a plain completion of the text needs.
func (t *Tokenizer) Template() Template {
	return Template{
		Prefix: append([]int32(nil), t.prefix...),
		Suffix: append([]int32(nil), t.suffix...),
	}
}

// Hash identifies the vocabulary and everything else that ids depend on. Equal hashes mean equal
// ids for every text; the same model's GGUF and tokenizer.json may differ.
func (t *Tokenizer) Hash() [32]byte { return t.hash }
