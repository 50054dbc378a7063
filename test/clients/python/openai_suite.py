"""What users of Python's openai do, each a function of its own. Run by openai.test.ts: a suite, its address, a key."""

import asyncio
import json
import sys

import openai
from openai import AsyncOpenAI, OpenAI

suites = {"scripted": [], "builtin": []}


def of(suite):
    def register(check):
        suites[suite].append(check)
        return check

    return register


def raises(kind, call):
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__}")


hi = [{"role": "user", "content": "Hi"}]


@of("scripted")
def whole(client, model):
    answer = client.chat.completions.create(model=model, messages=hi, n=2)
    assert [choice.message.content for choice in answer.choices] == ["Hello", "Hello"]
    assert answer.usage.completion_tokens == 10 and answer.choices[0].finish_reason == "stop"
    assert answer.choices[0].message.tool_calls is None and answer._request_id


@of("scripted")
def stream(client, model):
    said, usage = "", None
    options = {"include_usage": True}
    with client.chat.completions.create(model=model, messages=hi, stream=True, stream_options=options) as chunks:
        for chunk in chunks:
            said += chunk.choices[0].delta.content or "" if chunk.choices else ""
            usage = chunk.usage or usage
    assert said == "Hello" and usage.completion_tokens == 5


@of("scripted")
def helper_of_streams(client, model):
    with client.chat.completions.stream(model=model, messages=hi) as events:
        said = "".join(event.delta for event in events if event.type == "content.delta")
        final = events.get_final_completion()
    assert said == final.choices[0].message.content == "Hello"


@of("scripted")
def raw_answers(client, model):
    raw = client.chat.completions.with_raw_response.create(model=model, messages=hi)
    assert raw.headers["x-heddle-call-id"] and raw.parse().choices[0].message.content == "Hello"
    with client.chat.completions.with_streaming_response.create(model=model, messages=hi) as answer:
        assert json.loads(b"".join(answer.iter_bytes()))["object"] == "chat.completion"


@of("scripted")
def log_probabilities(client, model):
    answer = client.chat.completions.create(model=model, messages=hi, logprobs=True, top_logprobs=2)
    content = answer.choices[0].logprobs.content
    assert [one.token for one in content] == list("Hello")
    assert all(len(one.top_logprobs) == 2 and one.bytes for one in content)


@of("scripted")
def text_completions(client, model):
    answer = client.completions.create(model=model, prompt=["a", "b"], max_tokens=5, logprobs=1)
    assert [choice.text for choice in answer.choices] == ["Hello", "Hello"]
    assert answer.choices[0].logprobs.tokens == list("Hello")


@of("scripted")
def responses(client, model):
    answer = client.responses.create(model=model, input="Hi", instructions="Be short.")
    assert answer.output_text == "Hello" and answer.status == "completed"
    again = client.responses.retrieve(answer.id)
    assert again.output_text == "Hello"
    following = client.responses.create(model=model, input="More", previous_response_id=answer.id)
    assert following.previous_response_id == answer.id
    kinds = [event.type for event in client.responses.create(model=model, input="Hi", stream=True)]
    assert kinds[0] == "response.created" and kinds[-1] == "response.completed"
    client.responses.delete(answer.id)
    raises(openai.NotFoundError, lambda: client.responses.retrieve(answer.id))


@of("scripted")
def stored_completions(client, model):
    answer = client.chat.completions.create(model=model, messages=hi, store=True, metadata={"team": "python"})
    found = client.chat.completions.retrieve(answer.id)
    assert found.choices[0].message.content == "Hello"
    listed = client.chat.completions.list(metadata={"team": "python"})
    assert answer.id in [one.id for one in listed]


@of("scripted")
def embeddings(client, model):
    answer = client.embeddings.create(model=model, input=["a", "b"])
    assert [list(one.embedding) for one in answer.data] == [[1, 0, 0, 0], [0, 1, 0, 0]]
    floats = client.embeddings.create(model=model, input="a", encoding_format="float", dimensions=2)
    assert floats.data[0].embedding == [1, 0] and floats.usage.prompt_tokens == 1


@of("scripted")
def models(client, model):
    names = [one.id for one in client.models.list()]
    assert names == ["scripted", "alias/of-it"]
    assert [client.models.retrieve(name).id for name in names] == names


@of("scripted")
def refusals(client, model):
    def ask(given=client, **fields):
        return given.chat.completions.create(**{"model": model, "messages": hi, **fields})

    error = raises(openai.BadRequestError, lambda: ask(temperature=-1))
    assert (error.status_code, error.param, error.code) == (400, "temperature", "invalid_request")
    raises(openai.NotFoundError, lambda: ask(model="other"))
    raises(openai.BadRequestError, lambda: ask(stream=True, top_p=5))
    raises(openai.AuthenticationError, lambda: ask(given=client.with_options(api_key="wrong-secret-key")))


@of("scripted")
def fields_of_the_server(client, model):
    extra = {"top_k": 5, "return_token_ids": True, "chat_template": "Q: {{ messages[0].content }}"}
    headers = {"x-heddle-thread": "python"}
    answer = client.chat.completions.create(model=model, messages=hi, extra_body=extra, extra_headers=headers)
    assert len(answer.model_extra["prompt_token_ids"]) == 5


@of("scripted")
def many_at_once(client, model):
    async def all_of_them():
        async with AsyncOpenAI(base_url=client.base_url, api_key=client.api_key) as own:

            async def one(is_stream):
                if not is_stream:
                    answer = await own.chat.completions.create(model=model, messages=hi)
                    return answer.choices[0].message.content
                chunks = await own.chat.completions.create(model=model, messages=hi, stream=True)
                return "".join([chunk.choices[0].delta.content or "" async for chunk in chunks])

            return await asyncio.gather(*(one(index % 2 == 0) for index in range(20)))

    assert asyncio.run(all_of_them()) == ["Hello"] * 20


@of("scripted")
def who_leaves_a_stream_leaves_the_model(client, model):
    chunks = client.chat.completions.create(model=model, messages=hi, stream=True)
    next(iter(chunks))
    chunks.close()
    assert client.chat.completions.create(model=model, messages=hi).choices[0].message.content == "Hello"


@of("builtin")
def objects_of_pydantic(client, model):
    from pydantic import BaseModel, Field

    class City(BaseModel):
        name: str = Field(max_length=20)
        capital: bool
        districts: list[str] = Field(max_length=2)

    fields = {"model": model, "messages": [{"role": "user", "content": "Bamako"}]}
    answer = client.chat.completions.parse(**fields, response_format=City)
    assert isinstance(answer.choices[0].message.parsed, City)
    answer = client.responses.parse(model=model, input="Bamako", text_format=City)
    assert isinstance(answer.output_parsed, City)


weather = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a city",
        "strict": True,
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "maxLength": 20}},
            "required": ["city"],
            "additionalProperties": False,
        },
    },
}


@of("builtin")
def a_tool_and_its_answer(client, model):
    messages = [{"role": "user", "content": "The weather in Bamako?"}]
    for choice in ("required", {"type": "function", "function": {"name": "weather"}}):
        answer = client.chat.completions.create(model=model, messages=messages, tools=[weather], tool_choice=choice)
        (call, *_) = answer.choices[0].message.tool_calls
        assert set(json.loads(call.function.arguments)) == {"city"}
    told = {"role": "tool", "tool_call_id": call.id, "content": "rain"}
    said = answer.choices[0].message.model_copy(update={"tool_calls": [call]})
    last = client.chat.completions.create(
        model=model, messages=[*messages, said, told], tools=[weather], tool_choice="none", max_tokens=8
    )
    assert last.choices[0].message.tool_calls is None


@of("builtin")
def a_tool_in_a_stream(client, model):
    messages = [{"role": "user", "content": "The weather in Bamako?"}]
    fields = {"model": model, "messages": messages, "tools": [weather], "tool_choice": "required"}
    with client.chat.completions.stream(**fields) as events:
        done = [event for event in events if event.type == "tool_calls.function.arguments.done"]
        final = events.get_final_completion()
    calls = final.choices[0].message.tool_calls
    assert [call.function.arguments for call in calls] == [event.arguments for event in done]
    assert all(set(json.loads(call.function.arguments)) == {"city"} for call in calls)


@of("builtin")
def constraints_beyond_schemas(client, model):
    for given, fits in (
        ({"choice": ["yes", "no"]}, lambda text: text in ("yes", "no")),
        ({"regex": "[a-c]{3}"}, lambda text: len(text) == 3 and set(text) <= set("abc")),
    ):
        answer = client.chat.completions.create(model=model, messages=hi, extra_body={"structured_outputs": given})
        assert fits(answer.choices[0].message.content)
    answer = client.chat.completions.create(model=model, messages=hi, response_format={"type": "json_object"}, max_tokens=400)
    assert answer.choices[0].finish_reason == "length" or isinstance(json.loads(answer.choices[0].message.content), dict)


@of("builtin")
def the_same_seed(client, model):
    def said():
        answer = client.chat.completions.create(model=model, messages=hi, seed=7, temperature=1, max_tokens=12)
        return answer.choices[0].message.content, answer.system_fingerprint

    assert said() == said()


@of("builtin")
def vectors_of_a_chat_model(client, model):
    error = raises(openai.BadRequestError, lambda: client.embeddings.create(model=model, input="a"))
    assert error.code == "model_lacks" and error.param == "model"


def main(suite, base_url, api_key, model):
    client = OpenAI(base_url=base_url, api_key=api_key, max_retries=0, timeout=120)
    for check in suites[suite]:
        check(client, model)
        print(check.__name__, flush=True)


main(*sys.argv[1:])
