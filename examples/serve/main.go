// Serve offers a model over HTTP: decisions (/v1/systemone, /v1/decisions), chat, text, and a page
// to try decisions on. Without flags it serves the small model that the module carries, which decides
// and does not write, on loopback.
//
//	go run ./examples/serve
//	go run ./examples/serve -model qwen3-0.6b-q8_0.gguf -keys keys.txt -origins https://app.example.com
//
// Each flag can be set in the environment too: HOTPATH_SERVE_MODEL for -model, and so on. Keys are
// one a line, a name and a secret (or sha256: and its hash); HOTPATH_SERVE_KEYS holds the keys
// themselves, separated by semicolons.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/hotpath-go/hotpath/cors"
	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/engine/serve"
	"github.com/hotpath-go/hotpath/model"
)

const prefix = "HOTPATH_SERVE_"

type settings struct {
	model, addr, keys, origins, own string
	context, kv, workers            int
	drain                           time.Duration
	playground, namespaces, quiet   bool
}

func parse(args []string, env func(string) string) (settings, error) {
	var s settings
	f := flag.NewFlagSet("serve", flag.ContinueOnError)
	f.StringVar(&s.model, "model", "", "GGUF file or safetensors folder; empty: the embedded model")
	f.StringVar(&s.addr, "addr", "127.0.0.1:8080", "address to listen on; beyond loopback give keys too")
	f.StringVar(&s.keys, "keys", "", "file of API keys; empty: HOTPATH_SERVE_KEYS, or none")
	f.StringVar(&s.origins, "origins", "", "origins of pages that may call, separated by commas; empty: none but this server's own")
	f.StringVar(&s.own, "own", "", "origins of this server as browsers see it behind a proxy, separated by commas")
	f.IntVar(&s.context, "context", 0, "context length in tokens; 0: the model's, at most 32768")
	f.IntVar(&s.kv, "kv", 0, "KV memory in MiB; 0: the lesser of a quarter of memory and four full contexts")
	f.IntVar(&s.workers, "workers", 0, "workers that compute; 0: GOMAXPROCS")
	f.DurationVar(&s.drain, "drain", 30*time.Second, "how long requests may take after an interrupt")
	f.BoolVar(&s.playground, "playground", true, "serve a page at / to try decisions on")
	f.BoolVar(&s.namespaces, "separate", false, "keep the prefix cache of each key apart")
	f.BoolVar(&s.quiet, "q", false, "log nothing but errors")
	var errs []error
	f.VisitAll(func(x *flag.Flag) {
		name := prefix + strings.ToUpper(x.Name)
		if v := env(name); v != "" && x.Name != "keys" {
			if err := f.Set(x.Name, v); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", name, err))
			}
		}
	})
	errs = append(errs, f.Parse(args))
	if f.NArg() > 0 {
		errs = append(errs, fmt.Errorf("unknown argument %q", f.Arg(0)))
	}
	return s, errors.Join(errs...)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s, err := parse(os.Args[1:], os.Getenv)
	if err == nil {
		err = run(ctx, s, os.Stdout, os.Stderr)
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "serve:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s settings, out, errOut io.Writer) (err error) {
	level := slog.LevelInfo
	if s.quiet {
		level = slog.LevelError
	}
	log := slog.New(slog.NewTextHandler(errOut, &slog.HandlerOptions{Level: level}))
	opts, err := s.options(log)
	if err != nil {
		return err
	}
	// The address is taken before the model is loaded: a mistake there need not wait for it.
	l, err := net.Listen("tcp", s.addr)
	if err != nil {
		return err
	}
	defer l.Close()

	src := model.Embedded()
	if s.model != "" {
		src = model.File(s.model)
	}
	open := []engine.Option{engine.WithLogger(log), engine.WithKV(engine.KV{Bytes: int64(s.kv) << 20})}
	if s.context > 0 {
		open = append(open, engine.WithContextLength(s.context))
	}
	if s.workers > 0 {
		open = append(open, engine.WithWorkers(s.workers))
	}
	if f, ok := errOut.(*os.File); ok && person(f) && !s.quiet {
		bar := progressbar.NewOptions(1000, progressbar.OptionSetWriter(f), progressbar.OptionClearOnFinish(), progressbar.OptionSetWidth(30))
		open = append(open, engine.WithProgress(func(p engine.Progress) {
			bar.Describe(p.Stage)
			_ = bar.Set(int(p.Fraction() * 1000))
		}))
	}
	eng, err := engine.Open(ctx, src, open...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	h, err := serve.New(eng, opts...)
	if err != nil {
		return err
	}
	keys, _ := s.readKeys()
	introduce(out, eng.Info(), "http://"+l.Addr().String(), len(keys), s)
	return (&serve.Server{Handler: h, Drain: s.drain}).Serve(ctx, l)
}

func person(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func (s settings) readKeys() ([]serve.Key, error) {
	if s.keys != "" {
		return serve.KeysFromFile(s.keys)
	}
	return serve.KeysFromEnv(prefix + "KEYS")
}

func (s settings) options(log *slog.Logger) ([]serve.Option, error) {
	keys, err := s.readKeys()
	if err != nil {
		return nil, err
	}
	opts := []serve.Option{
		serve.WithLogger(log),
		serve.WithOrigins(list(s.origins)...),
		serve.WithCORS(cors.Options{Own: list(s.own), Addr: s.addr, Names: cors.Names{Origins: "-origins", Own: "-own"}}),
	}
	if len(keys) > 0 || s.keys != "" {
		opts = append(opts, serve.WithKeys(keys))
	} else if host, _, err := net.SplitHostPort(s.addr); err != nil || !loopback(host) {
		log.Warn("no API keys: everybody who reaches the address may call", "addr", s.addr)
	}
	if s.namespaces {
		opts = append(opts, serve.WithKeyNamespaces())
	}
	if s.playground {
		opts = append(opts, serve.WithPlayground())
	}
	return opts, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func list(s string) []string {
	var out []string
	for x := range strings.SplitSeq(s, ",") {
		if x = strings.TrimSpace(x); x != "" {
			out = append(out, x)
		}
	}
	return out
}

// introduce prints what is served and how to try it.
func introduce(w io.Writer, info engine.Info, url string, keys int, s settings) {
	auth := ""
	if keys > 0 {
		auth = ` -H "Authorization: Bearer $KEY"`
	}
	fmt.Fprintf(w, "%v\n\nserving on %s with %d API keys; pages of other origins: %s\n", info, url, keys, orNone(s.origins))
	if s.playground {
		fmt.Fprintf(w, "try decisions at %s/\n", url)
	}
	post := func(path, body string) {
		fmt.Fprintf(w, "\n  curl %s%s -H 'Content-Type: application/json'%s -d '%s'\n", url, path, auth, body)
	}
	post("/v1/systemone", `{"state":"Third time I ask. Cancel it.","questions":{"cancel":{"type":"noul","instructions":"Does the customer want to cancel?"}}}`)
	post("/v1/decisions", `{"model":"`+info.Model+`","input":"Third time I ask. Cancel it.","questions":[{"type":"choice","name":"team","instructions":"Who answers?","choices":[{"value":"orders"},{"value":"refunds"}]}]}`)
	switch {
	case s.model == "":
		fmt.Fprintf(w, "\n%s decides and does not write; with -model FILE there are completions too.\n", info.Model)
	case info.Template:
		post("/v1/chat/completions", `{"messages":[{"role":"user","content":"Tell a story."}],"stream":true}`)
	default:
		post("/v1/completions", `{"prompt":"Once upon a time","max_tokens":60,"stream":true}`)
	}
	fmt.Fprintf(w, "\n  curl %s/v1/models%s\n\n", url, auth)
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
