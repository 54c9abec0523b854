package chat

import "errors"

// ErrNoTemplate is returned for a prompt of messages on a model that has no chat template.
var ErrNoTemplate = errors.New("chat: the model has no chat template")
