"""Makes a checkpoint and the tokenizer of a finished file, to train on from there: start.py FILE FOLDER."""

from __future__ import annotations

import argparse
import struct
from pathlib import Path
from typing import BinaryIO

import numpy
import torch
from torch import Tensor

from bpe import Tokenizer
from export import ALIGNMENT, BLOCK, Q8_0
from model import Model, Shape
from prepare import CONTEXT, VOCABULARY

_NUMBERS = {4: "<I", 5: "<i", 6: "<f", 7: "<?"}
_TEXT, _LIST = 8, 9


def number(file: BinaryIO, form: str) -> int:
    return struct.unpack(form, file.read(struct.calcsize(form)))[0]


def text(file: BinaryIO) -> str:
    return file.read(number(file, "<Q")).decode()


def value(file: BinaryIO, kind: int) -> object:
    if kind == _TEXT:
        return text(file)
    if kind == _LIST:
        inner = number(file, "<I")
        return [value(file, inner) for _ in range(number(file, "<Q"))]
    return number(file, _NUMBERS[kind])


def read(path: Path) -> tuple[dict[str, object], dict[str, Tensor]]:
    """What export.py wrote: the metadata, and the weights as they are used."""
    with path.open("rb") as file:
        _, _, count, entries = struct.unpack("<4sIQQ", file.read(24))
        metadata = {text(file): value(file, number(file, "<I")) for _ in range(entries)}
        infos = []
        for _ in range(count):
            name, dimensions = text(file), number(file, "<I")
            lengths = [number(file, "<Q") for _ in range(dimensions)]
            infos.append((name, lengths[::-1], number(file, "<I"), number(file, "<Q")))
        body = path.read_bytes()[-(-file.tell() // ALIGNMENT) * ALIGNMENT :]
    weights = {}
    for name, shape, kind, offset in infos:
        size = int(numpy.prod(shape))
        if kind == 0:
            array = numpy.frombuffer(body, "<f4", size, offset)
        else:
            blocks = numpy.frombuffer(body, Q8_0, size // BLOCK, offset)
            array = blocks["steps"].astype("<f4") * blocks["scale"].astype("<f4")[:, None]
        weights[name.removesuffix(".weight")] = torch.tensor(array.reshape(shape).copy())
    return metadata, weights


def state(weights: dict[str, Tensor], shape: Shape) -> dict[str, Tensor]:
    """The names and matrices of model.py, which holds some of them one under the other."""
    out = {"embedding.weight": weights["token_embd"], "norm.weight": weights["output_norm"]}
    joined = {"attn_qkv": ("attn_q", "attn_k", "attn_v"), "ffn_gate_up": ("ffn_gate", "ffn_up")}
    for layer in range(shape.layers):
        for name in ("attn_norm", "attn_output", "ffn_norm", "ffn_down"):
            out[f"blocks.{layer}.{name}.weight"] = weights[f"blk.{layer}.{name}"]
        for name, members in joined.items():
            out[f"blocks.{layer}.{name}.weight"] = torch.cat([weights[f"blk.{layer}.{member}"] for member in members])
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    metadata, weights = read(options.file)
    shape = Shape(vocabulary=VOCABULARY, context=CONTEXT)
    model = Model(shape)
    model.load_state_dict(state(weights, shape))
    merges = [tuple(merge.split(" ")) for merge in metadata["tokenizer.ggml.merges"]]
    Tokenizer(merges).save(options.folder / "tokenizer.json")
    torch.save({"model": model.state_dict(), "step": 0}, options.folder / "start.pt")


if __name__ == "__main__":
    main()
