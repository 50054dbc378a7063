"""Saying again what was said: at once, and turns later."""

from __future__ import annotations

from typing import Callable, NamedTuple

from scene import Scene
from skills.talk import by_heart, elsewhere, server, small_talk
from words import ANIMALS, COLOURS, FOOD, Words


class Fact(NamedTuple):
    make: Callable[[Words], str]
    told: str
    taken: str
    asked: str
    answer: str
    missing: str


FACTS = {
    "name": Fact(
        Words.full_name,
        (
            "[Hello, |Hi, |Hi! |Hello! |Hey, |]my name is {v}.|I am {v}.|I'm {v}.|[Hello|Hi], I am {v}.|"
            "[Please |]call me {v}.|My name is {v}[, what is yours|, nice to meet you|, remember it]?|"
            "You can call me {v}.|This is {v}.|People call me {v}.|The name is {v}.|I am called {v}."
        ),
        "Nice to meet you, {v}!",
        (
            "What is my name?|What's my name?|Whats my name?|Who am I?|"
            "[Do you know|Do you remember|Can you tell me|Remember|Can you remember] my name?|"
            "[Please |]tell me my name.|What am I called?|What was my name[ again|]?|How am I called?|"
            "Say my name[ please|].|Do you [know|remember] who I am?|Which name did I [tell|give] you?|"
            "What name did I [tell|give] you?|What did I say my name was?"
        ),
        "Your name is {v}.",
        "You have not told me your name.",
    ),
    "number": Fact(
        Words.number,
        (
            "[My|The] [favourite|favorite|lucky|secret|magic|] number is {v}.|"
            "[Please |]remember the number {v}.|Remember {v}.|Keep the number {v} in mind.|"
            "[Please |]remember this number: {v}.|The number is {v}.|Note the number {v}.|"
            "My number is {v}.|Do not forget the number {v}.|I am thinking of the number {v}."
        ),
        "I will remember the number {v}.",
        (
            "What is [my|the] [favourite|favorite|lucky|secret|magic|] number?|"
            "[What|Which] number did I [tell|give|say to|name to] you?|What was the number[ again|]?|"
            "What's [my|the] number?|[Please |]tell me [the|my] number.|"
            "[Do|Can] you remember [the|my] number?|"
            "[Which|What] number [should you remember|did you remember|was it]?|"
            "What number did I ask you to remember?|Repeat the number[ please|]."
        ),
        "The number is {v}.",
        "You have not told me a number.",
    ),
    "code": Fact(
        Words.code,
        (
            "[My|The] [secret|] code is {v}.|[Please |]remember the code {v}.|The code word is {v}.|"
            "My password is {v}.|The secret word is {v}.|Remember this code: {v}.|The door code is {v}.|"
            "Remember the word {v}.|My order number is {v}.|My order is {v}."
        ),
        "I will remember {v}.",
        (
            "What is [my|the] [code|secret code|code word|password|secret word|door code|order number|"
            "word]?|What was the [code|code word|password|secret|word][ again|]?|[Please |"
            "]tell me the [code|secret|code word|password|word].|[Which|What] [code|word] did I [tell|"
            "give] you?|[Do|Can] you remember the [code|word|password]?|Repeat the [code|word|"
            "password].|What is the secret?"
        ),
        "It is {v}.",
        "You have not told me that.",
    ),
    "city": Fact(
        Words.city,
        (
            "I live in {v}.|I am from {v}.|I come from {v}.|My [city|home town|hometown] is {v}.|"
            "My home is in {v}.|I was born in {v}.|I moved to {v}[ last year|]."
        ),
        "{v} sounds like a nice place.",
        (
            "Where do I live?|Where am I from?|Where do I come from?|"
            "Which city [do I live in|am I from|do I come from]?|What is my [city|home town|hometown]?|"
            "[Do|Can] you remember where I [live|come from|am from]?|[Please |]tell me where I live.|"
            "In which city do I live?|Where is my home?"
        ),
        "You live in {v}.",
        "You have not told me where you live.",
    ),
    "age": Fact(
        lambda words: words.number(2),
        (
            "I am {v} years old.|I am {v}.|My age is {v}.|I'm {v} years old.|"
            "I turned {v} [today|yesterday|this year].|I am already {v} years old."
        ),
        "{v} is a good age.",
        (
            "How old am I?|What is my age?|[Do|Can] you remember [my age|how old I am]?|"
            "[Please |]tell me [my age|how old I am].|What's my age?|How old did I say I am?"
        ),
        "You are {v} years old.",
        "You have not told me your age.",
    ),
    "pet": Fact(
        Words.name,
        "[My|Our] ["
        + "|".join(ANIMALS[:20])
        + "] is called {v}.|I have a ["
        + "|".join(ANIMALS[:20])
        + (
            "] called {v}.|My [dog|cat|pet|horse|parrot|"
            "hamster] is named {v}.|My pet's name is {v}.|The name of my [dog|cat|"
            "pet] is {v}.|I have a [dog|cat|pet] named {v}."
        ),
        "{v} is a lovely name for a pet.",
        (
            "What is my [pet|dog|cat|animal] called?|What is the name of my [pet|dog|cat|animal]?|"
            "What is my [pet|dog|cat]'s name?|"
            "[Do|Can] you remember [my pet|the name of my pet|my pet's name]?|"
            "How is my [pet|dog|cat] called?|Tell me the name of my pet."
        ),
        "Your pet is called {v}.",
        "You have not told me about a pet.",
    ),
    "colour": Fact(
        lambda words: words.rng.choice(COLOURS),
        (
            "My [favourite|favorite] [colour|color] is {v}.|I like the [colour|color] {v}[ best| most|].|"
            "I love {v}.|The [colour|color] that I like[ best|] is {v}.|I like {v} best."
        ),
        "{v} is a beautiful colour.",
        (
            "What is my [favourite|favorite] [colour|color]?|"
            "[Which|What] [colour|color] do I like[ best| most|]?|"
            "[Do|Can] you remember my [favourite|favorite] [colour|color]?|"
            "What's my [favourite|favorite] [colour|color]?|"
            "Tell me my [favourite|favorite] [colour|color].|[Which|What] is my [colour|color]?"
        ),
        "Your favourite colour is {v}.",
        "You have not told me your favourite colour.",
    ),
    "food": Fact(
        lambda words: words.rng.choice(FOOD),
        (
            "My [favourite|favorite] [food|dish|meal] is {v}.|I like [to eat |]{v}.|"
            "I like eating {v}[ best| most|].|The food that I like[ best|] is {v}.|"
            "I could eat {v} every day."
        ),
        "{v} sounds delicious.",
        (
            "What is my [favourite|favorite] [food|dish|meal]?|"
            "[Which|What] [food|dish] do I like[ best| most|]?|What do I like to eat?|"
            "[Do|Can] you remember my [favourite|favorite] [food|dish]?|What could I eat every day?|"
            "Tell me my [favourite|favorite] food."
        ),
        "Your favourite food is {v}.",
        "You have not told me your favourite food.",
    ),
}


def _start(text: str) -> str:
    return text[0].upper() + text[1:]


def tell(scene: Scene, kind: str) -> None:
    fact = FACTS[kind]
    value = fact.make(scene.words)
    scene.facts[kind] = value
    scene.ask(fact.told, v=value)
    answer = fact.taken.replace("{v}", value)
    scene.answer(_start(answer) if kind in ("colour", "food") else answer, f"The user tells me something: {value}.")


def recall(scene: Scene, kind: str) -> None:
    fact = FACTS[kind]
    value = scene.facts.get(kind)
    scene.ask(fact.asked)
    if value is None:
        scene.answer(fact.missing, "The user has not told me that.")
    else:
        scene.answer(fact.answer.replace("{v}", value), f"The user said {value}.")


def _between(scene: Scene, at_most: int) -> None:
    for _ in range(scene.rng.randint(0, at_most)):
        scene.rng.choice((small_talk, small_talk, server, by_heart, elsewhere, repeat))(scene)


def remember(scene: Scene) -> None:
    """Facts are told, other things are talked about, then one of them is asked."""
    rng = scene.rng
    kinds = rng.sample(sorted(FACTS), rng.choice((1, 1, 2, 2, 3, 4)))
    if rng.random() < 0.5 and "name" not in kinds:
        kinds[0] = "name"
    if rng.random() < 0.12:
        scene.system.append(_from_system(scene, kinds[0]))
    else:
        for kind in kinds:
            tell(scene, kind)
            _between(scene, 1)
    if rng.random() < 0.12:
        tell(scene, kinds[0])
    _between(scene, 2)
    asked = rng.sample(kinds, min(len(kinds), rng.randint(1, 3)))
    for kind in asked:
        if rng.random() < 0.1:
            absent = [other for other in FACTS if other not in scene.facts]
            recall(scene, rng.choice(absent))
        recall(scene, kind if kind in scene.facts else next(iter(scene.facts)))


def _from_system(scene: Scene, kind: str) -> str:
    value = FACTS[kind].make(scene.words)
    scene.facts[kind] = value
    what = {
        "name": "name",
        "number": "number",
        "code": "code",
        "city": "city",
        "age": "age",
        "pet": "pet's name",
        "colour": "favourite colour",
        "food": "favourite food",
    }[kind]
    return scene.rng.choice(
        (
            f"The user's {what} is {value}.",
            f"You know this about the user: {what} is {value}.",
            f"{_start(what)} of the user: {value}.",
        )
    )


def remember_long(scene: Scene, characters: int) -> None:
    """A fact is told, so much is said about other things, and the fact is asked."""
    kind = scene.rng.choice(sorted(FACTS))
    tell(scene, kind)
    while sum(len(message["content"]) for message in scene.messages) < characters:
        scene.rng.choice((small_talk, server, by_heart, elsewhere))(scene)
    recall(scene, kind)


def long_ago(scene: Scene) -> None:
    remember_long(scene, scene.rng.randint(1000, 3600))


def nothing_told(scene: Scene) -> None:
    recall(scene, scene.rng.choice(sorted(FACTS)))


def repeat(scene: Scene) -> None:
    """Say after me."""
    rng = scene.rng
    if rng.random() < 0.55:
        text = rng.choice((scene.words.phrase, scene.words.phrase, scene.words.value))()
        scene.ask(_AS_IT_STANDS, to_the_letter=True, t=text, q=rng.choice(('"', '"', "'")))
    else:
        text = rng.choice((scene.words.value, scene.words.word, scene.words.name))()
        scene.ask(_ONE_WORD, to_the_letter=True, t=text)
    scene.answer(text, "The user wants me to repeat something.")


_AS_IT_STANDS = (
    "[Please |]repeat[ after me| this| exactly|]: {t}|[Please |]repeat[ after me| exactly|]: {t}|"
    "Repeat {q}{t}{q}.|[Please |]say {q}{t}{q}.|[Please |]say[ exactly| only| just|]: {t}|"
    "Echo: {t}|Echo {q}{t}{q}.|Reply[ only|] with: {t}|Reply with {q}{t}{q}.|"
    "Answer[ only|] with {q}{t}{q}.|Write {q}{t}{q}.|Write: {t}|"
    "[Can|Could] you [say|repeat|write] {q}{t}{q}?|Copy[ this|]: {t}|Output {q}{t}{q}.|"
    "Say {q}{t}{q} and nothing else.|Print {q}{t}{q}."
)
_ONE_WORD = (
    "[Say|Repeat|Echo|Write|Print|Output] {t}.|[Say|Repeat|Echo|Write] the word {t}.|"
    "[Please |]say {t}.|[Reply|Answer|Respond] with[ the word| only|] {t}.|"
    "[Say|Write|Answer] only {t}.|[Say|Write] just {t}.|Say {t} and nothing else.|"
    "[Reply|Answer] with just {t}.|[Can|Could] you say {t}?|[Say|Repeat] {t}"
)
