"""A value that was cut off is not a value."""

import pytest
from pydantic import BaseModel

from tickmind.llm import (
    CallConfig,
    LLMCancelledError,
    ModelClient,
    ModelConfig,
    ModelReply,
    ReplySchema,
    StructuredOutputError,
    read_reply,
)
from tickmind.llm.testing import ScriptedTransport

CONFIG = ModelConfig(base_url="http://127.0.0.1:9/v1", model="double")


class Spot(BaseModel):
    x: int


class Order(BaseModel):
    goal: str
    count: int = 7
    steps: list[str] = []


def client(*replies: str | ModelReply, cut: int = 12) -> ModelClient:
    return ModelClient(CONFIG, ScriptedTransport(list(replies), cut=cut))


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "text",
    ['{"x": 1', '```json\n{"x": 1', "x: 1", "```yaml\nx: 1", "Here you go: {'x': 1", "{x: 1", "**x**: 1", '[{"x": 1'],
)
@pytest.mark.parametrize("reason", ["length", "content_filter", ""])
async def test_a_number_that_was_cut_off_is_asked_for_again(text: str, reason: str) -> None:
    result = await client(ModelReply(text, reason), '{"x": 12}').complete_structured("?", Spot)
    assert (result.value.x, result.attempts) == (12, 2)


@pytest.mark.asyncio
async def test_a_number_that_was_cut_off_is_an_error_where_nothing_is_left_to_try() -> None:
    asking = client(ModelReply('{"x": 1', "length"))
    with pytest.raises(StructuredOutputError, match="cut off"):
        await asking.complete_structured("?", Spot, CallConfig(max_retries=0))


@pytest.mark.asyncio
@pytest.mark.parametrize("text", ['{"x": 12345}', "```yaml\nx: 12345\n```"])
async def test_a_stream_left_inside_a_number_has_no_number(text: str) -> None:
    async with client(text, cut=1).stream_structured("?", Spot) as stream:
        seen = ""
        async for update in stream:
            seen += update.chunk.content
            if seen.endswith("123"):
                break
    with pytest.raises(LLMCancelledError):
        await stream.result


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('{"goal": "eat", "count": 1', {"goal": "eat"}),
        ('{"goal": "eat", "count": 12,', {"goal": "eat", "count": 12}),
        ('{"goal": "eat", "count": 12, "ste', {"goal": "eat", "count": 12}),
        ('{"goal": "eat", "count": 12, "steps": ["go", "bi', {"goal": "eat", "count": 12}),
        ('{"goal": "eat", "count": 12, "steps": ["go", "bite"', {"goal": "eat", "count": 12}),
        ('{"goal": "eat", "count": 12, "steps": ["go"]', {"goal": "eat", "count": 12, "steps": ["go"]}),
        ('{"goal": "eat"', {"goal": "eat"}),
        ("```yaml\ngoal: eat\ncount: 12\nsteps:\n  - go\n  - bi", {"goal": "eat", "count": 12}),
        ("```yaml\ngoal: eat\ncount: 12\n```\n", {"goal": "eat", "count": 12}),
        ("goal: eat\ncount: 12\nsteps: [go, ", {"goal": "eat", "count": 12}),
    ],
)
def test_only_the_unfinished_field_of_a_cut_reply_is_missing(text: str, left: dict[str, object]) -> None:
    assert read_reply(text, ReplySchema.of(Order), cut=True).data == left


def test_a_reply_that_ended_by_itself_may_forget_its_last_brace() -> None:
    assert read_reply('{"x": 12', ReplySchema.of(Spot)).value == Spot(x=12)


@pytest.mark.asyncio
async def test_a_result_lists_what_was_repaired() -> None:
    asking = client(
        ModelReply('{"goal": "eat", "count": 1', "length"), "{'goal': 'eat', 'count': '2',}", '{"goal": "eat"}'
    )
    cut = await asking.complete_structured("?", Order)
    assert cut.value == Order(goal="eat")
    assert any("'count'" in note and "cut off" in note for note in cut.repaired)
    mended = await asking.complete_structured("?", Order)
    assert "quotes were mended" in mended.repaired
    assert any(note.startswith("count:") for note in mended.repaired)
    assert (await asking.complete_structured("?", Order)).repaired == ()
