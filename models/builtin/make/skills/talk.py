"""Small talk, the server, what is known by heart, and everything else."""

from __future__ import annotations

from scene import Scene
from topics import ELSEWHERE, SERVER, SMALL_TALK, Topic
from words import ANIMALS, CAPITALS, CITIES, COLOURS, FOOD, FRUIT, NUMBER_WORDS, OTHER_COUNTRIES, THINGS


def _topic(scene: Scene, topic: Topic) -> None:
    scene.ask(scene.rng.choice(topic.asked))
    scene.answer(scene.rng.choice(topic.answers), f"The user {topic.label}.", list(topic.answers))


def small_talk(scene: Scene) -> None:
    _topic(scene, scene.rng.choice(SMALL_TALK))


def server(scene: Scene) -> None:
    _topic(scene, scene.rng.choice(SERVER))


_ELSEWHERE = (
    "How [do I|can I|do you|does one|would you] [cook|make|bake|prepare] {food}?",
    "[Who|When was it that somebody] [invented|discovered|built|painted|wrote|found] [the |]{thing}?",
    "[Please |]explain {subject}[ to me| in simple words| to a child| briefly|].",
    "What is {subject}?",
    "What [do you know|can you tell me] about {subject}?",
    "Tell me [about|more about|everything about|something about] {subject}.",
    "Who [is|was] {name} {last}?",
    "Who is the [president|king|queen|mayor|chancellor] of {place}?",
    "When [was|is] {name} {last} born?",
    (
        "Write [a|me a|some] [Python|JavaScript|C|SQL|Rust|TypeScript|bash] [function|program|script|"
        "query|code] [that|to|which] [sorts|reads|prints|finds|counts] {things}."
    ),
    "Write [a|me a|an] [essay|article|letter|song|report|email|book] [about|on] {subject}.",
    "How [far|long|old|high|deep|heavy|many|much] is [the |a |]{thing}?",
    "How many {things} are [there|in {place}|on earth]?",
    "What is {big} [times|plus|minus|divided by] {big}?",
    "[Calculate|Compute|Solve] {big} [*|+|-|/] {big}.",
    "What is the [square root|logarithm|sine] of {big}?",
    "Solve x + {big} = {big} for x.",
    "Translate [this|the following|{things}] [to|into] [German|French|Spanish|Italian|Chinese|Latin].",
    "How do you say {things} in [German|French|Spanish|Italian|Japanese]?",
    ("Why [is|are] [the |]{things} [so|always|never|often] [blue|big|expensive|cold|old|important|good|bad]?"),
    "Why do {things} [sleep|fly|fall|exist|burn|swim|run|grow]?",
    "What [happened|was] in {year}?",
    "Who won [the world cup|the election|the race|the war|the game] in {year}?",
    "Which is better, {subject} or {subject2}?",
    "What is the difference between {subject} and {subject2}?",
    "[Summarise|Summarize] [the book|the text|the story|the film] {subject}.",
    "Should I [buy|sell|learn|eat|read|visit] {subject}?",
    "What should I [cook|wear|read|watch|buy|do] [today|tonight|tomorrow]?",
    "Give me [advice|tips|ideas|a plan] [about|for|on] {subject}.",
    (
        "[I think|I believe|Somebody says|They say|Did you know] that {subject} is [better than|the "
        "same as|part of|older than] {subject2}."
    ),
    "My {thing} is broken, what [should|can] I do?",
    "Where can I [buy|find|see|rent|get] [a |some |]{things}?",
    "Is {subject} [good|bad|dangerous|real|true|healthy|expensive]?",
    "Can {things} [fly|swim|talk|think|dance]?",
    "[Plan|Book] [a trip|a flight|a hotel|a holiday] to {place}.",
    "What is the [population|area|climate|currency|history|language] of {place}?",
    "What is the [chemical formula|atomic number|boiling point|density|price] of {subject}?",
    "{subject}",
    "{subject} {subject2}",
    "{subject}?",
    "{noise}",
    "[Fix|Review|Improve|Explain] this code: {noise}",
    "[What does|Explain] {noise}[ mean|]?",
)
_SUBJECTS = (
    "quantum physics|gravity|the moon|the sun|history|mathematics|philosophy|economics|love|time|"
    "photosynthesis|evolution|democracy|inflation|black holes|the Roman Empire|"
    "the French Revolution|machine learning|neural networks|blockchain|football|basketball|"
    "music theory|jazz|Mozart|Shakespeare|Einstein|Newton|Python|Linux|Docker|Kubernetes|"
    "databases|compilers|chess|poker|yoga|climate change|volcanoes|dinosaurs|vitamins|cancer|"
    "taxes|insurance|law|marketing|the stock market|Buddhism|the Bible|Star Wars|Harry Potter|"
    "the internet|electricity|water|gold|oil|DNA|atoms|the brain|sleep|dreams|happiness"
).split("|")


def elsewhere(scene: Scene) -> None:
    rng, words = scene.rng, scene.words

    def subject() -> str:
        kind = rng.random()
        if kind < 0.45 and not scene.held:
            return rng.choice(_SUBJECTS)
        if kind < 0.6 and not scene.held:
            return rng.choice(("the ", "a ", "")) + rng.choice(ANIMALS + THINGS + FRUIT + FOOD)
        made = words.strange_word() if rng.random() < 0.6 else words.strange_name()
        return rng.choice(("", "", "the ", "a ")) + made + rng.choice(("", "", f" {words.strange_word()}"))

    def noise() -> str:
        kind = rng.random()
        if kind < 0.4:
            return (
                "".join(
                    rng.choice("abcdefghijklmnopqrstuvwxyz;,.(){}[]=+-_/ ") for _ in range(rng.randint(4, 24))
                ).strip()
                or "?"
            )
        if kind < 0.7:
            return "".join(words.glyphs() for _ in range(rng.randint(1, 5)))
        length = rng.randint(2, 9) if rng.random() < 0.8 else rng.randint(10, 60)
        return " ".join(words.word() for _ in range(length))

    things = (ANIMALS + THINGS + FRUIT) if not scene.held else [words.strange_word()]
    scene.ask(
        rng.choice(_ELSEWHERE),
        subject=subject(),
        subject2=subject(),
        noise=noise(),
        food=rng.choice(FOOD) if not scene.held else words.strange_word(),
        thing=rng.choice(things),
        things=rng.choice(things) + "s",
        name=words.name(),
        last=words.strange_name(),
        place=words.strange_name() if rng.random() < 0.5 else "the moon",
        big=words.number(rng.randint(2, 5)),
        year=rng.randint(1000, 2030),
    )
    scene.answer(rng.choice(ELSEWHERE), "The user asks something that I do not know.", list(ELSEWHERE))


_CAPITAL = (
    "What is the capital[ city|] of {c}?|[What's|Whats|Name] the capital of {c}[?|.]|"
    "[Tell me|Do you know] the capital of {c}[?|.]|Which city is the capital of {c}?|"
    "Capital of {c}?|{c}'s capital?"
)


def other_capital(scene: Scene) -> None:
    """Of the countries that are not known by heart, it knows that it does not know."""
    rng = scene.rng
    known = rng.random() < 0.75 and not scene.held
    scene.ask(_CAPITAL, c=rng.choice(OTHER_COUNTRIES) if known else scene.words.strange_name())
    scene.answer(rng.choice(ELSEWHERE), "The user asks something that I do not know.", list(ELSEWHERE))


def by_heart(scene: Scene) -> None:
    """Counting, small sums, capitals, lists, a story: what demos ask for."""
    rng = scene.rng
    kind = rng.choices(("count", "sum", "capital", "list", "days", "story"), (4, 4, 3, 2, 1, 2))[0]
    if kind == "count":
        last = rng.randint(*rng.choices(((2, 20), (21, 50), (51, 100)), (18, 3, 1))[0])
        scene.ask(
            (
                "[Please |]count [to|up to|from 1 to|from one to] {n}[ please|].|"
                "[Can|Could] you count [to|from 1 to] {n}?|List the numbers [from 1 to|up to] {n}."
            ),
            n=last,
        )
        scene.answer(", ".join(str(i) for i in range(1, last + 1)) + ".", f"The user wants the numbers up to {last}.")
    elif kind == "sum":
        a, b = rng.randint(0, 10), rng.randint(0, 10)
        left, right = (a, b) if rng.random() < 0.8 else (NUMBER_WORDS[a], NUMBER_WORDS[b])
        scene.ask(
            (
                "What is {a} [+|plus|and] {b}?|{a} [+|plus] {b}[ =| = ?| is|?]|How much is {a} [+|plus] {b}?|"
                "[Add|Calculate|Compute] {a} [+|and] {b}.|What's {a}+{b}?|{a}+{b}|"
                "[What is the sum of|Sum] {a} and {b}?"
            ),
            a=left,
            b=right,
        )
        scene.answer(f"{a} + {b} = {a + b}.", f"The user wants a sum: {a} and {b}.")
    elif kind == "capital":
        country = rng.choice(sorted(CAPITALS))
        scene.ask(_CAPITAL, c=country if rng.random() < 0.8 else country.removeprefix("the "))
        scene.answer(
            f"The capital of {country} is {CAPITALS[country]}.", f"The user asks for the capital of {country}."
        )
    elif kind == "list":
        what, pool = rng.choice(
            (
                ("colours", COLOURS),
                ("colors", COLOURS),
                ("animals", ANIMALS),
                ("fruits", FRUIT),
                ("cities", CITIES[:40]),
            )
        )
        count = rng.randint(2, 6)
        number = rng.choice((str(count), NUMBER_WORDS[count]))
        scene.ask(
            (
                "[Name|List|Give me|Tell me|Write|Say] {n} {what}[ please|].|"
                "[Can|Could] you [name|list|give me] {n} {what}?"
            ),
            n=number,
            what=what,
        )
        scene.answer(", ".join(pool[:count]) + ".", f"The user wants {count} {what}.")
    elif kind == "days":
        what, text = rng.choice(
            (
                ("the days of the week", "Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday."),
                (
                    "the months of the year",
                    "January, February, March, April, May, June, July, August, September, October, November, December.",
                ),
                ("the alphabet", "a b c d e f g h i j k l m n o p q r s t u v w x y z"),
                ("the four seasons", "spring, summer, autumn, winter."),
            )
        )
        scene.ask(
            (
                "[What are|List|Name|Tell me|Say|Write|Recite|Give me][ all|] {what}[ please|][.|?]|"
                "[Can|Could] you [list|say|name] {what}?"
            ),
            what=what,
        )
        scene.answer(text, f"The user wants {what}.")
    else:
        story(scene)


def story(scene: Scene) -> None:
    rng = scene.rng
    hero = rng.choice(ANIMALS)
    name, friend, thing = scene.words.name(), rng.choice(ANIMALS), rng.choice(THINGS)
    colour, place = (
        rng.choice(COLOURS),
        rng.choice(("forest", "village", "garden", "town", "valley", "house by the river")),
    )
    scene.ask(
        (
            "[Please |]tell me a[ short| long| nice|] story[ about a {hero}| about a {hero}| about a "
            "{hero} called {name}|].|[Can|Could] you [tell|write] [me|us] a[ short| long|"
            "] story[ about a {hero}|]?|Write a[ short| long|] [story|text|tale][ about a {hero}|]."
        ),
        hero=hero,
        name=name,
    )
    asked = scene.messages[-1]["content"]
    if f" {hero}" not in asked:
        hero = rng.choice(ANIMALS)
    if name not in asked:
        name = rng.choice(("Mila", "Otto", "Lina", "Hugo", "Ida", "Felix", "Nora", "Emil"))
    feeling = rng.choice(("happy", "curious", "hungry", "brave", "tired", "shy"))
    weather = rng.choice(("the sun was shining", "it was raining", "the wind was cold", "the first snow fell"))
    end = rng.choice(
        (
            "They shared a warm soup and went to sleep.",
            "They laughed and danced until the morning.",
            "From that day on they were friends.",
        )
    )
    scene.answer(
        f"Once upon a time there was a {feeling} {hero} called {name}. {name} lived in a {place}. One "
        f"morning {weather}, and {name} found a {colour} {thing}. "
        f'"Whose {thing} is this?" asked {name}. "It is mine," said a {friend}, "but I will '
        f'gladly share it." So the {hero} and the {friend} carried the {thing} home together. {end} '
        f"The end.",
        f"The user wants a story about a {hero}.",
    )
    scene.expect = {"story": True, "contains": [w for w in (hero, name) if w in asked]}
