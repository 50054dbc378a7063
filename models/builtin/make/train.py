"""Trains the model: train.py FOLDER. Writes FOLDER/model.pt every few minutes, from where --resume goes on."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Iterator

import numpy
import torch
from torch import Tensor
from torch.nn import functional as F

from model import Model, Shape
from muon import Muon
from prepare import CONTEXT, ROWS, VOCABULARY

TOKENS_A_STEP = 4096
Batch = dict[str, Tensor]


def batches(folder: Path, seed: int) -> Iterator[Batch]:
    """Rows of one length a batch, in another order in each epoch, for ever."""
    rows = numpy.load(folder / "rows.npz")
    rng = numpy.random.default_rng(seed)
    names = ("tokens", "weights", "positions", "conversations")
    arrays = {length: {name: rows[f"{name}_{length}"] for name in names} for length in ROWS}
    while True:
        order = []
        for length, some in arrays.items():
            each = TOKENS_A_STEP // length
            shuffled = rng.permutation(len(some["tokens"]))
            order += [(length, shuffled[at : at + each]) for at in range(0, len(shuffled) - each + 1, each)]
        for at in rng.permutation(len(order)):
            length, picked = order[at]
            yield {name: torch.from_numpy(array[picked].astype(numpy.int64)) for name, array in arrays[length].items()}


def loss_of(model: Model, batch: Batch) -> Tensor:
    conversations = batch["conversations"]
    weights = batch["weights"].roll(-1, 1) * (conversations == conversations.roll(-1, 1))
    weights[:, -1] = 0
    wanted = weights > 0
    with torch.autocast("cpu", torch.bfloat16):
        logits = model(batch["tokens"], batch["positions"], conversations, wanted)
    weights = weights[wanted].float()
    losses = F.cross_entropy(logits.float(), batch["tokens"].roll(-1, 1)[wanted], reduction="none")
    return (losses * weights).sum() / weights.sum()


def pace(step: int, steps: int, warm_up: int = 30, cooling: float = 0.58) -> float:
    """Full speed but for a short start and a long end that slows down to nothing."""
    return min((step + 1) / warm_up, 1.0, (steps - step) / (steps * cooling))


def optimizers(model: Model, rate: float) -> list[torch.optim.Optimizer]:
    parts = {"attn_qkv": 3, "ffn_gate_up": 2}
    matrices = [
        (param, parts.get(name.split(".")[-2], 1)) for name, param in model.blocks.named_parameters() if param.ndim == 2
    ]
    norms = [param for name, param in model.named_parameters() if param.ndim == 1]
    adam = torch.optim.AdamW(
        [{"params": [model.embedding.weight], "weight_decay": 0.01}, {"params": norms, "weight_decay": 0.0}],
        lr=rate * 0.25,
        betas=(0.9, 0.95),
    )
    return [Muon(matrices, lr=rate), adam]


def save(path: Path, **state: object) -> None:
    part = path.with_suffix(".part")
    torch.save(state, part)
    part.replace(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=4600)
    parser.add_argument("--rate", type=float, default=0.02)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--resume", type=Path, help="a checkpoint to go on from")
    parser.add_argument("--to", default="model.pt", help="the name of the checkpoint")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    model = Model(Shape(vocabulary=VOCABULARY, context=CONTEXT))
    optimizing = optimizers(model, options.rate)
    rates = [[group["lr"] for group in optimizer.param_groups] for optimizer in optimizing]
    start = 0
    if options.resume:
        state = torch.load(options.resume)
        model.load_state_dict(state["model"])
        # A checkpoint of start.py has none.
        for optimizer, saved in zip(optimizing, state.get("optimizers", ())):
            optimizer.load_state_dict(saved)
        start = state["step"]
    print(
        json.dumps({"parameters": sum(param.numel() for param in model.parameters()), **model.shape.as_dict()}),
        flush=True,
    )
    began, total, smooth = time.time(), 0.0, 0
    for step, batch in enumerate(batches(options.folder, options.seed)):
        if step < start:
            continue
        if step == options.steps:
            break
        speed = pace(step, options.steps)
        for optimizer, usual in zip(optimizing, rates):
            for group, rate in zip(optimizer.param_groups, usual):
                group["lr"] = rate * speed
        loss = loss_of(model, batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizing:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        total, smooth = total + loss.item(), smooth + 1
        if (step + 1) % 25 == 0:
            print(f"step {step + 1} loss {total / smooth:.4f} seconds {time.time() - began:.0f}", flush=True)
            total, smooth = 0.0, 0
        if (step + 1) % 200 == 0 or step + 1 == options.steps:
            states = [optimizer.state_dict() for optimizer in optimizing]
            save(options.folder / options.to, model=model.state_dict(), optimizers=states, step=step + 1)


if __name__ == "__main__":
    main()
