package cors_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/hotpath-go/hotpath/cors"
)

// A page of a listed origin may call; every other page is refused before the handler.
func Example() {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/decisions", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "{}") })

	policy, err := cors.New(cors.Options{Origins: []string{"https://app.example.com"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	server := httptest.NewServer(policy.Mux(mux))
	defer server.Close()

	for _, origin := range []string{"https://app.example.com", "https://evil.example"} {
		r, _ := http.NewRequest(http.MethodOptions, server.URL+"/v1/decisions", nil)
		r.Header.Set("Origin", origin)
		r.Header.Set("Access-Control-Request-Method", "POST")
		r.Header.Set("Access-Control-Request-Headers", "authorization,content-type")
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			fmt.Println(err)
			return
		}
		res.Body.Close()
		fmt.Println(origin, res.StatusCode, res.Header.Get("Access-Control-Allow-Methods"))
	}
	// Output:
	// https://app.example.com 204 POST
	// https://evil.example 403
}

// All mistakes are reported at once.
func ExampleNew() {
	_, err := cors.New(cors.Options{Origins: []string{"null", "app.example.com", "https://app.example.com/"}})
	fmt.Println(err)
	// Output:
	// cors: wrong options: Origins[0] "null": every sandboxed frame and local file has this origin; it is never allowed
	// cors: wrong options: Origins[1] "app.example.com": an origin starts with a scheme, such as https://app.example.com
	// cors: wrong options: Origins[2] "https://app.example.com/": an origin ends with its host and port: https://app.example.com
}

// Who may call a server that answers everybody?
func ExampleCheck() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/completions" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Access-Control-Allow-Headers", "authorization, content-type")
	}))
	defer server.Close()

	report, err := cors.Check(context.Background(), server.URL, "https://app.example.com")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, v := range report.Open() {
		fmt.Println(v.Route, "is open to", v.Origin)
	}
	// Output:
	// POST /v1/completions is open to null
	// POST /v1/completions is open to https://unlisted.invalid
	// POST /v1/completions is open to https://app.example.com.unlisted.invalid
	// POST /v1/completions is open to https://unlistedexample.com
}
