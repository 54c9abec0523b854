package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/engine/backend/backendtest"
	"github.com/hotpath-go/hotpath/engine/sample"
	"github.com/hotpath-go/hotpath/internal/race"
	"github.com/hotpath-go/hotpath/kvcache"
	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/model/chat"
)

// Invariant 1: every pool block is free, referenced or indexed; a second writer copies first.
func TestInvariant01Blocks(t *testing.T) {
	t.Parallel()
	for _, inFlight := range []int{1, 2} {
		t.Run(fmt.Sprint(inFlight, " in flight"), func(t *testing.T) {
			t.Parallel()
			e := openFake(t, &backendtest.Fake{InFlight: inFlight}, blocks(24, 24))
			prompt := sequence(1, 20) // a full block and a part of one
			alone := generate(t, e, write(prompt, 40))

			var calls []<-chan result[*engine.Generation]
			for i := range 4 {
				// The prompt's last block is half full and shared: all but one must copy it.
				r := write(concat(prompt, sequence(10+i/2, 1+i%2)), 40)
				calls = append(calls, begin(func() (*engine.Generation, error) { return e.Generate(t.Context(), r) }))
			}
			again := generate(t, e, write(prompt, 40))
			for i, c := range calls {
				if r := <-c; r.err != nil {
					t.Errorf("call %d: %v", i, r.err)
				} else if want := 20 + 1 + i%2; r.value.Usage.PromptTokens != want {
					t.Errorf("call %d: %d prompt tokens, want %d", i, r.value.Usage.PromptTokens, want)
				}
			}
			same(t, "beside others", again, alone)
			checkIdle(t, e)
			s := e.Stats().Cache
			if s.Free+s.Cached != s.Blocks || s.Blocks != 24 {
				t.Errorf("%d free and %d cached blocks, want the %d there are", s.Free, s.Cached, s.Blocks)
			}
			if s.Copied == 0 {
				t.Error("nobody copied the shared block")
			}
		})
	}
}

// Invariant 2: a hit is as long as the tokens agree, to the token.
func TestInvariant02HitComparesTokens(t *testing.T) {
	t.Parallel()
	e := openFake(t, &backendtest.Fake{})
	base := sequence(2, 50)
	generate(t, e, write(base, 1))
	for n := range base {
		other := append([]int32(nil), base...)
		other[n] = 3 + (other[n]-3+250)%500
		if got := covered(e, "", other); got != n {
			t.Errorf("first difference at %d: the cache covers %d", n, got)
		}
		g := generate(t, e, write(other[:n+1], 1))
		if g.Usage.CachedTokens != n || g.Usage.ComputedTokens != 1 {
			t.Errorf("first difference at %d: %d tokens cached, %d computed", n, g.Usage.CachedTokens, g.Usage.ComputedTokens)
		}
	}
}

// Invariant 2: namespaces never meet.
func TestInvariant02Namespaces(t *testing.T) {
	t.Parallel()
	e := openFake(t, &backendtest.Fake{})
	ids := sequence(3, 40)
	for i, ns := range []string{"", "a", "b", "ab"} {
		r := write(ids, 3)
		r.Namespace = ns
		d := ask(decide.Tokens(ids...))
		d.Namespace = ns
		if i%2 == 0 {
			if g := generate(t, e, r); g.Usage.CachedTokens != 0 {
				t.Errorf("namespace %q: %d tokens cached at the first call", ns, g.Usage.CachedTokens)
			}
		}
		d1 := decideOn(t, e, d)
		if want := 40 * ((i + 1) % 2); d1.Usage.CachedTokens != want {
			t.Errorf("namespace %q: decision has %d tokens cached, want %d", ns, d1.Usage.CachedTokens, want)
		}
		if g := generate(t, e, r); g.Usage.CachedTokens != 39 {
			t.Errorf("namespace %q: %d tokens cached at a later call, want 39", ns, g.Usage.CachedTokens)
		}
	}
}

// Invariant 3: a hit never covers the token whose logits are wanted.
func TestInvariant03LastTokenIsComputed(t *testing.T) {
	t.Parallel()
	e := openFake(t, &backendtest.Fake{})
	for n := 1; n <= 34; n++ {
		ids := sequence(1000+n, n)
		first := generate(t, e, write(ids, 4))
		again := generate(t, e, write(ids, 4))
		same(t, fmt.Sprint(n, " tokens, hot"), again, first)
		if u := again.Usage; u.CachedTokens != n-1 || u.ComputedTokens != 4 {
			t.Errorf("%d tokens: cached %d, computed %d, want %d and 4", n, u.CachedTokens, u.ComputedTokens, n-1)
		}
		// A decision wants no logits of its state.
		d := decideOn(t, e, ask(decide.Tokens(ids...)))
		if d.Usage.CachedTokens != n || d.Usage.Recomputed != 0 {
			t.Errorf("state of %d tokens: cached %d, recomputed %d", n, d.Usage.CachedTokens, d.Usage.Recomputed)
		}
	}
}

// Invariant 4: what exceeds pool or scratch fails at once with both numbers, and nothing waits behind it.
func TestInvariant04TooLargeFailsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &backendtest.Fake{}
		g := gated(t, f)
		e := openFake(t, f, blocks(6, 20), engine.WithContextLength(512))
		t.Cleanup(g.free)
		running := begin(func() (*engine.Generation, error) { return e.Generate(t.Context(), write(sequence(4, 20), 40)) })
		g.step()

		check := func(err error, kind error, need, have int) {
			t.Helper()
			mustFail(t, err, kind)
			var room *kvcache.CapacityError
			if !errors.As(err, &room) {
				t.Fatalf("error %v, want a CapacityError", err)
			}
			if room.Need != need || room.Have != have || !strings.Contains(err.Error(), fmt.Sprint(need)) {
				t.Errorf("needs %d, has %d, want %d and %d: %v", room.Need, room.Have, need, have, err)
			}
		}
		_, err := e.Generate(t.Context(), write(sequence(4, 100), 0)) // up to 512 positions
		check(err, kvcache.ErrTooLarge, 32, 6)
		_, err = e.Generate(t.Context(), write(sequence(4, 90), 8)) // 97 rows: the last token is never computed
		check(err, kvcache.ErrTooLarge, 7, 6)
		_, err = e.Warm(t.Context(), chat.Tokens(sequence(4, 97)...), 0)
		check(err, kvcache.ErrTooLarge, 7, 6)
		_, err = e.Decide(t.Context(), ask(decide.Tokens(sequence(4, 97)...)))
		check(err, kvcache.ErrTooLarge, 7, 6)

		long := decide.Request{State: decide.Text("x"), Questions: []decide.Question{
			decide.Boolean("b", strings.Repeat("is it so? ", 80)), // many short ones would take turns
		}}
		_, err = e.Decide(t.Context(), long)
		var room *kvcache.CapacityError
		if !errors.As(err, &room) || !errors.Is(err, kvcache.ErrScratch) || room.Have != 20 {
			t.Errorf("error %v, want one about the 20 scratch blocks", err)
		}

		// 96 rows fill the pool exactly, and wait for the one that runs.
		full := begin(func() (*engine.Generation, error) { return e.Generate(t.Context(), write(sequence(5, 90), 7)) })
		g.let()
		g.free()
		for _, c := range []<-chan result[*engine.Generation]{running, full} {
			if r := <-c; r.err != nil {
				t.Error(r.err)
			}
		}
	})
}

// Invariant 4: blocks of a hit that nobody refers to are part of what a request needs.
func TestInvariant04HitsCountAsNeeded(t *testing.T) {
	t.Parallel()
	e := openFake(t, &backendtest.Fake{}, blocks(6, 20), engine.WithContextLength(512))
	hot := sequence(6, 64)
	generate(t, e, write(hot, 1)) // 4 blocks stay
	var calls []<-chan result[*engine.Generation]
	want := map[int]string{}
	for i := range 3 { // each needs the 4 hot blocks and 2 more, or 6 others
		ids := concat(hot, sequence(70+i, 20))
		if i == 1 {
			ids = sequence(70, 84)
		}
		alone := openFake(t, &backendtest.Fake{})
		want[i] = print(generate(t, alone, write(ids, 12)))
		calls = append(calls, begin(func() (*engine.Generation, error) { return e.Generate(t.Context(), write(ids, 12)) }))
	}
	for i, c := range calls {
		r := <-c
		if r.err != nil {
			t.Errorf("call %d: %v", i, r.err)
			continue
		}
		same(t, fmt.Sprint("call ", i), print(r.value), want[i])
	}
}

// Invariant 6: a step that failed, or whose caller left, leaves no key for its rows.
func TestInvariant06NoKeyForUnfinishedRows(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	type ops = []backendtest.Op
	for _, inFlight := range []int{1, 2} {
		for _, op := range (ops{backendtest.OpSubmit, backendtest.OpStep, backendtest.OpWait}) {
			for _, panics := range []bool{false, true} {
				t.Run(fmt.Sprintf("%d in flight, op %d, panics %v", inFlight, op, panics), func(t *testing.T) {
					t.Parallel()
					f := &backendtest.Fake{InFlight: inFlight, Hook: func(c backendtest.Call) error {
						if c.Op != op || c.N != 2 {
							return nil
						}
						if panics {
							panic(boom)
						}
						return boom
					}}
					e := openFake(t, f, engine.WithStepRows(16))
					ids := sequence(7, 60)
					_, err := e.Generate(t.Context(), write(ids, 4))
					if panics {
						mustFail(t, err, engine.ErrInternal)
						if !strings.Contains(err.Error(), "boom") {
							t.Errorf("error %v does not say what the panic said", err)
						}
					} else {
						mustFail(t, err, boom)
					}
					// The step before may have ended after its call did.
					n := covered(e, "", ids)
					if n != 16 && (n != 0 || inFlight == 1) {
						t.Errorf("the cache covers %d tokens, want the 16 of the step before", n)
					}
					g := generate(t, e, write(ids, 4))
					if g.Usage.CachedTokens != n {
						t.Errorf("%d tokens cached after the failure, want %d", g.Usage.CachedTokens, n)
					}
					same(t, "after the failure", g, generate(t, openFake(t, &backendtest.Fake{}), write(ids, 4)))
				})
			}
		}
		t.Run(fmt.Sprint(inFlight, " in flight, cancelled"), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := &backendtest.Fake{InFlight: inFlight}
				g := gated(t, f)
				e := openFake(t, f, engine.WithStepRows(16))
				t.Cleanup(g.free)
				ids := sequence(8, 60)
				ctx, cancel := context.WithCancel(t.Context())
				call := begin(func() (*engine.Generation, error) { return e.Generate(ctx, write(ids, 4)) })
				g.step()
				g.let()
				g.step()
				synctest.Wait()
				cancel()
				mustFail(t, (<-call).err, context.Canceled)
				g.free()
				synctest.Wait()
				if n := covered(e, "", ids); n != 16 {
					t.Errorf("the cache covers %d tokens, want the 16 of the step before", n)
				}
				checkIdle(t, e)
			})
		})
	}
}

// pool is what a decision on a hot state must not change.
func pool(e *engine.Engine) string {
	s := e.Stats().Cache
	return fmt.Sprint("free ", s.Free, " cached ", s.Cached, " referenced ", s.Referenced, " indexed ", s.Indexed,
		" stored ", s.Stored, " evicted ", s.Evicted, " merged ", s.Deduplicated, " copied ", s.Copied)
}

// Invariant 7: a decision on a running generation with a half-full last block takes no pool block
// and makes it copy nothing, whether its rows share a step with the generation's or not.
func TestInvariant07DecisionOnRunningGeneration(t *testing.T) {
	t.Parallel()
	prompt := sequence(9, 20)
	for _, inFlight := range []int{1, 2} {
		t.Run(fmt.Sprint(inFlight, " in flight"), func(t *testing.T) {
			t.Parallel()
			alone := openFake(t, &backendtest.Fake{InFlight: inFlight})
			want := generate(t, alone, write(prompt, 200))
			after := pool(alone)
			synctest.Test(t, func(t *testing.T) {
				f := &backendtest.Fake{InFlight: inFlight}
				g := gated(t, f)
				e := openFake(t, f)
				t.Cleanup(g.free)
				cold := openFake(t, &backendtest.Fake{})
				// The state is all that the generation has finished, which ends within a block.
				call := begin(func() (*engine.Generation, error) { return e.Generate(t.Context(), write(prompt, 200)) })
				g.step()
				for n := 20; n < 70; n += 5 {
					for range 5 {
						g.let()
						g.step()
					}
					synctest.Wait()
					known := concat(prompt, want.IDs)
					state := known[:covered(e, "", known)]
					free := e.Stats().Cache.Free
					decision := begin(func() (*decide.Result, error) { return e.Decide(t.Context(), ask(decide.Tokens(state...))) })
					synctest.Wait()
					for len(decision) == 0 {
						g.let()
						if d := free - e.Stats().Cache.Free; d > 1 {
							t.Errorf("state of %d tokens: %d blocks gone, the generation needs at most 1", len(state), d)
						}
						g.step()
						synctest.Wait()
						free = e.Stats().Cache.Free
					}
					r := <-decision
					if r.err != nil {
						t.Fatal(r.err)
					}
					same(t, "answer", r.value, decideOn(t, cold, ask(decide.Tokens(state...))))
					if u := r.value.Usage; u.CachedTokens != len(state) || u.Recomputed != 0 {
						t.Errorf("state of %d tokens: %d cached, %d recomputed", len(state), u.CachedTokens, u.Recomputed)
					}
				}
				g.free()
				r := <-call
				if r.err != nil {
					t.Fatal(r.err)
				}
				same(t, "generation", r.value, want)
				if got := pool(e); got != after {
					t.Errorf("%s\nwithout decisions: %s", got, after)
				}
			})
		})
	}
}

// Invariant 7: the same while the generation stands still, so that every number must be equal.
func TestInvariant07DecisionOnPausedGeneration(t *testing.T) {
	t.Parallel()
	for name, opt := range map[string][]engine.Option{
		"fake": {engine.WithBackend(&backendtest.Fake{})},
		"cpu":  nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prompt := sequence(11, 20)
			want := generate(t, open(t, opt...), write(prompt, 30))
			e := open(t, append(opt, engine.WithSlowReader(engine.SlowReader{Events: 5}))...)
			var ids []int32
			for ev, err := range e.Stream(t.Context(), write(prompt, 30)) {
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, ev.IDs...)
				if len(ids) != 3 {
					continue
				}
				// Nobody reads: the generation comes to a stop once its events have piled up.
				state := concat(prompt, ids)[:22]
				// It would have a row beside those of a decision if it still ran.
				for still := 0; still < 3; {
					n := e.Stats().Generated
					decideOn(t, e, ask(decide.Text("pass the time")))
					if still++; e.Stats().Generated > n {
						still = 0
					}
				}
				before := pool(e)
				for n := 17; n <= 22; n++ {
					r := decideOn(t, e, ask(decide.Tokens(state[:n]...)))
					if r.Usage.CachedTokens != n || r.Usage.Recomputed != 0 {
						t.Errorf("state of %d tokens: %v, recomputed %d", n, r.Usage, r.Usage.Recomputed)
					}
				}
				if after := pool(e); after != before {
					t.Errorf("%s\nbefore the decision: %s", after, before)
				}
			}
			if fmt.Sprint(ids) != fmt.Sprint(want.IDs) {
				t.Errorf("ids %v, want %v", ids, want.IDs)
			}
			if n := e.Stats().Cache.Copied; n != 0 {
				t.Errorf("%d blocks copied", n)
			}
		})
	}
}

// Invariant 7: a decision leaves the order of eviction as a Match alone would leave it.
func TestInvariant07EvictionOrder(t *testing.T) {
	t.Parallel()
	states := [][]int32{sequence(21, 40), sequence(22, 48), sequence(23, 33)}
	order := func(touch func(e *engine.Engine, ids []int32)) string {
		e := openFake(t, &backendtest.Fake{}, blocks(12, 24))
		for _, ids := range states {
			generate(t, e, write(ids, 1))
		}
		touch(e, states[0])
		touch(e, states[2][:20])
		var b strings.Builder
		for i := range 12 {
			generate(t, e, write(sequence(30+i, 16), 1))
			for _, ids := range states {
				fmt.Fprint(&b, covered(e, "", ids), " ")
			}
			b.WriteString("; ")
		}
		return b.String()
	}
	match := order(func(e *engine.Engine, ids []int32) {
		hit, err := engine.CacheOf(e).Match(kvcache.Namespace{}, ids, len(ids))
		if err != nil {
			t.Fatal(err)
		}
		hit.Release()
	})
	read := order(func(e *engine.Engine, ids []int32) {
		if r := decideOn(t, e, ask(decide.Tokens(ids...))); r.Usage.CachedTokens != len(ids) {
			t.Errorf("%d of %d tokens cached", r.Usage.CachedTokens, len(ids))
		}
	})
	if untouched := order(func(*engine.Engine, []int32) {}); untouched == match {
		t.Error("a Match changes no order: the test shows nothing")
	}
	if read != match {
		t.Errorf("prefixes left after each eviction: %s\nafter Match alone: %s", read, match)
	}
}

// The part of a state that full blocks do not cover is read from the leading part of an indexed
// block, or recomputed in scratch; the bits are those of a cold state.
func TestInvariant07PartOfABlock(t *testing.T) {
	t.Parallel()
	e := open(t, engine.WithKV(engine.KV{Scratch: 256 * blockBytes}))
	hot := sequence(41, 48)
	generate(t, e, write(hot, 1))
	calls := 0
	cold := func(ids []int32) *decide.Result {
		r := ask(decide.Tokens(ids...))
		calls++
		r.Namespace = fmt.Sprint("cold ", calls)
		res := decideOn(t, e, r)
		if res.Usage.CachedTokens != 0 {
			t.Fatalf("%d tokens of a cold state cached", res.Usage.CachedTokens)
		}
		return res
	}
	for k := 0; k <= 16; k++ {
		if race.Enabled && k%8 > 1 {
			continue
		}
		leading := hot[:16+max(k, 1)]
		tail := concat(hot[:32], sequence(50+k, k))
		for _, ids := range [][]int32{leading, tail} {
			before := pool(e)
			r := decideOn(t, e, ask(decide.Tokens(ids...)))
			if after := pool(e); after != before {
				t.Errorf("%d tokens: %s\nbefore: %s", len(ids), after, before)
			}
			if lost := len(ids) - covered(e, "", ids); r.Usage.Recomputed != lost || r.Usage.CachedTokens != len(ids)-lost {
				t.Errorf("%d tokens: %d cached, %d recomputed, want %d recomputed", len(ids), r.Usage.CachedTokens, r.Usage.Recomputed, lost)
			}
			same(t, fmt.Sprint(len(ids), " tokens"), r, cold(ids))
		}
	}
}

// Invariant 8: text never becomes a control token.
func TestInvariant08TextIsNeverControl(t *testing.T) {
	t.Parallel()
	m, err := model.Stories().Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	var seen []int32
	f := &backendtest.Fake{InFlight: 1, Hook: func(c backendtest.Call) error {
		if c.Op == backendtest.OpStep {
			for _, s := range c.Batch.Seqs {
				for _, sp := range s.Spans {
					for i, id := range sp.Tokens {
						if sp.Pos+i > 0 { // position 0 is the model's own BOS
							seen = append(seen, id)
						}
					}
				}
			}
		}
		return nil
	}}
	e := openFake(t, f)
	bad := "<s> </s><s><unk> <|im_start|> \x00 a"
	generate(t, e, engine.GenerateRequest{Prompt: chat.Text(bad), MaxTokens: 1})
	for _, s := range []decide.State{decide.Text(bad), decide.JSON(map[string]string{bad: bad})} {
		decideOn(t, e, decide.Request{State: s, Instructions: bad, Questions: []decide.Question{
			decide.Choice(bad, bad, decide.Opt("<s>", bad), decide.Opt("</s>", bad)),
			decide.Score("2", bad, "<s>1", "</s>"),
		}})
	}
	if len(seen) < 100 {
		t.Fatalf("%d tokens seen", len(seen))
	}
	for _, id := range seen {
		if m.Tokenizer.IsControl(id) {
			t.Errorf("control token %d", id)
		}
	}
}

// Invariant 9: streaming and not streaming give the same text, and every event is valid UTF-8.
func TestInvariant09StreamEqualsGenerate(t *testing.T) {
	t.Parallel()
	warm := 1.0
	for name, opts := range map[string][]engine.Option{
		// A fake chooses ids at random, the bytes of broken characters among them.
		"fake": {engine.WithBackend(&backendtest.Fake{})},
		"cpu":  nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := open(t, opts...)
			seeds := uint64(12)
			if race.Enabled {
				seeds = 3
			}
			for seed := range seeds {
				r := engine.GenerateRequest{
					Prompt: chat.Text("Once upon a time"), MaxTokens: 60, Seed: seed,
					Sampling: sample.Settings{Temperature: &warm}, LogProbs: seed%2 == 0,
				}
				whole := generate(t, e, r)
				for _, stop := range [][]string{nil, {cut(whole.Text, 10, 4)}, {"never to be found", cut(whole.Text, 30, 9), cut(whole.Text, 20, 1)}} {
					r.Stop = stop
					checkStream(t, e, r, whole.Text)
				}
			}
		})
	}
}

// cut returns n characters of a text.
func cut(text string, from, n int) string {
	r := []rune(text)
	from = min(from, len(r)-1)
	return string(r[from:min(from+n, len(r))])
}

func checkStream(t *testing.T, e *engine.Engine, r engine.GenerateRequest, unstopped string) {
	t.Helper()
	whole := generate(t, e, r)
	var text strings.Builder
	var ids []int32
	var logProbs []engine.LogProb
	var done *engine.Generation
	for ev, err := range e.Stream(t.Context(), r) {
		if err != nil {
			t.Fatal(err)
		}
		if done != nil {
			t.Error("an event after the last one")
		}
		if !utf8.ValidString(ev.Text) {
			t.Errorf("event %q is not valid UTF-8", ev.Text)
		}
		text.WriteString(ev.Text)
		ids = append(ids, ev.IDs...)
		logProbs = append(logProbs, ev.LogProbs...)
		done = ev.Done
	}
	if done == nil {
		t.Fatal("no event says that it is done")
	}
	same(t, "stream's generation", done, whole)
	if text.String() != whole.Text || fmt.Sprint(ids) != fmt.Sprint(whole.IDs) || fmt.Sprint(logProbs) != fmt.Sprint(whole.LogProbs) {
		t.Errorf("events %q %v, want %q %v", text.String(), ids, whole.Text, whole.IDs)
	}
	// The text is what was there before the first of the stop texts to be complete.
	if !strings.HasPrefix(unstopped, whole.Text) {
		t.Errorf("stopped by %q: %q is no beginning of %q", r.Stop, whole.Text, unstopped)
	}
	for _, s := range r.Stop {
		if strings.Contains(whole.Text, s) {
			t.Errorf("text %q holds the stop text %q", whole.Text, s)
		}
	}
	stops := false
	for _, s := range r.Stop {
		stops = stops || strings.Contains(unstopped, s)
	}
	if stops && whole.Finish != engine.FinishStop || !stops && whole.Text != unstopped {
		t.Errorf("stop %q: finish %q, text %q of %q", r.Stop, whole.Finish, whole.Text, unstopped)
	}
}
