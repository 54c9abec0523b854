package serve

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/hotpath-go/hotpath/engine"
)

// metrics counts requests and reads the engine's counters when asked. It has a registry of its own.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	running  prometheus.Gauge
	prompt   *prometheus.CounterVec
	output   prometheus.Counter
	first    prometheus.Histogram
	handler  http.Handler
}

// buckets suit decisions of milliseconds and replies of minutes.
var buckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300}

func newMetrics(e Engine) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hotpath_http_requests_total", Help: "Requests by route and status; 499 is a client that went away.",
		}, []string{"route", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "hotpath_http_request_seconds", Help: "From the request's header to the end of the response.", Buckets: buckets,
		}, []string{"route"}),
		running: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "hotpath_http_requests_running", Help: "Requests under way.",
		}),
		prompt: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hotpath_prompt_tokens_total", Help: "Tokens of prompts and states, read from the cache or not.",
		}, []string{"cached"}),
		output: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "hotpath_output_tokens_total", Help: "Tokens of replies.",
		}),
		first: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "hotpath_first_token_seconds", Help: "From a generation's start to its first token.", Buckets: buckets,
		}),
	}
	m.registry.MustRegister(m.requests, m.seconds, m.running, m.prompt, m.output, m.first, newCollector(e))
	m.handler = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
	return m
}

func (m *metrics) observe(route string, status int, took time.Duration) {
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
	m.seconds.WithLabelValues(route).Observe(took.Seconds())
}

func (m *metrics) tokens(cached, uncached int) {
	m.prompt.WithLabelValues("yes").Add(float64(max(cached, 0)))
	m.prompt.WithLabelValues("no").Add(float64(max(uncached, 0)))
}

func (m *metrics) generated(u engine.GenerateUsage) {
	m.tokens(u.CachedTokens, u.PromptTokens-u.CachedTokens)
	m.output.Add(float64(u.GeneratedTokens))
	if u.GeneratedTokens > 0 {
		m.first.Observe(u.First.Seconds())
	}
}

// collector turns the engine's Stats into metrics.
type collector struct {
	engine  Engine
	figures []figure
}

// figure is a metric of Stats.
type figure struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	of   func(s *engine.Stats) float64
}

func newCollector(e Engine) *collector {
	c := &collector{engine: e}
	add := func(kind prometheus.ValueType, name, help string, of func(s *engine.Stats) float64) {
		c.figures = append(c.figures, figure{prometheus.NewDesc("hotpath_"+name, help, nil, nil), kind, of})
	}
	const gauge, counter = prometheus.GaugeValue, prometheus.CounterValue
	add(gauge, "requests_running", "Requests that have blocks or scratch.", func(s *engine.Stats) float64 { return float64(s.Running) })
	add(gauge, "requests_waiting", "Requests in the queue.", func(s *engine.Stats) float64 { return float64(s.Waiting) })
	add(counter, "steps_total", "Forward passes.", func(s *engine.Stats) float64 { return float64(s.Steps) })
	add(counter, "rows_total", "Token positions computed.", func(s *engine.Stats) float64 { return float64(s.Rows) })
	add(counter, "decisions_total", "Decisions answered.", func(s *engine.Stats) float64 { return float64(s.Decisions) })
	add(counter, "requests_failed_total", "Requests that ended with an error other than their context's.", func(s *engine.Stats) float64 { return float64(s.Failed) })
	add(counter, "requests_cancelled_total", "Requests whose caller went away.", func(s *engine.Stats) float64 { return float64(s.Cancelled) })
	add(gauge, "kv_blocks", "Blocks of the pool.", func(s *engine.Stats) float64 { return float64(s.Cache.Blocks) })
	add(gauge, "kv_blocks_free", "Blocks that hold nothing.", func(s *engine.Stats) float64 { return float64(s.Cache.Free) })
	add(gauge, "kv_blocks_cached", "Blocks of prefixes that nobody uses now.", func(s *engine.Stats) float64 { return float64(s.Cache.Cached) })
	add(gauge, "kv_blocks_referenced", "Blocks in use.", func(s *engine.Stats) float64 { return float64(s.Cache.Referenced) })
	add(gauge, "kv_blocks_held", "Blocks under a hold.", func(s *engine.Stats) float64 { return float64(s.Cache.Held) })
	add(gauge, "scratch_blocks_free", "Free blocks of the scratch.", func(s *engine.Stats) float64 { return float64(s.Cache.ScratchFree) })
	add(counter, "prefix_query_tokens_total", "Tokens looked for in the prefix cache.", func(s *engine.Stats) float64 { return float64(s.Cache.QueryTokens) })
	add(counter, "prefix_hit_tokens_total", "Tokens found there.", func(s *engine.Stats) float64 { return float64(s.Cache.HitTokens) })
	add(counter, "kv_blocks_evicted_total", "Blocks taken from the prefix cache.", func(s *engine.Stats) float64 { return float64(s.Cache.Evicted) })
	return c
}

// Describe is part of prometheus.Collector.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, f := range c.figures {
		to <- f.desc
	}
}

// Collect is part of prometheus.Collector.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	s := c.engine.Stats()
	for _, f := range c.figures {
		to <- prometheus.MustNewConstMetric(f.desc, f.kind, f.of(&s))
	}
}
