// Package backendtest is what every backend is tested with, and what the engine is tested against.
//
//   - [Run] is the conformance suite: the rules of package backend, and bit-equality.
//   - [Fake] is a Backend whose logits are a hash of the token history that it finds by walking
//     blocks, so that any paging mistake shows. It has two steps in flight and every want.
//   - [Rig] drives a Runner: blocks, prefills in chunks, steps.
//   - [Tiny] builds small random models in code; [TinyCases] lists those of the data folder with
//     another engine's logits, and [ReadStories] reads what is known of the stories260K model.
//
// It imports package testing and is for tests alone.
package backendtest
