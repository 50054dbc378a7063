"""Phrases with choices: `[Hello|Hi[ there|]]` stands for Hello, Hi there and Hi.

The outermost brackets may be left out.
"""

from __future__ import annotations

from functools import lru_cache
from random import Random

Tree = tuple["str | tuple[Tree, ...]", ...]


@lru_cache(maxsize=None)
def parse(phrase: str) -> Tree:
    tree, end = _sequence(f"[{phrase}]", 0)
    if end != len(phrase) + 2:
        raise ValueError(f"A bracket closes that was not open: {phrase}")
    return tree


def _sequence(phrase: str, at: int) -> tuple[Tree, int]:
    parts: list[str | tuple[Tree, ...]] = []
    text = ""
    while at < len(phrase) and phrase[at] not in "|]":
        if phrase[at] == "[":
            choices: list[Tree] = []
            while phrase[at] != "]":
                choice, at = _sequence(phrase, at + 1)
                choices.append(choice)
                if at == len(phrase):
                    raise ValueError(f"A bracket stays open: {phrase}")
            parts += [text, tuple(choices)]
            text = ""
        else:
            text += phrase[at]
        at += 1
    return (*parts, text), at


def say(rng: Random, phrase: str, **slots: object) -> str:
    """One of the phrase's forms, with its {slots} filled in."""
    text = _choose(rng, parse(phrase))
    for name, value in slots.items():
        text = text.replace("{" + name + "}", str(value))
    return text


def _choose(rng: Random, tree: Tree) -> str:
    return "".join(part if isinstance(part, str) else _choose(rng, rng.choice(part)) for part in tree)


def forms(phrase: str) -> list[str]:
    """Every form of the phrase."""
    return _forms(parse(phrase))


def _forms(tree: Tree) -> list[str]:
    texts = [""]
    for part in tree:
        ends = [part] if isinstance(part, str) else [form for choice in part for form in _forms(choice)]
        texts = [text + end for text in texts for end in ends]
    return texts
