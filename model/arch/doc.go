// Package arch turns the metadata and tensors of a model file into a [Program]: the forward pass as
// data, which backends walk without knowing any family's name.
//
// One file per family fills a Program from a GGUF file ([FromGGUF]) or from a safetensors folder
// ([FromSafetensors]). Both use the tensor names of GGUF; a table translates them for safetensors.
// The two kinds of file order the rows of the llama family's query and key matrices differently:
// [Rope].Pairing says which two values of a head are rotated together.
//
// Tensors are views of the file and live as long as it is open.
package arch
