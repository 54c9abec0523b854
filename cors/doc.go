// Package cors decides which web pages may call a server, and denies by default.
//
// A browser sends a page's requests with the credentials, the network and the machine of whoever
// looks at the page. A model server on a laptop or inside a company is therefore reachable by every
// page that its users open, unless it looks at the Origin of each request. A [Policy] does:
//
//	policy, err := cors.New(cors.Options{Origins: []string{"https://app.example.com"}})
//	http.ListenAndServe(addr, policy.Mux(mux)) // outside of authentication
//
// What a policy does with a request, in this order:
//
//  1. Host. Where the connection arrived on a loopback address, or where [Options].Hosts is set, a
//     Host that is none of ours is refused with 421. Only this helps against DNS rebinding, where
//     Origin and Host agree with each other.
//  2. Origin. A request without one (curl, SDKs, gateways) goes on. So does one of the request's own
//     scheme and host. Any other origin must be listed, or the request is refused with 403 before
//     the handler, whatever its method, and without any Access-Control header.
//  3. Preflight. Answered here, with the route's exact methods and the list of headers, since it
//     carries no API key. A method or header that is not allowed is refused with 403 too.
//  4. Content type. A POST must be application/json, or 415: text/plain is what a page may send
//     without a preflight.
//
// The headers of an allowed origin are set before the handler runs, so errors and streams have them.
// The mechanics of preflights are those of github.com/rs/cors.
//
// [Check] asks any running server the same questions as a browser and reports who may call what.
//
// # Caveats
//
//   - An origin policy is no authentication. It protects those who use a browser from pages they
//     look at; any other program can send any Origin it likes, or none.
//   - A page may always send a GET for an image or a script. Browsers send no Origin with it, so it
//     reaches the handler, and the page cannot read the answer: let no GET change anything.
//   - Behind a proxy that ends TLS the request's own scheme is http while the page's is https. List
//     the public origin in [Options].Own, or have X-Forwarded-Proto and -Host believed with
//     [Options].TrustForwarded, where no client can reach the server but through the proxy.
//   - A proxy on the same machine that passes its clients' Host on is refused until the names are
//     listed in [Options].Hosts or Own, since its connections arrive on a loopback address.
//   - API keys in an Authorization header do not need [Options].Credentials, which is about cookies.
//   - Browsers ask their user before a public page may reach a private or loopback address (local
//     network access). No header of a server replaces that.
//   - "https://*.example.com" trusts everybody who can have a name under example.com.
package cors
