"""Short JSON answers, and answers from documents."""

from __future__ import annotations

import json
from typing import Any, Callable

from phrasing import say
from scene import Scene
from skills.memory import repeat
from skills.talk import by_heart, server, small_talk
from words import ANIMALS, COLOURS, FRUIT, THINGS, Words

Value = Callable[[Words], Any]

_FIELDS: dict[str, tuple[Value, str]] = {
    "name": (Words.full_name, "[my name is|the name is|name is|I am called|name:] {v}"),
    "age": (lambda w: int(w.number(2)), "[I am {v} years old|my age is {v}|the age is {v}|age {v}|age: {v}]"),
    "city": (Words.city, "[I live in|the city is|my city is|city:] {v}"),
    "color": (lambda w: w.rng.choice(COLOURS), "[the color is|my favorite color is|color:|color] {v}"),
    "colour": (lambda w: w.rng.choice(COLOURS), "[the colour is|my favourite colour is|colour:|colour] {v}"),
    "animal": (lambda w: w.rng.choice(ANIMALS), "[the animal is|my favourite animal is|animal:] {v}"),
    "fruit": (lambda w: w.rng.choice(FRUIT), "[the fruit is|fruit:|I want the fruit] {v}"),
    "item": (lambda w: w.rng.choice(THINGS), "[the item is|item:] {v}"),
    "count": (lambda w: int(w.number()), "[the count is|count:|count] {v}"),
    "number": (lambda w: int(w.number()), "[the number is|number:|my number is] {v}"),
    "price": (lambda w: int(w.number()), "[the price is|price:|it costs] {v}"),
    "quantity": (lambda w: int(w.number(w.rng.randint(1, 2))), "[the quantity is|quantity:] {v}"),
    "id": (Words.code, "[the id is|id:|its id is] {v}"),
    "code": (Words.code, "[the code is|code:] {v}"),
    "title": (lambda w: w.word().capitalize(), "[the title is|title:] {v}"),
    "word": (Words.word, "[the word is|word:] {v}"),
    "active": (lambda w: w.rng.random() < 0.5, "[active is|active:] {v}"),
    "done": (lambda w: w.rng.random() < 0.5, "[done is|done:] {v}"),
}

_ASK = (
    "[Please |][answer|reply|respond] in JSON[ with the keys {k}|]: {f}.|"
    "Give me[ a| this as|] JSON[ object|] with {k}: {f}.|"
    "Make[ a|] JSON[ object|][ with the keys {k}|] from this: {f}.|"
    "{F}. [Answer|Reply|Respond|Give me that|Write this] [in|as] JSON[ with the keys {k}| with "
    "{k}|].|[Convert|Turn|Put] this [to|into] JSON[ with the keys {k}|"
    "]: {f}.|Extract {k} as JSON[ from this text|"
    "]: {f}.|Extract {k} as JSON: {f}.|As JSON[ with {k}|]: {f}.|JSON with {k}: {f}.|Return[ a|"
    "] JSON[ object|] with {k}: {f}.|Write JSON with the [keys|"
    "fields] {k}: {f}.|{F}. As JSON[ please|]."
)
_SYSTEM = (
    "[Answer|Reply|Respond|Always answer|Only answer|Always respond] [in|with][ valid|] JSON[ "
    "only|].|You [answer|reply|respond] [in|with] JSON[ only|"
    "].|You extract data as JSON.|You are a helpful assistant that answers in JSON.|[Your output "
    "is|Output] JSON[ only|]."
)


def _keys(scene: Scene, keys: list[str]) -> str:
    quote = scene.rng.choice(("", "", '"'))
    quoted = [quote + key + quote for key in keys]
    return quoted[0] if len(quoted) == 1 else ", ".join(quoted[:-1]) + " and " + quoted[-1]


def json_answer(scene: Scene) -> None:
    rng = scene.rng
    keys = rng.sample(sorted(_FIELDS), rng.choice((1, 2, 2, 2, 3)))
    made = {key: _FIELDS[key][0](scene.words) for key in keys}
    said = [
        say(rng, _FIELDS[key][1], v=json.dumps(value) if isinstance(value, bool) else value)
        for key, value in made.items()
    ]
    facts = rng.choice((", ", " and ", ", ")).join(said)
    if not scene.messages and rng.random() < 0.3:
        scene.system.append(say(rng, _SYSTEM))
        phrase = "{F}.|{f}" if rng.random() < 0.6 else _ASK
    else:
        phrase = _ASK
    scene.ask(phrase, to_the_letter=True, k=_keys(scene, keys), f=facts, F=facts[0].upper() + facts[1:])
    _give(scene, made)


def _give(scene: Scene, made: dict[str, Any]) -> None:
    scene.answer(json.dumps(made, ensure_ascii=False), "The user wants JSON with " + ", ".join(made) + ".")
    scene.expect = {"json": made}


def json_of_facts(scene: Scene) -> None:
    """JSON with known keys whose values nobody gave: the first of their kind."""
    rng = scene.rng
    kinds = {"color": COLOURS, "colour": COLOURS, "animal": ANIMALS, "fruit": FRUIT, "item": THINGS}
    kind = rng.random()
    if kind < 0.5:
        keys = rng.sample(sorted(kinds), rng.choice((1, 1, 2)))
        if {"color", "colour"} <= set(keys):
            keys = keys[:1]
        scene.ask(
            (
                "[Give me|Return|Write|Make][ a|] JSON[ object|] with[ the keys|] {k}.|"
                "[Answer|Reply] [in|with] JSON with[ the keys|] {k}.|JSON with {k}[ please|].|"
                "Invent[ a|] JSON[ object|] with {k}."
            ),
            k=_keys(scene, keys),
        )
        _give(scene, {key: kinds[key][0] for key in keys})
    else:
        what, pool = rng.choice((("colors", COLOURS), ("colours", COLOURS), ("animals", ANIMALS), ("fruits", FRUIT)))
        count = rng.randint(2, 4)
        scene.ask(
            (
                "[Give me|Return|Write|Make][ a|] JSON [array|list] [of|with] {n} {w}.|"
                "[List|Name] {n} {w} [as|in][ a|] JSON[ array| list|].|"
                "{n} {w} as[ a|] JSON[ array|][ please|]."
            ),
            n=count,
            w=what,
        )
        scene.answer(json.dumps(pool[:count]), f"The user wants {count} {what} as JSON.")
        scene.expect = {"json": pool[:count]}


_WRAP = (
    "{q} [Answer|Reply|Respond] [in|as|with] JSON[.| with the key answer.| with the key "
    '"answer".]|[Answer|Reply|Respond] in JSON[ with the key answer|]: {q}|[Answer|'
    "Reply] as JSON[ with the key answer|]. {q}|{q} [Use|In|As] JSON."
)
_WRAP_SYSTEM = (
    "[Answer|Reply|Respond|Always answer] in JSON with the key[ |] answer.|You answer in JSON with the key answer."
).replace("[ |] ", " ")


def json_around(scene: Scene) -> None:
    """A question of another skill, its answer in JSON."""
    rng = scene.rng
    inner = Scene(rng, scene.held, scene.words)
    rng.choice((small_talk, server, by_heart, by_heart))(inner)
    question, answer = (message["content"] for message in inner.messages)
    if not scene.messages and rng.random() < 0.3:
        scene.system.append(say(rng, _WRAP_SYSTEM))
        scene.user(question)
    else:
        scene.ask(_WRAP, to_the_letter=True, q=question if question[-1] in "?.!" else question + ".")
    scene.answer(json.dumps({"answer": answer}, ensure_ascii=False), "The user wants the answer as JSON.")
    scene.expect = (
        {"jsonAny": [{"answer": text} for text in inner.expect["any"]]}
        if "any" in inner.expect
        else {"jsonKeys": ["answer"]}
    )


_PROPERTIES: tuple[tuple[str, Value], ...] = (
    ("door code", Words.code),
    ("price", lambda w: w.number(w.rng.randint(1, 4)) + w.rng.choice((" euros", " dollars", ""))),
    ("owner", Words.full_name),
    ("capital", Words.city),
    ("colour", lambda w: w.rng.choice(COLOURS)),
    ("weight", lambda w: w.number(w.rng.randint(1, 3)) + w.rng.choice((" kg", " grams"))),
    ("author", Words.full_name),
    ("address", lambda w: f"{w.strange_name()} Street {w.number(2)}"),
    ("phone number", lambda w: w.number(6)),
    ("password", Words.code),
    ("director", Words.full_name),
    ("height", lambda w: w.number(w.rng.randint(1, 3)) + " metres"),
    ("opening time", lambda w: f"{w.rng.randint(6, 11)}:{w.rng.choice(('00', '15', '30', '45'))}"),
    ("age", lambda w: w.number(2)),
    ("manager", Words.name),
    ("serial number", Words.code),
    ("room", lambda w: w.number(3)),
    ("language", lambda w: w.strange_name()),
    ("version", lambda w: f"{w.rng.randint(0, 9)}.{w.rng.randint(0, 20)}"),
    ("email", lambda w: f"{w.strange_word()}@example.com"),
)


def from_documents(scene: Scene) -> None:
    """The value stands in one of the documents, or in none."""
    rng, words = scene.rng, scene.words
    facts: dict[tuple[str, str], str] = {}
    for _ in range(rng.choice((1, 1, 2, 2, 3))):
        subject = words.strange_name() if rng.random() < 0.6 else "the " + rng.choice(THINGS)
        lines = []
        for name, make in rng.sample(_PROPERTIES, rng.choice((1, 1, 2, 3))):
            value = make(words)
            facts.setdefault((name, subject), value)
            lines.append(f"The {name} of {subject} is {facts[name, subject]}.")
        if rng.random() < 0.3:
            lines.insert(
                rng.randint(0, len(lines)),
                rng.choice(
                    (
                        "It was last seen in the spring.",
                        "More is not known.",
                        "This page was checked by hand.",
                        "See also the other pages.",
                    )
                ),
            )
        document = {"text": " ".join(lines)}
        if rng.random() < 0.8:
            document = {"title": rng.choice((subject, f"About {subject}", words.strange_name())), **document}
        scene.documents.append(document)
    for _ in range(rng.choice((1, 1, 2))):
        if rng.random() < 0.2:
            rng.choice((small_talk, server, repeat))(scene)
        (name, subject), value = rng.choice(sorted(facts.items()))
        if rng.random() < 0.12:
            subject = words.strange_name()
        known = facts.get((name, subject))
        scene.ask(
            (
                "What is the {p} of {s}?|[What's|Tell me|Give me|I need|Find] the {p} of {s}[?|.]|"
                "[Do you know|Can you find] the {p} of {s}?|Which {p} does {s} have?|"
                "According to the [documents|text|document], what is the {p} of {s}?|{s}: what is the {p}?|"
                "What {p} does {s} have?"
            ),
            to_the_letter=True,
            p=name,
            s=subject,
        )
        if known is None:
            scene.answer("The documents do not say that.", f"The documents say nothing about the {name} of {subject}.")
        else:
            scene.answer(f"The {name} of {subject} is {known}.", f"The documents say it: {known}.")
