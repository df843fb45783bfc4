"""Our client and the real tiny model: all three wire forms, streams, objects, tools, and what goes wrong."""

import asyncio
import json
import time
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
from pydantic import BaseModel, Field
from tests.long import LONG, short_or_long

from tickmind.llm.client import ModelClient
from tickmind.llm.config import Api, CallConfig, ModelConfig
from tickmind.llm.errors import LLMResponseError, StructuredOutputError
from tickmind.llm.local import LocalModel
from tickmind.llm.messages import Message
from tickmind.llm.results import StructuredResult
from tickmind.llm.testing import CassetteRecorder
from tickmind.llm.transport import Capabilities, ModelRequest, ToolSpec
from tickmind.llm.transports import make_transport
from tickmind.tools import StopReason, ToolAgent, tool

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.asyncio]
APIS: tuple[Api, ...] = ("chat", "responses", "anthropic")
STORY = "Tell a very long story. Never stop."
STORY_TOKENS = 1500
QUESTION = "A dragon lands in front of your door. What do you do?"
SHORT = CallConfig(temperature=0.0, max_tokens=12)
SHORTEST = CallConfig(temperature=0.0, max_tokens=2)  # where only the end of an earlier call matters
EXACT = CallConfig(temperature=0.0, max_tokens=200, max_retries=0)


class Choice(BaseModel):
    """What Anna does."""

    action: Literal["flee", "fight", "hide"]
    say: str = Field(min_length=1, max_length=12)
    courage: int = Field(ge=0, le=9)
    items: list[Literal["sword", "shield"]] = Field(max_length=2)


def config(model: LocalModel, api: Api = "chat", output: Literal["grammar", "json_schema"] = "grammar") -> ModelConfig:
    given = model.model_config()
    assert given.capabilities == Capabilities("grammar", tools=False)
    return replace(given, api=api, capabilities=replace(given.capabilities, output=output))


@pytest.mark.parametrize("api", APIS)
async def test_a_reply_is_the_same_whole_and_streamed(model: LocalModel, api: Api) -> None:
    async with ModelClient(config(model, api)) as client:
        whole = await client.complete(QUESTION, SHORT)
        async with client.stream(QUESTION, SHORT) as stream:
            chunks = [chunk async for chunk in stream]
        streamed = await stream.result
    assert whole.content
    assert "".join(chunk.content for chunk in chunks) == streamed.content == whole.content
    assert len([chunk for chunk in chunks if chunk.content]) > 3
    assert chunks[-1].finish_reason == streamed.finish_reason == whole.finish_reason == "length"
    assert (streamed.prompt_tokens, streamed.completion_tokens) == (whole.prompt_tokens, 12)
    assert streamed.model == whole.model == model.model_config().model
    assert streamed.timing.first_token_s is not None
    assert 0 < streamed.timing.first_token_s < streamed.timing.total_s


async def test_a_call_right_after_a_stream_is_answered(model: LocalModel) -> None:
    async with ModelClient(
        config(model)
    ) as client:  # the server closes a stream's connection, though it says otherwise
        for _ in range(3):
            async with client.stream(QUESTION, SHORTEST) as stream:
                await stream.result
            assert (await client.complete(QUESTION, SHORTEST)).content


# Whole replies of every form of the wire are read by the tests above: here one form is asked for both.
@pytest.mark.parametrize(
    ("api", "output", "both"),
    [("chat", "grammar", True), ("chat", "json_schema", LONG), ("responses", "grammar", LONG)],
)
async def test_an_object_is_valid_at_the_first_attempt(
    model: LocalModel, api: Api, output: Literal["grammar", "json_schema"], both: bool
) -> None:
    async with ModelClient(config(model, api, output)) as client:
        async with client.stream_structured(QUESTION, Choice, EXACT) as stream:
            updates = [update async for update in stream]
            streamed = await stream.result
        whole = await client.complete_structured(QUESTION, Choice, EXACT) if both else streamed
        assert len(client.refused_forms) == 0
    assert isinstance(whole.value, Choice)
    assert whole.value == streamed.value
    assert (whole.attempts, whole.finish_reason, streamed.attempts) == (1, "stop", 1)
    assert output != "grammar" or whole.raw_content == whole.value.model_dump_json()  # no token is spent on blanks
    completed = [name for update in updates for name, _ in update.completed]
    assert completed[:3] == ["action", "say", "courage"]
    assert streamed.timing.first_token_s is not None


async def test_where_nothing_holds_the_model_there_is_an_object_or_an_error_that_says_why(model: LocalModel) -> None:
    async with ModelClient(config(model, "anthropic")) as client:  # this server ignores every form of output there
        call = client.complete_structured(QUESTION, Choice, CallConfig(max_tokens=8, max_retries=short_or_long(0, 1)))
        (ended,) = await asyncio.gather(call, return_exceptions=True)
    if isinstance(ended, StructuredOutputError):
        assert len(ended.tried) == short_or_long(1, 2)
    else:
        assert isinstance(ended, StructuredResult)
        assert isinstance(ended.value, Choice)


@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_a_tool_that_must_be_used_is_used(model: LocalModel, api: Api) -> None:
    schema = {"type": "object", "properties": {"dx": {"enum": [-1, 0, 1]}}, "required": ["dx"]}
    tools = (ToolSpec("move", "Go one step to the side.", schema),)
    async with ModelClient(config(model, api)) as client:
        whole = await client.complete(QUESTION, EXACT, tools=tools, tool_choice="required")
        async with client.stream(QUESTION, EXACT, tools=tools, tool_choice="required") as stream:
            streamed = await stream.result
    assert whole.tool_calls == streamed.tool_calls
    assert whole.tool_calls[0].name == "move"
    assert whole.tool_calls[0].arguments in ('{"dx":-1}', '{"dx":0}', '{"dx":1}')
    assert (whole.content, whole.finish_reason, streamed.finish_reason) == ("", "tool_calls", "tool_calls")


@pytest.mark.parametrize("streaming", short_or_long([True], [False, True]))
async def test_an_agent_uses_its_tool_and_then_answers(model: LocalModel, streaming: bool) -> None:
    taken: list[str] = []

    @tool
    def take(item: Literal["sword", "shield"]) -> str:
        """Take a thing from the wall."""
        taken.append(item)
        return f"You hold the {item}."

    async with ModelClient(config(model)) as client:
        agent = ToolAgent(
            client,
            [take],
            system="You are a smith. Take a thing once, then answer in a few words.",
            temperature=0.0,
            max_output_tokens=32,
            max_steps=short_or_long(1, 2),
            answer_at_limit=True,
            extra=model.extra_for("smith"),
        )
        result = await agent.ainvoke("Take the sword.", streaming=streaming).result()
    assert result.ok, result.error
    assert result.stopped in (StopReason.NO_MORE_TOOLS, StopReason.MAX_STEPS)
    assert taken == [json.loads(entry.args)["item"] for entry in result.tool_trace]
    assert taken
    assert all(entry.ok and not entry.recovered for entry in result.tool_trace)
    assert result.text
    assert '"tool"' not in result.text
    assert result.usage.completion_tokens


@pytest.mark.parametrize("api", APIS)
async def test_a_prompt_that_is_too_long_is_a_clear_error(model: LocalModel, api: Api) -> None:
    async with ModelClient(config(model, api)) as client:
        with pytest.raises(LLMResponseError, match="exceeds the available context size") as caught:
            await client.complete("iron " * 3000, SHORT)
        assert caught.value.status == 400
        with pytest.raises(LLMResponseError, match="exceeds the available context size"):
            async with client.stream("iron " * 3000, SHORT) as stream:
                await stream.result


async def test_characters_keep_their_slots(model: LocalModel) -> None:
    anna, bertha = (f"You are {name}, who works in the village. " * 3 for name in ("Anna", "Bertha"))
    transport = make_transport(config(model))
    cached: dict[str, list[int | None]] = {"anna": [], "bertha": []}
    for _ in range(2):
        for name, system in (("anna", anna), ("bertha", bertha)):
            turns = (Message.system(system), Message.user(QUESTION))
            request = ModelRequest(
                model.model_config().model, turns, temperature=0.0, max_tokens=1, extra=model.extra_for(name)
            )
            reply = await transport.complete(request, timeout_s=120)
            cached[name].append(reply.usage.cached_tokens)
    await transport.aclose()
    assert model.slot_for("anna") != model.slot_for("bertha")
    assert all((counts[1] or 0) > 25 for counts in cached.values()), cached


@pytest.mark.parametrize("api", APIS)
async def test_a_stream_that_is_left_frees_its_slot(model: LocalModel, api: Api) -> None:
    long = CallConfig(temperature=0.0, max_tokens=STORY_TOKENS, extra={} if api == "anthropic" else {"id_slot": 0})
    async with ModelClient(config(model, api)) as client:

        async def leave() -> float:
            """Hear how a story begins, and tell how long a word takes on this machine just now."""
            started_s, words = time.monotonic(), 0
            async with client.stream(STORY, long) as stream:
                async for chunk in stream:
                    words += bool(chunk.content)
                    if words == 4:
                        break
            return (time.monotonic() - started_s) / words

        word_s = min(await asyncio.gather(leave(), leave()))  # both slots, or one after the other in one
        async with asyncio.timeout(STORY_TOKENS / 2 * word_s):  # the stories would have taken longer
            results = await asyncio.gather(*(client.complete(QUESTION, SHORTEST) for _ in range(2)))
    assert all(result.content for result in results)


async def test_a_cancelled_call_frees_its_slot(model: LocalModel) -> None:
    pinned = {"id_slot": 1}
    async with ModelClient(config(model)) as client:
        long = CallConfig(temperature=0.0, max_tokens=STORY_TOKENS, extra=pinned)
        short = replace(SHORT, extra=pinned)
        started_s = time.monotonic()
        await client.complete(QUESTION, short)
        word_s = (time.monotonic() - started_s) / 12
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(client.complete(STORY, long), 20 * word_s)
        async with asyncio.timeout(STORY_TOKENS / 2 * word_s):  # the story would have taken longer
            assert (await client.complete(QUESTION, short)).content


async def test_the_key_of_the_server_is_shown_nowhere(
    model: LocalModel, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    used = config(model)
    key = used.api_key.reveal()
    tape = tmp_path / "calls.jsonl"
    async with ModelClient(used, CassetteRecorder(make_transport(used), tape)) as client:
        result = await client.complete(QUESTION, SHORT)
        with pytest.raises(LLMResponseError) as caught:
            await client.complete(f"{key} " * 1000, SHORT)
        shown = [repr(item) for item in (model, used, client, client.transport, result)]
    shown += ["".join(traceback.format_exception(caught.value)), repr(caught.value), caplog.text, model.log_tail]
    assert len(key) > 20
    assert not [text for text in (*shown, tape.read_text()) if key in text]
