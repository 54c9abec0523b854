package chat

import "errors"

var (
	// ErrNoTemplate is returned for a prompt of messages on a model that has no chat template.
	ErrNoTemplate = errors.New("chat: the model has no chat template")
	// ErrTemplate is returned for a template that is malformed; it wraps the *jinja.Error with the place.
	ErrTemplate = errors.New("chat: bad template")
	// ErrPrompt is returned for a prompt that cannot be rendered whatever the template: not messages,
	// a message with both Content and Parts, arguments that are not JSON.
	ErrPrompt = errors.New("chat: bad prompt")
	// ErrRender is returned when the template fails on the messages or refuses them (such as two user
	// turns in a row, or no user turn); it wraps the *jinja.Error with the place and, for a refusal,
	// jinja.ErrRaised.
	ErrRender = errors.New("chat: the template does not take these messages")
)
