package kvcache

// EventKind says what happened to the prefix index.
type EventKind uint8

const (
	Stored  EventKind = iota + 1 // Block now stands for Tokens after Parent; again when a partial block grows
	Removed                      // Block left the index
	Cleared                      // the index is empty
)

// Event tells a router or a second tier what the index holds.
type Event struct {
	Kind      EventKind
	Namespace Namespace
	Block     BlockID
	Parent    BlockID // NoBlock: Tokens start a sequence
	Tokens    []int32 // valid during the call
}
