package serve

import (
	"errors"
	"net/http"
	"sync"
	"time"
)

// events writes server-sent events. While there is nothing to say it writes comments, so that no
// proxy takes a long prefill for a dead connection; until the first event or comment the response
// has not begun, and an error can still have its status.
type events struct {
	x       *exchange
	control *http.ResponseController

	mu    sync.Mutex // held while the response is written
	begun bool
	over  bool
	err   error
	quiet *time.Timer
}

// events begins a stream. The caller closes it, and ends it whatever happens.
func (x *exchange) events() *events {
	s := &events{x: x, control: http.NewResponseController(x.w)}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quiet = time.AfterFunc(x.h.opt.keepAlive, s.comment)
	return s
}

func (s *events) comment() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over && s.err == nil {
		s.write([]byte(": wait\n\n"))
	}
}

// write sends bytes at once. A client that does not take them in time has gone.
func (s *events) write(b []byte) {
	if !s.begun {
		s.begun = true
		h := s.x.w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("Cache-Control", "no-cache")
		h.Set("X-Accel-Buffering", "no") // nginx
		s.x.w.WriteHeader(http.StatusOK)
	}
	_ = s.control.SetWriteDeadline(time.Now().Add(s.x.h.opt.writeTime))
	if _, err := s.x.w.Write(b); err != nil {
		s.err = err
		return
	}
	if err := s.control.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		s.err = err
		return
	}
	s.quiet.Reset(s.x.h.opt.keepAlive)
}

// send writes an event of JSON.
func (s *events) send(v any) error {
	b, err := encode(v)
	if err != nil {
		return err
	}
	return s.text(b)
}

// text writes an event.
func (s *events) text(b []byte) error {
	line := make([]byte, 0, len(b)+8)
	line = append(append(append(line, "data: "...), b...), "\n\n"...)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.write(line)
	}
	return s.err
}

// close ends the stream, with [DONE] unless there was an error. An error after the response has
// begun is written as an event.
func (s *events) close(err error) error {
	var last []byte
	switch {
	case err == nil:
		last = []byte("[DONE]")
	default:
		s.mu.Lock()
		begun := s.begun
		s.mu.Unlock()
		if p := problemOf(err); begun && p.status != statusGone {
			last = s.x.form(p)
		}
	}
	if last != nil {
		_ = s.text(last)
	}
	s.end()
	return err
}

// end stops the comments: nothing is written when the request's goroutine is gone.
func (s *events) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	s.quiet.Stop()
}
