// Package tokenizer turns text into a model's token ids and back.
//
// [FromGGUF] and [FromJSON] read a model's own description and give a [Tokenizer], which is
// immutable and safe for concurrent use. It covers byte-level BPE with the pre-tokenizers of GPT-2,
// Llama 3 (and LFM2), Qwen 2 to 3.5, GPT-4o, Tekken and DeepSeek V3, and SentencePiece BPE with byte
// fallback (Llama 2, Mistral, Gemma). What a description asks for beyond that is refused by name
// with [ErrUnsupported].
//
// # Two modes
//
// [Tokenizer.Encode] takes text from outside in mode [Text], where no spelling becomes a control
// token, and a template's scaffolding in mode [Special]. Encoding adds nothing around the text;
// [Tokenizer.Template] tells what the model expects there.
//
// # What to know
//
//   - Encoding then decoding gives the text back, with these exceptions: vocabularies that
//     normalise (Qwen: NFC) give the normalised text; SentencePiece vocabularies cannot tell ▁ from
//     a space; bytes that are not valid UTF-8 become U+FFFD; characters that the vocabulary cannot
//     spell become its unknown token.
//   - Concatenating encodings is not encoding the concatenation: merges do not cross the border.
//   - [Stream] holds a run of byte tokens until it ends, because one bad byte changes the text of
//     the whole run.
//   - From a GGUF file and from the tokenizer.json of the same model come the same ids, but what
//     counts as special may differ: converters mark more tokens as control.
//   - Character classes are those of the Go release's unicode tables. A character that another
//     release knows and this one does not counts as a symbol.
package tokenizer
