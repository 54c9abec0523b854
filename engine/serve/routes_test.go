package serve_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/decide/wire"
	"github.com/hotpath-go/hotpath/engine/serve"
	"github.com/hotpath-go/hotpath/model/chat"
)

const systemOneBody = `{"model":"tiny-chat","state":{"note":"Third time I ask. Cancel it."},"questions":{
	"cancel":{"type":"noul","instructions":"Cancel?","criteria":{"true":"asks to","false":null}},
	"queue":{"type":"choice","instructions":"Which queue?","criteria":{"zeta":"status","alpha":"money back","mid":null}},
	"anger":{"type":"score","instructions":"How angry?","criteria":["calm","annoyed","furious"]}}}`

// The three shapes ask the same engine the same question and must say the same; the engine itself,
// asked directly, is the reference.
func TestDecisionRoutesSayWhatTheEngineSays(t *testing.T) {
	t.Parallel()
	e := open(t)
	h := handler(t, e)
	want, err := e.Decide(t.Context(), decide.Request{
		State: decide.Text("The cup is cracked."),
		Questions: []decide.Question{
			decide.Boolean("refund", "Refund?"),
			decide.Choice("item", "Which?", decide.Opt("plate", "any dish"), decide.Opt("cup", "")),
			decide.Score("damage", "How bad?", "none", "cosmetic", "broken"),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	yes, item, damage := want.Answers[0].Probability, want.Answers[1], want.Answers[2]
	close := func(what string, got any, want float64) {
		t.Helper()
		if g, ok := got.(float64); !ok || math.Abs(g-want) > 1e-9 {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}

	system := `{"state":"The cup is cracked.","questions":{"refund":{"type":"noul","instructions":"Refund?"},
		"item":{"type":"choice","instructions":"Which?","criteria":{"plate":"any dish","cup":null}},
		"damage":{"type":"score","instructions":"How bad?","criteria":["none","cosmetic","broken"]}}}`
	for _, path := range []string{"/v1/systemone", "/v1/decisions"} {
		w := post(t, h, path, system)
		if w.Code != 200 {
			t.Fatalf("%s: %d %s", path, w.Code, w.Body)
		}
		v := object(t, w)
		close("noul", at(v, "answers", "refund", "noul"), yes)
		close("plate", at(v, "answers", "item", "probabilities", "plate"), item.Probabilities[0])
		close("confidence", at(v, "answers", "item", "confidence"), (max(item.Probabilities[0], item.Probabilities[1])-0.5)/0.5)
		close("score", at(v, "answers", "damage", "score"), damage.Score)
		close("label mass", at(v, "answers", "damage", "x_label_mass"), *damage.LabelMass)
		close("diagnostics", at(v, "diagnostics", "damage", "label_mass"), *damage.LabelMass)
		if p, c := strings.Index(w.Body.String(), `"plate":`), strings.Index(w.Body.String(), `"cup":`); p < 0 || c < p {
			t.Errorf("options are not in the caller's order: %s", w.Body)
		}
		if id := w.Header().Get("X-Typesafe-Request-Id"); path == "/v1/systemone" && id != w.Header().Get("X-Request-Id") || w.Header().Get("X-Request-Id") == "" {
			t.Errorf("request ids: %v", w.Header())
		}
	}

	w := post(t, h, "/v1/decisions", `{"model":"tiny-chat","input":[{"role":"user","content":[{"type":"input_text","text":"The cup is cracked."}]}],
		"questions":[{"type":"predicate","name":"refund","instructions":"Refund?"},
		{"type":"choice","instructions":"Which?","choices":[{"value":"plate","description":"any dish"},{"value":"cup"}]},
		{"type":"score","name":"damage","instructions":"How bad?","levels":[{"label":"none"},{"label":"cosmetic"},{"label":"broken"}]}]}`)
	v := object(t, w)
	if w.Code != 200 || v["answers"] == nil {
		t.Fatalf("OpenAI: %d %s", w.Code, w.Body)
	}
	close("probability", at(v, "answers", 0, "probability"), yes)
	close("value", at(v, "answers", 1, "probabilities", 1, "probability"), item.Probabilities[1])
	close("level", at(v, "answers", 2, "probabilities", 2, "probability"), damage.Probabilities[2])
	if cached, _ := at(v, "usage", "input_tokens_details", "cached_tokens").(float64); cached == 0 {
		t.Errorf("the state is hot by now: %s", w.Body)
	}

	w = post(t, h, "/v1/decisions", `{"input":"The cup is cracked.","questions":[{"id":"refund","type":"yes_no","question":"Refund?"},
		{"id":"item","type":"choice","question":"Which?","options":[{"name":"plate","description":"any dish"},{"name":"cup"}]}]}`)
	v = object(t, w)
	if w.Code != 200 || v["object"] != "decisions" {
		t.Fatalf("SGLang: %d %s", w.Code, w.Body)
	}
	close("cup", at(v, "answers", "item", "probabilities", "cup"), item.Probabilities[1])
	if _, ok := at(v, "answers", "item").(map[string]any)["confidence"]; ok {
		t.Errorf("SGLang's shape has no confidence: %s", w.Body)
	}
	close("label_mass", at(v, "answers", "item", "label_mass"), *item.LabelMass)
}

// Options chosen at construction change limits and formulas of the routes.
func TestDialects(t *testing.T) {
	t.Parallel()
	e := open(t)
	options := func(n int) string {
		var b strings.Builder
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `"o%d":null`, i)
		}
		return `{"state":"s","questions":{"q":{"type":"choice","instructions":"?","criteria":{` + b.String() + `}}}}`
	}
	for _, c := range []struct {
		name string
		opts []serve.Option
		n    int
		want string // of the refusal; empty: of another limit than that on options, since the context is short
	}{
		{"default", nil, 255, ""},
		{"default", nil, 256, "256 options, limit 255"},
		{"own", []serve.Option{serve.WithDialects(wire.Own(wire.SystemOneShape))}, 300, ""},
		{"vllm", []serve.Option{serve.WithDialects(wire.VLLM())}, 27, "27 options, limit 26"},
	} {
		w := post(t, handler(t, e, c.opts...), "/v1/systemone", options(c.n))
		if limit := strings.Contains(w.Body.String(), "options, limit"); limit != (c.want != "") || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s, %d options: %d %.300s, want %q", c.name, c.n, w.Code, w.Body, c.want)
		}
	}
	v := object(t, post(t, handler(t, e, serve.WithDialects(wire.VLLM())), "/v1/systemone", systemOneBody))
	p, _ := at(v, "answers", "cancel", "probabilities", "yes").(float64)
	mass, _ := at(v, "diagnostics", "cancel", "label_mass").(float64)
	if got, _ := at(v, "answers", "cancel", "confidence").(float64); mass == 0 || math.Abs(got-max(p, 1-p)*mass) > 1e-9 {
		t.Errorf("confidence %v, want the top probability times the label mass %v: %v", got, mass, v)
	}
}

func TestModels(t *testing.T) {
	t.Parallel()
	e := open(t)
	h := handler(t, e, serve.WithModelNames("main", "org/other"))
	v := object(t, request(t, h, "GET", "/v1/models", ""))
	if at(v, "data", 0, "id") != "main" || at(v, "data", 1, "id") != "org/other" || at(v, "models", 0, "name") != "main" {
		t.Errorf("%v", v)
	}
	for path, want := range map[string]int{
		"/v1/models/org/other": 200, "/v1/models/none": 404, "/v1/models/": 404, "/v1/models/../../etc/passwd": 404,
		"/v1/models/{model}": 404, "/v1/models/*": 404,
	} {
		if w := request(t, h, "GET", path, ""); w.Code != want {
			t.Errorf("%s: %d, want %d: %s", path, w.Code, want, w.Body)
		}
	}
	for name, want := range map[string]int{"main": 200, "org/other": 200, "": 200, "gpt": 404} {
		body := fmt.Sprintf(`{"model":%q,"prompt":"Once","max_tokens":1}`, name)
		if w := post(t, h, "/v1/completions", body); w.Code != want {
			t.Errorf("model %q: %d, want %d: %s", name, w.Code, want, w.Body)
		}
	}
	any := handler(t, e, serve.WithModelNames("main", "*"))
	if w := post(t, any, "/v1/completions", `{"model":"gpt","prompt":"Once","max_tokens":1}`); w.Code != 200 || object(t, w)["model"] != "main" {
		t.Errorf("any model: %d %s", w.Code, w.Body)
	}
}

func TestTokenizeAndBack(t *testing.T) {
	t.Parallel()
	e := open(t)
	h := handler(t, e)
	const text = "Once upon a time, <s> é."
	v := object(t, post(t, h, "/tokenize", `{"prompt":"`+text+`","add_special_tokens":false,"return_token_strs":true}`))
	want := e.EncodeText(text, false)
	if fmt.Sprint(v["tokens"]) != fmt.Sprint(want) || v["count"] != float64(len(want)) || v["max_model_len"] != 512.0 {
		t.Errorf("%v, want %v", v, want)
	}
	ids, _ := json.Marshal(v["tokens"])
	if back := object(t, post(t, h, "/detokenize", `{"tokens":`+string(ids)+`}`)); strings.TrimSpace(back["prompt"].(string)) != text {
		t.Errorf("%q, want %q", back["prompt"], text)
	}
	messages := object(t, post(t, h, "/tokenize", `{"messages":[{"role":"user","content":[{"type":"text","text":"Hel"},{"type":"text","text":"lo"}]}]}`))
	same, err := e.Tokenize(chat.Messages(chat.User("Hello")))
	if err != nil || fmt.Sprint(messages["tokens"]) != fmt.Sprint(same) {
		t.Errorf("%v %v, want %v", messages, err, same)
	}
	for body, param := range map[string]string{
		`{"tokens":[-1]}`: "", `{"tokens":[99999]}`: "", `{"tokens":[1.5]}`: "tokens",
	} {
		if w := post(t, h, "/detokenize", body); w.Code != 400 || param != "" && at(object(t, w), "error", "param") != param {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
}

func TestHealthAndMetrics(t *testing.T) {
	t.Parallel()
	h := handler(t, open(t))
	post(t, h, "/v1/systemone", systemOneBody)
	post(t, h, "/v1/completions", `{"prompt":"Once","max_tokens":3}`)
	request(t, h, "GET", "/nowhere", "")
	w := request(t, h, "GET", "/metrics", "")
	for _, line := range []string{
		`hotpath_http_requests_total{route="POST /v1/systemone",status="200"} 1`,
		`hotpath_http_requests_total{route="none",status="404"} 1`,
		`hotpath_decisions_total 1`, `hotpath_output_tokens_total 3`, `hotpath_http_requests_running 1`,
		`hotpath_http_request_seconds_count{route="POST /v1/completions"} 1`, `hotpath_requests_failed_total 0`,
	} {
		if !strings.Contains(w.Body.String(), line+"\n") {
			t.Errorf("no line %s in\n%s", line, w.Body)
		}
	}
	if w := request(t, h, "GET", "/readyz", ""); w.Code != 200 || w.Body.String() != `{"status":"ready"}` {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	h.Drain()
	for path, want := range map[string]int{"/readyz": 503, "/healthz": 200, "/v1/models": 503} {
		if w := request(t, h, "GET", path, ""); w.Code != want {
			t.Errorf("draining %s: %d, want %d", path, w.Code, want)
		}
	}
	if w := post(t, h, "/v1/systemone", systemOneBody); w.Code != 503 || w.Header().Get("Retry-After") == "" || at(object(t, w), "detail", "message") == nil {
		t.Errorf("draining: %d %v %s", w.Code, w.Header(), w.Body)
	}
}

// A prefix that the mux strips, and two handlers of one engine.
func TestMounted(t *testing.T) {
	t.Parallel()
	e := open(t)
	mux := http.NewServeMux()
	mux.Handle("/llm/", http.StripPrefix("/llm", handler(t, e, serve.WithPlayground())))
	mux.Handle("/v1/", handler(t, e))
	for path, want := range map[string]int{"/llm/v1/models": 200, "/v1/models": 200, "/llm/": 200, "/llm/healthz": 200, "/v1/nothing": 404} {
		if w := request(t, mux, "GET", path, ""); w.Code != want {
			t.Errorf("%s: %d, want %d", path, w.Code, want)
		}
	}
}

// The page runs its own script and style and nothing else, and is there only when asked for.
func TestPlaygroundPolicy(t *testing.T) {
	t.Parallel()
	e := open(t)
	if w := request(t, handler(t, e), "GET", "/", ""); w.Code != 404 {
		t.Errorf("without the option: %d", w.Code)
	}
	w := request(t, handler(t, e, serve.WithPlayground()), "GET", "/", "")
	policy, page := w.Header().Get("Content-Security-Policy"), w.Body.String()
	hash := func(tag string) string {
		_, rest, _ := strings.Cut(page, "<"+tag+">")
		inside, _, _ := strings.Cut(rest, "</"+tag+">")
		sum := sha256.Sum256([]byte(inside))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	for _, rule := range []string{"default-src 'none'", "script-src " + hash("script"), "style-src " + hash("style"), "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"} {
		if !slices.Contains(strings.Split(policy, "; "), rule) {
			t.Errorf("no %s in %s", rule, policy)
		}
	}
	for _, outside := range []string{"http:", "https:", "//cdn", " style=", " onclick=", "unsafe", "@import"} {
		if strings.Contains(page, outside) {
			t.Errorf("%q in the page", outside)
		}
	}
	if strings.Count(page, "<script") != 1 || strings.Count(page, "<style") != 1 {
		t.Error("more than one script or style")
	}
}
