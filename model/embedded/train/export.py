"""Weights as other programs read them: GGUF (qwen3), safetensors with config.json and tokenizer.json.

python3 export.py CHECKPOINT OUT.gguf [--decision FILE] [--type F16|Q8_0] [--hf FOLDER]
"""
import argparse
import json
import math
import os
import struct

import numpy as np
import torch

from evidence import folds, inverse_frequencies
from net import EPS, THETA
from text import BOS, END, PAD, SPECIAL, QWEN2, Tokenizer, byte_alphabet

NAME, CONTEXT = "hotpath-mini", 2048
DECISION = dict(read="each", state="<|bos|><|state|> {state}", question="<|question|>[ {question}]",
                option="<|option|> {name}[ : {description}]<|mark|>",
                level="<|option|> {index}: {name}[ : {description}]<|mark|>", yes="<|yes|>", words=True)
TEMPLATE = ("{{ '<|bos|>' }}{% for m in messages %}{% if m.role == 'user' %}{{ '<|state|> ' }}{% elif m.role == 'assistant' %}{{ '<|assistant|> ' }}"
            "{% elif m.role == 'tool' %}{{ '<|tool|> ' }}{% else %}{{ '<|system|> ' }}{% endif %}{{ m.content.split() | join(' ') | lower }}{% endfor %}"
            "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}")


def weights(state, shape):
    """The tensors under their names in GGUF; the scale of the embeddings folded into table and last norm."""
    s = {k: v.float().numpy() for k, v in state.items()}
    d, ff = shape["d"], shape["ff"]
    mul = float(s["scale"]) * math.sqrt(d)
    w = {"token_embd.weight": s["embed.weight"] * mul, "output_norm.weight": s["norm.w"] / mul}
    for i in range(shape["layers"]):
        p, q = "blocks.%d." % i, "blk.%d." % i
        for j, n in enumerate("qkv"):
            w[q + "attn_%s.weight" % n] = s[p + "qkv.weight"][j * d:(j + 1) * d]
        w[q + "attn_output.weight"], w[q + "ffn_down.weight"] = s[p + "o.weight"], s[p + "down.weight"]
        w[q + "ffn_gate.weight"], w[q + "ffn_up.weight"] = s[p + "gu.weight"][:ff], s[p + "gu.weight"][ff:]
        w[q + "attn_norm.weight"], w[q + "ffn_norm.weight"] = s[p + "n1.w"], s[p + "n2.w"]
        w[q + "attn_q_norm.weight"], w[q + "attn_k_norm.weight"] = s[p + "qn.w"], s[p + "kn.w"]
    return {k: np.ascontiguousarray(v, dtype="f4") for k, v in w.items()}


def q8_0(a):
    """Blocks of 32: an F16 scale and 32 int8. Returns the bytes and what they decode to."""
    x = a.reshape(-1, 32)
    scale = (np.abs(x).max(1, keepdims=True) / 127).astype("f2").astype("f4")
    q = np.rint(np.divide(x, scale, out=np.zeros_like(x), where=scale > 0)).clip(-127, 127).astype("i1")
    block = np.zeros(len(x), dtype=[("d", "<f2"), ("q", "i1", 32)])
    block["d"], block["q"] = scale[:, 0], q
    return block.tobytes(), (q * scale).astype("f4").reshape(a.shape)


def encode(name, a, kind):
    """(GGUF type, bytes, decoded float32). Vectors stay F32."""
    if a.ndim == 1:
        return 0, a.astype("<f4").tobytes(), a
    if kind == "Q8_0":
        return (8,) + q8_0(a)
    h = a.astype("<f2")
    return 1, h.tobytes(), h.astype("f4")


def value(v):
    """Type and bytes of a metadata value; arrays are (element type, list)."""
    def text(s):
        b = s.encode()
        return struct.pack("<Q", len(b)) + b
    if isinstance(v, bool):
        return 7, struct.pack("<?", v)
    if isinstance(v, int):
        return 4, struct.pack("<I", v)
    if isinstance(v, float):
        return 6, struct.pack("<f", v)
    if isinstance(v, str):
        return 8, text(v)
    kind, items = v
    body = b"".join(text(x) for x in items) if kind == 8 else np.array(items, dtype={5: "<i4", 6: "<f4"}[kind]).tobytes()
    return 9, struct.pack("<IQ", kind, len(items)) + body


def write_gguf(path, meta, tensors):
    """tensors: name -> (type, bytes, array)."""
    out = [b"GGUF", struct.pack("<IQQ", 3, len(tensors), len(meta))]
    for k, v in meta.items():
        kind, body = value(v)
        out.append(struct.pack("<Q", len(k)) + k.encode() + struct.pack("<I", kind) + body)
    at = 0
    for name, (kind, body, a) in tensors.items():
        out.append(struct.pack("<Q", len(name)) + name.encode() + struct.pack("<I", a.ndim))
        out.append(struct.pack("<%dQ" % a.ndim, *a.shape[::-1]) + struct.pack("<IQ", kind, at))
        at += len(body) + -len(body) % 32
    head = b"".join(out)
    with open(path, "wb") as f:
        f.write(head + b"\0" * (-len(head) % 32))
        for _, body, _ in tensors.values():
            f.write(body + b"\0" * (-len(body) % 32))


def metadata(tokenizer, shape, decision, fold, idf):
    alphabet = byte_alphabet()

    def show(piece):
        return "".join(alphabet[ord(c)] for c in piece)
    width = shape["d"] // shape["heads"]
    tokens = SPECIAL + [show(tokenizer.pieces[i]) for i in range(len(SPECIAL), tokenizer.size)]
    q = "qwen3."
    return {
        "general.architecture": "qwen3", "general.name": NAME, "general.license": "cc-by-4.0", "general.alignment": 32,
        q + "block_count": shape["layers"], q + "context_length": CONTEXT, q + "embedding_length": shape["d"],
        q + "feed_forward_length": shape["ff"], q + "attention.head_count": shape["heads"], q + "attention.head_count_kv": shape["heads"],
        q + "attention.key_length": width, q + "attention.value_length": width, q + "attention.layer_norm_rms_epsilon": EPS,
        q + "rope.freq_base": THETA, q + "rope.dimension_count": width, q + "vocab_size": tokenizer.size,
        "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "qwen2", "tokenizer.ggml.tokens": (8, tokens),
        "tokenizer.ggml.token_type": (5, [3] * len(SPECIAL) + [1] * (len(tokens) - len(SPECIAL))),
        "tokenizer.ggml.merges": (8, [show(a) + " " + show(b) for a, b in tokenizer.merges]),
        "tokenizer.ggml.bos_token_id": BOS, "tokenizer.ggml.eos_token_id": END, "tokenizer.ggml.padding_token_id": PAD,
        "tokenizer.ggml.add_bos_token": False, "tokenizer.chat_template": TEMPLATE,
        "hotpath.decision": json.dumps(decision, separators=(",", ":")),
        "hotpath.idf": (6, idf), "hotpath.fold": (5, fold),
    }


def write_hf(folder, tensors, tokenizer, shape, decision):
    """config.json, model.safetensors, tokenizer.json, tokenizer_config.json: what the GGUF holds, in float32."""
    os.makedirs(folder, exist_ok=True)
    rename = {"attn_q.": "self_attn.q_proj.", "attn_k.": "self_attn.k_proj.", "attn_v.": "self_attn.v_proj.", "attn_output.": "self_attn.o_proj.",
              "attn_q_norm.": "self_attn.q_norm.", "attn_k_norm.": "self_attn.k_norm.", "attn_norm.": "input_layernorm.", "ffn_norm.": "post_attention_layernorm.",
              "ffn_gate.": "mlp.gate_proj.", "ffn_up.": "mlp.up_proj.", "ffn_down.": "mlp.down_proj."}
    named = {}
    for k, (_, _, a) in tensors.items():
        k = {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight"}.get(k, k)
        if k.startswith("blk."):
            _, i, rest = k.split(".", 2)
            k = "model.layers.%s.%s" % (i, next(rest.replace(a, b) for a, b in rename.items() if rest.startswith(a)))
        named[k] = a.astype("<f4")
    head, at = {"__metadata__": {"format": "pt"}}, 0
    for k, a in named.items():
        head[k] = dict(dtype="F32", shape=list(a.shape), data_offsets=[at, at + a.nbytes])
        at += a.nbytes
    j = json.dumps(head, separators=(",", ":")).encode()
    j += b" " * (-len(j) % 8)
    with open(os.path.join(folder, "model.safetensors"), "wb") as f:
        f.write(struct.pack("<Q", len(j)) + j + b"".join(a.tobytes() for a in named.values()))
    config = dict(architectures=["Qwen3ForCausalLM"], model_type="qwen3", vocab_size=tokenizer.size, hidden_size=shape["d"], num_hidden_layers=shape["layers"],
                  num_attention_heads=shape["heads"], num_key_value_heads=shape["heads"], head_dim=shape["d"] // shape["heads"], intermediate_size=shape["ff"],
                  hidden_act="silu", rms_norm_eps=EPS, rope_theta=THETA, max_position_embeddings=CONTEXT, tie_word_embeddings=True, attention_bias=False,
                  bos_token_id=BOS, eos_token_id=END, pad_token_id=PAD, torch_dtype="float32", hotpath_decision=decision)
    alphabet = byte_alphabet()

    def show(piece):
        return "".join(alphabet[ord(c)] for c in piece)
    vocab = {s: i for i, s in enumerate(SPECIAL)}
    vocab.update({show(p): i for p, i in tokenizer.vocab.items()})
    split = dict(type="Split", pattern=dict(Regex=QWEN2), behavior="Isolated", invert=False)
    tokens = dict(version="1.0", truncation=None, padding=None, normalizer=None, post_processor=None,
                  added_tokens=[dict(id=i, content=s, single_word=False, lstrip=False, rstrip=False, normalized=False, special=True) for i, s in enumerate(SPECIAL)],
                  pre_tokenizer=dict(type="Sequence", pretokenizers=[split, dict(type="ByteLevel", add_prefix_space=False, trim_offsets=True, use_regex=False)]),
                  decoder=dict(type="ByteLevel", add_prefix_space=True, trim_offsets=True, use_regex=True),
                  model=dict(type="BPE", dropout=None, unk_token=None, continuing_subword_prefix=None, end_of_word_suffix=None, fuse_unk=False, byte_fallback=False,
                             vocab=vocab, merges=[show(a) + " " + show(b) for a, b in tokenizer.merges]))
    for name, v in (("config.json", config), ("tokenizer.json", tokens), ("tokenizer_config.json", dict(chat_template=TEMPLATE, add_bos_token=False, bos_token="<|bos|>", eos_token="<|end|>"))):
        with open(os.path.join(folder, name), "w") as f:
            json.dump(v, f, ensure_ascii=False)


def load(checkpoint, kind="Q8_0", vocab=os.path.join(os.path.dirname(os.path.abspath(__file__)), "vocab.json")):
    """A checkpoint as (tensors, tokenizer, shape, progress); arrays hold what the encoded weights decode to."""
    c = torch.load(checkpoint)
    return {k: encode(k, a, kind) for k, a in weights(c["net"], c["shape"]).items()}, Tokenizer(vocab), c["shape"], c["at"]


if __name__ == "__main__":
    from pools import Pools
    p = argparse.ArgumentParser()
    p.add_argument("checkpoint")
    p.add_argument("out")
    p.add_argument("--decision", help="JSON with temperature and evidence")
    p.add_argument("--type", default="Q8_0", choices=["F16", "Q8_0"])
    p.add_argument("--hf")
    a = p.parse_args()
    tensors, tokenizer, shape, at = load(a.checkpoint, a.type)
    decision = dict(DECISION)
    if a.decision:
        with open(a.decision) as f:
            decision.update(json.load(f))
    fold = folds(tokenizer)
    idf = inverse_frequencies(tokenizer, fold, Pools())
    write_gguf(a.out, metadata(tokenizer, shape, decision, fold, idf), tensors)
    if a.hf:
        write_hf(a.hf, tensors, tokenizer, shape, decision)
    print(a.out, os.path.getsize(a.out), "bytes,", sum(v[2].size for v in tensors.values()), "parameters, step", at["steps"])
