package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Server runs a Handler: it bounds what a connection may take, and drains when it is told to end.
// Set the fields before Run; zero ones have the defaults that their comments give. It does not close
// the engine.
type Server struct {
	Addr    string        // address to listen on; empty: 127.0.0.1:8080
	Handler *Handler      // serves
	Root    http.Handler  // what requests reach first, such as a mux that holds Handler; nil: Handler itself
	Drain   time.Duration // how long requests under way may take after the end; zero: 30 seconds
	// Grace is how long /readyz says that the server drains before it stops to listen, so that load
	// balancers can turn away; zero: none.
	Grace  time.Duration
	Header time.Duration // for the header of a request to come; zero: 10 seconds
	Idle   time.Duration // for the next request on a connection; zero: 2 minutes
}

// Run listens on Addr and serves until ctx ends; see Serve.
func (s *Server) Run(ctx context.Context) error {
	addr := s.Addr
	if addr == "" {
		addr = "127.0.0.1:8080"
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	return s.Serve(ctx, l)
}

// Serve serves a listener until ctx ends. Then it drains: new requests get 503, those under way go
// on for at most Drain, after which they are cut off and the error says so. It returns nil after a
// whole drain.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	if s.Handler == nil {
		return errors.Join(fmt.Errorf("%w: Server: no Handler", ErrOption), l.Close())
	}
	or := func(d, otherwise time.Duration) time.Duration {
		if d > 0 {
			return d
		}
		return otherwise
	}
	root := s.Root
	if root == nil {
		root = s.Handler
	}
	log := s.Handler.opt.logger
	server := http.Server{
		Handler:           root,
		ReadHeaderTimeout: or(s.Header, 10*time.Second),
		IdleTimeout:       or(s.Idle, 2*time.Minute),
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	s.Handler.Drain()
	drain := or(s.Drain, 30*time.Second)
	log.Info("draining", "addr", l.Addr().String(), "grace", s.Grace, "at most", drain)
	if s.Grace > 0 {
		time.Sleep(s.Grace)
	}
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	err := server.Shutdown(limit)
	if err != nil {
		err = errors.Join(fmt.Errorf("serve: requests were cut off after %v: %w", drain, err), server.Close())
	}
	<-ended
	return err
}
