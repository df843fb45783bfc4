"""What was recorded is played back: replies, streams, times and errors, without a secret in the file."""

import asyncio
import errno
import gc
import io
import json
import random
import stat
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.long import short_or_long

from tickmind.base import ManualClock, Secret
from tickmind.llm.cassettes.cassette import CassettePlayer, CassetteRecorder, open_cassette
from tickmind.llm.cassettes.format import request_key
from tickmind.llm.errors import (
    LLMConfigError,
    LLMConnectionError,
    LLMDeadlineError,
    LLMError,
    LLMRateLimitError,
    LLMReplyTooLargeError,
    LLMResponseError,
)
from tickmind.llm.messages import Audio, Message, ThinkingBlock, ToolCall
from tickmind.llm.testing import FaultyTransport, Script, ScriptedTransport, SeededTransport
from tickmind.llm.transport import (
    Capabilities,
    ModelReply,
    ModelRequest,
    OutputSpec,
    StreamPiece,
    ToolSpec,
    Transport,
    Usage,
)
from tickmind.llm.transports.retrying import RetryingTransport

pytestmark = pytest.mark.timeout(180)
RICH = ModelReply(
    'Größe 🍞 {"a": 1}',
    "tool_calls",
    thinking=(ThinkingBlock("Hmm.", "anthropic", "seal"), ThinkingBlock("", "anthropic", data="cipher")),
    tool_calls=(ToolCall("c1", "walk", '{"x": 1}'), ToolCall("c2", "walk", '{"x": ')),
    usage=Usage(9, 8, 7, 0),
    model="m-2026",
    id="r1",
)


def ask(text: str = "hi", **more: Any) -> ModelRequest:
    return ModelRequest("m", (Message.user(text),), **more)


async def read(transport: Transport, request: ModelRequest, timeout_s: float = 60) -> list[StreamPiece]:
    async with transport.stream(request, timeout_s=timeout_s) as pieces:
        return [piece async for piece in pieces]


def record(path: Path, script: Script, **more: Any) -> CassetteRecorder:
    return CassetteRecorder(ScriptedTransport(script, cut=3), path, **more)


def text_of(path: Path) -> str:
    return path.read_text()


def cut_off(path: Path, data: bytes, size: int) -> None:
    path.write_bytes(data[:size])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run" / "calls.jsonl"


# Playing what was recorded


@pytest.mark.asyncio
async def test_whole_replies_come_back_as_they_were(path: Path) -> None:
    recorder = record(path, [RICH, "plain"])
    recorded = [await recorder.complete(ask(text), timeout_s=1) for text in ("a", "b")]
    await recorder.aclose()
    player = CassettePlayer(path)
    assert [await player.complete(ask(text), timeout_s=1) for text in ("a", "b")] == recorded


@pytest.mark.asyncio
async def test_streams_come_back_piece_by_piece(path: Path) -> None:
    recorder = record(path, RICH)
    recorded = await read(recorder, ask())
    await recorder.aclose()
    assert await read(CassettePlayer(path), ask()) == recorded


@pytest.mark.asyncio
async def test_equal_requests_are_played_in_order(path: Path) -> None:
    recorder = record(path, ["one", "two", "other"])
    for text in ("hi", "hi", "else"):
        await recorder.complete(ask(text), timeout_s=1)
    await recorder.aclose()
    player = CassettePlayer(path)
    assert (await player.complete(ask("else"), timeout_s=1)).content == "other"
    assert [(await player.complete(ask(), timeout_s=1)).content for _ in range(2)] == ["one", "two"]
    with pytest.raises(LLMConfigError, match="recorded 2 times and all are played; pass repeat_last=True"):
        await player.complete(ask(), timeout_s=1)
    assert player.statistics().left == 0
    assert player.statistics().missing == 1
    again = CassettePlayer(path, repeat_last=True)
    assert [(await again.complete(ask(), timeout_s=1)).content for _ in range(3)] == ["one", "two", "two"]


@pytest.mark.asyncio
async def test_calls_at_once_are_ordered_by_their_beginning(path: Path) -> None:
    second_is_over = asyncio.Event()
    numbers = iter(range(2))

    async def script(_request: ModelRequest) -> str:
        number = next(numbers)
        if number == 0:
            await second_is_over.wait()
        return f"answer {number}"

    recorder = record(path, script)
    first = asyncio.create_task(recorder.complete(ask(), timeout_s=1))
    await asyncio.sleep(0)
    await recorder.complete(ask(), timeout_s=1)
    second_is_over.set()
    await first
    await recorder.aclose()
    player = CassettePlayer(path)
    assert [(await player.complete(ask(), timeout_s=1)).content for _ in range(2)] == ["answer 0", "answer 1"]


ERRORS = [
    LLMConnectionError("gone"),
    LLMDeadlineError("late"),
    LLMRateLimitError("slow down", retry_after_s=2.5, status=529),
    LLMResponseError("broken", status=503),
    LLMReplyTooLargeError("too much"),
    LLMConfigError("no key"),
    LLMError("odd"),
]


@pytest.mark.asyncio
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
async def test_errors_come_back_whole_and_streamed(path: Path, error: LLMError) -> None:
    recorder = record(path, [error, error])
    with pytest.raises(type(error)):
        await recorder.complete(ask(), timeout_s=1)
    with pytest.raises(type(error)):
        await read(recorder, ask())
    await recorder.aclose()
    player = CassettePlayer(path)
    for call in (player.complete(ask(), timeout_s=1), read(player, ask())):
        with pytest.raises(LLMError) as caught:
            await call
        assert type(caught.value) is type(error)
        assert str(caught.value) == str(error)
        for name in ("status", "retry_after_s"):
            assert getattr(caught.value, name, None) == getattr(error, name, None)


@pytest.mark.asyncio
async def test_a_stream_that_broke_breaks_again_at_the_same_place(path: Path) -> None:
    recorder = CassetteRecorder(FaultyTransport(ScriptedTransport("abcdefgh", cut=1), ["reset"]), path)

    async def until_it_breaks(transport: Transport) -> list[str]:
        got: list[str] = []
        try:
            async with transport.stream(ask(), timeout_s=1) as pieces:
                async for piece in pieces:
                    got += [piece.content]
        except LLMConnectionError as error:
            got.append(str(error))
        return got

    recorded = await until_it_breaks(recorder)
    await recorder.aclose()
    assert "reset" in recorded[-1]
    assert await until_it_breaks(CassettePlayer(path)) == recorded


@pytest.mark.asyncio
async def test_a_stream_left_early_is_played_as_far_as_it_was_read(path: Path) -> None:
    recorder = record(path, "abcdefgh")
    async with recorder.stream(ask(), timeout_s=1) as pieces:
        read_before = [await anext(pieces), await anext(pieces)]
    await recorder.aclose()
    async with CassettePlayer(path).stream(ask(), timeout_s=1) as pieces:
        assert [await anext(pieces), await anext(pieces)] == read_before
        with pytest.raises(LLMConnectionError, match="its caller left this stream after 2 pieces"):
            await anext(pieces)


@pytest.mark.asyncio
async def test_an_error_of_the_caller_is_not_recorded_as_the_model_s(path: Path) -> None:
    recorder = record(path, "abcdefgh")

    async def careless() -> None:
        async with recorder.stream(ask(), timeout_s=1) as pieces:
            await anext(pieces)
            raise LLMResponseError("my own mistake")

    with pytest.raises(LLMResponseError):
        await careless()
    await recorder.aclose()
    assert "mistake" not in text_of(path)


@pytest.mark.asyncio
async def test_a_cancelled_call_is_not_recorded(path: Path) -> None:
    recorder = CassetteRecorder(ScriptedTransport("late", latency_s=60), path)
    task = asyncio.create_task(recorder.complete(ask(), timeout_s=90))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await recorder.aclose()
    assert CassettePlayer(path).statistics().recorded == 0


@pytest.mark.asyncio
async def test_times_are_kept_and_played_at_any_pace(path: Path) -> None:
    clock = ManualClock()

    async def pass_time(seconds: float) -> None:
        clock.advance(seconds)

    slow = ScriptedTransport("abcdef", cut=2, latency_s=1.0, piece_latency_s=0.5, sleep=pass_time)
    recorder = CassetteRecorder(slow, path, clock=clock)
    await read(recorder, ask())
    await recorder.complete(ask(), timeout_s=60)
    await recorder.aclose()
    waits: list[float] = []

    async def note(seconds: float) -> None:
        waits.append(seconds)

    player = CassettePlayer(path, pace=2.0, sleep=note)
    await read(player, ask())
    assert waits == [3.0, 1.0, 1.0, 1.0, 1.0]
    with pytest.raises(LLMDeadlineError):
        await player.complete(ask(), timeout_s=1.5)
    waits.clear()
    await read(CassettePlayer(path, sleep=note), ask())
    assert waits == []


@pytest.mark.asyncio
async def test_capabilities_are_remembered(path: Path) -> None:
    weak = Capabilities("none", tools=False)
    recorder = CassetteRecorder(ScriptedTransport("ok", capabilities=weak), path)
    assert recorder.capabilities == weak
    await recorder.aclose()
    assert CassettePlayer(path).capabilities == weak


@pytest.mark.asyncio
async def test_a_whole_run_repeats_without_its_model(path: Path) -> None:
    tools = (ToolSpec("walk", "", {"type": "object", "properties": {"x": {"type": "integer"}}}),)

    async def run(transport: Transport) -> list[Message]:
        history = [Message.user("go")]
        for _ in range(6):
            reply = await transport.complete(ModelRequest("m", tuple(history), tools=tools), timeout_s=1)
            history.append(Message.assistant(reply.content, tool_calls=reply.tool_calls))
            history += [Message.tool(call, "done") for call in reply.tool_calls] or [Message.user("more")]
        return history

    recorder = CassetteRecorder(SeededTransport(3), path)
    recorded = await run(recorder)
    await recorder.aclose()
    assert await run(CassettePlayer(path)) == recorded


# What is asked


def test_the_key_is_the_same_in_every_process() -> None:
    assert request_key(ask(temperature=0.0)) == "96b56eb27c4e8e6fce8d337ce6e9f996"


def test_the_key_tells_apart_what_differs() -> None:
    requests = [
        ask(),
        ask("ho"),
        ask(temperature=0.0),
        ask(temperature=0.5),
        ask(max_tokens=5),
        ask(seed=1),
        ask(stop=("END",)),
        ask(extra={"top_k": 1}),
        ask(output=OutputSpec({"type": "object"})),
        ask(tools=(ToolSpec("f", "", {}),)),
        ask(tools=(ToolSpec("f", "", {}),), tool_choice="required"),
        replace(ask(), model="n"),
        ModelRequest("m", (Message.system("hi"),)),
        ModelRequest("m", (Message.user("hi", audio=[b"1"]),)),
        ModelRequest("m", (Message.user("hi", audio=[Audio(b"2")]),)),
        ModelRequest("m", (Message.user("hi", images=[b"\x89PNG" + b"1" * 999]),)),
        ModelRequest("m", (Message.user("hi", images=[b"\x89PNG" + b"2" * 999]),)),
    ]
    assert len({request_key(request) for request in requests}) == len(requests)


def test_the_key_does_not_see_how_it_is_written() -> None:
    assert request_key(ask(extra={"a": 1, "b": 2})) == request_key(ask(extra={"b": 2, "a": 1}))
    assert request_key(ask(temperature=1)) == request_key(ask(temperature=1.0))


def test_the_key_does_not_see_a_provider_s_ids() -> None:
    def history(first: str, second: str) -> ModelRequest:
        calls = [ToolCall(first, "f", "{}"), ToolCall(second, "f", "{}")]
        results = [Message.tool(call, text) for call, text in zip(calls, "12", strict=True)]
        return ModelRequest("m", (Message.assistant(tool_calls=calls), *results))

    assert request_key(history("a", "b")) == request_key(history("x7", "x9"))
    crossed = history("a", "b")
    first, one, two = crossed.messages
    crossed = replace(crossed, messages=(first, replace(one, tool_call_id="b"), replace(two, tool_call_id="a")))
    assert request_key(crossed) != request_key(history("a", "b"))


@pytest.mark.asyncio
@pytest.mark.parametrize("value", [object(), float("nan")])
async def test_extra_must_be_json(path: Path, value: Any) -> None:
    recorder = record(path, "ok")
    with pytest.raises(LLMConfigError, match="check `extra`"):
        await recorder.complete(ask(extra={"x": value}), timeout_s=1)
    await recorder.aclose()


@pytest.mark.asyncio
async def test_a_missing_request_says_which_and_how_to_record_it(path: Path) -> None:
    recorder = record(path, "ok")
    await recorder.complete(ask("where?", temperature=0.0), timeout_s=1)
    await recorder.aclose()
    player = CassettePlayer(path)
    with pytest.raises(LLMConfigError) as caught:
        await player.complete(ask("where?", temperature=1.0), timeout_s=1)
    message = str(caught.value)
    for part in (str(path), "'where?'", "'m'", "differs in temperature", "mode='append'"):
        assert part in message
    with pytest.raises(LLMConfigError, match="recorded as a whole reply only"):
        await read(player, ask("where?", temperature=0.0))


@pytest.mark.asyncio
async def test_an_empty_cassette_says_so(path: Path) -> None:
    await record(path, "ok").aclose()
    with pytest.raises(LLMConfigError, match="nothing is recorded there"):
        await CassettePlayer(path).complete(ask(), timeout_s=1)


# Secrets

CANARY = "qZ8canary4Value9x7"


def test_canary_has_no_shape_of_a_key() -> None:
    assert "sk-" not in CANARY  # so that only the known value can give it away


@pytest.mark.asyncio
@pytest.mark.parametrize("cut", [1, 2, 5, 100])
async def test_a_canary_key_is_found_nowhere_in_the_file(path: Path, cut: int) -> None:
    key = Secret(CANARY)
    echo = ModelReply(
        f"You sent {key.reveal()}, did you?",
        "stop",
        thinking=(ThinkingBlock(f"key {CANARY}", "anthropic", CANARY, CANARY),),
        tool_calls=(ToolCall(CANARY, "walk", f'{{"where": "{CANARY}"}}'),),
        model=CANARY,
        id=CANARY,
    )
    inner = ScriptedTransport([echo, echo, LLMResponseError(f"bad key {CANARY}"), "ok"], cut=cut)
    recorder = CassetteRecorder(inner, path)
    request = ModelRequest(
        "m",
        (
            Message.system(f"The key is {CANARY}"),
            Message.user(CANARY, images=[f"https://example.org/{CANARY}"]),
            Message.assistant(CANARY, tool_calls=[ToolCall(CANARY, "f", CANARY)], thinking=[ThinkingBlock(CANARY)]),
            Message.tool(ToolCall(CANARY, "f", ""), CANARY),
        ),
        tools=(ToolSpec("walk", CANARY, {"type": "object", "properties": {CANARY: {"const": CANARY}}}),),
        output=OutputSpec({"description": CANARY}),
        stop=(CANARY,),
        extra={
            "extra_headers": {"Authorization": f"Bearer {CANARY}", "X-Plain": "harmless"},
            "api_key": "short",
            "user": {"note": CANARY},
        },
    )
    await recorder.complete(request, timeout_s=1)
    await read(recorder, request)
    with pytest.raises(LLMResponseError):
        await recorder.complete(request, timeout_s=1)
    await recorder.complete(request, timeout_s=1)
    await recorder.aclose()
    text = text_of(path)
    assert CANARY not in text
    assert "harmless" not in text
    assert "short" not in text
    player = CassettePlayer(path)
    first = await player.complete(request, timeout_s=1)
    assert first.content == "You sent ***, did you?"
    pieces = await read(player, request)
    assert "".join(piece.content for piece in pieces) == "You sent ***, did you?"
    assert CANARY not in repr(pieces) + repr(first)


@settings(max_examples=short_or_long(25, 50))
@given(st.text(max_size=20), st.text(max_size=20), st.integers())
def test_a_secret_is_masked_wherever_the_stream_cuts_it(
    tmp_path_factory: pytest.TempPathFactory, before: str, after: str, seed: int
) -> None:
    secret = Secret(CANARY)
    path = tmp_path_factory.mktemp("tape") / "calls.jsonl"
    reply = ModelReply(before + secret.reveal() + after, "stop")

    async def run() -> str:
        recorder = CassetteRecorder(ScriptedTransport(reply, cut=random.Random(seed)), path)
        await read(recorder, ask())
        await recorder.aclose()
        return "".join(piece.content for piece in await read(CassettePlayer(path), ask()))

    played = asyncio.run(run())
    assert CANARY not in played
    assert CANARY not in path.read_text()


@pytest.mark.asyncio
async def test_a_run_whose_reply_was_masked_still_replays(path: Path) -> None:
    secret = Secret(CANARY)

    async def run(transport: Transport) -> str:
        first = await transport.complete(ask("what is the key?"), timeout_s=1)
        return (await transport.complete(ask(f"you said {first.content}"), timeout_s=1)).content

    recorder = record(path, [f"It is {secret.reveal()}, and sk-abcdefghijkl too", "thanks"])
    await run(recorder)
    await recorder.aclose()
    assert await run(CassettePlayer(path)) == "thanks"


@pytest.mark.asyncio
async def test_another_redactor_can_be_chosen(path: Path) -> None:
    recorder = record(path, "secret: the old mill", redactor=str.lower)
    await recorder.complete(ask("HI"), timeout_s=1)
    await recorder.aclose()
    player = CassettePlayer(path, redactor=str.lower)
    assert (await player.complete(ask("hi"), timeout_s=1)).content == "secret: the old mill"


def test_the_file_is_for_its_owner_only(path: Path) -> None:
    asyncio.run(record(path, "ok").aclose())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


# The file


@pytest.mark.asyncio
async def test_a_crash_at_any_byte_costs_at_most_the_last_call(path: Path) -> None:
    recorder = record(path, ["one", "two"])
    for text in ("a", "b"):
        await recorder.complete(ask(text), timeout_s=1)
    await recorder.aclose()
    data = text_of(path).encode()
    ends = [at + near for at, byte in enumerate(data) if byte == 10 for near in (-1, 0, 1)]
    for size in sorted({*ends, *range(0, len(data), 9)} - {len(data)}):
        cut_off(path, data, size)
        whole = max(0, data[:size].count(b"\n") - 1)
        assert CassettePlayer(path).statistics().recorded == whole
        if size % 3 == 0:
            more = record(path, "three", mode="append")
            await more.complete(ask("c"), timeout_s=1)
            await more.aclose()
            player = CassettePlayer(path)
            assert player.statistics().recorded == whole + 1
            assert (await player.complete(ask("c"), timeout_s=1)).content == "three"


class SmallDisk(io.FileIO):
    """A file on a disk that has room for so many bytes; where it has none, the first of a write still fit."""

    room_bytes = 10_000
    sick = False  # nothing can be taken away either

    def write(self, data: Any) -> int:
        left_bytes = self.room_bytes - self.tell()
        if left_bytes <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(bytes(data)[:left_bytes])

    def truncate(self, size: int | None = None) -> int:
        if self.sick:
            raise OSError(errno.EIO, "Input/output error")
        return super().truncate(size)


@pytest.fixture
def small_disk(monkeypatch: pytest.MonkeyPatch) -> type[SmallDisk]:
    class Disk(SmallDisk):
        """One for this test."""

    monkeypatch.setattr("tickmind.llm.cassettes.cassette.FileIO", Disk)
    return Disk


@pytest.mark.asyncio
@pytest.mark.parametrize("sick", [False, True])
@pytest.mark.parametrize("room_bytes", [5, 40])
async def test_a_disk_that_was_full_for_a_while_costs_only_the_calls_of_that_while(
    path: Path, small_disk: type[SmallDisk], sick: bool, room_bytes: int
) -> None:
    recorder = record(path, ["one", "two " * 50, "three", "four"])
    await recorder.complete(ask("a"), timeout_s=1)
    before = text_of(path)
    small_disk.room_bytes, small_disk.sick = len(before) + room_bytes, sick
    for text in "bc":
        with pytest.raises(LLMConfigError, match=r"can't write the call to .*: (No space|Input/output)"):
            await recorder.complete(ask(text), timeout_s=1)
    assert text_of(path).startswith(before)
    assert sick or text_of(path) == before
    small_disk.room_bytes, small_disk.sick = 10_000, False
    await recorder.complete(ask("d"), timeout_s=1)
    await recorder.aclose()
    player = CassettePlayer(path)
    assert player.statistics().recorded == 2
    assert (await player.complete(ask("a"), timeout_s=1)).content == "one"
    assert (await player.complete(ask("d"), timeout_s=1)).content == "four"


def test_a_disk_that_is_full_from_the_start_is_said(path: Path, small_disk: type[SmallDisk]) -> None:
    small_disk.room_bytes = 20
    with pytest.raises(LLMConfigError, match=r"call to .*: No space left"):
        record(path, "one")
    gc.collect()  # a file that was left open would be told now
    small_disk.room_bytes = 10_000
    asyncio.run(record(path, "one").aclose())
    assert CassettePlayer(path).statistics().recorded == 0


@pytest.mark.asyncio
async def test_each_call_is_on_disk_as_soon_as_it_is_over(path: Path) -> None:
    recorder = record(path, ["one", "two"])
    await recorder.complete(ask("a"), timeout_s=1)
    assert CassettePlayer(path).statistics().recorded == 1
    await recorder.aclose()


@pytest.mark.asyncio
async def test_a_recording_is_not_overwritten_by_accident(path: Path) -> None:
    first = record(path, "one")
    await first.complete(ask(), timeout_s=1)
    await first.aclose()
    with pytest.raises(LLMConfigError, match="already holds 1 calls"):
        record(path, "two")
    more = record(path, "two", mode="append")
    await more.complete(ask(), timeout_s=1)
    await more.aclose()
    player = CassettePlayer(path)
    assert [(await player.complete(ask(), timeout_s=1)).content for _ in range(2)] == ["one", "two"]
    await record(path, "three", mode="replace").aclose()
    assert CassettePlayer(path).statistics().recorded == 0


@pytest.mark.asyncio
async def test_open_cassette_records_once_and_then_plays(path: Path) -> None:
    for expected in (CassetteRecorder, CassettePlayer):
        cassette = open_cassette(path, ScriptedTransport("one"))
        assert isinstance(cassette, expected)
        assert (await cassette.complete(ask(), timeout_s=1)).content == "one"
        await cassette.aclose()


@pytest.mark.asyncio
async def test_closing_closes_the_wrapped_transport_and_refuses_later_calls(path: Path) -> None:
    threads = threading.enumerate()
    inner = ScriptedTransport("abcdef", cut=1)
    recorder = CassetteRecorder(inner, path)
    async with recorder.stream(ask(), timeout_s=1) as pieces:
        await anext(pieces)
        await recorder.aclose()
    assert inner.closed
    with pytest.raises(LLMConnectionError, match="is closed"):
        await recorder.complete(ask(), timeout_s=1)
    assert threading.enumerate() == threads


FORMAT_1 = """\
{"capabilities":{"output":"json_object","tools":true},"tickmind_cassette":1}
{"key":"KEY","mode":"complete","reply":{"content":"hello","finish_reason":"stop","usage":{"prompt_tokens":3}},"request":{"messages":[{"parts":[{"text":"hi"}],"role":"user"}],"model":"m"},"seq":1,"took_s":0.5}
{"end":"done","key":"KEY","mode":"stream","pieces":[[0.1,{"content":"hel"}],[0.2,{"content":"lo"}],[0.3,{"finish_reason":"stop"}]],"request":{"messages":[{"parts":[{"text":"hi"}],"role":"user"}],"model":"m"},"seq":2}
"""


@pytest.mark.asyncio
async def test_format_1_stays_readable(tmp_path: Path) -> None:
    path = tmp_path / "old.jsonl"
    path.write_text(FORMAT_1.replace("KEY", request_key(ask())))
    player = CassettePlayer(path)
    assert player.capabilities.output == "json_object"
    reply = await player.complete(ask(), timeout_s=1)
    assert reply == ModelReply("hello", "stop", usage=Usage(3))
    assert [piece.content for piece in await read(player, ask())] == ["hel", "lo", ""]


HEADER = json.dumps({"tickmind_cassette": 1})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello\n", "line 1 .* is not JSON"),
        ("hello", "is not a cassette"),
        ('{"a": 1}\n', "names no format"),
        ("[]\n", "names no format"),
        ('{"tickmind_cassette": 2}\n', "has format 2, and this tickmind reads format 1"),
        (f"{HEADER}\n{{]\n{HEADER}\n", "line 2 .* is not JSON"),
        (f'{HEADER}\n{{"seq": 1}}\n', "line 2 .* can't be read: KeyError"),
        (f'{HEADER}\n{{"mode": "song", "seq": 1, "key": ""}}\n', "mode is 'song'"),
        (f'{HEADER}\n{{"mode": "complete", "seq": 1, "key": "", "reply": {{"content": 3}}}}\n', "content is int"),
        (f'{HEADER}\n{{"mode": "stream", "seq": 1, "key": "", "end": "done", "pieces": [1]}}\n', "can't be read"),
    ],
)
def test_a_file_that_is_no_cassette_is_refused_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_text(text)
    with pytest.raises(LLMConfigError, match=message):
        CassettePlayer(path)


def test_a_missing_file_says_how_to_record_one(tmp_path: Path) -> None:
    with pytest.raises(LLMConfigError, match="record it with CassetteRecorder"):
        CassettePlayer(tmp_path / "none.jsonl")


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(LLMConfigError, match="can't write the cassette"):
        record(tmp_path, "ok", mode="replace")


@pytest.mark.asyncio
async def test_how_often_a_call_was_tried_is_played_back_too(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"

    async def no_wait(_seconds: float) -> None:
        return

    faulty = FaultyTransport(ScriptedTransport("hi"), ["refused", None, "refused", None])
    recorder = CassetteRecorder(RetryingTransport(faulty, sleep=no_wait), path)
    await recorder.complete(ask(), timeout_s=9)
    await read(recorder, ask())
    await recorder.aclose()
    player = CassettePlayer(path)
    assert (await player.complete(ask(), timeout_s=9)).attempts == 2
    assert max(piece.attempts for piece in await read(player, ask())) == 2
