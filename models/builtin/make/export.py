"""Writes a checkpoint as GGUF: export.py FOLDER FILE. Norms stay whole, everything else is Q8_0.

With weights of this kind llama.cpp's sums are the same in batches of every size, so that a seed repeats to the last digit.
"""

from __future__ import annotations

import argparse
import struct
from pathlib import Path

import numpy
import torch
from torch import Tensor

from bpe import SPECIALS, Tokenizer
from model import Model, Shape
from prepare import CONTEXT, VOCABULARY

ALIGNMENT = 32
BLOCK = 32
Q8_0 = numpy.dtype([("scale", "<f2"), ("steps", "i1", (BLOCK,))])
NORMAL, CONTROL, USER_DEFINED = 1, 3, 4
# Marks that a client should see in the text are of the visible type, as other models of this form have them.
VISIBLE = ("<think>", "</think>", "<tool_call>", "</tool_call>")


def text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def entry(key: str, value: object) -> bytes:
    if isinstance(value, bool):
        return text(key) + struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return text(key) + struct.pack("<II", 4, value)
    if isinstance(value, float):
        return text(key) + struct.pack("<If", 6, value)
    if isinstance(value, str):
        return text(key) + struct.pack("<I", 8) + text(value)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return text(key) + struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(text, value))
    if isinstance(value, list):
        return text(key) + struct.pack("<IIQ", 9, 5, len(value)) + numpy.array(value, "<i4").tobytes()
    raise TypeError(f"{key} cannot be {type(value)}")


def metadata(shape: Shape, tokenizer: Tokenizer, template: str) -> dict[str, object]:
    specials = {token: len(tokenizer.tokens) - len(SPECIALS) + at for at, token in enumerate(SPECIALS)}
    plain = len(tokenizer.tokens) - len(SPECIALS)
    return {
        "general.architecture": "llama",
        "general.type": "model",
        "general.name": "Heddle Tiny",
        "general.description": "A tiny demo model on text of its own making",
        "general.license": "apache-2.0",
        "general.languages": ["en"],
        "general.file_type": 7,
        "llama.vocab_size": shape.vocabulary,
        "llama.context_length": shape.context,
        "llama.embedding_length": shape.hidden,
        "llama.block_count": shape.layers,
        "llama.feed_forward_length": shape.ffn,
        "llama.attention.head_count": shape.heads,
        "llama.attention.head_count_kv": shape.heads,
        "llama.attention.layer_norm_rms_epsilon": shape.epsilon,
        "llama.rope.dimension_count": shape.hidden // shape.heads,
        "llama.rope.freq_base": shape.rope_base,
        "tokenizer.ggml.model": "gpt2",
        # Splits as GPT-2 does but for digits, which never merge here. With "gpt-2" llama.cpp drops the space
        # before punctuation.
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": tokenizer.tokens,
        "tokenizer.ggml.token_type": [NORMAL] * plain
        + [USER_DEFINED if token in VISIBLE else CONTROL for token in SPECIALS],
        "tokenizer.ggml.merges": [f"{left} {right}" for left, right in tokenizer.merges],
        "tokenizer.ggml.bos_token_id": specials["<|endoftext|>"],
        "tokenizer.ggml.eos_token_id": specials["<|im_end|>"],
        "tokenizer.ggml.eot_token_id": specials["<|im_end|>"],
        "tokenizer.ggml.padding_token_id": specials["<|endoftext|>"],
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.chat_template": template,
    }


def blocks(rows: numpy.ndarray) -> numpy.ndarray:
    """Q8_0: of each 32 weights of a row the largest over 127 as a half, then each as so many of it."""
    groups = rows.reshape(rows.shape[0], -1, BLOCK)
    scale = numpy.abs(groups).max(axis=2, keepdims=True) / 127
    steps = numpy.divide(groups, scale, out=numpy.zeros_like(groups), where=scale > 0)
    out = numpy.empty(groups.shape[:2], Q8_0)
    out["scale"] = scale[..., 0]
    out["steps"] = numpy.rint(steps)
    return out


def tensors(weights: dict[str, Tensor], shape: Shape) -> dict[str, numpy.ndarray]:
    def quantized(weight: Tensor) -> numpy.ndarray:
        return blocks(weight.detach().float().numpy())

    def whole(weight: Tensor) -> numpy.ndarray:
        return weight.detach().float().numpy()

    out = {"token_embd.weight": quantized(weights["embedding.weight"]), "output_norm.weight": whole(weights["norm.weight"])}
    for layer in range(shape.layers):
        own = {
            name.removeprefix(f"blocks.{layer}."): weight
            for name, weight in weights.items()
            if name.startswith(f"blocks.{layer}.")
        }
        q, k, v = own["attn_qkv.weight"].split(shape.hidden)
        gate, up = own["ffn_gate_up.weight"].chunk(2)
        named = {
            "attn_q": q,
            "attn_k": k,
            "attn_v": v,
            "attn_output": own["attn_output.weight"],
            "ffn_gate": gate,
            "ffn_up": up,
            "ffn_down": own["ffn_down.weight"],
        }
        out |= {f"blk.{layer}.{name}.weight": quantized(weight) for name, weight in named.items()}
        out |= {f"blk.{layer}.{name}.weight": whole(own[f"{name}.weight"]) for name in ("attn_norm", "ffn_norm")}
    return out


def write(path: Path, entries: dict[str, object], arrays: dict[str, numpy.ndarray]) -> None:
    head = (
        b"GGUF" + struct.pack("<IQQ", 3, len(arrays), len(entries)) + b"".join(entry(*item) for item in entries.items())
    )
    body = bytearray()
    for name, array in arrays.items():
        kind, width = (8, BLOCK) if array.dtype == Q8_0 else (0, 1)
        lengths = [*reversed(array.shape)]
        lengths[0] *= width
        head += text(name) + struct.pack("<I", array.ndim) + struct.pack(f"<{array.ndim}Q", *lengths)
        head += struct.pack("<IQ", kind, len(body))
        body += array.tobytes() + bytes(-array.nbytes % ALIGNMENT)
    path.write_bytes(head + bytes(-len(head) % ALIGNMENT) + body)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("file", type=Path)
    parser.add_argument("--checkpoint", default="model.pt")
    parser.add_argument("--other", type=Path, help="a checkpoint that goes on from this one: the file is between the two")
    parser.add_argument("--share", type=float, default=0.3, help="how far from this one")
    options = parser.parse_args()
    shape = Shape(vocabulary=VOCABULARY, context=CONTEXT)
    model = Model(shape)
    weights = torch.load(options.folder / options.checkpoint)["model"]
    if options.other:
        other = torch.load(options.other)["model"]
        weights = {name: torch.lerp(weight, other[name], options.share) for name, weight in weights.items()}
    model.load_state_dict(weights)
    template = (Path(__file__).parent / "template.jinja").read_text().strip()
    tokenizer = Tokenizer.load(options.folder / "tokenizer.json")
    write(options.file, metadata(shape, tokenizer, template), tensors(model.state_dict(), shape))


if __name__ == "__main__":
    main()
