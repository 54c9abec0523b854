package serve_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/engine/backend/backendtest"
	"github.com/hotpath-go/hotpath/engine/serve"
	"github.com/hotpath-go/hotpath/internal/race"
)

// 64 clients mix decisions and streams over sockets; half of them hang up at random moments, and
// some read nothing. Nobody else sees an error, a decision is the same each time, all blocks are free
// at the end and no goroutine is left. The slow ones do not hold up the others: with them decisions
// are answered as long as without.
func TestLoad(t *testing.T) {
	before := runtime.NumGoroutine()
	span := 1500 * time.Millisecond
	if race.Enabled {
		span = 3 * time.Second
	}
	if backendtest.Long() {
		span = 2 * time.Minute
	}
	e := open(t)
	h := handler(t, e)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- (&serve.Server{Handler: h}).Serve(ctx, l) }()
	url := "http://" + l.Addr().String()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 128}}

	var decided, streamed, hung atomic.Int64
	var mu sync.Mutex
	var took []time.Duration
	answers := map[string]string{} // of each state, which must be the same each time
	send := func(ctx context.Context, path, body string) (*http.Response, error) {
		r, err := http.NewRequestWithContext(ctx, "POST", url+path, strings.NewReader(body))
		if err != nil {
			return nil, err
		}
		r.Header.Set("Content-Type", "application/json")
		return client.Do(r)
	}
	once := func(rng *rand.Rand, hangsUp bool) error {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		if hangsUp {
			time.AfterFunc(time.Duration(rng.IntN(80))*time.Millisecond, cancel)
		}
		if rng.IntN(2) == 0 {
			state := fmt.Sprintf("Client %d has a cracked cup.", rng.IntN(8))
			begin := time.Now()
			resp, err := send(ctx, "/v1/systemone", `{"state":"`+state+`","questions":{"a":{"type":"noul","instructions":"Refund?"},"b":{"type":"choice","instructions":"Who?","criteria":{"x":null,"y":null}}}}`)
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			b, err := io.ReadAll(resp.Body)
			if err != nil {
				return err
			}
			if resp.StatusCode != 200 {
				return fmt.Errorf("%d %s", resp.StatusCode, b)
			}
			decided.Add(1)
			mu.Lock()
			defer mu.Unlock()
			took = append(took, time.Since(begin))
			text, _, _ := bytes.Cut(b, []byte(`,"usage"`))
			if first, ok := answers[state]; ok && first != string(text) {
				return fmt.Errorf("another answer to %q: %s, was %s", state, text, first)
			}
			answers[state] = string(text)
			return nil
		}
		resp, err := send(ctx, "/v1/completions", fmt.Sprintf(`{"prompt":"Once upon a time %d","max_tokens":%d,"stream":true}`, rng.IntN(8), 4+rng.IntN(40)))
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		last := ""
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			if lines.Text() != "" {
				last = lines.Text()
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if last != "data: [DONE]" {
			return fmt.Errorf("a stream ended with %q", last)
		}
		streamed.Add(1)
		return nil
	}

	// These ask for long streams and never read.
	var slow []net.Conn
	const endless = `{"prompt":"Once","max_tokens":480,"ignore_eos":true,"stream":true,"n":2}`
	for range 4 {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "POST /v1/completions HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", l.Addr(), len(endless), endless)
		slow = append(slow, conn)
	}
	end := time.Now().Add(span)
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), 1))
			for time.Now().Before(end) {
				switch err := once(rng, i%2 == 0); {
				case err == nil:
				case i%2 == 0 && errors.Is(err, context.Canceled):
					hung.Add(1)
				default:
					t.Errorf("client %d: %v", i, err)
					return
				}
			}
		})
	}
	all.Wait()
	for _, conn := range slow {
		conn.Close()
	}
	client.CloseIdleConnections()
	stop()
	if err := <-over; err != nil {
		t.Errorf("Serve: %v", err)
	}
	wait(t, "all blocks are free", func() bool { s := e.Stats(); return s.Running == 0 && s.Waiting == 0 && s.Cache.Referenced == 0 })
	s := e.Stats()
	if s.Failed != 0 || decided.Load() == 0 || streamed.Load() == 0 || hung.Load() == 0 {
		t.Errorf("%d decided, %d streamed, %d hung up, %d failed", decided.Load(), streamed.Load(), hung.Load(), s.Failed)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	wait(t, "no goroutine is left", func() bool { return runtime.NumGoroutine() <= before })
	slices.Sort(took)
	at := func(p float64) time.Duration { return took[int(p*float64(len(took)-1))].Round(10 * time.Microsecond) }
	t.Logf("%d decisions (p50 %v, p99 %v), %d streams, %d hung up, %d tokens in %v",
		len(took), at(.5), at(.99), streamed.Load(), hung.Load(), s.Generated, span)
}

// Streams whose readers have stopped are paused: what others wait for is computed as if they were
// not there. The fake device counts the rows.
func TestSlowReadersTakeNoSteps(t *testing.T) {
	t.Parallel()
	f := &backendtest.Fake{}
	e := open(t, engine.WithBackend(f), engine.WithSlowReader(engine.SlowReader{Events: 4}))
	held := make(chan struct{})
	h := handler(t, unread{e, held})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if w := post(t, h, "/v1/completions", `{"prompt":"Once","max_tokens":300,"ignore_eos":true,"stream":true}`); w.Code != 200 {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		})
	}
	// Once all are behind, the rows of a step are those of the decision alone.
	wait(t, "a decision has the steps for itself", func() bool {
		before := e.Stats()
		w := post(t, h, "/v1/systemone", systemOneBody)
		if w.Code != 200 {
			t.Fatal(w.Body)
		}
		rows, computed := fmt.Sprint(e.Stats().Rows-before.Rows), w.Header().Get("X-Computed-Tokens")
		return before.Running == 8 && rows == computed
	})
	if n := e.Stats().Generated; n > 8*64 {
		t.Errorf("%d tokens for readers of one event each", n)
	}
	close(held)
	all.Wait()
}

// unread is an engine whose streams are not read after the first event until they are released.
type unread struct {
	*engine.Engine
	release <-chan struct{}
}

func (u unread) Stream(ctx context.Context, r engine.GenerateRequest) iter.Seq2[engine.Event, error] {
	return func(yield func(engine.Event, error) bool) {
		for ev, err := range u.Engine.Stream(ctx, r) {
			<-u.release
			if !yield(ev, err) {
				return
			}
		}
	}
}
