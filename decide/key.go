package decide

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/hotpath-go/hotpath/model/chat"
)

// key collects what a value was made from; every part has its length before it.
type key []byte

func (k *key) number(n int) { *k = binary.AppendVarint(*k, int64(n)) }

func (k *key) text(s string) {
	k.number(len(s))
	*k = append(*k, s...)
}

func (k *key) sum() [32]byte { return sha256.Sum256(*k) }

// keyOf is the identity of a question as it is compiled.
func keyOf(b Border, instructions string, q *Question) [32]byte {
	var k key
	for _, n := range [...]int{int(b), int(q.Kind), int(q.Method), int(q.Length), q.Orders, len(q.Options)} {
		k.number(n)
	}
	k.text(instructions)
	k.text(q.Instructions)
	k.text(q.Criteria)
	for _, o := range q.Options {
		k.text(o.Name)
		k.text(o.Description)
	}
	return k.sum()
}

// stateKey is the identity of a state of messages as it is encoded.
func stateKey(p chat.Prompt, want Border) [32]byte {
	var k key
	k.number(int(want))
	k.number(len(p.Turns()))
	for _, m := range p.Turns() {
		for _, s := range [...]string{string(m.Role), m.Content, m.Reasoning, m.ToolCallID, m.Name} {
			k.text(s)
		}
		k.number(len(m.Parts))
		for _, part := range m.Parts {
			k.text(part.Type)
			k.text(part.Text)
		}
		k.number(len(m.ToolCalls))
		for _, c := range m.ToolCalls {
			k.text(c.ID)
			k.text(c.Name)
			k.text(string(c.Arguments))
		}
		k.number(len(m.IDs))
		for _, id := range m.IDs {
			k.number(int(id))
		}
	}
	k.number(len(p.Tools()))
	for _, t := range p.Tools() {
		k.text(t.Name)
		k.text(t.Description)
		k.text(string(t.Parameters))
	}
	k.number(len(p.Args()))
	for _, a := range p.Args() {
		k.text(a.Name)
		k.text(string(a.Value))
	}
	return k.sum()
}
