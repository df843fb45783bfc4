"""`UnionToolsTransport`: tools for endpoints without them; each reply is one JSON object, a tool call or an answer.

Small models answer `tools` with prose. With the tools in the system message and constrained to `{"tool": ...,
"arguments": ...}` or `{"reply": ...}`, they use them. Callers get tool calls and text as from any endpoint.
"""

import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from enum import Enum, auto

from tickmind.llm.grammar.json_grammar import MAX_REPEATS, tool_union_schema
from tickmind.llm.messages import Message, Text, instructed
from tickmind.llm.streaming.assembly import ToolCallBuilder
from tickmind.llm.transport import (
    Capabilities,
    ModelReply,
    ModelRequest,
    OutputSpec,
    StreamPiece,
    ToolCallDelta,
    Transport,
)
from tickmind.llm.transports.wire import valid_arguments

MAX_REPLY_CHARS = MAX_REPEATS  # of an answer in words, where the endpoint is held to a grammar

_TOOL_HEAD = re.compile(r'\{"tool":"([\w-]{1,64})","arguments":')  # blanks taken out
_TOOL_BEGUN = re.compile(r'\{"tool":"[\w-]{1,64}(.*)', re.DOTALL)
_AFTER_NAME = '","arguments":'
_LONGEST_HEAD = 256  # characters, blanks included
_REPLY_HEAD = '{"reply":'
_HEX = "[0-9a-fA-F]"
_ESCAPE = re.compile(rf'\\(?:(["\\/bfnrt])|u({_HEX}{{4}}))')
_NO_ESCAPE = rf'\\(?=[^"\\/bfnrtu]|u{_HEX}{{0,3}}(?!{_HEX}|\Z))'  # a backslash that stands for itself
_STRING = re.compile(rf'(?:[^"\\]++|\\["\\/bfnrt]|\\u{_HEX}{{4}}|{_NO_ESCAPE})*+')
_CONTROLS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_ESCAPE_BEGUN = re.compile(r"(?:\\(?:u[0-9a-fA-F]{0,3})?)?")
_SURROGATES = re.compile(r"[\ud800-\udfff]")


class UnionToolsTransport:
    """Wrap a transport whose endpoint has no tools; `make_transport` does so where the capabilities say that.

    One call is made at a time. A reply that is neither of the two objects, as an unconstrained endpoint may give, is
    passed on as text.
    """

    def __init__(self, inner: Transport) -> None:
        self._inner = inner

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of the wrapped transport, and tools."""
        return replace(self._inner.capabilities, tools=True)

    async def complete(self, request: ModelRequest, *, timeout_s: float) -> ModelReply:
        """Send a request and split the reply into text and tool call."""
        adapted = _asked(request)
        reply = await self._inner.complete(adapted, timeout_s=timeout_s)
        if adapted.output is request.output:
            return reply
        reader = UnionReader(request)
        texts: list[str] = []
        calls = ToolCallBuilder()
        for piece in (*reader.feed(reply.content), *reader.finish()):
            texts.append(piece.content)
            for delta in piece.tool_calls:
                calls.add(delta)
        return replace(
            reply,
            content="".join(texts),
            tool_calls=(*reply.tool_calls, *calls.build()),
            finish_reason=reader.reason(reply.finish_reason) or "",
        )

    @asynccontextmanager
    async def stream(self, request: ModelRequest, *, timeout_s: float) -> AsyncIterator[AsyncIterator[StreamPiece]]:
        """Send a request and split the streamed reply into text and tool call."""
        adapted = _asked(request)
        async with self._inner.stream(adapted, timeout_s=timeout_s) as pieces:
            if adapted.output is request.output:
                yield pieces
                return
            async with aclosing(_read(pieces, UnionReader(request))) as read:
                yield read

    async def aclose(self) -> None:
        """Close the wrapped transport."""
        await self._inner.aclose()


async def _read(pieces: AsyncIterator[StreamPiece], reader: "UnionReader") -> AsyncGenerator[StreamPiece, None]:
    async for piece in pieces:
        for part in reader.feed(piece.content):
            yield part
        if piece.finish_reason is not None:
            for part in reader.finish():
                yield part
        yield replace(piece, content="", finish_reason=reader.reason(piece.finish_reason))
    for part in reader.finish():
        yield part


class _At(Enum):
    HEAD = auto()  # before it shows which of the two objects it is
    ARGUMENTS = auto()
    WORDS = auto()  # inside the string of an answer
    OBJECT = auto()  # inside an answer of a given form
    CLOSING = auto()  # before the last brace
    AFTER = auto()
    PLAIN = auto()  # neither of the two: passed on as it is


class UnionReader:
    """Read one reply, in any cut, as a tool call or an answer."""

    def __init__(self, request: ModelRequest) -> None:
        used = sum(len(message.tool_calls) for message in request.messages)
        self._call_id = f"call_{used}"
        self._reply_head = _REPLY_HEAD if request.output is not None else f'{_REPLY_HEAD}"'
        self._at = _At.HEAD
        self._held = ""  # read, but not yet certain
        self._compact = ""  # the head without its blanks
        self._depth = 0
        self._in_string = False
        self._escaped = False
        self._called = False

    def reason(self, reason: str | None) -> str | None:
        """Return why the reply ended; a call that ended by itself counts as `tool_calls`."""
        return "tool_calls" if self._called and reason == "stop" else reason

    def feed(self, text: str) -> list[StreamPiece]:
        """Add text and return the pieces that are certain."""
        pieces: list[StreamPiece] = []
        while text:
            match self._at:
                case _At.HEAD:
                    text = self._read_head(text, pieces)
                case _At.ARGUMENTS | _At.OBJECT:
                    text = self._read_value(text, pieces)
                case _At.WORDS:
                    text = self._read_words(text, pieces)
                case _At.CLOSING:
                    _, brace, text = text.partition("}")
                    self._at = _At.AFTER if brace else _At.CLOSING
                case _At.AFTER:
                    text = text.lstrip()
                    self._at = _At.PLAIN if text else _At.AFTER
                case _At.PLAIN:
                    pieces.append(StreamPiece(content=text))
                    text = ""
        return pieces

    def finish(self) -> list[StreamPiece]:
        """Return the held-back pieces at the end of the reply."""
        held, self._held = self._held, ""
        if self._at is _At.HEAD:
            self._at = _At.PLAIN
        elif self._at is _At.WORDS:
            held = "".join(_unescaped(held))
        return [StreamPiece(content=_sound(held))] if held else []

    def _read_head(self, text: str, pieces: list[StreamPiece]) -> str:
        for place, letter in enumerate(text):
            self._held += letter
            if letter in " \t\r\n" and len(self._held) < _LONGEST_HEAD:
                continue
            self._compact += letter
            head = _TOOL_HEAD.fullmatch(self._compact)
            if head or self._compact == self._reply_head:
                self._held = ""
                if head:
                    self._called = True
                    self._at = _At.ARGUMENTS
                    pieces.append(StreamPiece(tool_calls=(ToolCallDelta(0, self._call_id, head[1]),)))
                else:
                    self._at = _At.WORDS if self._reply_head.endswith('"') else _At.OBJECT
                return text[place + 1 :]
            if len(self._held) > _LONGEST_HEAD or not self._may_be_head():
                held, self._held = self._held, ""
                self._at = _At.PLAIN
                return held + text[place + 1 :]
        return ""

    def _may_be_head(self) -> bool:
        if '{"tool":"'.startswith(self._compact) or self._reply_head.startswith(self._compact):
            return True
        begun = _TOOL_BEGUN.fullmatch(self._compact)
        return begun is not None and _AFTER_NAME.startswith(begun[1])

    def _read_value(self, text: str, pieces: list[StreamPiece]) -> str:
        """Read JSON up to the comma or brace behind it."""
        end = len(text)
        for place, letter in enumerate(text):
            if self._in_string:
                if self._escaped or letter == "\\":
                    self._escaped = not self._escaped
                elif letter == '"':
                    self._in_string = False
            elif letter == '"':
                self._in_string = True
            elif letter in "{[":
                self._depth += 1
            elif letter in "}]," and self._depth == 0:
                end = place
                break
            elif letter in "}]":
                self._depth -= 1
        given = text[:end]
        if given and self._at is _At.ARGUMENTS:
            pieces.append(StreamPiece(tool_calls=(ToolCallDelta(0, arguments=given),)))
        elif given:
            pieces.append(StreamPiece(content=given))
        if end < len(text):
            self._at = _At.CLOSING
        return text[end:]

    def _read_words(self, text: str, pieces: list[StreamPiece]) -> str:
        words, rest = _unescaped(self._held + text)
        self._held = ""
        if _ESCAPE_BEGUN.fullmatch(rest):
            self._held, rest = rest, ""
            if words and "\ud800" <= words[-1] <= "\udbff":  # the other half of a pair may follow
                self._held = f"\\u{ord(words[-1]):04x}{self._held}"
                words = words[:-1]
        else:  # the quote at the end
            self._at = _At.CLOSING
            rest = rest[1:]
        if words:
            pieces.append(StreamPiece(content=_sound(words)))
        return rest


def _unescaped(text: str) -> tuple[str, str]:
    """Return the text of a JSON string as far as it is whole, and the rest."""
    whole = _STRING.match(text)
    end = whole.end() if whole else 0
    words = _ESCAPE.sub(lambda match: _CONTROLS.get(match[1], match[1]) or chr(int(match[2], 16)), text[:end])
    if _SURROGATES.search(words):
        words = words.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return words, text[end:]


def _sound(text: str) -> str:
    """Replace lone surrogates, which no encoder could write."""
    return _SURROGATES.sub("\ufffd", text)


def _asked(request: ModelRequest) -> ModelRequest:
    """Return the request without tools, with their union as its output if it has any."""
    formed = request.output is not None
    offers = bool(request.tools)
    turns = _plain_turns(request.messages, offers=offers, formed=formed)
    if not offers:
        return replace(request, messages=turns)
    choice = request.tool_choice
    form = {"type": "string", "maxLength": MAX_REPLY_CHARS} if request.output is None else request.output.schema
    tools = request.tools if choice != "none" else ()
    schema = tool_union_schema(tools, reply=form if choice != "required" else False)
    turns = instructed(turns, _instructions(request))
    return replace(request, messages=turns, tools=(), tool_choice="auto", output=OutputSpec(schema))


def _instructions(request: ModelRequest) -> str:
    """Return the instructions. They begin alike for every choice, so that endpoints can cache the prefix."""
    lines = ["The tools:"]
    lines += [f"- {tool.name}: {tool.description} Arguments: {_dump(tool.schema)}" for tool in request.tools]
    lines.append('Use a tool by replying with one JSON object and nothing else: {"tool": NAME, "arguments": {...}}.')
    if request.tool_choice != "required" and request.output is None:
        lines.append('Answer in words by replying with {"reply": "..."}.')
    elif request.tool_choice != "required" and request.output is not None:
        lines.append(
            f'Answer by replying with {{"reply": ANSWER}}, an answer of this form: {_dump(request.output.schema)}'
        )
    if request.tool_choice == "none":
        lines.append("Answer now: no tool can be used any more.")
    return "\n".join(lines)


def _plain_turns(messages: Sequence[Message], *, offers: bool, formed: bool) -> tuple[Message, ...]:
    """Return the conversation for an endpoint without tools: calls and results as text, in the requested form."""
    turns: list[Message] = []
    names: dict[str, str] = {}  # id of a call -> its tool
    after_result = False
    for message in messages:
        if message.role == "tool":
            name = message.name or names.get(message.tool_call_id, "the tool")
            result = Text(f"{name} returned: {message.text}")
            if after_result:
                turns[-1] = replace(turns[-1], parts=(*turns[-1].parts, result))
            else:
                turns.append(Message("user", (result,)))
        elif message.role == "assistant":
            names.update((call.id, call.name) for call in message.tool_calls)
            turns.append(_plain_reply(message, offers=offers, formed=formed))
        else:
            turns.append(message)
        after_result = message.role == "tool"
    return tuple(turns)


def _plain_reply(message: Message, *, offers: bool, formed: bool) -> Message:
    lines = [_dump({"tool": call.name, "arguments": valid_arguments(call.arguments)}) for call in message.tool_calls]
    if message.text and offers and not lines:
        lines = [f'{{"reply":{message.text if formed else _dump(message.text)}}}']
    elif message.text:
        lines.insert(0, message.text)
    return replace(message, parts=(Text("\n".join(lines)),) if lines else (), tool_calls=())


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=dict)
