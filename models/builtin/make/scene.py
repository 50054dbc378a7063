"""A conversation while it is written."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from phrasing import forms, say
from words import Words

Json = dict[str, Any]


@dataclass
class Scene:
    """What the skills write into. `expect` says what the last answer must be, for measuring."""

    rng: Random
    held: bool
    words: Words
    messages: list[Json] = field(default_factory=list)
    system: list[str] = field(default_factory=list)
    tools: list[Json] = field(default_factory=list)
    documents: list[Json] = field(default_factory=list)
    thinking: str | None = None
    expect: Json = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)

    def user(self, text: str) -> None:
        self.messages.append({"role": "user", "content": text})

    def ask(self, phrase: str, *, to_the_letter: bool = False, **slots: object) -> None:
        """The user says one of the phrase's forms, as carefully or carelessly as people write."""
        rng = self.rng
        text = say(rng, phrase, **slots)
        style = 1.0 if to_the_letter else rng.random()
        if style < 0.16 and text[-1] in "?.!":
            text = text[:-1]
        elif style < 0.22:
            opening = rng.choice(("Hey, ", "Hi, ", "Okay, ", "So, ", "Well, ", "Hello! ", "Hi! "))
            same = opening.endswith("! ") or text.startswith(("I ", "I'", "HEDDLE"))
            text = opening + (text if same else text[0].lower() + text[1:])
        elif style < 0.26 and text[-1] in "?.":
            text = text[:-1] + rng.choice((", please", " please", ", thanks")) + text[-1]
        if rng.random() < 0.22 and not text.startswith(("I ", "I'", "HEDDLE")):
            text = text[0].lower() + text[1:]
        if not slots and rng.random() < 0.08:
            text = text.lower()
        self.user(text)

    def answer(self, text: str, thought: str, accepted: list[str] | None = None) -> None:
        message: Json = {"role": "assistant", "content": text}
        if self.thinking:
            message["reasoning_content"] = thought
        self.messages.append(message)
        self.expect = {"any": accepted or [text]}

    def answer_from(self, phrase: str, thought: str, **slots: object) -> None:
        """One of the phrase's forms, and all of them are right."""

        def filled(text: str) -> str:
            for name, value in slots.items():
                text = text.replace("{" + name + "}", str(value))
            return text

        self.answer(say(self.rng, phrase, **slots), thought, [filled(form) for form in forms(phrase)])

    def call(self, name: str, arguments: Json, thought: str) -> None:
        message: Json = {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"type": "function", "function": {"name": name, "arguments": arguments}}],
        }
        if self.thinking:
            message["reasoning_content"] = thought
        self.messages.append(message)
        self.expect = {"call": {"name": name, "arguments": arguments}}

    def result(self, content: str) -> None:
        self.messages.append({"role": "tool", "content": content})
