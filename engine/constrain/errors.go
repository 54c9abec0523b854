package constrain

import "errors"

var (
	// ErrSpec is returned for a constraint that is malformed: JSON or an expression that does not
	// parse, a keyword with a value of the wrong kind, a reference to nothing, an empty list.
	ErrSpec = errors.New("constrain: bad constraint")
	// ErrUnsupported is returned for a keyword, format or operator outside the supported subset.
	// The error names it and, in a schema, its JSON pointer.
	ErrUnsupported = errors.New("constrain: unsupported")
	// ErrRecursion is returned for a schema that refers to itself without anything in between.
	ErrRecursion = errors.New("constrain: schema refers to itself")
	// ErrEmpty is returned for a constraint that no text satisfies.
	ErrEmpty = errors.New("constrain: nothing satisfies the constraint")
	// ErrLimit is returned when a constraint needs more than a limit of Options allows.
	ErrLimit = errors.New("constrain: over the limit")
	// ErrVocab is returned for a vocabulary that cannot be used.
	ErrVocab = errors.New("constrain: bad vocabulary")
	// ErrToken is returned by State.Accept for a token that the constraint does not allow here.
	ErrToken = errors.New("constrain: token not allowed")
)
