// Package safetensors reads models in the safetensors format: one file, or a folder with
// model.safetensors or with shards and their index, and the config.json beside them.
//
// [Open] maps the files and [Parse] reads one that is in memory; both give a [File] of named
// [Tensor] values, whose [Tensor.Matrix] is a view that the kernels read: F32, F16 and BF16. Other
// types are listed by name and refused as a matrix. [File.Config] is config.json as a [Config]: an
// ordered JSON object with typed getters.
//
// Files are taken as hostile: lengths are compared with the file before anything is allocated,
// tensors must fill the data without gap or overlap, and an index names files of its own folder
// only. Memory stays within a fixed multiple of the header's size (about 30).
//
// No byte of a tensor may be touched once Close has begun. A file that shrinks while it is mapped
// makes reads of tensor data fault; run them in a guard that turns a fault into an error, as Open
// does itself. Tensor data need not be aligned in memory for its type.
package safetensors
