package constrain

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hotpath-go/hotpath/internal/race"
)

func TestStateForksAndEnds(t *testing.T) {
	t.Parallel()
	v := smallVocab()
	c, err := NewCompiler(v, Options{})
	if err != nil {
		t.Fatal(err)
	}
	g, err := c.Compile(Choice("yes", "yesterday", "no"))
	if err != nil {
		t.Fatal(err)
	}
	s := g.Start()
	if err := s.Accept(256); !errors.Is(err, ErrToken) {
		t.Fatalf("ended at once: %v", err)
	}
	for _, bad := range []int32{-1, int32(len(v.Tokens)), int32(len(v.Tokens) - 1), 'x'} {
		if err := s.Accept(bad); !errors.Is(err, ErrToken) {
			t.Fatalf("token %d: %v, want ErrToken", bad, err)
		}
	}
	if got := ids(s.Mask(nil)); !slices.Equal(got, []int32{'n', 'y'}) {
		t.Fatalf("allowed %v", got)
	}
	if f := s.Forced(nil); len(f) != 0 {
		t.Fatalf("forced %q", f)
	}
	for _, b := range "y" {
		if err := s.Accept(b); err != nil {
			t.Fatal(err)
		}
	}
	if f := s.Forced([]byte("> ")); string(f) != "> es" {
		t.Fatalf("forced %q, want \"es\"", f)
	}
	fork := s
	if !s.AcceptBytes([]byte("es")) || !s.Done() || s.Ended() {
		t.Fatal("yes is complete and can go on")
	}
	if got := ids(s.Mask(nil)); !slices.Equal(got, []int32{'t', 256}) {
		t.Fatalf("behind yes %v", got)
	}
	if s.AcceptBytes([]byte("tex")) || !s.Done() {
		t.Fatal("a refused text moved the state")
	}
	if !fork.AcceptBytes([]byte("esterday")) || !fork.Done() || !fork.Ended() {
		t.Fatal("the fork does not go its own way")
	}
	if got := ids(fork.Mask(nil)); !slices.Equal(got, []int32{256}) {
		t.Fatalf("behind yesterday %v", got)
	}
	if err := s.Accept(256); err != nil || !s.Done() || !s.Ended() {
		t.Fatal(err)
	}
	if got := ids(s.Mask(nil)); len(got) != 0 {
		t.Fatalf("behind the end %v", got)
	}
	if err := s.Accept(256); !errors.Is(err, ErrToken) {
		t.Fatalf("ended twice: %v", err)
	}
	if fork.Ended() && !fork.Done() {
		t.Fatal("the fork shares the end")
	}
}

func TestSequenceAndOneOf(t *testing.T) {
	t.Parallel()
	c := newTestCompiler(t, Options{})
	call := func(name, schema string) Spec {
		return Sequence(Literal(`<tool_call>{"name":"`+name+`","arguments":`), JSONSchema([]byte(schema), WhitespaceNone), Literal("}</tool_call>"), Regexp(`\n*`), Regexp(`x?`))
	}
	g, err := c.Compile(OneOf(call("add", `{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],"additionalProperties":false}`), call("age", `{"type":"null"}`)))
	if err != nil {
		t.Fatal(err)
	}
	for _, yes := range []string{`<tool_call>{"name":"add","arguments":{"a":12}}</tool_call>`, `<tool_call>{"name":"age","arguments":null}</tool_call>` + "\n\nx"} {
		if !accepts(g, yes) {
			t.Errorf("%q is refused", yes)
		}
	}
	for _, no := range []string{`<tool_call>{"name":"age","arguments":{"a":12}}</tool_call>`, `<tool_call>{"name":"add","arguments":{"a":12}}`, "x", ""} {
		if accepts(g, no) {
			t.Errorf("%q is accepted", no)
		}
	}
	s := g.Start()
	if f := s.Forced(nil); string(f) != `<tool_call>{"name":"a` {
		t.Errorf("forced %q", f)
	}
	if s.AcceptBytes([]byte(`<tool_call>{"name":"ad`)); string(s.Forced(nil)) != `d","arguments":{"a":` {
		t.Errorf("forced %q", s.Forced(nil))
	}
	empty, err := c.Compile(Sequence(Regexp("a*"), OneOf(Regexp("b*"), Choice("", "c"))))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{"": true, "a": true, "abb": true, "c": true, "aac": true, "bc": false, "ca": false} {
		if accepts(empty, text) != want {
			t.Errorf("%q is accepted: %v", text, !want)
		}
	}
}

func TestCompilerKeepsGrammars(t *testing.T) {
	t.Parallel()
	c := newTestCompiler(t, Options{Grammars: 3})
	get := func(i int) *Grammar {
		g, err := c.Compile(Choice(fmt.Sprint(i)))
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	first := get(0)
	get(1)
	get(2)
	if get(0) != first {
		t.Fatal("compiled again")
	}
	get(3) // drops 1
	if get(0) != first {
		t.Fatal("the latest used went first")
	}
	if len(c.known) != 3 || c.order.Len() != 3 {
		t.Fatalf("%d and %d kept, limit 3", len(c.known), c.order.Len())
	}
	for i := range 100 {
		get(i)
		if _, err := c.Compile(Regexp(fmt.Sprintf("(%d", i))); err == nil {
			t.Fatal("no error")
		}
	}
	if len(c.known) != 3 {
		t.Fatalf("%d kept, limit 3", len(c.known))
	}
	// Constraints that look alike are kept apart.
	a, errA := c.Compile(Choice("a", "b"))
	b, errB := c.Compile(Choice("ab"))
	d, errD := c.Compile(Regexp("ab"))
	if errA != nil || errB != nil || errD != nil || a == b || b == d {
		t.Fatal("two constraints share a grammar")
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	v := smallVocab()
	c, err := NewCompiler(v, Options{Grammars: 2})
	if err != nil {
		t.Fatal(err)
	}
	texts := make([][]string, 4)
	var wg sync.WaitGroup
	for w := range texts {
		wg.Go(func() {
			for i, schema := range walkSchemas[:10] {
				g, err := c.Compile(JSONSchema([]byte(schema), WhitespaceNone))
				if err != nil {
					t.Error(err)
					return
				}
				texts[w] = append(texts[w], walkText(t, g, rand.New(rand.NewPCG(uint64(i), 5)), nil))
			}
		})
	}
	wg.Wait()
	for w := range texts {
		if !slices.Equal(texts[w], texts[0]) {
			t.Fatalf("goroutine %d: %q, want %q", w, texts[w], texts[0])
		}
	}
}

// A vocabulary without the bytes that must follow leaves an empty mask, not a wrong token.
func TestVocabularyThatCannotSpell(t *testing.T) {
	t.Parallel()
	c, err := NewCompiler(Vocab{Tokens: [][]byte{[]byte("a"), []byte("b"), nil}, End: []int32{2}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	g, err := c.Compile(Choice("ac"))
	if err != nil {
		t.Fatal(err)
	}
	s := g.Start()
	if err := s.Accept(0); err != nil {
		t.Fatal(err)
	}
	if got := ids(s.Mask(nil)); len(got) != 0 {
		t.Fatalf("allowed %v", got)
	}
	if f := s.Forced(nil); string(f) != "c" {
		t.Fatalf("forced %q", f)
	}
}

// Generating does not pile up memory.
func TestHeapStaysFlat(t *testing.T) {
	rounds := 300
	if race.Enabled {
		rounds = 40
	}
	if os.Getenv("HOTPATH_LONG") == "1" {
		rounds = 10_000
	}
	c, err := NewCompiler(smallVocab(), Options{Grammars: 8})
	if err != nil {
		t.Fatal(err)
	}
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	run := func(from, to int) {
		for i := from; i < to; i++ {
			r := rand.New(rand.NewPCG(uint64(i), 3))
			// A new schema each time, and an old one.
			schema := strings.Replace(walkSchemas[i%len(walkSchemas)], "{", fmt.Sprintf(`{"title":"%d",`, i), 1)
			if i%2 == 0 || !strings.HasPrefix(schema, "{") {
				schema = walkSchemas[2]
			}
			g, err := c.Compile(JSONSchema([]byte(schema), WhitespaceNone))
			if err != nil {
				t.Fatal(err)
			}
			walkText(t, g, r, nil)
		}
	}
	run(0, rounds)
	before := heap()
	run(rounds, 2*rounds)
	if after := heap(); after > before+before/4+4<<20 {
		t.Fatalf("the heap grew from %d to %d bytes", before, after)
	}
	runtime.KeepAlive(c)
}
