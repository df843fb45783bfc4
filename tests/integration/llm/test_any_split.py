"""A stream reads the same however its bytes are cut: content, thinking, tool calls, finish reason, counts."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.long import short_or_long

from tickmind.llm.client import ModelClient
from tickmind.llm.config import Api, ModelConfig
from tickmind.llm.http.protocol import ResponseParser
from tickmind.llm.http.sse import SseDecoder
from tickmind.llm.messages import Message, ThinkingBlock, ToolCall
from tickmind.llm.results import LLMResult
from tickmind.llm.testing.wire import Wire, WireStyle
from tickmind.llm.testing.wire_anthropic import ANTHROPIC
from tickmind.llm.testing.wire_chat import CHAT
from tickmind.llm.testing.wire_responses import RESPONSES
from tickmind.llm.transport import Capabilities, ModelReply, ModelRequest, StreamPiece, Usage
from tickmind.llm.transports.anthropic import AnthropicForm
from tickmind.llm.transports.chat import ChatForm
from tickmind.llm.transports.responses import ResponsesForm
from tickmind.llm.transports.wire import WireForm

WIRES: dict[Api, Wire] = {"chat": CHAT, "responses": RESPONSES, "anthropic": ANTHROPIC}
FORMS: dict[Api, WireForm] = {"chat": ChatForm(), "responses": ResponsesForm(), "anthropic": AnthropicForm()}
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
REQUEST = ModelRequest("m", (Message.user("A dragon!"),))

letters = st.characters(exclude_categories=["Cs"])
texts = st.lists(
    st.one_of(st.text(letters, max_size=12), st.sampled_from(["<think>", "</think>", "<thinking>", "<", "</", "\n\n"])),
    max_size=6,
).map("".join)
objects = st.dictionaries(st.text(letters, max_size=5), st.text(letters, max_size=8), max_size=2)
calls = st.lists(objects, max_size=3).map(
    lambda many: tuple(ToolCall(f"call_{n}", "move", json.dumps(one)) for n, one in enumerate(many))
)
blocks = st.lists(texts.filter(bool), max_size=2).map(
    lambda many: tuple(ThinkingBlock(text, signature=f"seal {n}") for n, text in enumerate(many))
)


@st.composite
def replies(draw: st.DrawFn) -> ModelReply:
    asked = draw(calls)
    reason = "tool_calls" if asked else draw(st.sampled_from(["stop", "length", ""]))
    return ModelReply(draw(texts), reason, draw(blocks), asked, draw(st.sampled_from([Usage(3, 4), Usage(7, 1, 1, 2)])))


apis = st.sampled_from(["chat", "responses", "anthropic"])
styles = st.builds(
    WireStyle,
    cut=st.lists(st.integers(1, 9), min_size=1, max_size=4),
    thinking=st.sampled_from(["reasoning_content", "reasoning", "tags"]),
    stream_usage=st.just(True),
)
cuts = st.lists(st.integers(1, 40), min_size=1, max_size=20)


def chunked(events: list[bytes], sizes: list[int]) -> bytes:
    """The reply as HTTP chunks whose borders have nothing to do with the events'."""
    body, parts, start, turn = b"".join(events), [], 0, 0
    while start < len(body):
        part = body[start : start + sizes[turn % len(sizes)]]
        parts.append(b"%x\r\n%s\r\n" % (len(part), part))
        start, turn = start + len(part), turn + 1
    return HEAD + b"".join(parts) + b"0\r\n\r\n"


def packets(data: bytes, sizes: list[int]) -> list[bytes]:
    pieces, start, turn = [], 0, 0
    while start < len(data):
        pieces.append(data[start : start + sizes[turn % len(sizes)]])
        start, turn = start + sizes[turn % len(sizes)], turn + 1
    return pieces


class Fed:
    """A transport without a network: the bytes of one answer go through parser, event reader and decoder."""

    capabilities = Capabilities()

    def __init__(self, api: Api, data: list[bytes]) -> None:
        self._form = FORMS[api]
        self._data = data

    async def complete(self, request: ModelRequest, *, timeout_s: float) -> ModelReply:
        raise NotImplementedError

    @asynccontextmanager
    async def stream(self, request: ModelRequest, *, timeout_s: float) -> AsyncIterator[AsyncIterator[StreamPiece]]:
        yield self._pieces(request)

    async def _pieces(self, request: ModelRequest) -> AsyncIterator[StreamPiece]:
        http, events, decoder = ResponseParser(), SseDecoder(), self._form.decoder(request)
        found: list[bytes] = []
        for packet in self._data:
            for body in http.feed(packet):
                found += events.feed(body)
        assert http.done
        for event in (*found, *events.finish()):
            piece = decoder.decode(event) if event != b"[DONE]" else None
            if piece is not None:
                yield piece
        if last := decoder.finish():
            yield last

    async def aclose(self) -> None:
        pass


async def read(client: ModelClient) -> tuple[LLMResult, str, str]:
    """The result, and what the chunks amount to."""
    async with client.stream("A dragon!") as stream:
        chunks = [chunk async for chunk in stream]
    content, thinking = ("".join(getattr(chunk, name) for chunk in chunks) for name in ("content", "thinking"))
    return await stream.result, content, thinking


def facts(reading: tuple[LLMResult, str, str]) -> tuple[object, ...]:
    result, content, thinking = reading
    said = (result.content, result.thinking, result.finish_reason, result.tool_calls, result.blocks)
    return (*said, result.prompt_tokens, result.completion_tokens, content, thinking)


def read_fed(api: Api, data: list[bytes]) -> tuple[object, ...]:
    return facts(asyncio.run(read(ModelClient(ModelConfig("http://127.0.0.1:9/v1"), Fed(api, data)))))


@settings(max_examples=short_or_long(30, 60))
@given(apis, replies(), styles, cuts, cuts)
@pytest.mark.slow
def test_any_cut_of_the_bytes_gives_the_same(
    api: Api, reply: ModelReply, style: WireStyle, chunks: list[int], sizes: list[int]
) -> None:
    events = list(WIRES[api].events(reply, REQUEST, style))
    whole = read_fed(api, [chunked(events, [1 << 30])])
    assert read_fed(api, packets(chunked(events, chunks), sizes)) == whole
    assert read_fed(api, packets(chunked(events, [1 << 30]), [1])) == whole


@settings(max_examples=short_or_long(75, 150))
@given(apis, replies(), styles)
@pytest.mark.slow
def test_any_cut_of_the_words_gives_what_the_whole_reply_gives(api: Api, reply: ModelReply, style: WireStyle) -> None:
    streamed = read_fed(api, [chunked(list(WIRES[api].events(reply, REQUEST, style)), [1 << 30])])
    body = json.dumps(WIRES[api].whole(reply, REQUEST, style)).encode()
    decoded = FORMS[api].decode(body, REQUEST)

    class Whole(Fed):
        async def complete(self, request: ModelRequest, *, timeout_s: float) -> ModelReply:
            return decoded

    client = ModelClient(ModelConfig("http://127.0.0.1:9/v1"), Whole(api, []))
    whole = asyncio.run(client.complete("A dragon!"))
    assert (whole.content, whole.thinking) == streamed[:2]
    if reply.finish_reason:
        assert whole.finish_reason == streamed[2]
    arguments = [(call.id, call.name, json.loads(call.arguments)) for call in whole.tool_calls]
    assert arguments == [(call.id, call.name, json.loads(call.arguments)) for call in reply.tool_calls]


class PacketServer:
    """Answers every request with the same bytes, in packets of the sizes that it is told."""

    def __init__(self) -> None:
        self.packets: list[bytes] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
                await reader.readexactly(length)
                for packet in self.packets:
                    writer.write(packet)
                    await asyncio.sleep(0)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@pytest.mark.timeout(300)
@settings(max_examples=12)
@given(apis, replies(), styles, cuts, cuts)
@pytest.mark.slow
def test_any_packets_over_a_real_socket_give_the_same(
    api: Api, reply: ModelReply, style: WireStyle, chunks: list[int], sizes: list[int]
) -> None:
    # a reply that says nothing, not even how it ended, is an error and no answer
    assume(reply.content or reply.finish_reason or reply.tool_calls or any(block.text for block in reply.thinking))
    events = list(WIRES[api].events(reply, REQUEST, style))

    async def over_socket() -> tuple[object, ...]:
        server = PacketServer()
        server.packets = packets(chunked(events, chunks), sizes)
        listener = await asyncio.start_server(server.serve, "127.0.0.1", 0)
        port = listener.sockets[0].getsockname()[1]
        async with listener, ModelClient(ModelConfig(f"http://127.0.0.1:{port}/v1", api=api, timeout_s=60)) as client:
            first, second = await read(client), await read(client)
        assert facts(first) == facts(second)
        return facts(first)

    assert asyncio.run(over_socket()) == read_fed(api, [chunked(events, [1 << 30])])
