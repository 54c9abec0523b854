// Package serve offers an engine over HTTP, in the shapes that clients already speak.
//
// [New] returns a [Handler], an http.Handler for anybody's mux (behind http.StripPrefix where it
// lives under a prefix of its own). [Server] runs one with time-outs and drains it.
//
//	h, err := serve.New(eng, serve.WithKeys(keys), serve.WithOrigins("https://app.example.com"))
//	mux.Handle("/v1/", h)
//
// # Routes
//
//	POST /v1/systemone         decisions, System One shape
//	POST /v1/decisions         decisions; OpenAI's, SGLang's and the System One shape, told apart by their fields
//	POST /v1/chat/completions  chat, as OpenAI's, with streams
//	POST /v1/completions       text, as OpenAI's, with streams
//	GET  /v1/models            the model, as OpenAI and as TypeSafe list it
//	POST /tokenize, /detokenize  as vLLM's
//	GET  /healthz, /readyz     alive; taking requests (503 while draining)
//	GET  /metrics              Prometheus
//	GET  /                     a page to try decisions on ([WithPlayground])
//
// # Confidence
//
// Three formulas share that name. /v1/systemone, and a System One body on /v1/decisions, give
// concentration, as TypeSafe publishes it: (p_max-1/K)/(1-1/K) for a choice, the mean distance from
// the most probable level for a score, and none for a noul. OpenAI publishes no formula; its shape
// gets concentration too. SGLang's shape has no confidence, it has label_mass. [WithDialects] makes
// a route speak as another server does, such as vLLM with the top probability times the label mass.
//
// # Errors
//
// Each route answers in the form that its speakers publish: System One with a detail, which for
// status 422 is a list of loc, msg and type; the others with an error object. 400 a request that
// cannot be served, 401 no known key, 403 a foreign origin, 404 an unknown path or model, 405, 413 a
// body over the limit, 415 not JSON, 429 a full queue or too many requests of one key, with
// Retry-After, 503 while draining. What went wrong inside is logged, not sent.
//
// # Caveats
//
// Without [WithKeys] everybody who reaches the address may call. Keys are compared by their SHA-256:
// take long random ones. The priority of a request is its caller's word (as vLLM has it: lower runs
// first), and it comes before fairness between keys. Fields that change no answer here are ignored on the chat and text routes,
// as are unknown ones. Temperature is 1 where none is given, as those APIs say, and not greedy.
// Stop texts end a reply where they come in its content, not in its reasoning or calls. The tool choice
// and a response format constrain the reply, so they cannot be broken; a response
// format together with tools that may be called is refused.
package serve
