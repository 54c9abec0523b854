// Package gguf reads GGUF files, versions 2 and 3, little-endian: metadata and tensors, in one
// file or split over several.
//
// [Open] maps a file (with its siblings, where it is split) and [Parse] reads one that is already
// in memory. Both give a [File]:
//
//   - [Metadata] are the key-value pairs in file order. [Metadata.Get] gives one [Value], whose
//     methods decode it; [Metadata.Fields] reads many and keeps the first error.
//   - [Tensor] is a named view of weights. The bytes are the file's own, not copies.
//
// A file is taken as hostile: every count and length is checked against the bytes that are left
// before anything is allocated, so that memory stays within a fixed multiple of what stands before the
// tensor data (about 20 for the worst of files, hardly more than 1 for real vocabularies).
// Metadata is a copy and outlives Close. Tensor data does not: no byte of it may be touched once
// Close has begun. A file that shrinks while it is mapped makes reads of tensor data fault; run
// them in a guard that turns a fault into an error, as Open does itself.
//
// Tensor data starts at a multiple of the file's alignment, counted from the first byte of the file.
// A mapping keeps that alignment in memory; Parse does as far as its argument is so aligned.
package gguf
