package serve

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/hotpath-go/hotpath/cors"
	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/decide/wire"
)

// ErrOption is returned by New for an option that breaks a rule.
var ErrOption = errors.New("serve: bad option")

// Option changes what New makes.
type Option func(*options) error

type options struct {
	keys       []Key
	keyed      bool
	namespaces bool
	origins    []string
	cors       cors.Options
	dialects   [3]wire.Dialect // by shape
	models     []string
	playground bool
	logger     *slog.Logger
	prompts    bool
	body       int64
	bodyTime   time.Duration
	writeTime  time.Duration
	keepAlive  time.Duration
}

func defaults() options {
	system := wire.Own(wire.SystemOneShape)
	published := wire.TypeSafe().Limits
	system.Limits.Options, system.Limits.Levels = published.Options, published.Levels
	return options{
		dialects:  [3]wire.Dialect{system, wire.OpenAI(), wire.SGLangDecisions()},
		logger:    slog.New(slog.DiscardHandler),
		body:      32 << 20,
		bodyTime:  time.Minute,
		writeTime: 30 * time.Second,
		keepAlive: 15 * time.Second,
	}
}

// WithKeys asks for one of the keys on every route but /healthz, /readyz and the playground's page.
// No keys at all are an error: they must not open what was meant to be closed.
func WithKeys(keys []Key) Option {
	return func(o *options) error {
		if len(keys) == 0 {
			return fmt.Errorf("%w: WithKeys: no keys; leave the option out to ask for none", ErrOption)
		}
		o.keyed = true
		o.keys = append(o.keys, keys...)
		return nil
	}
}

// WithKeyNamespaces binds the namespace of the prefix cache to the key, so that the time of a call
// tells nothing of what callers with other keys have asked. They then share no prefix either.
func WithKeyNamespaces() Option {
	return func(o *options) error { o.namespaces = true; return nil }
}

// WithOrigins lets pages of these origins call, as cors.Options.Origins describes them. Default:
// none but the server's own.
func WithOrigins(origins ...string) Option {
	return func(o *options) error { o.origins = append(o.origins, origins...); return nil }
}

// WithCORS sets the whole policy for pages of other origins, to which those of WithOrigins are added.
// RequiresKey, Refuse and MediaTypes are the handler's own; a nil Logger is that of WithLogger.
func WithCORS(c cors.Options) Option {
	return func(o *options) error { o.cors = c; return nil }
}

// WithDialects replaces how the decision routes read and write: each dialect stands for the one of
// its shape. Defaults: System One with every extension and 255 options and 10 levels; OpenAI's and
// SGLang's with their published limits. wire.Own has the limits of package decide.
func WithDialects(dialects ...wire.Dialect) Option {
	return func(o *options) error {
		for _, d := range dialects {
			if int(d.Shape) >= len(o.dialects) {
				return fmt.Errorf("%w: WithDialects: shape %d of %q, the shapes are 0 to %d", ErrOption, d.Shape, d.Name, len(o.dialects)-1)
			}
			o.dialects[d.Shape] = d
		}
		return nil
	}
}

// WithModelNames sets the names that requests may call the model by; responses give the first. "*"
// stands for any. Default: the name of the engine's Info. A request for another model gets 404; one
// that names none is served.
func WithModelNames(names ...string) Option {
	return func(o *options) error {
		for i, n := range names {
			if n == "" || n == "*" && i == 0 {
				return fmt.Errorf("%w: WithModelNames: name %d is %q, it must be one that responses can give", ErrOption, i, n)
			}
		}
		o.models = names
		return nil
	}
}

// WithPlayground serves a page at / on which decisions can be tried. The page itself needs no key;
// what it sends does.
func WithPlayground() Option {
	return func(o *options) error { o.playground = true; return nil }
}

// WithLogger sets where requests are logged: one line each, at level Info, without what was asked
// and answered. Default: nowhere.
func WithLogger(l *slog.Logger) Option {
	return func(o *options) error {
		if l != nil {
			o.logger = l
		}
		return nil
	}
}

// WithPromptLogging adds the bodies of requests, up to 64 KiB of each, and the texts of refusals to
// the log.
func WithPromptLogging() Option {
	return func(o *options) error { o.prompts = true; return nil }
}

// WithBodyLimit bounds the bodies of requests, in bytes. Default: 32 MiB.
func WithBodyLimit(n int64) Option {
	return func(o *options) error {
		if n < 1 {
			return fmt.Errorf("%w: WithBodyLimit: %d, must be at least 1", ErrOption, n)
		}
		o.body = n
		return nil
	}
}

// Timeouts of a connection. Zero fields keep their defaults.
type Timeouts struct {
	Body      time.Duration // for the body of a request to come; 1 minute
	Write     time.Duration // for a client to take what was written; 30 seconds
	KeepAlive time.Duration // between comments on a stream that has nothing to say; 15 seconds
}

// WithTimeouts sets how long a client may take.
func WithTimeouts(t Timeouts) Option {
	return func(o *options) error {
		for _, f := range []struct {
			name     string
			from, to *time.Duration
		}{{"Body", &t.Body, &o.bodyTime}, {"Write", &t.Write, &o.writeTime}, {"KeepAlive", &t.KeepAlive, &o.keepAlive}} {
			if *f.from < 0 {
				return fmt.Errorf("%w: WithTimeouts: %s: %v, must not be negative", ErrOption, f.name, *f.from)
			}
			if *f.from > 0 {
				*f.to = *f.from
			}
		}
		return nil
	}
}

// finish checks what only all options together say.
func (o *options) finish() error {
	var errs []error
	if err := checkKeys(o.keys); err != nil {
		errs = append(errs, err)
	}
	if o.namespaces && !o.keyed {
		errs = append(errs, fmt.Errorf("%w: WithKeyNamespaces: there are no keys", ErrOption))
	}
	for i := range o.dialects {
		l := &o.dialects[i].Limits
		for _, f := range []struct {
			name      string
			got, most int
		}{{"Questions", l.Questions, 400}, {"Options", l.Options, decide.MaxOptions}, {"Levels", l.Levels, decide.MaxLevels}} {
			if f.got < 0 || f.got > f.most {
				errs = append(errs, fmt.Errorf("%w: WithDialects: %s of %q: %d, must be 0 to %d", ErrOption, f.name, o.dialects[i].Name, f.got, f.most))
			}
		}
	}
	return errors.Join(errs...)
}
