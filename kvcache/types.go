package kvcache

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// BlockID names one block of the backend's block array. Pool blocks are 0..Blocks-1, scratch
// blocks follow them.
type BlockID int32

// NoBlock is the id that names no block.
const NoBlock BlockID = -1

// StateID names one recurrent state of the backend's state array. States count from 1;
// 0 means none, that is the state before the first token.
type StateID int32

// Copy asks the backend to copy the first Rows rows of block From to block To. Copies must run in
// the order they were returned, and before the step whose rows they make room for.
type Copy struct {
	From, To BlockID
	Rows     int
}

// MaxNamespace bounds each part of a Namespace, in bytes.
const MaxNamespace = 256

// Namespace separates prefixes that must never meet. The parts are compared apart, never joined,
// so no choice of salt can look like an adapter. The zero value is the common namespace.
type Namespace struct {
	Salt    string // the caller's secret: other salts cannot learn by timing what this one cached
	Adapter string // what changed the weights
}

// Check returns ErrNamespace for a part that is too long, not UTF-8 or has control characters.
func (n Namespace) Check() error {
	for _, part := range [...]struct{ name, text string }{{"salt", n.Salt}, {"adapter", n.Adapter}} {
		if len(part.text) > MaxNamespace {
			return fmt.Errorf("%w: %s: %d bytes, limit %d", ErrNamespace, part.name, len(part.text), MaxNamespace)
		}
		if !utf8.ValidString(part.text) {
			return fmt.Errorf("%w: %s: not valid UTF-8", ErrNamespace, part.name)
		}
		if strings.ContainsFunc(part.text, unicode.IsControl) {
			return fmt.Errorf("%w: %s: control character", ErrNamespace, part.name)
		}
	}
	return nil
}

// The errors of this package. Those about room arrive inside a *CapacityError.
var (
	ErrOptions   = errors.New("kvcache: bad options")
	ErrNamespace = errors.New("kvcache: bad namespace")
	ErrTooLarge  = errors.New("kvcache: larger than the pool") // can never fit
	ErrHeld      = errors.New("kvcache: holds leave too little of the pool")
	ErrFull      = errors.New("kvcache: pool is full") // fits once others have finished
	ErrHoldCap   = errors.New("kvcache: hold is over the cap")
	ErrScratch   = errors.New("kvcache: larger than the scratch") // can never fit
	ErrBusy      = errors.New("kvcache: scratch is in use")       // fits once others have finished
	ErrStates    = errors.New("kvcache: no recurrent state is free")
	ErrRows      = errors.New("kvcache: rows out of range") // the caller's bookkeeping is wrong
	ErrReleased  = errors.New("kvcache: already released")
	ErrSnapshot  = errors.New("kvcache: bad snapshot")     // damaged, or cut off
	ErrForeign   = errors.New("kvcache: foreign snapshot") // of another model, format or numerics
)

// CapacityError says how many blocks (or states) were needed and how many could be had. It
// unwraps to one of ErrTooLarge, ErrHeld, ErrFull, ErrHoldCap, ErrScratch, ErrBusy, ErrStates.
type CapacityError struct {
	Err        error
	Need, Have int
	Holders    []Holder // whose holds stand in the way, where holds do
}

// Holder is a hold as statistics and errors show it. Blocks shared by several holds count in each.
type Holder struct {
	Name    string
	Blocks  int
	Tokens  int
	Expires time.Time // zero: held until released
}

func (e *CapacityError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v: %d needed, %d available", e.Err, e.Need, e.Have)
	for i, h := range e.Holders {
		if i == 0 {
			b.WriteString("; held: ")
		} else {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%d by %q", h.Blocks, h.Name)
	}
	return b.String()
}

func (e *CapacityError) Unwrap() error { return e.Err }

// BlocksFor returns how many blocks of the given size the rows of positions [pos, pos+rows)
// touch; a row's slot is its position modulo the block size.
func BlocksFor(pos, rows, size int) int {
	if rows <= 0 {
		return 0
	}
	return (pos+rows-1)/size - pos/size + 1
}
