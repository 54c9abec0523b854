package decide

import "errors"

var (
	// ErrRequest is returned for a request that breaks a rule; the message names the field's path and
	// both numbers.
	ErrRequest = errors.New("decide: bad request")
	// ErrState is returned for a state that is empty, cannot be encoded, or does not fit the context.
	ErrState = errors.New("decide: bad state")
	// ErrReasoning is returned for a model whose template opens a reasoning section in every reply and
	// has no way to close it.
	ErrReasoning = errors.New("decide: reasoning cannot be closed")
	// ErrDeclared is returned for a model whose file declares its decisions in a way that cannot be read.
	ErrDeclared = errors.New("decide: bad declaration")
	// ErrLabels is returned when a question has more options than the tokenizer has labels.
	ErrLabels = errors.New("decide: too few labels")
	// ErrPlan is returned for a Plan of another model, or one given together with questions.
	ErrPlan = errors.New("decide: plan does not fit")
	// ErrAbstained is returned where an abstained answer has no place to be seen.
	ErrAbstained = errors.New("decide: abstained")
	// ErrNaN is returned when the model gives logits that are not numbers.
	ErrNaN = errors.New("decide: logits are not numbers")
)
