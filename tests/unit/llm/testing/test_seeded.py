"""The seeded transport gives the same answer to the same request, and answers that fit."""

import json
import random
from typing import Any

import pytest
from jsonschema import validate

from tickmind.llm.messages import Message
from tickmind.llm.testing import SeededTransport, join_pieces
from tickmind.llm.transport import ModelRequest, OutputSpec, ToolSpec

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"goal": {"enum": ["eat", "rest"]}, "urgency": {"type": "number", "minimum": 0, "maximum": 1}},
    "required": ["goal", "urgency"],
}
TOOLS = (ToolSpec("walk", "", SCHEMA), ToolSpec("wait", "", {"type": "object"}))


def ask(text: str, **more: Any) -> ModelRequest:
    return ModelRequest("m", (Message.user(text),), **more)


@pytest.mark.asyncio
async def test_the_order_of_calls_changes_nothing() -> None:
    requests = [ask(f"question {number}") for number in range(20)]
    first = SeededTransport(5)
    answers = {request.messages[0].text: await first.complete(request, timeout_s=1) for request in requests}
    random.Random(1).shuffle(requests)
    second = SeededTransport(5)
    for request in requests:
        assert await second.complete(request, timeout_s=1) == answers[request.messages[0].text]
    assert len({reply.content for reply in answers.values()}) > 15


def test_another_seed_gives_other_answers() -> None:
    request = ask("hi")
    assert SeededTransport(1).reply(request) != SeededTransport(2).reply(request)


def test_answers_do_not_depend_on_the_process() -> None:
    assert SeededTransport(1).reply(ask("hi")).content == "Mill snow valley drift ridge."


@pytest.mark.asyncio
async def test_a_stream_says_what_the_whole_reply_says() -> None:
    transport = SeededTransport(3, thinking_rate=1.0, cut=1)
    whole = await transport.complete(ask("hi"), timeout_s=1)
    async with transport.stream(ask("hi"), timeout_s=1) as pieces:
        assert join_pieces([piece async for piece in pieces]) == whole
    assert whole.thinking


def test_objects_fit_the_schema() -> None:
    for number in range(50):
        reply = SeededTransport(number).reply(ask("hi", output=OutputSpec(SCHEMA)))
        validate(json.loads(reply.content), SCHEMA)


def test_tool_calls_fit_the_schema() -> None:
    for number in range(50):
        reply = SeededTransport(number).reply(ask("hi", tools=TOOLS, tool_choice="required"))
        assert reply.finish_reason == "tool_calls"
        for call in reply.tool_calls:
            if call.name == "walk":
                validate(json.loads(call.arguments), SCHEMA)
        assert len({call.id for call in reply.tool_calls}) == len(reply.tool_calls)


def test_tool_choice_is_kept() -> None:
    replies = [SeededTransport(number).reply(ask("hi", tools=TOOLS)) for number in range(60)]
    assert 10 < sum(bool(reply.tool_calls) for reply in replies) < 50
    assert any(len(reply.tool_calls) > 1 for reply in replies)
    for number in range(20):
        assert not SeededTransport(number).reply(ask("hi", tools=TOOLS, tool_choice="none")).tool_calls
        single = SeededTransport(number).reply(
            ask("hi", tools=TOOLS, tool_choice="required", parallel_tool_calls=False)
        )
        assert len(single.tool_calls) == 1


def test_max_tokens_ends_a_long_answer() -> None:
    replies = [SeededTransport(number).reply(ask("hi", max_tokens=4)) for number in range(20)]
    assert {reply.finish_reason for reply in replies} == {"stop", "length"}
    assert all(len(reply.content.split()) <= 4 for reply in replies)
