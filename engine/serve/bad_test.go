package serve_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hotpath-go/hotpath/engine/serve"
)

// deep is a value of n nested levels.
func deep(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

// What is wrong with a request is refused with the status and in the form of the route's speakers,
// and the refusal names the field.
func TestBadRequests(t *testing.T) {
	t.Parallel()
	h := handler(t, open(t), serve.WithModelNames("m"))
	const turn = `"messages":[{"role":"user","content":"a"}]`
	const system = `"questions":{"q":{"type":"noul","instructions":"?"}}`
	const predicate = `"questions":[{"type":"predicate","instructions":"?"}]`
	const yesNo = `"questions":[{"type":"yes_no","id":"q","question":"?"}]`
	chatBody := func(field string) string { return `{` + turn + `,` + field + `}` }
	textBody := func(field string) string { return `{"prompt":"a",` + field + `}` }
	for _, c := range []struct {
		path, body string
		status     int
		want       string // in the response
	}{
		// System One: 422 with a location for its schema, 400 for limits.
		{"/v1/systemone", ``, 422, `"loc":["body"]`},
		{"/v1/systemone", `{`, 422, `"json_invalid"`},
		{"/v1/systemone", `[]`, 422, `"loc":["body"]`},
		{"/v1/systemone", `{` + system + `}`, 422, `"loc":["body","state"],"msg":"missing, must be any value but null","type":"missing"`},
		{"/v1/systemone", `{"state":"s"}`, 422, `"loc":["body","questions"]`},
		{"/v1/systemone", `{"state":null,` + system + `}`, 422, `"state"`},
		{"/v1/systemone", `{"state":"s","state":"t",` + system + `}`, 422, `there twice`},
		{"/v1/systemone", `{"state":NaN,` + system + `}`, 422, `"json_invalid"`},
		{"/v1/systemone", `{"state":1e999,` + system + `}`, 422, `"state"`},
		{"/v1/systemone", "{\"state\":\"\xff\"," + system + `}`, 422, `not UTF-8`},
		{"/v1/systemone", `{"state":` + deep(64) + `,` + system + `}`, 400, `65 nested levels, limit 64`},
		{"/v1/systemone", `{"state":"s","unknown":1,` + system + `}`, 200, `"noul"`},
		{"/v1/systemone", `{"state":"s","questions":{"q":{"type":"noul","instructions":"?","unknown":1}}}`, 422, `"loc":["body","questions","q","unknown"]`},
		{"/v1/systemone", `{"state":"s","questions":{"q":{"type":"maybe","instructions":"?"}}}`, 422, `"type"`},
		{"/v1/systemone", `{"state":"s","questions":{"q":{"type":"score","instructions":"?","criteria":["0","1","2","3","4","5","6","7","8","9","10"]}}}`, 400, `11 levels, limit 10`},
		{"/v1/systemone", `{"state":"s","stream":true,` + system + `}`, 422, `"loc":["body","stream"]`},
		{"/v1/systemone", `{"state":"s","stream":false,` + system + `}`, 200, `"noul"`},
		{"/v1/systemone", `{"state":"s","model":"other",` + system + `}`, 404, `"detail":{"error_type":"invalid_request","message":"the model \"other\"`},
		{"/v1/systemone", `{"state":"s","priority":1.5,` + system + `}`, 422, `"priority"`},
		{"/v1/systemone", `{"state":"s","cache_salt":"` + strings.Repeat("x", 5000) + `",` + system + `}`, 400, `amespace`},
		{"/v1/systemone", `{"state":"` + strings.Repeat("long ", 1000) + `",` + system + `}`, 400, `512`},
		// OpenAI decisions: 400, unknown fields refused.
		{"/v1/decisions", ``, 400, `"invalid_request_error"`},
		{"/v1/decisions", `{"model":"m","input":"s",` + predicate + `,"stream":true}`, 400, `"param":"stream"`},
		{"/v1/decisions", `{"model":"m","input":"s",` + predicate + `,"unknown":1}`, 400, `"param":"unknown"`},
		{"/v1/decisions", `{"model":"m","input":"s","questions":[{"type":"choice","instructions":"?","choices":[{"value":"a"}]}]}`, 400, `1 choices, at least 2`},
		{"/v1/decisions", `{"model":"m","input":[{"role":"user","content":[{"type":"input_image","image_url":"data:"}]}],` + predicate + `}`, 400, `input_image`},
		{"/v1/decisions", `{"input":"s",` + predicate + `}`, 400, `"param":"model"`},
		{"/v1/decisions", `{"model":"x","input":"s",` + predicate + `}`, 404, `"code":"model_not_found"`},
		{"/v1/decisions", `{"model":"m","input":"s","input":"t",` + predicate + `}`, 400, `there twice`},
		{"/v1/decisions", `{"model":"m","input":` + deep(64) + `,` + predicate + `}`, 400, `65 nested levels`},
		// SGLang's.
		{"/v1/decisions", `{"input":"s",` + yesNo + `,"temperature":-1}`, 400, `temperature`},
		{"/v1/decisions", `{"input":"s",` + yesNo + `,"prompt_format_version":2}`, 400, `prompt_format_version`},
		{"/v1/decisions", `{"input":"s",` + yesNo + `,"stream":true}`, 400, `stream`},
		{"/v1/decisions", `{"input":" ",` + yesNo + `}`, 400, `blank`},
		// System One there.
		{"/v1/decisions", `{"state":"s","questions":{}}`, 400, `"detail"`},
		// Chat.
		{"/v1/chat/completions", ``, 400, `"code":"json_invalid"`},
		{"/v1/chat/completions", `[]`, 400, `want an object`},
		{"/v1/chat/completions", `{}`, 400, `"param":"messages"`},
		{"/v1/chat/completions", `{"messages":[]}`, 400, `"param":"messages"`},
		{"/v1/chat/completions", `{"messages":"a"}`, 400, `"param":"messages"`},
		{"/v1/chat/completions", chatBody(turn), 400, `there twice`},
		{"/v1/chat/completions", chatBody(`"MESSAGES":[]`), 400, `there twice`},
		{"/v1/chat/completions", chatBody(`"temperature":NaN`), 400, `json_invalid`},
		{"/v1/chat/completions", chatBody(`"temperature":1e999`), 400, `temperature`},
		{"/v1/chat/completions", chatBody(`"temperature":-1`), 400, `temperature`},
		{"/v1/chat/completions", chatBody(`"temperature":"hot"`), 400, `"param":"temperature"`},
		{"/v1/chat/completions", chatBody(`"top_p":0`), 400, `top-p`},
		{"/v1/chat/completions", chatBody(`"n":0`), 400, `"param":"n"`},
		{"/v1/chat/completions", chatBody(`"n":-1`), 400, `"param":"n"`},
		{"/v1/chat/completions", chatBody(`"n":129`), 400, `128`},
		{"/v1/chat/completions", chatBody(`"max_tokens":-5`), 400, `-5, must be at least 1`},
		{"/v1/chat/completions", chatBody(`"max_tokens":1.5`), 400, `"param":"max_tokens"`},
		{"/v1/chat/completions", chatBody(`"max_tokens":4,"max_completion_tokens":5`), 400, `max_completion_tokens`},
		{"/v1/chat/completions", chatBody(`"top_logprobs":3`), 400, `without logprobs`},
		{"/v1/chat/completions", chatBody(`"logprobs":true,"top_logprobs":21`), 400, `0 to 20`},
		{"/v1/chat/completions", chatBody(`"logprobs":true,"top_logprobs":-1`), 400, `0 to 20`},
		{"/v1/chat/completions", chatBody(`"stop":{}`), 400, `stop: want a string or an array of strings`},
		{"/v1/chat/completions", chatBody(`"stop":[""]`), 400, `Stop[0]`},
		{"/v1/chat/completions", chatBody(`"stop_token_ids":[-1]`), 400, `StopIDs`},
		{"/v1/chat/completions", chatBody(`"logit_bias":{"x":1}`), 400, `logit_bias`},
		{"/v1/chat/completions", chatBody(`"logit_bias":{"1":101}`), 400, `-100 to 100`},
		{"/v1/chat/completions", chatBody(`"logit_bias":{"99999":1}`), 400, `Bias[0]`},
		{"/v1/chat/completions", chatBody(`"stream_options":{"include_usage":true}`), 400, `without stream`},
		{"/v1/chat/completions", chatBody(`"tool_choice":"required"`), 400, `ToolChoice`},
		{"/v1/chat/completions", chatBody(`"tool_choice":"some"`), 400, `"param":"tool_choice"`},
		{"/v1/chat/completions", chatBody(`"tools":[{"type":"web"}]`), 400, `tools[0].type`},
		{"/v1/chat/completions", chatBody(`"functions":[]`), 400, `"param":"functions"`},
		{"/v1/chat/completions", chatBody(`"response_format":{"type":"xml"}`), 400, `response_format.type`},
		{"/v1/chat/completions", chatBody(`"response_format":{"type":"json_schema"}`), 400, `response_format.json_schema.schema`},
		{"/v1/chat/completions", chatBody(`"response_format":{"type":"json_schema","json_schema":{"schema":{"$ref":"http://x/y"}}}`), 400, `Constraint`},
		{"/v1/chat/completions", chatBody(`"reasoning_effort":"huge"`), 400, `reasoning_effort`},
		{"/v1/chat/completions", chatBody(`"x":` + deep(64)), 400, `65 nested levels, limit 64`},
		{"/v1/chat/completions", chatBody("\"x\":\"\xff\""), 400, `not UTF-8`},
		{"/v1/chat/completions", chatBody(`"model":"other"`), 404, `"code":"model_not_found"`},
		{"/v1/chat/completions", chatBody(`"model":3`), 400, `"param":"model"`},
		{"/v1/chat/completions", `{"messages":[{"role":"king","content":"a"}]}`, 400, `messages[0].role`},
		{"/v1/chat/completions", `{"messages":[{"role":"user"}]}`, 400, `messages[0].content`},
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:"}}]}]}`, 400, `messages[0].content[0]`},
		{"/v1/chat/completions", `{"messages":[{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{"}}]}]}`, 400, `arguments`},
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":"` + strings.Repeat("long ", 1000) + `"}]}`, 400, `"context_length_exceeded"`},
		{"/v1/chat/completions", chatBody(`"cache_salt":"` + strings.Repeat("x", 5000) + `"`), 400, `amespace`},
		{"/v1/chat/completions", `{"messages":[{}` + strings.Repeat(",{}", 1<<19) + `]}`, 400, `over 524288 objects and arrays`},
		{"/v1/decisions", `{"model":"m","input":"s","questions":[{}` + strings.Repeat(",{}", 1<<20) + `]}`, 400, `1048577 questions, limit`},
		// Text.
		{"/v1/completions", `{}`, 400, `"param":"prompt"`},
		{"/v1/completions", `{"prompt":[]}`, 400, `"param":"prompt"`},
		{"/v1/completions", `{"prompt":[[]]}`, 400, `prompt[0]`},
		{"/v1/completions", `{"prompt":[1,-7]}`, 400, `-7`},
		{"/v1/completions", `{"prompt":[99999]}`, 400, `99999`},
		{"/v1/completions", `{"prompt":{"a":1}}`, 400, `"param":"prompt"`},
		{"/v1/completions", textBody(`"max_tokens":0`), 400, `at least 1`},
		{"/v1/completions", textBody(`"logprobs":6`), 400, `0 to 5`},
		{"/v1/completions", textBody(`"logprobs":1,"echo":true`), 400, `echo`},
		{"/v1/completions", textBody(`"suffix":"b"`), 400, `suffix`},
		{"/v1/completions", textBody(`"best_of":3`), 400, `best_of`},
		{"/v1/completions", `{"prompt":["a","b"],"n":65}`, 400, `130 replies, limit 128`},
		// Tokens.
		{"/tokenize", `{}`, 400, `"param":"prompt"`},
		{"/tokenize", `{"prompt":"a","messages":[]}`, 400, `"param":"prompt"`},
		{"/tokenize", `{"prompt":7}`, 400, `"param":"prompt"`},
		{"/detokenize", `{"tokens":"a"}`, 400, `"param":"tokens"`},
		{"/detokenize", `{"tokens":[2147483648]}`, 400, `tokens`},
		// Elsewhere.
		{"/nowhere", `{}`, 404, `"not_found"`},
		{"/v1/systemone/", `{}`, 404, `"not_found"`},
		{"/v1/../v1/systemone", `{}`, 404, `"not_found"`},
		{"/healthz", `{}`, 405, `GET`},
	} {
		w := post(t, h, c.path, c.body)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s %.120s: %d %.400s, want %d with %s", c.path, c.body, w.Code, w.Body, c.status, c.want)
		}
		if w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s: content type %q", c.path, w.Header().Get("Content-Type"))
		}
	}
}

// What is wrong with a request before anybody reads its body, on every route.
func TestBadHTTP(t *testing.T) {
	t.Parallel()
	h := handler(t, open(t), serve.WithBodyLimit(1<<20))
	for _, path := range []string{"/v1/systemone", "/v1/decisions", "/v1/chat/completions", "/v1/completions", "/tokenize", "/detokenize"} {
		if w := request(t, h, "GET", path, ""); w.Code != 405 || w.Header().Get("Allow") != "POST" {
			t.Errorf("GET %s: %d, Allow %q", path, w.Code, w.Header().Get("Allow"))
		}
		if w := request(t, h, "DELETE", path, ""); w.Code != 405 {
			t.Errorf("DELETE %s: %d", path, w.Code)
		}
		for _, kind := range []string{"text/plain", "", "application/x-www-form-urlencoded", "application/jsonp"} {
			if w := post(t, h, path, `{}`, "Content-Type", kind); w.Code != 415 {
				t.Errorf("%s as %q: %d", path, kind, w.Code)
			}
		}
		if w := post(t, h, path, strings.Repeat(" ", 1<<20+1)); w.Code != 413 || !strings.Contains(w.Body.String(), "1048577 bytes, limit 1048576") {
			t.Errorf("%s, a large body: %d %s", path, w.Code, w.Body)
		}
		// Without a length in the header.
		r := httptest.NewRequest("POST", path, struct{ *strings.Reader }{strings.NewReader(strings.Repeat(" ", 1<<20+1))})
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != 413 {
			t.Errorf("%s, a large body of no length: %d %s", path, w.Code, w.Body)
		}
		if w := post(t, h, path, `{}`, "Content-Encoding", "gzip"); w.Code != 415 {
			t.Errorf("%s, encoded: %d", path, w.Code)
		}
		for _, origin := range []string{"null", "https://evil.example", "http://localhost:8080.evil.example", "http://evil-localhost:8080", "https://localhost:8080"} {
			w := post(t, h, path, `{}`, "Origin", origin)
			if w.Code != 403 || w.Header().Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s from %s: %d %v", path, origin, w.Code, w.Header())
			}
		}
		if w := post(t, h, path, `{}`, "Origin", "http://localhost:8080"); w.Code == 403 {
			t.Errorf("%s from its own origin: %d %s", path, w.Code, w.Body)
		}
	}
	if w := request(t, h, "HEAD", "/healthz", ""); w.Code != 200 {
		t.Errorf("HEAD: %d", w.Code)
	}
}

func TestDefaultBodyLimit(t *testing.T) {
	t.Parallel()
	h := handler(t, open(t))
	if w := post(t, h, "/v1/systemone", `{"state":"`+strings.Repeat("x", 33<<20)+`"}`); w.Code != 413 || !strings.Contains(w.Body.String(), `"detail"`) {
		t.Errorf("%d %.200s", w.Code, w.Body)
	}
}

// Requests that only a socket can make.
func TestRawRequests(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(handler(t, open(t)))
	defer s.Close()
	host := s.Listener.Addr().String()
	for name, c := range map[string]struct {
		raw  string
		want string
	}{
		"two hosts":    {"GET /v1/models HTTP/1.1\r\nHost: " + host + "\r\nHost: evil.example\r\n\r\n", "HTTP/1.1 400"},
		"foreign host": {"GET /v1/models HTTP/1.1\r\nHost: evil.example\r\n\r\n", "HTTP/1.1 421"},
		"no host":      {"GET /v1/models HTTP/1.1\r\n\r\n", "HTTP/1.1 400"},
		"dots":         {"GET /v1/models/../../etc/passwd HTTP/1.1\r\nHost: " + host + "\r\n\r\n", "HTTP/1.1 404"},
		"escaped dots": {"GET /v1/models/%2e%2e%2fx HTTP/1.1\r\nHost: " + host + "\r\n\r\n", "HTTP/1.1 404"},
		"length wrong": {"POST /v1/systemone HTTP/1.1\r\nHost: " + host + "\r\nContent-Type: application/json\r\nContent-Length: -1\r\n\r\n", "HTTP/1.1 400"},
		"chunks wrong": {"POST /v1/systemone HTTP/1.1\r\nHost: " + host + "\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "HTTP/1.1 400"},
		"huge preflight": {"OPTIONS /v1/systemone HTTP/1.1\r\nHost: " + host + "\r\nOrigin: http://" + host +
			"\r\nAccess-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: " + strings.Repeat("x,", 20000) + "\r\n\r\n", "HTTP/1.1 403"},
	} {
		conn, err := net.Dial("tcp", host)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(conn, c.raw)
		line, err := bufio.NewReader(conn).ReadString('\n')
		if err != nil || !strings.HasPrefix(line, c.want) {
			t.Errorf("%s: %q %v, want %s", name, line, err, c.want)
		}
		conn.Close()
	}
}
