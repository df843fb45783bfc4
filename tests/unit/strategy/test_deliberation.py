import asyncio
import gc

import pytest

from tickmind.llm import ModelClient, ModelConfig
from tickmind.llm.errors import LLMConfigError, LLMError
from tickmind.llm.messages import Message
from tickmind.llm.testing import ScriptedTransport
from tickmind.llm.transport import Capabilities
from tickmind.strategy import Question
from tickmind.strategy.clients.contained import Contained
from tickmind.strategy.clients.deliberation import deliberate


@pytest.mark.asyncio
async def test_work_that_is_cancelled_before_it_began_ends_quietly(recwarn):
    began = []

    async def work():
        began.append(1)

    task = asyncio.create_task(Contained(work()))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    del task
    gc.collect()
    assert began == []
    assert [str(warning.message) for warning in recwarn] == []


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt])
@pytest.mark.asyncio
async def test_work_that_wants_to_end_the_process_ends_only_itself(kind):
    async def at_once():
        raise kind

    async def when_cancelled():
        try:
            await asyncio.sleep(60)
        finally:
            raise kind

    with pytest.raises(LLMError, match=kind.__name__):
        await asyncio.create_task(Contained(at_once()))
    task = asyncio.create_task(Contained(when_cancelled()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(LLMError, match=kind.__name__):
        await task


@pytest.mark.asyncio
async def test_work_gives_its_value_and_may_be_cancelled_at_any_wait():
    cleaned = []

    async def value():
        await asyncio.sleep(0)
        return 7

    async def waits():
        try:
            await asyncio.sleep(60)
        finally:
            cleaned.append(1)

    assert await asyncio.create_task(Contained(value())) == 7
    assert await Contained(value()) == 7
    task = asyncio.create_task(Contained(waits()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert cleaned == [1]


# The form of objects

PLAN = {
    "type": "object",
    "properties": {"goal": {"enum": ["rest", "visit"]}, "who": {"type": "string"}},
    "required": ["goal", "who"],
    "additionalProperties": False,
}
ASKED = (Message.system("You are a villager."), Message.user("It is noon."))


def client(reply, output):
    transport = ScriptedTransport(reply, capabilities=Capabilities(output=output, tools=False))
    return ModelClient(ModelConfig("http://127.0.0.1:9/v1", model="m"), transport), transport


@pytest.mark.parametrize(
    ("output", "reply"), [("grammar", "visit | bram"), ("json_schema", '{"goal": "visit", "who": "bram"}')]
)
@pytest.mark.asyncio
async def test_a_small_model_is_asked_for_a_line_and_a_large_one_for_json_and_both_give_the_same_plan(output, reply):
    model, transport = client(reply, output)
    found = await deliberate(model, Question("You are a villager.", "It is noon.", schema=PLAN))
    assert found.data == {"goal": "visit", "who": "bram"}
    (request,) = transport.requests
    if output == "grammar":
        assert "goal | who" in request.messages[0].text
        assert request.messages[-1].text == "It is noon.\nAnswer: goal | who"
        assert 'root ::= ("rest" | "visit")' in request.extra["grammar"]
        assert request.output is None
    else:
        assert "JSON" in request.messages[0].text
        assert request.messages[-1].text == "It is noon."
        assert "grammar" not in request.extra
        assert request.output is not None


@pytest.mark.asyncio
async def test_a_small_model_is_told_in_the_same_form_what_was_wrong_with_its_line():
    model, transport = client(["dance | bram", "rest"], "grammar")
    found = await deliberate(model, Question("You are a villager.", "It is noon.", schema=PLAN))
    assert found.data == {"goal": "rest", "who": ""}
    assert "one such line" in transport.requests[1].messages[-1].text


@pytest.mark.asyncio
async def test_what_does_not_fit_a_line_is_asked_for_as_json():
    nested = {"type": "object", "properties": {"path": {"type": "array", "items": {"type": "integer"}}}}
    model, transport = client('{"path": [1, 2]}', "grammar")
    found = await deliberate(model, Question("You are a villager.", "It is noon.", schema=nested))
    assert found.data == {"path": [1, 2]}
    assert transport.requests[0].output is not None
    with pytest.raises(LLMConfigError, match="ask for nested or null values as json"):
        await model.complete_structured(ASKED, nested, form="line")


@pytest.mark.asyncio
async def test_a_line_may_be_streamed():
    model, _ = client("visit | bram", "grammar")
    async with model.stream_structured(ASKED, PLAN, form="line") as stream:
        updates = [update.completed async for update in stream]
        assert (await stream.result).data == {"goal": "visit", "who": "bram"}
    assert not any(updates)
