package serve_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/engine/backend/backendtest"
	"github.com/hotpath-go/hotpath/engine/serve"
)

// paced is an engine whose streams are written as the test says.
type paced struct {
	*engine.Engine
	stream func(ctx context.Context, yield func(engine.Event, error) bool)
}

func (p paced) Stream(ctx context.Context, _ engine.GenerateRequest) iter.Seq2[engine.Event, error] {
	return func(yield func(engine.Event, error) bool) { p.stream(ctx, yield) }
}

// While a prefill takes long, comments keep the stream alive.
func TestKeepAlive(t *testing.T) {
	t.Parallel()
	go1 := make(chan struct{})
	s := httptest.NewServer(handler(t, paced{open(t), func(_ context.Context, yield func(engine.Event, error) bool) {
		<-go1
		_ = yield(engine.Event{Text: "at last"}, nil) && yield(engine.Event{Done: &engine.Generation{}}, nil)
	}}, serve.WithTimeouts(serve.Timeouts{KeepAlive: 5 * time.Millisecond})))
	defer s.Close()
	resp, err := http.Post(s.URL+"/v1/chat/completions", "application/json", strings.NewReader(chatStream))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for n := 0; n < 3 && lines.Scan(); {
		if strings.HasPrefix(lines.Text(), ":") {
			n++
		} else if lines.Text() != "" {
			t.Fatalf("%q before any event", lines.Text())
		}
	}
	close(go1)
	rest := ""
	for lines.Scan() {
		rest += lines.Text() + "\n"
	}
	if !strings.Contains(rest, "at last") || !strings.HasSuffix(strings.TrimSpace(rest), "data: [DONE]") {
		t.Errorf("%q", rest)
	}
}

// A client that hangs up cancels the engine's call, whether it streams or not, and its blocks are
// freed.
func TestHangingUpCancels(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{false, true} {
		e := open(t, engine.WithBackend(&backendtest.Fake{Latency: time.Millisecond}))
		var log records
		s := httptest.NewServer(handler(t, e, serve.WithLogger(logger(&log))))
		ctx, cancel := context.WithCancel(t.Context())
		body := fmt.Sprintf(`{"prompt":"Once upon","max_tokens":480,"ignore_eos":true,"stream":%v}`, stream)
		r, _ := http.NewRequestWithContext(ctx, "POST", s.URL+"/v1/completions", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		ended := make(chan error, 1)
		go func() {
			resp, err := http.DefaultClient.Do(r)
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				resp.Body.Close()
			}
			ended <- err
		}()
		wait(t, "the request runs", func() bool { return e.Stats().Generated > 3 })
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		wait(t, "the blocks are free", func() bool { s := e.Stats(); return s.Running == 0 && s.Cancelled == 1 && s.Cache.Referenced == 0 })
		s.Close()
		if n := e.Stats().Generated; n > 470 {
			t.Errorf("it went on: %d tokens", n)
		}
	}
}

// wait waits until something holds.
func wait(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

// A client that reads nothing loses its connection after the time that writes may take, and the
// engine's call ends.
func TestClientThatDoesNotRead(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	h := handler(t, paced{open(t), func(ctx context.Context, yield func(engine.Event, error) bool) {
		text := strings.Repeat("x", 1<<16)
		for yield(engine.Event{Text: text}, nil) {
		}
		ended <- ctx.Err()
	}}, serve.WithTimeouts(serve.Timeouts{Write: 50 * time.Millisecond}))
	s := httptest.NewServer(h)
	defer s.Close()
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", s.Listener.Addr(), len(chatStream), chatStream)
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Fatal("the stream goes on")
	}
}

// A client that does not send its body is let go.
func TestBodyThatDoesNotCome(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(handler(t, open(t), serve.WithTimeouts(serve.Timeouts{Body: 30 * time.Millisecond})))
	defer s.Close()
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /v1/systemone HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", s.Listener.Addr())
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || resp.StatusCode != 408 {
		t.Fatalf("%v %v", resp, err)
	}
	// Where the body came in time, the deadline is gone: a long reply is not cut off.
	slow := httptest.NewServer(handler(t, paced{open(t), func(ctx context.Context, yield func(engine.Event, error) bool) {
		time.Sleep(100 * time.Millisecond)
		if ctx.Err() == nil {
			yield(engine.Event{Done: &engine.Generation{}}, nil)
		}
	}}, serve.WithTimeouts(serve.Timeouts{Body: 30 * time.Millisecond})))
	defer slow.Close()
	resp, err = http.Post(slow.URL+"/v1/chat/completions", "application/json", strings.NewReader(chatStream))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(body), "[DONE]") {
		t.Errorf("%q %v", body, err)
	}
}

// Draining lets requests under way finish and refuses new ones; what does not finish in time is cut
// off, and the error says so.
func TestServerDrains(t *testing.T) {
	t.Parallel()
	for _, finishes := range []bool{true, false} {
		started, release := make(chan struct{}), make(chan struct{})
		h := handler(t, paced{open(t), func(ctx context.Context, yield func(engine.Event, error) bool) {
			if !yield(engine.Event{Text: "begun"}, nil) {
				return
			}
			close(started)
			select {
			case <-release:
				yield(engine.Event{Done: &engine.Generation{}}, nil)
			case <-ctx.Done():
			}
		}})
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		drain := 20 * time.Second
		if !finishes {
			drain = 50 * time.Millisecond
		}
		s := &serve.Server{Handler: h, Drain: drain, Grace: 50 * time.Millisecond}
		ctx, stop := context.WithCancel(context.Background())
		over := make(chan error, 1)
		go func() { over <- s.Serve(ctx, l) }()
		url := "http://" + l.Addr().String()
		type reply struct {
			body string
			err  error
		}
		replies := make(chan reply, 1)
		go func() {
			resp, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(chatStream))
			if err != nil {
				replies <- reply{"", err}
				return
			}
			b, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			replies <- reply{string(b), err}
		}()
		<-started
		stop()
		wait(t, "it says that it drains", func() bool {
			resp, err := http.Get(url + "/readyz")
			if err != nil {
				return true // it has stopped to listen
			}
			resp.Body.Close()
			return resp.StatusCode == 503
		})
		if finishes {
			close(release)
		}
		err = <-over
		r := <-replies
		if finishes && (err != nil || r.err != nil || !strings.Contains(r.body, "[DONE]")) {
			t.Errorf("%v, %q %v", err, r.body, r.err)
		}
		if !finishes && (!errors.Is(err, context.DeadlineExceeded) || strings.Contains(r.body, "[DONE]")) {
			t.Errorf("%v, %q %v", err, r.body, r.err)
		}
	}
}
