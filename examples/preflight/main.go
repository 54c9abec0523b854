// Preflight says, route by route, which web pages may call a model server. It sends the preflights
// that a browser would and works against any server, hotpath or not:
//
//	go run ./examples/preflight -url http://localhost:8000 -origin https://app.example.com
//
// Origins of strangers (null, an unlisted one, look-alikes of those given) are asked about in any
// case; the exit status is 1 if one of them may call, or one of those given may not.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"github.com/hotpath-go/hotpath/cors"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ok, err := run(ctx, os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "preflight:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (bool, error) {
	flags := flag.NewFlagSet("preflight", flag.ContinueOnError)
	url := flags.String("url", "http://localhost:8000", "server, with the prefix of its routes if there is one")
	var origins, headers []string
	var routes []cors.Route
	flags.Func("origin", "origin of a page that should be allowed; may be repeated", func(s string) error {
		origins = append(origins, s)
		return nil
	})
	flags.Func("header", "request header that the pages send, instead of Authorization and Content-Type; may be repeated", func(s string) error {
		headers = append(headers, s)
		return nil
	})
	flags.Func("route", `route to ask about instead of all, such as "POST /v1/decisions"; may be repeated`, func(s string) error {
		method, path, ok := strings.Cut(s, " ")
		if !ok || !strings.HasPrefix(path, "/") {
			return fmt.Errorf("want a method and a path")
		}
		routes = append(routes, cors.Route{Method: method, Path: path})
		return nil
	})
	credentials := flags.Bool("credentials", false, "pages send cookies")
	if err := flags.Parse(args); err != nil {
		return false, err
	}
	p := cors.Prober{Routes: routes, Headers: headers, Credentials: *credentials}
	report, err := p.Check(ctx, *url, origins...)
	if err != nil {
		return false, err
	}
	fmt.Print(report)
	for _, v := range report.Verdicts {
		if v.Allowed == v.Stranger {
			return false, nil
		}
	}
	return true, nil
}
