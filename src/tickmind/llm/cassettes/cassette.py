"""Cassettes: `CassetteRecorder` records model calls to a file, `CassettePlayer` replays them without a model.

A cassette is a file of JSON lines that people can read and compare; `cassette_format` says what is in them. Secrets
are masked on the way in, and a crash or a full disk costs at most the calls that were being written.
"""

import asyncio
import json
import os
from collections import defaultdict, deque
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from io import FileIO
from pathlib import Path
from typing import Any, Literal

from tickmind.base import Clock, Limit, SystemClock, get_logger, redact
from tickmind.base.files import PRIVATE_MODE, open_file, read_at_most
from tickmind.llm.cassettes.format import (
    FORMAT_VERSION,
    Redactor,
    TimedPiece,
    error_form,
    form_key,
    pieces_form,
    read_error,
    read_pieces,
    read_reply,
    reply_form,
    request_form,
    to_json,
)
from tickmind.llm.errors import LLMConfigError, LLMConnectionError, LLMError
from tickmind.llm.http.time_budget import Sleep, TimeBudget
from tickmind.llm.texts import shortened
from tickmind.llm.transport import Capabilities, ModelReply, ModelRequest, StreamPiece, Transport

CallMode = Literal["complete", "stream"]
RecordMode = Literal["new", "append", "replace"]
MAX_CASSETTE_BYTES = Limit("size of the cassette", 2_000_000_000, "bytes")
_MODE_WORDS: dict[CallMode, str] = {"complete": "whole reply", "stream": "stream"}
_SHOWN_TEXT = 80  # characters of a prompt in an error
_log = get_logger("tickmind.llm.cassettes.cassette")


class CassetteRecorder:
    """Wrap a transport and write every call that it carries, each as soon as it is over.

    A cassette that already holds calls is not touched unless `mode` says "append" or "replace". `redactor` masks
    secrets; give the player the same one. A call that is cancelled is not recorded, a stream that is left early is
    recorded as far as it was read.
    """

    def __init__(
        self,
        inner: Transport,
        path: str | Path,
        *,
        mode: RecordMode = "new",
        clock: Clock | None = None,
        redactor: Redactor = redact,
    ) -> None:
        self._inner = inner
        self._clock = clock or SystemClock()
        self._redactor = redactor
        self._path = Path(path)
        self._calls = 0
        self._sound_bytes = 0  # up to here the file is whole
        self._torn = True  # behind it may be what a crash or a full disk left half written
        if mode != "replace" and self._path.exists():
            tape = _Tape.load(self._path)
            if mode == "new" and tape.lines:
                raise LLMConfigError(
                    f"{self._path} already holds {len(tape.lines)} calls; play it with CassettePlayer, "
                    "or record with mode='append' or mode='replace'"
                )
            self._calls = max((line.seq for line in tape.lines), default=0)
            self._sound_bytes = tape.sound_bytes
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = open_file(self._path, os.O_RDWR | os.O_CREAT, mode=PRIVATE_MODE)
            self._file = FileIO(descriptor, "r+")
        except OSError as error:
            raise LLMConfigError(f"can't write the cassette {self._path}: {error.strerror}") from error
        if not self._sound_bytes:
            try:
                self._write({"tickmind_cassette": FORMAT_VERSION, "capabilities": asdict(inner.capabilities)})
            except LLMConfigError:
                self._file.close()
                raise

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of the wrapped transport."""
        return self._inner.capabilities

    async def complete(self, request: ModelRequest, *, timeout_s: float) -> ModelReply:
        """Carry the call and write its reply, or its error."""
        line = self._begin(request, "complete")
        start_s = self._clock.monotonic()
        try:
            reply = await self._inner.complete(request, timeout_s=timeout_s)
        except LLMError as error:
            self._write(line | self._took(start_s) | {"error": error_form(error, redactor=self._redactor)})
            raise
        self._write(line | self._took(start_s) | {"reply": reply_form(reply, redactor=self._redactor)})
        return reply

    @asynccontextmanager
    async def stream(self, request: ModelRequest, *, timeout_s: float) -> AsyncIterator[AsyncIterator[StreamPiece]]:
        """Carry the call and write its pieces with the times at which they came."""
        line = self._begin(request, "stream")
        start_s = self._clock.monotonic()
        pieces: list[TimedPiece] = []
        end: Any = "closed"

        async def read(source: AsyncIterator[StreamPiece]) -> AsyncGenerator[StreamPiece, None]:
            nonlocal end
            try:
                async for piece in source:
                    pieces.append((self._clock.monotonic() - start_s, piece))
                    yield piece
            except LLMError as error:
                end = error_form(error, redactor=self._redactor)
                raise
            end = "done"

        async with AsyncExitStack() as stack:
            try:
                source = await stack.enter_async_context(self._inner.stream(request, timeout_s=timeout_s))
            except LLMError as error:
                self._write(line | {"pieces": [], "end": error_form(error, redactor=self._redactor)})
                raise
            try:
                async with aclosing(read(source)) as reader:
                    yield reader
            finally:
                self._write(line | {"pieces": pieces_form(pieces, redactor=self._redactor), "end": end})

    async def aclose(self) -> None:
        """Close the file and the wrapped transport."""
        self._file.close()
        await self._inner.aclose()

    def _begin(self, request: ModelRequest, mode: CallMode) -> dict[str, Any]:
        if self._file.closed:
            raise LLMConnectionError(f"the recorder of {self._path} is closed; make calls before aclose()")
        form = request_form(request, redactor=self._redactor)
        self._calls += 1
        return {"seq": self._calls, "key": form_key(form), "mode": mode, "request": form}

    def _took(self, start_s: float) -> dict[str, float]:
        return {"took_s": round(self._clock.monotonic() - start_s, 6)}

    def _write(self, line: Mapping[str, Any]) -> None:
        if self._file.closed:
            _log.warning("call ended after the recorder was closed; it is not recorded", path=str(self._path))
            return
        data = to_json(line).encode("ascii") + b"\n"
        left = memoryview(data)
        try:
            if self._torn:
                self._cut_back()
            while left:
                left = left[self._file.write(left) :]
        except OSError as error:
            self._torn = True
            with suppress(OSError):  # it is tried again before the next call is written
                self._cut_back()
            raise LLMConfigError(f"can't write the call to {self._path}: {error.strerror}") from error
        self._sound_bytes += len(data)

    def _cut_back(self) -> None:
        self._file.truncate(self._sound_bytes)
        self._file.seek(self._sound_bytes)
        self._torn = False


@dataclass(frozen=True, slots=True)
class CassetteStatistics:
    """The progress of a cassette's playback."""

    recorded: int
    played: int
    missing: int  # calls that it had no answer for

    @property
    def left(self) -> int:
        """Recorded calls that were not played yet."""
        return self.recorded - self.played


class CassettePlayer:
    """Answer from a cassette: no model, no network, the same replies.

    Equal requests get their replies in the order in which they were recorded; `repeat_last` goes on with the last
    one. `pace` is 0 to answer at once, 1 to take as long as it took, 2 to take twice as long.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        pace: float = 0.0,
        repeat_last: bool = False,
        sleep: Sleep = asyncio.sleep,
        redactor: Redactor = redact,
    ) -> None:
        self._path = Path(path)
        self._pace = pace
        self._repeat_last = repeat_last
        self._sleep = sleep
        self._redactor = redactor
        tape = _Tape.load(self._path)
        self._capabilities = tape.capabilities
        self._left: dict[tuple[str, str], deque[_Line]] = defaultdict(deque)  # (mode, key) -> calls, oldest first
        self._total: dict[tuple[str, str], int] = defaultdict(int)
        self._last: dict[tuple[str, str], _Line] = {}
        for line in sorted(tape.lines, key=lambda line: line.seq):
            self._left[line.mode, line.key].append(line)
            self._total[line.mode, line.key] += 1
        self._lines = tape.lines
        self._played = 0
        self._missing = 0

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of the recorded endpoint."""
        return self._capabilities

    @property
    def models(self) -> tuple[str, ...]:
        """The models that were asked, in the order in which they came up."""
        return tuple(dict.fromkeys(str(line.request.get("model", "")) for line in self._lines))

    def statistics(self) -> CassetteStatistics:
        """Return how many calls there are, were played and were missing."""
        return CassetteStatistics(len(self._lines), self._played, self._missing)

    async def complete(self, request: ModelRequest, *, timeout_s: float) -> ModelReply:
        """Return the recorded reply, or raise the recorded error."""
        line = self._next(request, "complete")
        await TimeBudget(timeout_s, sleep=self._sleep).wait(line.took_s * self._pace)
        if line.reply is None:
            raise line.error()
        return line.reply

    @asynccontextmanager
    async def stream(self, request: ModelRequest, *, timeout_s: float) -> AsyncIterator[AsyncIterator[StreamPiece]]:
        """Yield the recorded pieces, then the recorded end."""
        line = self._next(request, "stream")
        if line.failure is not None and not line.pieces:
            raise line.error()
        async with aclosing(self._play(line, TimeBudget(timeout_s, sleep=self._sleep))) as pieces:
            yield pieces

    async def aclose(self) -> None:
        """Do nothing: a player holds no file open."""

    async def _play(self, line: "_Line", budget: TimeBudget) -> AsyncGenerator[StreamPiece, None]:
        now_s = 0.0
        for at_s, piece in line.pieces:
            await budget.wait((at_s - now_s) * self._pace)
            now_s = at_s
            yield piece
        if line.failure is not None:
            raise line.error()
        if not line.whole:
            raise LLMConnectionError(
                f"the recording in {self._path} ends here: its caller left this stream after {len(line.pieces)} pieces"
            )

    def _next(self, request: ModelRequest, mode: CallMode) -> "_Line":
        form = request_form(request, redactor=self._redactor)
        key = form_key(form)
        place = (mode, key)
        if self._left.get(place):
            self._last[place] = self._left[place].popleft()
            self._played += 1
        elif not (self._repeat_last and place in self._last):
            self._missing += 1
            raise LLMConfigError(self._explain(request, form, mode, key))
        return self._last[place]

    def _explain(self, request: ModelRequest, form: Mapping[str, Any], mode: CallMode, key: str) -> str:
        text = next((message.text for message in reversed(request.messages) if message.role == "user"), "")
        about = f"{_MODE_WORDS[mode]} for model {request.model!r} and {shortened(text, _SHOWN_TEXT)!r} (key {key})"
        other: CallMode = "stream" if mode == "complete" else "complete"
        if total := self._total.get((mode, key)):
            why = f"it was recorded {total} times and all are played; pass repeat_last=True to go on with the last"
        elif self._total.get((other, key)):
            why = f"this request was recorded as a {_MODE_WORDS[other]} only"
        else:
            why = self._difference(form)
        return (
            f"{self._path} has no {about}: {why}. To record it, run once with "
            "CassetteRecorder(transport, path, mode='append')"
        )

    def _difference(self, form: Mapping[str, Any]) -> str:
        best: list[str] | None = None
        for line in self._lines:
            differing = [name for name in {*form, *line.request} if form.get(name) != line.request.get(name)]
            if best is None or len(differing) < len(best):
                best = differing
        if best is None:
            return "nothing is recorded there"
        return f"the nearest recorded request differs in {', '.join(sorted(best)) or 'the ids of its tool calls'}"


def open_cassette(path: str | Path, inner: Transport) -> "CassetteRecorder | CassettePlayer":
    """Play the cassette if it is there, else record it through `inner`; delete the file to record it again.

    `inner` stays the caller's to close when the cassette is played.
    """
    if Path(path).exists():
        return CassettePlayer(path)
    return CassetteRecorder(inner, path)


@dataclass(frozen=True, slots=True)
class _Line:
    seq: int
    key: str
    mode: CallMode
    request: Mapping[str, Any]
    took_s: float
    failure: Mapping[str, Any] | None  # how it failed, if it did
    whole: bool  # False for a stream that its caller left
    reply: ModelReply | None  # of a whole reply that did not fail
    pieces: tuple[TimedPiece, ...]  # of a stream

    @classmethod
    def read(cls, form: Mapping[str, Any]) -> "_Line":
        mode = form["mode"]
        if mode not in _MODE_WORDS:
            raise ValueError(f"mode is {mode!r}")
        end = form.get("error", "done") if mode == "complete" else form["end"]
        failure = end if isinstance(end, Mapping) else None
        if failure is not None:
            read_error(failure)
        return cls(
            seq=int(form["seq"]),
            key=str(form["key"]),
            mode=mode,
            request=form.get("request", {}),
            took_s=float(form.get("took_s", 0.0)),
            failure=failure,
            whole=end == "done",
            reply=read_reply(form["reply"]) if mode == "complete" and failure is None else None,
            pieces=read_pieces(form["pieces"]) if mode == "stream" else (),
        )

    def error(self) -> LLMError:
        return read_error(self.failure or {})


@dataclass(frozen=True, slots=True)
class _Tape:
    capabilities: Capabilities
    lines: tuple[_Line, ...]
    sound_bytes: int  # up to here the file is whole; behind it is what a crash left half written

    @classmethod
    def load(cls, path: Path) -> "_Tape":
        try:
            data = read_at_most(path, int(MAX_CASSETTE_BYTES.maximum) + 1)
            MAX_CASSETTE_BYTES.check(len(data))
        except OSError as error:
            raise LLMConfigError(
                f"the cassette {path} can't be read: {error.strerror}; record it with CassetteRecorder(transport, path)"
            ) from error
        sound_bytes = data.rfind(b"\n") + 1
        if sound_bytes < len(data):
            _log.warning("the last line of a cassette was half written and is left out", path=str(path))
        forms: list[Any] = []
        for number, text in enumerate(data[:sound_bytes].splitlines(), start=1):
            try:
                forms.append(json.loads(text))
            except ValueError as error:
                raise LLMConfigError(f"line {number} of the cassette {path} is not JSON: {error}") from error
        if forms:
            return cls(_read_header(forms[0], path), _read_lines(forms[1:], path), sound_bytes)
        if data and not data.startswith(b"{"):
            raise LLMConfigError(f"{path} is not a cassette: its first line is no JSON object; choose another path")
        return cls(Capabilities(), (), 0)


def _read_header(form: Any, path: Path) -> Capabilities:
    if not isinstance(form, Mapping) or "tickmind_cassette" not in form:
        raise LLMConfigError(f"{path} is not a cassette: its first line names no format; choose another path")
    version = form["tickmind_cassette"]
    if version != FORMAT_VERSION:
        raise LLMConfigError(
            f"the cassette {path} has format {version}, and this tickmind reads format {FORMAT_VERSION}; "
            "record it again, or play it with the tickmind that wrote it"
        )
    capabilities = form.get("capabilities", {})
    return Capabilities(capabilities.get("output", "json_schema"), bool(capabilities.get("tools", True)))


def _read_lines(forms: list[Any], path: Path) -> tuple[_Line, ...]:
    lines: list[_Line] = []
    for number, form in enumerate(forms, start=2):
        try:
            lines.append(_Line.read(form))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise LLMConfigError(f"line {number} of the cassette {path} can't be read: {error!r}") from error
    return tuple(lines)
