// Package model opens model files: a GGUF file, whole or split, or a safetensors folder becomes a
// [Model] with its [arch.Program], tokenizer and chat template.
//
// A [Source] says where a model comes from. [File] names a file or folder, [Embedded] is the small
// model that the module carries.
//
// # Caveats
//
// The weights are views of mapped files: they must not be changed or truncated while the model is
// open, and they are gone after Close. The same file opened twice is mapped once.
package model
