// Package wire writes and reads the three public JSON bodies for decisions over HTTP: System One
// (/v1/systemone), OpenAI Decisions and SGLang's decisions (both /v1/decisions).
//
// A [Dialect] is one of these shapes with the limits and habits that one of its speakers publishes:
// [TypeSafe], [VLLM], [SGLang] and [LlamaCPP] for System One; [OpenAI], [VLLMDecisions] and [Fireworks]
// for OpenAI Decisions; [SGLangDecisions]; and [Own] for any shape with the limits of package decide.
// A [Call] is a request in typed form. A server decodes the request and encodes the response, a
// client encodes the request and decodes the response:
//
//	call, err := d.DecodeRequest(body)     body, err := d.EncodeRequest(call)
//	body, err := d.EncodeResponse(call, …) result, err := d.DecodeResponse(call, body)
//
// The order of options is the caller's everywhere. Requests are read strictly: bad UTF-8, repeated
// keys, numbers beyond float64, deep nesting and fields that the speaker refuses are an [Error] with
// the field's path.
//
// # Caveats
//
// Three formulas share the name confidence. A dialect writes the one that its speakers publish;
// OpenAI publishes none and gets decide.Concentration. DecodeResponse computes the one that the
// request asks for from the probabilities.
//
// Structured instructions, descriptions and levels become compact JSON text. Images, audio and files
// are refused. A score of one level is refused everywhere, also where the speaker takes it. Where two
// options would look the same to the model ("true" and true), options are shown as JSON text.
//
// All functions are safe for concurrent use; a decoded Call shares no memory with the body.
package wire
