package serve_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/signal"
	"strings"
	"syscall"

	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/engine/serve"
	"github.com/hotpath-go/hotpath/model"
)

// A handler lives in anybody's mux.
func Example() {
	eng, err := engine.Open(context.Background(), model.Stories())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer eng.Close()
	keys, err := serve.ReadKeys(strings.NewReader("# name secret\nteam-a Lx0eNw8zkqT3vYcR"))
	if err != nil {
		fmt.Println(err)
		return
	}
	h, err := serve.New(eng,
		serve.WithKeys(keys),
		serve.WithOrigins("https://app.example.com"), // without this line no page of another origin may call
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	mux.Handle("/v1/", h)
	mux.HandleFunc("/", http.NotFound)
	server := httptest.NewServer(mux)
	defer server.Close()

	r, _ := http.NewRequest("POST", server.URL+"/v1/tokenize", nil)
	r.Header.Set("Content-Type", "application/json")
	fmt.Println(call(r))

	body := `{"state":"The cup is cracked.","questions":{"refund":{"type":"noul","instructions":"Does the customer want a refund?"}}}`
	r, _ = http.NewRequest("POST", server.URL+"/v1/systemone", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	fmt.Println(call(r))
	r.Body = io.NopCloser(strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer Lx0eNw8zkqT3vYcR")
	status, answer := call(r)
	fmt.Println(status, answer[:len(`{"model":"stories260K","answers":{"refund":{"type":"noul"`)])
	// Output:
	// 404 {"error":{"message":"no such path","type":"not_found_error","param":null,"code":"not_found"}}
	// 401 {"detail":{"error_type":"invalid_request","message":"no known API key in the Authorization header"}}
	// 200 {"model":"stories260K","answers":{"refund":{"type":"noul"
}

func call(r *http.Request) (int, string) {
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	var b bytes.Buffer
	_, _ = b.ReadFrom(resp.Body)
	return resp.StatusCode, b.String()
}

// A server of its own ends with an interrupt, after the requests under way.
func ExampleServer() {
	eng, err := engine.Open(context.Background(), model.Stories())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer eng.Close()
	h, err := serve.New(eng, serve.WithPlayground())
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	stop() // as the signal would
	err = (&serve.Server{Addr: "127.0.0.1:0", Handler: h}).Run(ctx)
	fmt.Println(err)
	// Output: <nil>
}
