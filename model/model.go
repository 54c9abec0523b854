package model

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hotpath-go/hotpath/model/arch"
	"github.com/hotpath-go/hotpath/model/chat"
	"github.com/hotpath-go/hotpath/model/tokenizer"
	"github.com/hotpath-go/hotpath/quant"
)

var (
	// ErrSource is returned for a path where there is neither a GGUF file nor a safetensors file or
	// folder.
	ErrSource = errors.New("model: not a model")
	// ErrMismatch is returned when the parts of a model do not fit each other, such as a tokenizer
	// with more tokens than the embedding has rows.
	ErrMismatch = errors.New("model: parts do not fit each other")
	// ErrToken is returned for a token id outside the vocabulary.
	ErrToken = errors.New("model: unknown token id")
	// ErrPrompt is returned for a prompt that is empty, or mixes forms that do not go together.
	ErrPrompt = errors.New("model: bad prompt")
)

// Source is where a model comes from.
type Source interface {
	// Load opens the model. The caller closes it.
	Load(ctx context.Context) (*Model, error)
	// String names the source in messages.
	String() string
}

// Model is an opened model. It is read-only and safe for concurrent use until Close.
type Model struct {
	Name      string
	Program   *arch.Program
	Tokenizer *tokenizer.Tokenizer
	Template  string    // source of the chat template; empty: none
	Decision  string    // how the model was trained to decide, as its file declares it: see package decide; empty: it does not say
	IDF       []float32 // what each token weighs where an option of a decision shares it with the state, by id, 0 or more; nil: the file does not say
	Fold      []int32   // the token that stands for each there, such as one for all forms of a word; nil: each for itself
	ID        [32]byte  // identity of program, weights' shapes and names, tokenizer, template and what is said about decisions
	Size      int64     // bytes of the weights as stored

	chatting *chatting
	release  func() error
	forget   func(data []byte) // nil for weights in memory
}

// Release tells the system that a tensor's data is not needed for now, since a copy in another layout
// is in use: its pages may leave memory, and are read from the file again when touched.
func (m *Model) Release(t quant.Tensor) {
	if m.forget != nil {
		m.forget(t.Data)
	}
}

// Close lets go of the weights. Nobody may use the model or a view of it afterwards.
func (m *Model) Close() error {
	if m.release == nil {
		return nil
	}
	return m.release()
}

// Encode returns the tokens of a prompt. Raw text is encoded in the mode where nothing becomes a
// control token, after the BOS token where the model wants one; token ids are checked against the
// vocabulary and taken as they are. Messages are rendered by the model's template, with the
// scaffolding that opens the reply: chat.ErrNoTemplate where there is none.
//
// The caller owns the slice. clock is the time that a template may ask for.
func (m *Model) Encode(p chat.Prompt, clock time.Time) ([]int32, error) {
	e, err := m.EncodeReply(p, clock)
	return e.IDs, err
}

// Encoded is a prompt in tokens.
type Encoded struct {
	IDs []int32
	// Opening is the text at the end of a prompt of messages that opens the reply: a reasoning section
	// that it leaves open goes on in the reply.
	Opening string
	// Dropped lists the messages of which the template shows nothing though they have content.
	Dropped []int
}

// EncodeReply is Encode that also tells how the reply is opened.
func (m *Model) EncodeReply(p chat.Prompt, clock time.Time) (Encoded, error) {
	if p.Kind() != chat.KindMessages && len(p.Tools()) > 0 {
		return Encoded{}, fmt.Errorf("%w: tools without messages", ErrPrompt)
	}
	var ids []int32
	switch p.Kind() {
	case chat.KindText:
		if p.RawText() == "" {
			break
		}
		if bos, ok := m.Tokenizer.BOS(); ok && m.Tokenizer.AddBOS() {
			ids = append(ids, bos)
		}
		ids = m.Tokenizer.Encode(ids, p.RawText(), tokenizer.Text)
	case chat.KindTokens:
		ids = slices.Clone(p.IDs())
		for i, id := range ids {
			if id < 0 || int(id) >= m.Program.Vocab {
				return Encoded{}, fmt.Errorf("%w: token %d of %d: id %d, the vocabulary has %d", ErrToken, i, len(ids), id, m.Program.Vocab)
			}
		}
	case chat.KindMessages:
		return m.encodeMessages(p, clock)
	case chat.KindMixed:
		return Encoded{}, fmt.Errorf("%w: messages were added to text or token ids", ErrPrompt)
	}
	if len(ids) == 0 {
		return Encoded{}, fmt.Errorf("%w: empty", ErrPrompt)
	}
	return Encoded{IDs: ids}, nil
}
