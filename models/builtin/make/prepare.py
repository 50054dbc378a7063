"""Writes the tokenizer if there is none, the rows to train on, and the conversations to measure with: prepare.py FOLDER."""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import render
from bpe import Tokenizer, train
from conversations import SKILLS, conversation, forget_thoughts, long_conversation
from scene import Json
from skills import decisions

VOCABULARY = 1536
CONTEXT = 2048
ROWS = (256, 512, 1024, 2048)
DECISIONS = 512  # The length of a row of decisions.
LONG_AGO = 3200  # Characters between a fact and the question for it: with the turns around them some 1,500 tokens.
OWN, OTHERS = 20, 1  # How much a token counts that the model says itself, and one that it only reads.


@dataclass
class Row:
    tokens: list[int] = field(default_factory=list)
    weights: list[int] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    conversations: list[int] = field(default_factory=list)


def pieces(rng: Random) -> list[render.Piece]:
    _, scene = conversation(rng, held=False)
    return render.pieces(forget_thoughts(rng, scene.messages), scene.tools, scene.documents, scene.thinking)


def write_tokenizer(path: Path, seed: int, samples: int) -> Tokenizer:
    rng = Random(f"tokenizer {seed}")
    texts = ["".join(piece.text for piece in pieces(rng)) for _ in range(samples)]
    tokenizer = Tokenizer(train(texts, VOCABULARY))
    tokenizer.save(path)
    return tokenizer


def encoded(rng: Random, tokenizer: Tokenizer) -> Row:
    """One conversation. In a third of them turns lie further apart than they are: so all of the context is learnt."""
    row = Row()
    parts = pieces(rng)
    ids = [tokenizer.encode(piece.text) for piece in parts]
    room = max(CONTEXT - sum(map(len, ids)), 0)
    jumps = sorted(rng.randint(0, room) for _ in range(rng.randint(1, 3))) if rng.random() < 0.33 else []
    gaps = {rng.randrange(len(parts)): jump for jump in jumps}
    position = furthest = 0
    for at, (piece, tokens) in enumerate(zip(parts, ids)):
        # A gap never parts what the model says from the line that opens its turn.
        if at in gaps and not piece.own and gaps[at] > furthest:
            position += gaps[at] - furthest
            furthest = gaps[at]
        row.tokens += tokens
        row.weights += [OWN if piece.own else OTHERS] * len(tokens)
        row.positions += range(position, position + len(tokens))
        position += len(tokens)
    return row


def decision_rows(rng: Random, tokenizer: Tokenizer, count: int) -> list[Row]:
    """Decisions that share the system turn of their row: conversation 0 is read by all after it."""
    rows: list[Row] = []
    for number in range(count):
        messages: list[Json] = []
        while not messages or messages[0]["content"] != decisions.SYSTEM:
            messages = conversation(rng, held=False, skill="decisions")[1].messages
        (system, _), *rest = [(tokenizer.encode(piece.text), piece.own) for piece in render.pieces(messages, [], [], None)]
        position = len(system)
        if not rows or len(rows[-1].tokens) + sum(len(tokens) for tokens, _ in rest) > DECISIONS:
            rows.append(Row(system, [0] * position, list(range(position)), [0] * position))
        row = rows[-1]
        for tokens, own in rest:
            row.tokens += tokens
            row.weights += [OWN if own else 0] * len(tokens)
            row.positions += range(position, position + len(tokens))
            row.conversations += [number % 60_000 + 1] * len(tokens)
            position += len(tokens)
    return rows


def rows_of(rng: Random, tokenizer: Tokenizer, count: int) -> dict[int, list[Row]]:
    """Conversations packed into rows of a few lengths, each where it fits first."""
    done: dict[int, list[Row]] = {length: [] for length in ROWS}
    open_rows: dict[int, list[Row]] = {length: [] for length in ROWS}
    for number in range(count):
        one = encoded(rng, tokenizer)
        length = next((length for length in ROWS if len(one.tokens) <= length), None)
        if length is None:
            continue
        rows = open_rows[length]
        fits = next((row for row in rows if len(row.tokens) + len(one.tokens) <= length), None)
        if fits is None:
            fits = Row()
            rows.append(fits)
            if len(rows) > 48:
                done[length].append(rows.pop(0))
        fits.conversations += [number % 60_000 + 1] * len(one.tokens)
        fits.tokens += one.tokens
        fits.weights += one.weights
        fits.positions += one.positions
    return {length: rows + open_rows[length] for length, rows in done.items()}


def write_rows(path: Path, rows: dict[int, list[Row]]) -> None:
    import numpy

    arrays = {}
    for length, some in rows.items():
        for name in ("tokens", "weights", "positions", "conversations"):
            array = numpy.zeros((len(some), length), numpy.uint16)
            for at, row in enumerate(some):
                values = getattr(row, name)
                array[at, : len(values)] = values
            arrays[f"{name}_{length}"] = array
    numpy.savez(path, **arrays)


def write_held_out(path: Path, seed: int, each: int, skills: list[str]) -> None:
    rng = Random(f"held out {seed}")
    with path.open("w") as file:
        for name in skills:
            seen: set[str] = set()
            while len(seen) < each:
                if name == "memory of long ago":
                    scene = long_conversation(rng, LONG_AGO)
                else:
                    _, scene = conversation(
                        rng, held=True, skill=None if name == "thinking" else name, thinking=name == "thinking"
                    )
                messages = scene.messages[:-1]
                key = json.dumps(messages, ensure_ascii=False)
                if key in seen:
                    continue
                seen.add(key)
                expect = {**scene.expect, **({"think": True} if name == "thinking" else {})}
                prompt = render.prompt(messages, scene.tools, scene.documents, scene.thinking)
                one = {
                    "skill": name,
                    "messages": messages,
                    "tools": scene.tools,
                    "documents": scene.documents,
                    "thinking": scene.thinking,
                    "prompt": prompt,
                    "expect": expect,
                }
                file.write(json.dumps(one, ensure_ascii=False) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--conversations", type=int, default=300_000)
    parser.add_argument("--decisions", type=int, default=0, help="how many more of them, in rows of their own")
    parser.add_argument("--held-out", type=int, default=100, help="how many per skill")
    parser.add_argument("--skill", action="append", help="which are held out; all of them if absent")
    parser.add_argument("--only-held-out", action="store_true", help="needs nothing but Python itself")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    write_held_out(options.folder / "held-out.jsonl", options.seed, options.held_out, options.skill or [*SKILLS, "thinking", "memory of long ago"])
    if options.only_held_out:
        return
    path = options.folder / "tokenizer.json"
    tokenizer = Tokenizer.load(path) if path.exists() else write_tokenizer(path, options.seed, samples=20_000)
    rows = rows_of(Random(f"rows {options.seed}"), tokenizer, options.conversations)
    rows[DECISIONS] += decision_rows(Random(f"decisions {options.seed}"), tokenizer, options.decisions)
    write_rows(options.folder / "rows.npz", rows)
    print({length: len(some) for length, some in rows.items()})


if __name__ == "__main__":
    main()
