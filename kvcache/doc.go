// Package kvcache keeps the paged key and value cache's books: which block holds which tokens, who
// refers to it, how far it is sealed, and what is evicted next. It knows no device and no model;
// the backend owns the bytes that the ids stand for.
//
// # The types that matter
//
//   - [Cache] ties the parts together: the pool (blocks, counts, sealed lengths, free order), the
//     index (tokens to blocks) and scratch (blocks for reads). [Policy] says who is evicted.
//   - [Cache.Match] finds a prefix and returns a [Hit] that holds references on its blocks.
//   - [Sequence] is one token history and its block table: Reserve before a step, Seal after it.
//   - [Hold] pins a prefix.
//
// # Rules
//
// A block's rows below its sealed length never change, whoever refers to it. Only one sequence may
// write at and above it, while others read below; a second writer gets a block of its own and a
// [Copy] to run. What a step computed becomes visible to others with Seal, after the step, so a
// failed step leaves nothing behind. A hit ends at the exact token: its last block may be the
// leading part of a longer one.
//
// Freed blocks may be handed out at once. That is sound because a backend runs steps and copies in
// the order of submission, and because a sequence is released only when no step on it is under way.
//
// Tokens are compared on every hit; there are no hashes. Callers never pass in keys.
package kvcache
