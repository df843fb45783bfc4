import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel
from tests.long import short_or_long

from tickmind.base import ManualClock
from tickmind.llm import (
    CallConfig,
    LLMCancelledError,
    LLMConfigError,
    LLMResponseError,
    Message,
    ModelClient,
    ModelConfig,
    ModelReply,
    StructuredOutputError,
    SyncModelClient,
    Usage,
)
from tickmind.llm.testing import ScriptedTransport
from tickmind.llm.transport import Capabilities

CONFIG = ModelConfig(base_url="http://127.0.0.1:9/v1", model="double", default_temperature=0.0)


class Decision(BaseModel):
    action: Literal["flee", "rest"]
    target: str
    confidence: float


@dataclass
class Plan:
    goal: str
    steps: list[str]


GOOD = '{"action": "flee", "target": "mill", "confidence": 0.9}'
WANTED = Decision(action="flee", target="mill", confidence=0.9)


def client(*replies, **options):
    transport = ScriptedTransport(list(replies), **options)
    return ModelClient(CONFIG, transport), transport


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "reply",
    [
        GOOD,
        f"Sure!\n```json\n{GOOD}\n```",
        "<think>They are {close}.</think>" + GOOD,
        "```yaml\naction: FLEE\ntarget: mill\nconfidence: 0.9\n```",
        "{'action': 'flee', 'target': 'mill', 'confidence': '0.9',}",
    ],
)
async def test_a_reply_becomes_the_type_that_was_asked_for(reply):
    asking, _ = client(reply)
    result = await asking.complete_structured("What now?", Decision)
    assert result.value == WANTED
    assert result.data == {"action": "flee", "target": "mill", "confidence": 0.9}
    assert result.attempts == 1


@pytest.mark.asyncio
async def test_dataclasses_schemas_and_field_names_will_do_too():
    reply = '{"goal": "eat", "steps": ["go", "bite"]}'
    asking, _ = client(reply, reply, reply)
    assert (await asking.complete_structured("?", Plan)).value == Plan("eat", ["go", "bite"])
    schema = {"type": "object", "properties": {"goal": {"type": "string"}}, "required": ["goal"]}
    assert (await asking.complete_structured("?", schema)).value["goal"] == "eat"
    assert (await asking.complete_structured("?", ["goal", "steps"])).value == {"goal": "eat", "steps": ["go", "bite"]}


@pytest.mark.asyncio
async def test_the_form_is_in_the_system_message_and_in_the_request():
    asking, transport = client(GOOD)
    await asking.complete_structured([Message.system("You are prey."), Message.user("What now?")], Decision)
    [request] = transport.requests
    assert request.messages[0].text.startswith("You are prey.\n")
    assert '"flee" | "rest"' in request.messages[0].text
    assert request.output is not None
    assert set(request.output.schema["properties"]) == {"action", "target", "confidence"}


@pytest.mark.asyncio
async def test_instructions_can_be_left_to_the_caller_and_yaml_is_not_held_to_json():
    asking, transport = client("```yaml\naction: rest\ntarget: den\nconfidence: 1\n```")
    result = await asking.complete_structured("What now?", Decision, form="yaml", instruct=False)
    assert result.value.action == "rest"
    assert [message.role for message in transport.requests[0].messages] == ["user"]
    assert transport.requests[0].output is None


@pytest.mark.asyncio
async def test_an_unreadable_reply_goes_back_with_the_reason_and_a_bolder_temperature():
    rambling = "I would rather not say. " * 40
    asking, transport = client(rambling, '{"action": "dance", "target": "mill", "confidence": 1}', GOOD)
    result = await asking.complete_structured("What now?", Decision, hint="action: flee or rest")
    assert result.value == WANTED
    assert result.attempts == 3
    assert len(result.errors) == 2
    first, second, third = transport.requests
    assert [first.temperature, second.temperature, third.temperature] == [0.0, 0.1, 0.2]
    said, why = second.messages[-2:]
    assert (said.role, why.role) == ("assistant", "user")
    assert len(said.text) <= 203
    assert "action: flee or rest" in why.text
    assert "dance" in third.messages[-1].text or "action" in third.messages[-1].text
    assert len(third.messages) == len(first.messages) + 4


@pytest.mark.asyncio
async def test_the_last_error_says_what_was_tried():
    asking, transport = client("no", "still no")
    with pytest.raises(StructuredOutputError, match="no usable object after 2 attempts") as caught:
        await asking.complete_structured("What now?", Decision, CallConfig(max_retries=1))
    assert len(transport.requests) == 2
    assert [line[:9] for line in caught.value.tried] == ["attempt 1", "attempt 2"]
    assert caught.value.raw_content == "still no"


@pytest.mark.asyncio
async def test_all_attempts_share_one_deadline():
    clock = ManualClock()

    def slow_nonsense(_request):
        clock.advance(4.0)
        return "no"

    seen = []

    class Watched(ScriptedTransport):
        async def complete(self, request, *, timeout_s):
            seen.append(timeout_s)
            return await super().complete(request, timeout_s=timeout_s)

    asking = ModelClient(CONFIG, Watched(slow_nonsense), clock=clock)
    with pytest.raises(StructuredOutputError, match="after 3 attempts"):
        await asking.complete_structured("What now?", Decision, CallConfig(max_retries=9, timeout_s=10.0))
    assert seen == [10.0, 6.0, 2.0]


@pytest.mark.asyncio
async def test_a_reply_that_was_cut_off_says_so():
    asking, _ = client(ModelReply('{"action": "fl', "length"))
    with pytest.raises(StructuredOutputError, match="cut off after 50 tokens"):
        await asking.complete_structured("What now?", Decision, CallConfig(max_retries=0, max_tokens=50))


@pytest.mark.asyncio
async def test_tokens_of_all_attempts_are_counted():
    asking, _ = client(ModelReply("no", "stop", usage=Usage(10, 5)), ModelReply(GOOD, "stop", usage=Usage(30, 20)))
    result = await asking.complete_structured("What now?", Decision)
    assert (result.prompt_tokens, result.completion_tokens) == (40, 25)


@pytest.mark.asyncio
async def test_an_endpoint_that_refuses_the_form_is_asked_without_it_from_then_on():
    asking, transport = client(LLMResponseError("response_format is not supported", status=400), GOOD, GOOD)
    assert (await asking.complete_structured("?", Decision)).attempts == 1
    await asking.complete_structured("?", Decision)
    assert [request.output is not None for request in transport.requests] == [True, False, False]


@pytest.mark.asyncio
async def test_other_errors_are_not_asked_again():
    asking, transport = client(LLMResponseError("down", status=500), GOOD)
    with pytest.raises(LLMResponseError):
        await asking.complete_structured("?", Decision)
    assert len(transport.requests) == 1


@pytest.mark.asyncio
async def test_an_endpoint_without_structured_output_is_not_held_to_it():
    asking, transport = client(GOOD, capabilities=Capabilities(output="none"))
    assert (await asking.complete_structured("?", Decision)).value == WANTED
    assert transport.requests[0].output is None


@pytest.mark.asyncio
async def test_a_stream_gives_fields_as_they_complete_and_then_the_object():
    asking, _ = client("<think>hm</think>" + GOOD, cut=3)
    order, thoughts = [], ""
    async with asking.stream_structured("What now?", Decision) as stream:
        async for update in stream:
            order += [name for name, _ in update.completed]
            thoughts += update.chunk.thinking
            assert set(update.data) <= {"action", "target", "confidence"}
        result = await stream.result
    assert order == ["action", "target", "confidence"]
    assert thoughts == result.thinking == "hm"
    assert result.value == WANTED


@pytest.mark.asyncio
async def test_the_result_comes_whether_or_not_the_stream_is_read():
    asking, _ = client(GOOD)
    async with asking.stream_structured("What now?", Decision) as stream:
        result = await stream.result
    assert result.value == WANTED
    assert (await stream.result).value == WANTED
    assert stream.data == result.data


@pytest.mark.asyncio
async def test_a_stream_retries_too_and_says_which_attempt_it_is():
    asking, _ = client('{"action": "dance", "target": "x", "confidence": 1}', GOOD, cut=5)
    attempts = []
    async with asking.stream_structured("What now?", Decision) as stream:
        async for update in stream:
            attempts.append(update.attempt)
            if update.attempt == 2 and update.completed:
                assert update.data.get("action") == "flee"
        assert (await stream.result).attempts == 2
    assert attempts == sorted(attempts)
    assert set(attempts) == {1, 2}


@pytest.mark.asyncio
async def test_leaving_early_gives_the_object_if_it_was_whole_else_says_so():
    asking, _ = client(GOOD, GOOD, cut=10)
    async with asking.stream_structured("What now?", Decision) as stream:
        async for _ in stream:
            break
    with pytest.raises(LLMCancelledError, match="before its object was complete"):
        await stream.result
    async with asking.stream_structured("What now?", Decision) as stream:
        async for update in stream:
            if len(update.data) == 3:
                break
    result = await stream.result
    assert (result.value, result.finish_reason) == (WANTED, "cancelled")


@pytest.mark.asyncio
async def test_a_cancelled_stream_leaves_no_task_behind():
    asking, _ = client(GOOD, cut=1)
    entered = asyncio.Event()

    async def read():
        async with asking.stream_structured("What now?", Decision) as stream:
            async for _ in stream:
                entered.set()
                await asyncio.Event().wait()

    task = asyncio.create_task(read())
    await entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.asyncio
async def test_a_stream_that_was_not_opened_says_how():
    asking, _ = client(GOOD)
    with pytest.raises(LLMConfigError, match="async with"):
        await asking.stream_structured("What now?", Decision).result


@pytest.mark.asyncio
async def test_a_failed_stream_raises_the_same_error_from_its_result():
    asking, _ = client(LLMResponseError("down", status=503))
    async with asking.stream_structured("?", Decision) as stream:
        with pytest.raises(LLMResponseError, match="down"):
            async for _ in stream:
                pass
    with pytest.raises(LLMResponseError, match="down"):
        await stream.result


@settings(max_examples=short_or_long(30, 60))
@given(st.integers(1, 80), st.booleans())
def test_any_cut_gives_the_same_object_and_the_same_order_of_fields(cut, fenced):
    text = f"Here:\n```json\n{GOOD}\n```" if fenced else GOOD

    async def run():
        asking, _ = client(text, cut=cut)
        order = []
        async with asking.stream_structured("?", Decision) as stream:
            async for update in stream:
                order += [name for name, _ in update.completed]
            return order, (await stream.result).value

    assert asyncio.run(run()) == (["action", "target", "confidence"], WANTED)


def test_scripts_and_threads_can_ask_for_objects_too():
    with SyncModelClient(CONFIG, ScriptedTransport([GOOD, GOOD], cut=4)) as asking:
        assert asking.complete_structured("?", Decision).value == WANTED
        with asking.stream_structured("?", Decision) as stream:
            names = [name for update in stream for name, _ in update.completed]
        assert names == list(json.loads(GOOD))
        assert stream.result.value == WANTED


@pytest.mark.asyncio
async def test_a_stream_that_gave_up_does_not_ask_again():
    asking, transport = client("no", GOOD)
    async with asking.stream_structured("?", Decision, CallConfig(max_retries=0)) as stream:
        for _ in range(2):
            with pytest.raises(StructuredOutputError):
                await stream.result
        with pytest.raises(StructuredOutputError):
            await anext(stream)
    assert len(transport.requests) == 1


@pytest.mark.asyncio
async def test_one_task_can_read_the_updates_while_another_awaits_the_object():
    async def pause(_seconds):
        await asyncio.sleep(0)

    asking, _ = client(GOOD, cut=5, piece_latency_s=0.01, sleep=pause)
    async with asking.stream_structured("?", Decision) as stream:

        async def read_along():
            return [name async for update in stream for name, _ in update.completed]

        names, result = await asyncio.gather(read_along(), stream.wait_result())
    assert names == ["action", "target", "confidence"]
    assert result.value == WANTED


@pytest.mark.asyncio
async def test_a_stream_whose_closing_is_cancelled_has_an_end_all_the_same():
    closing = asyncio.Event()

    class Clinging(ScriptedTransport):
        @asynccontextmanager
        async def stream(self, request, *, timeout_s):
            async with super().stream(request, timeout_s=timeout_s) as pieces:
                try:
                    yield pieces
                finally:
                    closing.set()
                    await asyncio.sleep(60)

    asking = ModelClient(CONFIG, Clinging([GOOD], cut=4))
    stream = asking.stream_structured("?", Decision)

    async def read():
        async with stream:
            await anext(stream)

    task = asyncio.create_task(read())
    await closing.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(LLMCancelledError):
        await stream.result


@pytest.mark.asyncio
async def test_a_request_that_is_refused_for_another_reason_does_not_give_up_the_form():
    too_long = LLMResponseError("the prompt is too long", status=400)
    asking, transport = client(too_long, too_long, GOOD)
    with pytest.raises(LLMResponseError):
        await asking.complete_structured("? " * 1000, Decision)
    await asking.complete_structured("?", Decision)
    assert [request.output is not None for request in transport.requests] == [True, False, True]
