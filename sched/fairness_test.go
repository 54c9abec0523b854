package sched

import (
	"testing"
	"time"

	"github.com/hotpath-go/hotpath/kvcache"
)

func open(t testing.TB, o kvcache.Options, c Config) (*kvcache.Cache, *Scheduler) {
	t.Helper()
	cache, err := kvcache.New(o)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(cache, c)
	if err != nil {
		t.Fatal(err)
	}
	return cache, s
}

// advance runs one step and gives each generation its next token; it returns the jobs that ended.
func advance(t testing.TB, s *Scheduler) (ended []*Job, rows int) {
	t.Helper()
	p := s.Plan()
	if err := s.Settle(p, 0); err != nil {
		t.Fatal(err)
	}
	for _, it := range p.Items {
		j := it.Job
		if sp := it.Spans[len(it.Spans)-1]; sp.Last && !j.isDecision() {
			if err := j.Append(1); err != nil {
				t.Fatal(err)
			}
			if len(j.tokens) == len(j.Tokens)+j.MaxTokens {
				s.Finish(j)
				ended = append(ended, j)
			}
		}
	}
	return ended, p.Rows
}

func prompt(name, n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(name*1000 + i)
	}
	return out
}

// TestThousandRequestsDoNotStarveOne: a caller with one request is served at once, whatever another
// has queued; and two callers with a backlog get the same rows.
func TestThousandRequestsDoNotStarveOne(t *testing.T) {
	t.Parallel()
	_, s := open(t, kvcache.Options{Blocks: 400}, Config{StepRows: 64, Running: 16, QueueTokens: 1 << 30})
	submit := func(caller string, name int) *Job {
		j, err := s.Submit(Request{Caller: caller, Tokens: prompt(name, 64), MaxTokens: 4})
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	for i := range 1000 {
		submit("many", i)
	}
	for range 40 {
		advance(t, s)
	}
	single := submit("one", 5000)
	waited := 0
	for done := false; !done; waited++ {
		ended, _ := advance(t, s)
		for _, j := range ended {
			done = done || j == single
		}
		if waited > 30 {
			t.Fatal("still waiting")
		}
	}
	// a slot, then its prompt, then its tokens, each at half of the rows at worst
	if waited > 12 {
		t.Errorf("served after %d steps", waited)
	}
	for i := range 20 {
		submit("other", 6000+i)
	}
	other := s.accounts["other"]
	a, b := s.accounts["many"].served, other.served
	for other.active > 4 {
		advance(t, s)
	}
	a, b = s.accounts["many"].served-a, other.served-b
	if a/b > 1.25 || b/a > 1.25 {
		t.Errorf("with a backlog each: %v and %v served", a, b)
	}
}

func TestReturningCallerHasNoCredit(t *testing.T) {
	t.Parallel()
	_, s := open(t, kvcache.Options{Blocks: 64}, Config{})
	busy := s.join("busy")
	busy.served = 1000
	if a := s.join("new"); a.served != 1000 {
		t.Errorf("starts at %v", a.served)
	}
	away := s.join("away")
	away.served = 5000
	s.leave(away)
	if a := s.join("away"); a.served != 5000 {
		t.Errorf("comes back at %v", a.served)
	}
	for i := range 2 * maxAccounts {
		s.leave(s.join(string(rune('a'+i%26)) + time.Duration(i).String()))
	}
	if n := len(s.accounts); n > maxAccounts+2 {
		t.Errorf("%d accounts are remembered", n)
	}
	if s.accounts["busy"] != busy {
		t.Error("an active one was forgotten")
	}
}

// TestLongPromptLetsShortOnesIn: a prompt of many steps and a stream, and a short prompt between.
func TestLongPromptLetsShortOnesIn(t *testing.T) {
	t.Parallel()
	_, s := open(t, kvcache.Options{Blocks: 1000}, Config{StepRows: 64})
	stream, _ := s.Submit(Request{Caller: "stream", Tokens: prompt(1, 16), MaxTokens: 1000})
	advance(t, s)
	long, _ := s.Submit(Request{Caller: "long", Tokens: prompt(2, 6000), MaxTokens: 1})
	for range 5 {
		advance(t, s)
	}
	if long.Finished() < 5*(64-1) || stream.Finished() != 16+5 {
		t.Errorf("long: %d rows, stream: %d", long.Finished(), stream.Finished())
	}
	short, _ := s.Submit(Request{Caller: "short", Tokens: prompt(3, 40), MaxTokens: 1})
	for i := 0; ; i++ {
		if ended, _ := advance(t, s); len(ended) > 0 && ended[0] == short {
			break
		}
		if i > 3 {
			t.Fatalf("the short prompt is at %d rows, the long one at %d", short.Finished(), long.Finished())
		}
	}
	if stream.Finished() < 16+6 {
		t.Errorf("the stream has %d rows", stream.Finished())
	}
}

// TestRefusals: what a request cannot be, with the field and both numbers.
func TestRefusals(t *testing.T) {
	t.Parallel()
	_, s := open(t, kvcache.Options{Blocks: 8, BlockSize: 4, Scratch: 4}, Config{})
	for what, r := range map[string]Request{
		"sched: bad request: no tokens":                                {},
		"sched: bad request: MaxTokens -1, ExtraScratch 0, at least 0": {Tokens: prompt(1, 1), MaxTokens: -1},
		"sched: bad request: span 0: parent 1, range 0 to 0":           {Tokens: prompt(1, 1), Spans: []Branch{{Parent: 1, Tokens: prompt(1, 1)}}},
		"sched: bad request: span 0: no tokens":                        {Tokens: prompt(1, 1), Spans: []Branch{{}}},
		"kvcache: larger than the scratch: 5 needed, 4 available":      {Tokens: prompt(1, 1), Spans: []Branch{{Tokens: prompt(1, 1)}}, ExtraScratch: 4},
		"kvcache: larger than the pool: 9 needed, 8 available":         {Tokens: prompt(1, 30), MaxTokens: 4},
		"kvcache: bad namespace: salt: control character":              {Tokens: prompt(1, 1), Namespace: kvcache.Namespace{Salt: "\n"}},
	} {
		if _, err := s.Submit(r); err == nil || err.Error() != what {
			t.Errorf("got  %v\nwant %s", err, what)
		}
	}
	cache, _ := kvcache.New(kvcache.Options{Blocks: 1})
	for _, c := range []Config{{StepRows: -1}, {InFlight: 3}, {Shares: Shares{1, 1, 1}}, {Shares: Shares{Decode: -1}}} {
		if _, err := New(cache, c); err == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
	if !s.Idle() {
		t.Error("a refused request is queued")
	}
}

func TestDraftsAndAppendsDoNotMix(t *testing.T) {
	t.Parallel()
	for _, states := range []int{0, 4} {
		_, s := open(t, kvcache.Options{Blocks: 8, BlockSize: 4, States: states}, Config{})
		j, err := s.Submit(Request{Tokens: prompt(1, 4), MaxTokens: 9})
		if err != nil {
			t.Fatal(err)
		}
		advance(t, s)
		err = j.Draft(1, 2)
		if (err == nil) != (states == 0) {
			t.Fatalf("draft with %d states: %v", states, err)
		}
		if states > 0 {
			continue
		}
		if err := j.Append(3); err == nil {
			t.Error("appended behind drafts")
		}
		if err := j.Draft(1, 2, 3, 4, 5, 6, 7); err == nil {
			t.Error("drafted past the limit")
		}
		if err := j.Accept(3); err == nil {
			t.Error("accepted more than there are")
		}
	}
}
