package sched

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hotpath-go/hotpath/kvcache"
)

var rewrite = flag.Bool("rewrite", false, "record what the scripts of testdata print as what they expect")

// script runs one file of testdata: commands, a line of dashes, and what they must print.
type script struct {
	cache *kvcache.Cache
	s     *Scheduler
	jobs  map[string]*Job
	plans []*Plan // under way
	now   time.Time
	holds map[string]*kvcache.Hold
	out   strings.Builder
}

func TestScripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := run(t, string(text))
			if *rewrite {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(text) {
				t.Errorf("%s prints otherwise; it now reads\n%s", file, got)
			}
		})
	}
}

// run executes a script's commands and returns it with what they print.
func run(t *testing.T, text string) string {
	sc := &script{jobs: map[string]*Job{}, holds: map[string]*kvcache.Hold{}, now: time.Unix(1000, 0)}
	var whole strings.Builder
	for i, part := range strings.Split(text, "\n\n") {
		commands, _, _ := strings.Cut(strings.TrimSpace(part), "\n----")
		sc.out.Reset()
		real := false
		for line := range strings.Lines(commands) {
			line = strings.TrimSpace(line)
			if line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			real = true
			sc.do(t, line)
			if sc.cache != nil {
				if err := sc.cache.Check(); err != nil {
					t.Fatalf("after %q: %v", line, err)
				}
			}
		}
		if i > 0 {
			whole.WriteString("\n\n")
		}
		whole.WriteString(strings.TrimSpace(commands))
		if real {
			whole.WriteString("\n----\n")
			whole.WriteString(strings.TrimRight(sc.out.String(), "\n"))
		}
	}
	return strings.TrimRight(whole.String(), "\n") + "\n"
}

// args are the words and the key=value pairs of a command.
type args struct {
	t     *testing.T
	words []string
	pairs map[string]string
}

func (a args) number(key string, def int) int {
	v, ok := a.pairs[key]
	if !ok {
		return def
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		a.t.Fatalf("%s=%s: %v", key, v, err)
	}
	return n
}

func (a args) float(key string, def float64) float64 {
	v, ok := a.pairs[key]
	if !ok {
		return def
	}
	x, err := strconv.ParseFloat(v, 64)
	if err != nil {
		a.t.Fatal(err)
	}
	return x
}

// tokens reads "a*40+b*3": runs of tokens that are named by a letter and differ by position.
func (a args) tokens(spec string) []int32 {
	var out []int32
	for _, run := range strings.Split(spec, "+") {
		name, n, ok := strings.Cut(run, "*")
		count, err := strconv.Atoi(n)
		if !ok || err != nil || len(name) != 1 {
			a.t.Fatalf("tokens %q: want letter*count", spec)
		}
		for range count {
			out = append(out, int32(name[0])*100000+int32(len(out)))
		}
	}
	return out
}

func (sc *script) do(t *testing.T, line string) {
	a := args{t: t, pairs: map[string]string{}}
	fields := strings.Fields(line)
	for _, f := range fields[1:] {
		if k, v, ok := strings.Cut(f, "="); ok {
			a.pairs[k] = v
		} else {
			a.words = append(a.words, f)
		}
	}
	switch fields[0] {
	case "new":
		sc.open(a)
	case "submit":
		sc.submit(a)
	case "step":
		for range a.number("n", 1) {
			sc.plan(false)
			sc.settle(a)
		}
	case "plan":
		sc.plan(true)
	case "settle":
		sc.settle(a)
	case "abort":
		for _, p := range slices.Backward(sc.plans) {
			sc.s.Abort(p)
		}
		sc.plans = nil
		fmt.Fprintln(&sc.out, "aborted")
	case "finish":
		for _, name := range a.words {
			sc.s.Finish(sc.jobs[name])
		}
	case "pause", "resume":
		sc.jobs[a.words[0]].SetReady(fields[0] == "resume")
	case "spans":
		i, err := sc.jobs[a.words[0]].AddSpans(spans(a, a.words[1:])...)
		sc.report(err, "first is span %d", i)
	case "draft":
		sc.report(sc.jobs[a.words[0]].Draft(a.tokens(a.words[1])...), "drafted")
	case "accept":
		sc.report(sc.jobs[a.words[0]].Accept(a.number("n", 0)), "accepted")
	case "fork":
		f, err := sc.s.Fork(sc.jobs[a.words[0]], a.words[1])
		if err == nil {
			sc.jobs[a.words[1]] = f
		}
		sc.report(err, "forked")
	case "append":
		for _, name := range a.words {
			sc.append(sc.jobs[name])
		}
	case "sleep":
		sc.now = sc.now.Add(time.Duration(a.number("ms", 0)) * time.Millisecond)
	case "hold":
		toks := a.tokens(a.words[1])
		hit, err := sc.cache.Match(kvcache.Namespace{}, toks, len(toks))
		if err == nil {
			sc.holds[a.words[0]], err = sc.cache.Hold(hit, a.words[0], 0)
		}
		sc.report(err, "held")
	case "unhold":
		sc.holds[a.words[0]].Release()
	case "state":
		sc.state()
	default:
		t.Fatalf("unknown command %q", line)
	}
}

func (sc *script) report(err error, format string, v ...any) {
	if err != nil {
		fmt.Fprintln(&sc.out, "error:", err)
		return
	}
	fmt.Fprintf(&sc.out, format+"\n", v...)
}

func (sc *script) open(a args) {
	clock := func() time.Time { return sc.now }
	var err error
	sc.cache, err = kvcache.New(kvcache.Options{
		Blocks: a.number("blocks", 32), BlockSize: a.number("size", 4), Scratch: a.number("scratch", 16),
		States: a.number("states", 0), HoldShare: 0.75, Now: clock,
	})
	if err != nil {
		a.t.Fatal(err)
	}
	sc.s, err = New(sc.cache, Config{
		StepRows: a.number("rows", 32), Running: a.number("running", 0), InFlight: a.number("inflight", 1),
		StepSpans: a.number("spans", 0), MinPrefill: a.number("min", 0), Stretch: a.float("stretch", 0),
		QueueRequests: a.number("queue", 0), QueueTokens: a.number("queuetokens", 0),
		Overtakes: a.number("overtakes", 0), TailRows: a.number("tail", 0), Now: clock, Fixed: true,
		Cost: Cost{a.float("base", 0), a.float("row", 0), a.float("row", 0), 0, 0},
	})
	if err != nil {
		a.t.Fatal(err)
	}
}

func spans(a args, words []string) []Branch {
	var out []Branch
	for _, w := range words { // parent:tokens
		parent, toks, ok := strings.Cut(w, ":")
		n, err := strconv.Atoi(parent)
		if !ok || err != nil {
			a.t.Fatalf("span %q", w)
		}
		out = append(out, Branch{Parent: n, Tokens: a.tokens(toks)})
	}
	return out
}

func (sc *script) submit(a args) {
	r := Request{
		Caller: a.pairs["caller"], Priority: a.number("priority", 0), MaxTokens: a.number("max", 0),
		ExtraScratch: a.number("extra", 0), Async: a.pairs["async"] != "", Private: a.pairs["private"] != "",
		Namespace: kvcache.Namespace{Salt: a.pairs["salt"]},
		Spans:     spans(a, a.words[2:]),
	}
	if a.words[1] != "-" {
		r.Tokens = a.tokens(a.words[1])
	}
	if ms := a.number("deadline", 0); ms > 0 {
		r.Deadline = sc.now.Add(time.Duration(ms) * time.Millisecond)
	}
	r.Tag = a.words[0]
	j, err := sc.s.Submit(r)
	if err != nil {
		fmt.Fprintf(&sc.out, "%s refused: %v\n", a.words[0], err)
		return
	}
	sc.jobs[a.words[0]] = j
}

func (sc *script) plan(always bool) {
	p := sc.s.Plan()
	for _, j := range p.Admitted {
		fmt.Fprintf(&sc.out, "admitted %v: %d cached\n", j.Tag, j.Usage.Cached)
	}
	for _, f := range p.Failed {
		fmt.Fprintf(&sc.out, "failed %v: %v\n", f.Job.Tag, f.Err)
	}
	if len(p.Items) == 0 {
		fmt.Fprintln(&sc.out, "no step")
		return
	}
	fmt.Fprintf(&sc.out, "step %d: %d rows\n", p.Step, p.Rows)
	for _, c := range p.Copies {
		fmt.Fprintf(&sc.out, "  copy %d rows of block %d to %d\n", c.Rows, c.From, c.To)
	}
	for _, it := range p.Items {
		fmt.Fprintf(&sc.out, "  %v", it.Job.Tag)
		if it.State != 0 {
			fmt.Fprintf(&sc.out, " from state %d", it.State)
		}
		for _, s := range it.Context {
			fmt.Fprintf(&sc.out, " [%d,%d)%v", s.Start, s.Start+s.Len, s.Blocks)
		}
		for _, sp := range it.Spans {
			what := "rows"
			if sp.Index >= 0 {
				what = fmt.Sprintf("span %d", sp.Index)
			}
			fmt.Fprintf(&sc.out, " | %s %d-%d", what, sp.From, sp.To)
			if sp.Pos != sp.From {
				fmt.Fprintf(&sc.out, " at %d", sp.Pos)
			}
			if sp.Parent > 0 {
				fmt.Fprintf(&sc.out, " after %d", sp.Parent)
			}
			fmt.Fprintf(&sc.out, " in %v", sp.Dst)
			if sp.Tokens[0] < 0 {
				fmt.Fprintf(&sc.out, " choice of row %d", -1-sp.Tokens[0])
			}
			if sp.Save != 0 {
				fmt.Fprintf(&sc.out, " save %d", sp.Save)
			}
			if sp.Last {
				fmt.Fprint(&sc.out, " last")
			}
		}
		fmt.Fprintln(&sc.out)
	}
	sc.plans = append(sc.plans, p)
}

// settle ends the oldest step as an engine would: each generation whose last row ran gets a token.
func (sc *script) settle(a args) {
	if len(sc.plans) == 0 {
		return
	}
	p := sc.plans[0]
	sc.plans = sc.plans[1:]
	if err := sc.s.Settle(p, 0); err != nil {
		fmt.Fprintln(&sc.out, "settle:", err)
	}
	for _, it := range p.Items {
		j := it.Job
		sp := it.Spans[len(it.Spans)-1]
		if j.isDecision() || !sp.Last || !j.Running() || j.drafts > 0 || sp.Index >= 0 || a.pairs["quiet"] != "" {
			continue
		}
		sc.append(j)
	}
}

// append gives a generation its next token and ends it at its limit, as an engine would.
func (sc *script) append(j *Job) {
	if j.MaxTokens > 0 {
		if err := j.Append(int32('z')*100000 + int32(j.arrival)*1000 + int32(len(j.tokens))); err != nil {
			fmt.Fprintln(&sc.out, "append:", err)
		}
	}
	if len(j.tokens)-len(j.Tokens) == j.MaxTokens {
		sc.s.Finish(j)
		fmt.Fprintf(&sc.out, "finished %v: %d cached, %d computed, %d again, preempted %d\n", j.Tag,
			j.Usage.Cached, j.Usage.Computed, j.Usage.Recomputed, j.Usage.Preempted)
	}
}

func (sc *script) state() {
	st, c := sc.s.Stats(), sc.cache.Stats()
	fmt.Fprintf(&sc.out, "queued %d, running %d, preempted %d, merged %d, followed %d\n", st.Queued, st.Running, st.Preempted, st.Merged, st.Followed)
	fmt.Fprintf(&sc.out, "blocks: %d free, %d cached, %d used; scratch: %d free; evicted %d, copied %d\n", c.Free, c.Cached, c.Referenced, c.ScratchFree, c.Evicted, c.Copied)
}
