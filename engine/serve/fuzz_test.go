package serve_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hotpath-go/hotpath/engine"
)

// FuzzRoutes sends any bytes to each route that reads a body of its own. Whatever they are, the
// response is JSON, or a stream, and no error of ours.
func FuzzRoutes(f *testing.F) {
	for _, body := range []string{
		systemOneBody, chatBody, chatStream,
		`{"prompt":["a",[1,2]],"max_tokens":2,"stream":true,"echo":true,"logprobs":1}`,
		`{"tokens":[1,2,3]}`, `{"prompt":"a","add_special_tokens":false,"return_token_strs":true}`,
		`{"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{}"}}]},{"role":"tool","content":[{"type":"text","text":"x"}]}],
		"tools":[{"type":"function","function":{"name":"f","parameters":{}}}],"tool_choice":"none","response_format":{"type":"json_object"},"logit_bias":{"1":1},"stop":["a"]}`,
		`{"model":"tiny-chat","input":"s","questions":[{"type":"predicate","instructions":"?"}]}`,
		`{"input":{},"questions":[{"type":"yes_no","id":"a","question":"?"}]}`,
	} {
		f.Add(body)
	}
	h := handler(f, scripted{Engine: open(f), events: []engine.Event{{Text: "t"}, {Done: &engine.Generation{Text: "t", Finish: engine.FinishStop}}}})
	f.Fuzz(func(t *testing.T, body string) {
		for _, path := range []string{"/v1/systemone", "/v1/decisions", "/v1/chat/completions", "/v1/completions", "/tokenize", "/detokenize"} {
			w := post(t, h, path, body)
			if w.Code >= 500 || w.Code == 499 {
				t.Errorf("%s: %d %s", path, w.Code, w.Body)
			}
			if kind := w.Header().Get("Content-Type"); kind == "application/json" && !json.Valid(w.Body.Bytes()) ||
				kind == "text/event-stream" && !strings.HasSuffix(w.Body.String(), "data: [DONE]\n\n") || kind == "" {
				t.Errorf("%s: %q %q", path, kind, w.Body)
			}
		}
	})
}
