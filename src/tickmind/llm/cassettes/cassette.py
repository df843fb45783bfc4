"""Cassettes: `CassetteRecorder` records model calls to a file, `CassettePlayer` replays them without a model.

A cassette is a file of JSON lines that people can read and compare; `format` says what is in them. Secrets
are masked on the way in, and a crash or a full disk costs at most the calls that were being written.
"""

import asyncio
import json
import os
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from io import FileIO
from pathlib import Path
from typing import Any, Literal

from tickmind.base import Clock, Limit, get_logger, redact
from tickmind.base.files import PRIVATE_MODE, open_file
from tickmind.llm.cassettes.calls import RecordingTransport, play_pieces
from tickmind.llm.cassettes.format import (
    FORMAT_VERSION,
    MODE_WORDS,
    UNREADABLE,
    CallMode,
    RecordedCall,
    Redactor,
    form_key,
    read_file,
    request_form,
    to_json,
)
from tickmind.llm.errors import LLMConfigError, LLMConnectionError
from tickmind.llm.http.time_budget import Sleep, TimeBudget
from tickmind.llm.texts import shortened
from tickmind.llm.transport import Capabilities, ModelReply, ModelRequest, StreamPiece, Transport

RecordMode = Literal["new", "append", "replace"]
MAX_CASSETTE_BYTES = Limit("size of the cassette", 2_000_000_000, "bytes")
_SHOWN_TEXT = 80  # characters of a prompt in an error
_log = get_logger("tickmind.llm.cassettes.cassette")


class CassetteRecorder(RecordingTransport):
    """Wrap a transport and write every call that it carries, each as soon as it is over.

    A cassette that already holds calls is not touched unless `mode` says "append" or "replace". `redactor` masks
    secrets; give the player the same one. A call that is cancelled is not recorded, a stream that is left early is
    recorded as far as it was read. Raises `LLMConfigError` if the file can't be written, or holds calls and `mode` is
    "new".
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
        super().__init__(inner, clock=clock, redactor=redactor)
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

    async def complete(self, request: ModelRequest, *, timeout_s: float) -> ModelReply:
        """Carry the call and write its reply, or its error."""
        return await self._record_whole(request, timeout_s, self._begin(request, "complete"))

    @asynccontextmanager
    async def stream(self, request: ModelRequest, *, timeout_s: float) -> AsyncIterator[AsyncIterator[StreamPiece]]:
        """Carry the call and write its pieces with the times at which they came."""
        async with self._record_stream(request, timeout_s, self._begin(request, "stream")) as pieces:
            yield pieces

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
        self._left: dict[tuple[str, str], deque[RecordedCall]] = defaultdict(deque)  # (mode, key) -> oldest first
        self._total: dict[tuple[str, str], int] = defaultdict(int)
        self._last: dict[tuple[str, str], RecordedCall] = {}
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
        async with aclosing(
            play_pieces(line, self._path, TimeBudget(timeout_s, sleep=self._sleep), self._pace)
        ) as pieces:
            yield pieces

    async def aclose(self) -> None:
        """Do nothing: a player holds no file open."""

    def _next(self, request: ModelRequest, mode: CallMode) -> "RecordedCall":
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
        about = f"{MODE_WORDS[mode]} for model {request.model!r} and {shortened(text, _SHOWN_TEXT)!r} (key {key})"
        other: CallMode = "stream" if mode == "complete" else "complete"
        if total := self._total.get((mode, key)):
            why = f"it was recorded {total} times and all are played; pass repeat_last=True to go on with the last"
        elif self._total.get((other, key)):
            why = f"this request was recorded as a {MODE_WORDS[other]} only"
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
class _Tape:
    capabilities: Capabilities
    lines: tuple[RecordedCall, ...]
    sound_bytes: int  # up to here the file is whole; behind it is what a crash left half written

    @classmethod
    def load(cls, path: Path) -> "_Tape":
        data = read_file(path, MAX_CASSETTE_BYTES, "record it with CassetteRecorder(transport, path)")
        sound_bytes = data.rfind(b"\n") + 1
        if sound_bytes < len(data):
            _log.warning("the last line of a cassette was half written and is left out", path=str(path))
        forms: list[Any] = []
        for number, text in enumerate(data[:sound_bytes].splitlines(), start=1):
            try:
                forms.append(json.loads(text))
            except UNREADABLE as error:
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


def _read_lines(forms: list[Any], path: Path) -> tuple[RecordedCall, ...]:
    lines: list[RecordedCall] = []
    for number, form in enumerate(forms, start=2):
        try:
            lines.append(RecordedCall.read(form))
        except UNREADABLE as error:
            raise LLMConfigError(f"line {number} of the cassette {path} can't be read: {error!r}") from error
    return tuple(lines)
