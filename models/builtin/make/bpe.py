"""Byte-level BPE as GPT-2 has it: llama.cpp's own tokenizer (gpt2, pre smollm) gives the same tokens.

Two rules of ours while it is trained: digits stay single, and a capital is never merged with the space before it. A
name or a number is then the same tokens wherever it stands, which is what makes it easy to copy.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from pathlib import Path

SPECIALS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>", "<tool_call>", "</tool_call>")
_LETTER = r"[^\W\d_]"
_WORD = re.compile(rf"'s|'t|'re|'ve|'m|'ll|'d| ?{_LETTER}+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")
_SPECIAL = re.compile("(" + "|".join(map(re.escape, SPECIALS)) + ")")


def byte_symbols() -> list[str]:
    symbols, moved = [], 0
    for byte in range(256):
        if 0x20 < byte < 0x7F or (0xA0 < byte and byte != 0xAD):
            symbols.append(chr(byte))
        else:
            symbols.append(chr(0x100 + moved))
            moved += 1
    return symbols


_SYMBOLS = byte_symbols()
_SPACE = _SYMBOLS[0x20]


def _allowed(left: str, right: str) -> bool:
    both = left + right
    return (
        not any(c.isdigit() for c in both)
        and not (left.startswith(_SPACE) and right[:1].isupper())
        and not (left == _SPACE and ord(right[0]) > 0x7F)
    )


def train(texts: list[str], size: int) -> list[tuple[str, str]]:
    """The merges that leave room for the bytes and the special tokens."""
    counts: Counter[str] = Counter()
    for text in texts:
        for part in _SPECIAL.split(text)[::2]:
            counts.update(_WORD.findall(part))
    words = [([_SYMBOLS[byte] for byte in word.encode()], count) for word, count in sorted(counts.items())]
    pairs: Counter[tuple[str, str]] = Counter()
    where: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
    for at, (symbols, count) in enumerate(words):
        for pair in zip(symbols, symbols[1:]):
            pairs[pair] += count
            where[pair].add(at)
    merges: list[tuple[str, str]] = []
    while len(merges) < size - 256 - len(SPECIALS):
        best = max((pair for pair in pairs if _allowed(*pair)), key=lambda pair: (pairs[pair], pair))
        merges.append(best)
        for at in sorted(where.pop(best)):
            symbols, count = words[at]
            for pair in zip(symbols, symbols[1:]):
                pairs[pair] -= count
                where[pair].discard(at)
            symbols[:] = _merged(symbols, best)
            for pair in zip(symbols, symbols[1:]):
                pairs[pair] += count
                where[pair].add(at)
        pairs.pop(best, None)
    return merges


def _merged(symbols: list[str], pair: tuple[str, str]) -> list[str]:
    out: list[str] = []
    at = 0
    while at < len(symbols):
        if tuple(symbols[at : at + 2]) == pair:
            out.append(pair[0] + pair[1])
            at += 2
        else:
            out.append(symbols[at])
            at += 1
    return out


class Tokenizer:
    def __init__(self, merges: list[tuple[str, str]]) -> None:
        self.merges = merges
        self.tokens = [*_SYMBOLS, *(left + right for left, right in merges), *SPECIALS]
        self._ids = {token: at for at, token in enumerate(self.tokens)}
        self._ranks = {pair: rank for rank, pair in enumerate(merges)}
        self._known: dict[str, list[int]] = {}

    def encode(self, text: str) -> list[int]:
        ids: list[int] = []
        for at, part in enumerate(_SPECIAL.split(text)):
            if at % 2:
                ids.append(self._ids[part])
                continue
            for word in _WORD.findall(part):
                ids += self._known.get(word) or self._encode_word(word)
        return ids

    def _encode_word(self, word: str) -> list[int]:
        symbols = [_SYMBOLS[byte] for byte in word.encode()]
        while len(symbols) > 1:
            pair = min(zip(symbols, symbols[1:]), key=lambda pair: self._ranks.get(pair, len(self._ranks)))
            if pair not in self._ranks:
                break
            symbols = _merged(symbols, pair)
        ids = [self._ids[symbol] for symbol in symbols]
        if len(self._known) < 1_000_000:
            self._known[word] = ids
        return ids

    def save(self, path: Path) -> None:
        path.write_text(json.dumps({"merges": self.merges}, ensure_ascii=False))

    @classmethod
    def load(cls, path: Path) -> Tokenizer:
        return cls([(left, right) for left, right in json.loads(path.read_text())["merges"]])
