"""What template.jinja makes of a conversation, in pieces: training has to know what the model says itself."""

from __future__ import annotations

import json
from typing import NamedTuple

from scene import Json


class Piece(NamedTuple):
    text: str
    own: bool


def pieces(messages: list[Json], tools: list[Json], documents: list[Json], thinking: str | None) -> list[Piece]:
    out: list[Piece] = []
    rest = messages
    system = ""
    if messages[0]["role"] == "system":
        system, rest = messages[0]["content"], messages[1:]
    blocks = [system] if system else []
    if tools:
        blocks.append("\n".join(["Tools:", *map(_signature, tools)]))
    if documents:
        blocks.append("\n".join(["Documents:", *map(_document, documents)]))
    if thinking:
        blocks.append(f"Thinking: {thinking}")
    if blocks:
        out.append(Piece("<|im_start|>system\n" + "\n\n".join(blocks) + "<|im_end|>\n", False))
    for message in rest:
        own = message["role"] == "assistant"
        if not own:
            out.append(Piece(f"<|im_start|>{message['role']}\n{message['content']}<|im_end|>\n", False))
            continue
        out.append(Piece("<|im_start|>assistant\n", False))
        said = message["content"]
        if thought := message.get("reasoning_content"):
            said = f"<think>\n{thought}\n</think>\n\n{said}"
        for call in message.get("tool_calls", ()):
            said += f"<tool_call>\n{json.dumps(call['function'], ensure_ascii=False)}\n</tool_call>"
        out += [Piece(f"{said}<|im_end|>", True), Piece("\n", False)]
    return out


def prompt(messages: list[Json], tools: list[Json], documents: list[Json], thinking: str | None) -> str:
    """The text that the model is to go on from."""
    text = "".join(piece.text for piece in pieces(messages, tools, documents, thinking))
    return text + "<|im_start|>assistant\n"


def _signature(tool: Json) -> str:
    function = tool["function"]
    parameters = function["parameters"]
    names = ", ".join(
        f"{name}{'' if name in parameters['required'] else '?'}: {value['type']}"
        for name, value in parameters["properties"].items()
    )
    about = function.get("description")
    return f"{function['name']}({names})" + (f" {about}" if about else "")


def _document(document: Json) -> str:
    title = document.get("title")
    return (f"[{title}] " if title else "") + document["text"]
