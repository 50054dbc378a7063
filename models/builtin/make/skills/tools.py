"""Calling one of the offered tools, and using what it answers."""

from __future__ import annotations

import json
from typing import Any, Callable, NamedTuple

from phrasing import say
from scene import Json, Scene
from skills.memory import repeat
from skills.talk import server, small_talk
from words import COLOURS, THINGS, Words


class Argument(NamedTuple):
    names: str
    type: str
    make: Callable[[Words], Any]


class Kind(NamedTuple):
    names: str
    about: str
    arguments: tuple[Argument, ...]
    asked: str
    results: Callable[[Words], Json]


_CITY = Argument("city|location|place|town|city", "string", Words.city)


def _days(words: Words) -> int:
    return words.rng.randint(1, 14)


KINDS = (
    Kind(
        (
            "get_weather|get_weather|weather|get_current_weather|weather_lookup|getWeather|fetch_weather|"
            "lookup_weather|get_forecast|current_weather|check_weather"
        ),
        (
            "[Get|Gives|Returns|Look up] the[ current|] weather[ of a city| for a city| in a given city| "
            "at a place|][.|]"
        ),
        (_CITY,),
        (
            "[What is|What's|How is|Tell me|Check] the weather[ like| today| now|] in {0}[?|]|"
            "Is it [raining|sunny|warm|cold] in {0}[ today| now|]?|"
            "[How|What] will the weather be in {0}[ tomorrow| today|]?|Weather in {0}[ please|][?|.]|"
            "[Please |]get the weather [for|in|of] {0}.|Do I need an umbrella in {0}?|"
            "How [warm|cold|hot] is it in {0}[ now| today|]?|What is the temperature in {0}?|"
            "I am in {0}. How is the weather?|[Can|Could] you [check|tell me|look up] the weather in {0}?"
        ),
        lambda w: {
            "temperature": w.rng.randint(-9, 39),
            "condition": w.rng.choice(("sunny", "cloudy", "rain", "snow", "windy", "clear", "fog")),
        },
    ),
    Kind(
        "get_time|get_time|current_time|get_current_time|getTime|time_in_city|lookup_time|what_time",
        "[Get|Gives|Returns] the[ current|] time[ in a city| of a place| in a place|][.|]",
        (Argument("city|location|timezone|place|city", "string", Words.city),),
        (
            "What time is it[ now| right now|] in {0}?|"
            "[What is|What's|Tell me] the[ current|] time in {0}[?|]|[How late is it|Is it late] in {0}?|"
            "[Please |]tell me the time in {0}.|Current time in {0}[ please|]?|"
            "[Can|Could] you tell me the time in {0}?|Time in {0}?"
        ),
        lambda w: {"time": f"{w.rng.randint(0, 23):02}:{w.rng.randint(0, 59):02}"},
    ),
    Kind(
        "add|add|add_numbers|sum|calculator_add|addNumbers|plus",
        "[Add|Adds|Sum of] two numbers[.|]",
        (
            Argument("a|a|x|first|left", "number|integer", lambda w: int(w.number())),
            Argument("b|b|y|second|right", "number|integer", lambda w: int(w.number())),
        ),
        (
            "What is {0} [plus|+|and] {1}?|Add {0} and {1}.|[Calculate|Compute] {0} [+|plus] {1}.|"
            "How much is {0} [+|plus] {1}?|[Please |]add {0} to {1}.|What is the sum of {0} and {1}?|"
            "Sum {0} and {1}.|{0} + {1}[ = ?|?]|[Can|Could] you add {0} and {1}?"
        ),
        lambda w: {w.rng.choice(("result", "sum", "value")): int(w.number())},
    ),
    Kind(
        "multiply|multiply|mul|multiply_numbers|product|times",
        "[Multiply|Multiplies|Product of] two numbers[.|]",
        (
            Argument("a|a|x|first|left", "number|integer", lambda w: int(w.number())),
            Argument("b|b|y|second|right", "number|integer", lambda w: int(w.number())),
        ),
        (
            "What is {0} [times|*|multiplied by] {1}?|Multiply {0} [and|by|with] {1}.|"
            "[Calculate|Compute] {0} [*|times] {1}.|How much is {0} [*|times] {1}?|"
            "What is the product of {0} and {1}?|{0} * {1}[ = ?|?]"
        ),
        lambda w: {w.rng.choice(("result", "product", "value")): int(w.number())},
    ),
    Kind(
        "get_order|lookup_order|order_status|get_order_status|find_order|track_order|getOrder|check_order",
        "[Look up|Get|Gives|Find] [an order|the status of an order][.|]",
        (
            Argument(
                "order_id|id|order|orderId|order_number",
                "string",
                lambda w: w.code() if w.rng.random() < 0.6 else w.number(w.rng.randint(3, 6)),
            ),
        ),
        (
            "Where is[ my|] order {0}?|What is the [status|state] of[ my|] order {0}?|"
            "[Look up|Check|Find|Track|Get][ my|] order {0}[ please|].|"
            "[Has|Did] order {0} [arrive|ship]?|I want to know about order {0}.|"
            "[Can|Could] you [check|track|find][ my|] order {0}?|My order is {0}. Where is it?|"
            "How is[ my|] order {0} doing?"
        ),
        lambda w: {"status": w.rng.choice(("shipped", "delivered", "open", "cancelled", "paid", "packed"))},
    ),
    Kind(
        "search|search|web_search|search_web|find|lookup|search_docs|google|query",
        "[Search|Searches|Find] [the web|documents|for something|the documentation|something][.|]",
        (
            Argument(
                "query|query|q|text|term|topic",
                "string",
                lambda w: " ".join(w.word() for _ in range(w.rng.randint(1, 3))),
            ),
        ),
        (
            "[Please |]search[ the web| online|] for {0}[.|]|"
            "[Find|Look up][ something about|] {0}[ for me| please|].|Search {0}.|"
            "[Can|Could] you search[ the web|] for {0}?|[Do|Make] a search for {0}.|Google {0}.|"
            "I am looking for {0}.|Find information about {0}."
        ),
        lambda w: {w.rng.choice(("result", "title", "answer")): " ".join(w.word() for _ in range(w.rng.randint(2, 5)))},
    ),
    Kind(
        "send_message|send_email|send_mail|notify|send_sms|sendMessage|email|write_message",
        "[Send|Sends] [a message|an email|a mail|a text] to somebody[.|]",
        (
            Argument("to|to|recipient|receiver|name", "string", Words.name),
            Argument(
                "text|message|body|content|text",
                "string",
                lambda w: " ".join(w.word() for _ in range(w.rng.randint(1, 5))),
            ),
        ),
        (
            "[Please |]send {0} the [message|text|mail] {1}[.|]|"
            "[Send|Write] [a message|an email|a mail|a text] to {0}: {1}[.|]|Tell {0}: {1}[.|]|"
            "[Please |]send {0} [a message|an email]: {1}|[Message|Mail|Text|Email] {0}: {1}|"
            "[Write|Send] to {0}: {1}"
        ),
        lambda w: w.rng.choice(({"sent": True}, {"status": "sent"}, {"id": w.code()})),
    ),
    Kind(
        "set_timer|set_timer|start_timer|timer|create_timer|set_alarm",
        "[Set|Sets|Start] a timer[.|]",
        (Argument("minutes|minutes|duration|time|mins", "integer|number", lambda w: w.rng.randint(1, 180)),),
        (
            "[Please |]set a timer [for|of] {0} minutes[.|]|"
            "[Start|Set|Make] a timer for {0} minutes[ please|].|[Wake|Call|Remind] me in {0} minutes.|"
            "Timer {0} minutes.|[Can|Could] you set a timer for {0} minutes?|"
            "I need a timer of {0} minutes.|Set a {0} minute timer."
        ),
        lambda w: w.rng.choice(({"status": "started"}, {"ok": True})),
    ),
    Kind(
        "get_user|find_user|lookup_user|user_info|getUser|get_customer|find_customer|get_person",
        "[Look up|Find|Get|Gives] a [user|customer|person][.|]",
        (Argument("name|name|user|username|user_name", "string", Words.name),),
        (
            "[Who is|Find|Look up|Get] the [user|customer|person] {0}[?|]|"
            "[Look up|Find|Get|Show me] [user|customer] {0}[ please|].|"
            "[Give me|Show me|What is] the [data|profile|details] of {0}[.|]|"
            "Tell me about the [user|customer] {0}.|[Can|Could] you find the user {0}?"
        ),
        lambda w: (
            {"name": w.name(), "city": w.city()}
            if w.rng.random() < 0.5
            else {"email": f"{w.strange_word()}@example.com"}
        ),
    ),
    Kind(
        "get_stock_price|stock_price|get_price|lookup_price|get_stock|price|check_price|getPrice",
        "[Get|Gives|Look up] the price of [a stock|a product|something][.|]",
        (
            Argument(
                "symbol|ticker|product|item|name",
                "string",
                lambda w: w.rng.choice(
                    (w.strange_name, lambda: w.rng.choice(("AAPL", "GOOG", "MSFT", "TSLA", "AMZN", "NVDA")), w.code)
                )(),
            ),
        ),
        (
            "What is the[ stock| current|] price of {0}?|How much [is|does|costs] {0}[ cost|]?|"
            "[Check|Get|Look up|Tell me] the[ stock| current|] price of {0}[.| please.]|"
            "Price of {0}[ please|]?|How is {0} [doing|trading]?|[Can|Could] you check the price of {0}?|"
            "How expensive is {0}?"
        ),
        lambda w: {"price": w.rng.choice((int(w.number(3)), float(f"{w.number(2)}.{w.rng.randint(1, 9)}")))},
    ),
    Kind(
        "roll_dice|roll_dice|roll|dice|roll_die|throw_dice",
        "[Roll|Rolls|Throw] [a die|dice][.|]",
        (Argument("sides|sides|faces|n|max", "integer|number", lambda w: w.rng.choice((4, 6, 8, 10, 12, 20, 100))),),
        (
            "[Please |]roll a [die|dice] with {0} sides[.|]|[Roll|Throw] a {0} sided [die|dice][.|]|"
            "Roll a {0}-sided [die|dice].|Roll [dice|a die] with {0} faces.|"
            "[Can|Could] you roll a die with {0} sides?|Roll a d{0}."
        ),
        lambda w: {w.rng.choice(("result", "value", "rolled")): w.rng.randint(1, 20)},
    ),
    Kind(
        "set_light|turn_on_light|set_color|change_light|light|set_colour|set_lamp",
        "[Set|Sets|Change] the [colour|color] of [a lamp|the light][.|]",
        (Argument("color|colour|color|shade|light", "string", lambda w: w.rng.choice(COLOURS)),),
        (
            "[Please |][make|turn|set] the [light|lamp][ to|] {0}[.|]|"
            "[Change|Set] the [light|lamp|color|colour] to {0}[.| please.]|I want {0} light.|"
            "Make it {0}.|[Can|Could] you make the light {0}?|Switch the light to {0}."
        ),
        lambda w: w.rng.choice(({"ok": True}, {"status": "done"})),
    ),
    Kind(
        "get_current_time|now|get_date|today|current_date|get_time_now|clock|get_now",
        "[Get|Gives|Returns] the current [date|time|date and time][.|]",
        (),
        (
            "What time is it[ now|]?|[What is|What's] the [time|date|current time|date today][ now|]?|"
            "[What|Which] day is it[ today|]?|What is today's date?|Tell me the [time|date].|"
            "[Can|Could] you tell me the [time|date]?"
        ),
        lambda w: w.rng.choice(
            (
                {"time": f"{w.rng.randint(0, 23):02}:{w.rng.randint(0, 59):02}"},
                {"date": f"20{w.rng.randint(10, 40)}-{w.rng.randint(1, 12):02}-{w.rng.randint(1, 28):02}"},
            )
        ),
    ),
    Kind(
        ("create_ticket|open_ticket|new_ticket|create_issue|add_task|create_task|add_todo|create_note|take_note"),
        "[Create|Open|Make|Add] a [ticket|task|note|issue][.|]",
        (
            Argument(
                "title|title|text|subject|name|summary",
                "string",
                lambda w: " ".join(w.word() for _ in range(w.rng.randint(1, 4))),
            ),
        ),
        (
            "[Please |][create|open|make|add] a [ticket|task|note|issue]: {0}[.|]|"
            "[Create|Open|Make|Add] a [ticket|task|note|issue] [called|with the title|named] {0}[.|]|"
            "New [ticket|task|note|issue]: {0}|[Can|Could] you create a [ticket|task|note]: {0}"
        ),
        lambda w: w.rng.choice(({"id": w.code()}, {"id": int(w.number())}, {"created": True})),
    ),
    Kind(
        "convert_currency|convert|exchange|currency_convert|convert_money|exchange_rate",
        "[Convert|Converts|Exchange] money[.|]",
        (
            Argument("amount|amount|value|sum|money", "number", lambda w: int(w.number())),
            Argument(
                "currency|to|currency|target|to_currency",
                "string",
                lambda w: w.rng.choice(("EUR", "USD", "GBP", "JPY", "CHF", "CNY", "INR", "SEK")),
            ),
        ),
        (
            "[Please |]convert {0} [dollars|euros|] to {1}[.|]|How much is {0}[ dollars| euros|] in {1}?|"
            "[Exchange|Change] {0} into {1}.|What is {0} in {1}?|[Can|Could] you convert {0} to {1}?"
        ),
        lambda w: {w.rng.choice(("amount", "result", "value")): int(w.number())},
    ),
)

_STRANGE_VERBS = "get find make run check list update delete create show read start stop count open close".split()


class Offer(NamedTuple):
    """A kind of tool as one conversation offers it, with names of its own."""

    name: str
    arguments: tuple[tuple[str, Argument], ...]
    kind: Kind | None
    tool: Json


def _offer(scene: Scene, kind: Kind) -> Offer:
    rng = scene.rng
    arguments: list[tuple[str, Argument]] = []
    for argument in kind.arguments:
        at = rng.randrange(len(argument.names.split("|")))
        taken = [name for name, _ in arguments]
        name = argument.names.split("|")[at]
        arguments.append((name if name not in taken else "b", argument))
    return _tool(scene, rng.choice(kind.names.split("|")), say(rng, kind.about), arguments, kind)


def _strange_offer(scene: Scene) -> Offer:
    """A tool that nobody knows: it is called when it is named."""
    rng, words = scene.rng, scene.words
    name = rng.choice(
        (
            lambda: f"{rng.choice(_STRANGE_VERBS)}_{words.strange_word()}",
            words.strange_word,
            lambda: f"{words.strange_word()}_{words.strange_word()}",
            lambda: f"{rng.choice(_STRANGE_VERBS)}_{rng.choice(THINGS)}",
            lambda: rng.choice(_STRANGE_VERBS) + words.strange_name(),
        )
    )()
    pool = [
        "id",
        "name",
        "value",
        "n",
        "text",
        "key",
        "city",
        "size",
        "x",
        "y",
        "count",
        "level",
        "user",
        "file",
        "path",
        words.strange_word(),
    ]
    arguments = []
    for argument in rng.sample(pool, rng.choice((0, 1, 1, 1, 2, 2))):
        number = rng.random() < 0.4
        made = Argument(
            argument,
            "integer|number" if number else "string",
            (lambda w: int(w.number())) if number else (lambda w: w.rng.choice((w.name, w.code, w.word))()),
        )
        arguments.append((argument, made))
    about = rng.choice(
        ("", f"Does something with a {words.word()}.", f"A tool for {words.strange_word()}.", "Test tool", "A tool.")
    )
    return _tool(scene, name, about, arguments, None)


def _tool(scene: Scene, name: str, about: str, arguments: list[tuple[str, Argument]], kind: Kind | None) -> Offer:
    rng = scene.rng
    properties = {argument: {"type": rng.choice(made.type.split("|"))} for argument, made in arguments}
    required = list(properties)
    if kind and rng.random() < 0.15:
        properties["unit" if rng.random() < 0.7 else "limit"] = {"type": "string"}
    function: Json = {"name": name, "parameters": {"type": "object", "properties": properties, "required": required}}
    if about:
        function["description"] = about
    return Offer(name, tuple(arguments), kind, {"type": "function", "function": function})


def _use(scene: Scene, offer: Offer, answered: bool) -> None:
    rng = scene.rng
    values = [made.make(scene.words) for _, made in offer.arguments]
    arguments = {name: value for (name, _), value in zip(offer.arguments, values)}
    if offer.kind is None or rng.random() < 0.1:
        given = rng.choice((", ", " and ")).join(
            rng.choice(("{n} = {v}", "{n} {v}", "{n}={v}", "{n}: {v}")).replace("{n}", n).replace("{v}", str(v))
            for n, v in arguments.items()
        )
        phrase = (
            (
                "[Please |][call|use|run|invoke|execute][ the tool| the function|] {t}[ with| with| for|] "
                "{g}[.|]|[Call|Use] {t} with {g}[.|]|[Can|Could] you [call|use|run] {t} with {g}?"
            )
            if given
            else (
                "[Please |][call|use|run|invoke|execute][ the tool| the function|] {t}[.|]|"
                "[Can|Could] you [call|use|run] {t}?"
            )
        )
        scene.ask(phrase, to_the_letter=True, t=offer.name, g=given)
        if f"for {given}" in scene.messages[-1]["content"] and len(offer.arguments) == 1 and rng.random() < 0.5:
            scene.messages[-1]["content"] = scene.messages[-1]["content"].replace(f"for {given}", f"for {values[0]}")
    else:
        scene.ask(offer.kind.asked, to_the_letter=True, **{str(at): value for at, value in enumerate(values)})
    scene.call(offer.name, arguments, f"The tool {offer.name} can do that.")
    if answered:
        _answer(scene, offer)


def _answer(scene: Scene, offer: Offer) -> None:
    rng = scene.rng
    result = offer.kind.results(scene.words) if offer.kind else _strange_result(scene)
    if rng.random() < 0.25:
        text = (
            scene.words.phrase().rstrip(".!?")
            if rng.random() < 0.4
            else " ".join(str(value) for value in result.values())
        )
        text = text.replace("True", "done")
        scene.result(text)
        scene.answer(f"The tool says: {text}.", "The tool has answered.")
        return
    scene.result(json.dumps(result, ensure_ascii=False))
    said = ", ".join(
        f"{key} {json.dumps(value) if isinstance(value, bool) else value}" for key, value in result.items()
    )
    scene.answer(f"The tool says: {said}.", "The tool has answered.")


def _strange_result(scene: Scene) -> Json:
    words = scene.words
    keys = scene.rng.sample(
        ["result", "value", "status", "id", "name", "count", "ok", words.strange_word(), words.strange_word()],
        scene.rng.choice((1, 1, 2, 3)),
    )
    return {
        key: scene.rng.choice((lambda: int(words.number()), words.name, words.code, words.word, lambda: True))()
        for key in keys
    }


def _offers(scene: Scene) -> list[Offer]:
    rng = scene.rng
    count = rng.choice((1, 1, 2, 2, 3, 4))
    offers: dict[str, Offer] = {}
    for kind in rng.sample(KINDS, count):
        offer = _strange_offer(scene) if rng.random() < 0.25 else _offer(scene, kind)
        # The time of a city and the time at all are told apart by what is asked only when one of them is offered.
        offers.setdefault(offer.name, offer)
    chosen = list(offers.values())
    scene.tools.extend(offer.tool for offer in chosen)
    return chosen


def call_tool(scene: Scene) -> None:
    offers = _offers(scene)
    if scene.rng.random() < 0.25:
        scene.rng.choice((small_talk, server, repeat))(scene)
    if scene.rng.random() < 0.2:
        _use(scene, scene.rng.choice(offers), answered=True)
    _use(scene, scene.rng.choice(offers), answered=False)


def use_result(scene: Scene) -> None:
    offers = _offers(scene)
    for _ in range(scene.rng.choice((1, 1, 1, 2))):
        _use(scene, scene.rng.choice(offers), answered=True)


def leave_tools_alone(scene: Scene) -> None:
    """Tools are offered, and something else is asked."""
    _offers(scene)
    for _ in range(scene.rng.choice((1, 1, 2))):
        scene.rng.choice((small_talk, server, repeat))(scene)
        while scene.messages[-2]["content"] and any(
            word in scene.messages[-2]["content"].lower()
            for word in ("time", "date", "weather", "rain", "sunny", "day is", "cold", "warm")
        ):
            del scene.messages[-2:]
            scene.rng.choice((small_talk, server, repeat))(scene)
