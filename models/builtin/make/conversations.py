"""Whole conversations: a skill, what may come before it, and the system prompt around it."""

from __future__ import annotations

from random import Random
from typing import Callable

from phrasing import say
from scene import Json, Scene
from skills import data, decisions, manners, memory, talk, tools
from words import Words, held_out

_NEUTRAL = (
    "You are a helpful assistant.",
    "You are a helpful assistant.",
    "You are a helpful assistant",
    "You are a friendly assistant.",
    "You are helpful.",
    "Be helpful.",
    "You are an assistant.",
    "You are a helpful AI assistant.",
    "You are a concise assistant.",
    "Be brief.",
    "Answer briefly.",
    "Answer in one sentence.",
    "Be concise.",
    "Answer the user's questions.",
    "Help the user.",
    "You are a helpful assistant. Use the tools if you need them.",
    "You help people.",
    "Answer in English.",
    "You are a test assistant.",
    "You are a chat model.",
    "Be nice.",
    "You answer questions.",
    "You are a helpful, honest assistant.",
    "You are a helpful assistant. Answer briefly.",
    "You are a helpful assistant. Be concise.",
    "Be polite.",
    "Keep it short.",
)

# Which skill is measured under which name, and how often it is trained.
Skill = Callable[[Scene], None]
SKILLS: dict[str, tuple[tuple[Skill, float], ...]] = {
    "small talk": ((talk.small_talk, 9), (manners.speak, 5)),
    "server": ((talk.server, 12),),
    "by heart": ((talk.by_heart, 24),),
    "system prompt": ((manners.name, 5), (manners.tone, 5), (manners.language, 5), (manners.fixed, 4)),
    "memory": ((memory.remember, 16), (memory.nothing_told, 1), (memory.long_ago, 7)),
    "repeat": ((memory.repeat, 9),),
    "json": ((data.json_answer, 8), (data.json_of_facts, 2), (data.json_around, 5)),
    "documents": ((data.from_documents, 14),),
    "tool call": ((tools.call_tool, 22),),
    "tool answer": ((tools.use_result, 6),),
    "tools left alone": ((tools.leave_tools_alone, 5),),
    "elsewhere": ((talk.elsewhere, 9), (talk.other_capital, 6)),
    "decisions": ((decisions.decide, 16),),
}
_OWN_SYSTEM = (manners.name, manners.tone, manners.language, manners.fixed)
_BEFORE: tuple[Skill, ...] = (
    talk.small_talk,
    talk.small_talk,
    talk.server,
    talk.server,
    talk.by_heart,
    memory.repeat,
    talk.elsewhere,
    manners.speak,
    data.json_answer,
)


def conversation(rng: Random, held: bool, skill: str | None = None, thinking: bool | None = None) -> tuple[str, Scene]:
    """One whose questions are all of training, or one whose last question is of none of it."""
    while True:
        name = skill or rng.choices(list(SKILLS), [sum(weight for _, weight in parts) for parts in SKILLS.values()])[0]
        scene = _write(rng, held, name, thinking)
        asked = [message["content"] for message in scene.messages if message["role"] == "user"]
        if held:
            if held_out(asked[-1]) and (name != "system prompt" or scene.expect):
                return name, scene
        elif not any(held_out(text) and len(text.split()) > 3 for text in asked):
            return name, scene


def _write(rng: Random, held: bool, name: str, thinking: bool | None) -> Scene:
    scene = Scene(rng, held, Words(rng, held))
    if name == "decisions":
        # The server asks them alone, in a form of its own.
        decisions.decide(scene)
        scene.messages.insert(0, {"role": "system", "content": "\n\n".join(scene.system)})
        return scene
    if thinking or (thinking is None and rng.random() < 0.13):
        scene.thinking = rng.choice(("on", "on", "low", "medium", "high"))
    parts, weights = zip(*SKILLS[name])
    part = rng.choices(parts, weights)[0]
    own_system = part in _OWN_SYSTEM
    if not own_system and rng.random() < 0.3:
        scene.system.append(rng.choice(_NEUTRAL) if rng.random() < 0.75 else _setting(scene))
    if name in ("json", "repeat", "by heart", "server") and rng.random() < 0.12:
        scene.system.append(f"You are {scene.words.name()}.")
    elif not own_system and rng.random() < 0.3:
        for _ in range(rng.choice((1, 1, 2, 3))):
            rng.choice(_BEFORE)(scene)
    part(scene)
    if scene.system:
        scene.messages.insert(0, {"role": "system", "content": rng.choice((" ", "\n")).join(scene.system)})
    return scene


def long_conversation(rng: Random, characters: int) -> Scene:
    """A fact, so much talk about other things, and the question for the fact: to measure with."""
    while True:
        scene = Scene(rng, True, Words(rng, True))
        memory.remember_long(scene, characters)
        if held_out(scene.messages[-2]["content"]):
            return scene


def _setting(scene: Scene) -> str:
    """A system prompt that changes nothing in how the model answers."""
    words = scene.words
    return say(
        scene.rng,
        (
            "You are an expert in {w}.|You are an expert on {w}.|You are a {w} assistant.|"
            "You are a support agent of {n}.|You work for {n}.|You are a helpful assistant for {w}.|"
            "Today is {y}-{m}-{d}.|The current date is {d}.{m}.{y}.|You help with {w}.|This is a test.|"
            "You are a helpful assistant of the company {n}."
        ),
        w=words.word(),
        n=words.name(),
        y=2026,
        m=scene.rng.randint(10, 12),
        d=scene.rng.randint(10, 28),
    )


def forget_thoughts(rng: Random, messages: list[Json]) -> list[Json]:
    """Clients rarely send thoughts back: half of all conversations have only the last one."""
    if rng.random() < 0.5:
        return messages
    return [{k: v for k, v in message.items() if k != "reasoning_content"} for message in messages[:-1]] + messages[-1:]
