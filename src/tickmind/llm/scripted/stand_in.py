"""A stand-in for a model where there is none: it says that it is scripted, and still gives objects and uses tools."""

import json
import random
from collections.abc import Sequence

from tickmind.llm.cassettes.format import request_key
from tickmind.llm.messages import Message, ToolCall
from tickmind.llm.scripted.sampling import sample_json
from tickmind.llm.scripted.transport import last_user_text
from tickmind.llm.tokens import estimate_messages_tokens, estimate_tokens
from tickmind.llm.transport import ModelReply, ModelRequest, ToolSpec, Usage

_SHOWN_CHARS = 200
_CONFESSION = "This is a scripted reply: no model was asked."


def stand_in_reply(request: ModelRequest) -> ModelReply:
    """Return a fitting reply to any request, the same for equal ones; a script for `ScriptedTransport`.

    An object that fits where a schema is given; where tools may be used, those that need no arguments are called once;
    else a text that says that it is scripted and repeats what it heard.
    """
    rng = random.Random(request_key(request))
    heard = _heard_from_tools(request.messages)
    if request.output is not None:
        return _reply(request, json.dumps(sample_json(request.output.schema, rng)))
    if request.tools and request.tool_choice != "none" and not heard:
        return _reply(request, "", _calls(request, rng))
    if heard:
        return _reply(request, f"{_CONFESSION} The tools answered: {'; '.join(heard)}")
    return _reply(request, f"{_CONFESSION} You said: {_short(last_user_text(request))}")


def _calls(request: ModelRequest, rng: random.Random) -> tuple[ToolCall, ...]:
    simple = [tool for tool in request.tools if not tool.schema.get("required")]
    if not simple:
        return (_call(1, request.tools[0], sample_json({"type": "object", **request.tools[0].schema}, rng)),)
    wanted = simple if request.parallel_tool_calls else simple[:1]
    return tuple(_call(number, tool, {}) for number, tool in enumerate(wanted, start=1))


def _call(number: int, tool: ToolSpec, arguments: object) -> ToolCall:
    return ToolCall(f"call_{number}", tool.name, json.dumps(arguments))


def _heard_from_tools(messages: Sequence[Message]) -> list[str]:
    """Return what tools have answered since the last turn of the user."""
    heard: list[str] = []
    for message in reversed(messages):
        if message.role == "user":
            break
        if message.role == "tool":
            heard.insert(0, f"{message.name}: {_short(message.text)}")
    return heard


def _reply(request: ModelRequest, content: str, calls: tuple[ToolCall, ...] = ()) -> ModelReply:
    said = content + "".join(call.arguments for call in calls)
    return ModelReply(
        content,
        "tool_calls" if calls else "stop",
        tool_calls=calls,
        usage=Usage(estimate_messages_tokens(request.messages), estimate_tokens(said)),
        model=request.model,
    )


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}..."
