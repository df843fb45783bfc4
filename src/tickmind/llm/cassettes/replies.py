"""Replies of a run: every model call of its characters, kept by character, tick and number, and played again.

    file = ReplyFile.create("replies.jsonl")              # record: a new file
    transport = ReplyTransport(file, inner)
    with call_site(CallSite("entity:1", 12)):
        ...                                               # calls through the transport are entity:1's of tick 12
    ReplyTransport(ReplyFile("replies.jsonl"))            # without a model: plays what is there

Several processes share one file: each call is one line of JSON that is appended whole. Of two lines for one call the
later counts. A prompt need not be equal to be found, so a run that went another way is noticed and not just missing:
the first difference is named.
"""

import json
import os
import threading
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from tickmind.base import Clock, Limit, LimitExceededError, get_logger, redact
from tickmind.base.files import PRIVATE_MODE, open_file
from tickmind.llm.cassettes.calls import RecordingTransport, play_pieces
from tickmind.llm.cassettes.format import (
    UNREADABLE,
    CallMode,
    RecordedCall,
    Redactor,
    form_key,
    read_file,
    request_form,
    to_json,
)
from tickmind.llm.errors import LLMConfigError
from tickmind.llm.http.time_budget import TimeBudget
from tickmind.llm.texts import first_difference, shortened
from tickmind.llm.transport import Capabilities, ModelReply, ModelRequest, StreamPiece, Transport

FORMAT_VERSION = 1
MAX_REPLY_FILE_BYTES = Limit("size of a file of replies", 4_000_000_000, "bytes")
_PROMPT = ("messages", "tools", "output")  # what a reply depends on, of a request; models and limits may change
_ABSENT = object()
_NO_MODEL = "replies are only played here, and this call is of no character; there is no model to ask"
_log = get_logger(__name__)


@dataclass(frozen=True, slots=True, order=True)
class CallSite:
    """The character that a call is for, the tick that it is made in, and what it is about if there are several."""

    character: str
    tick: int
    kind: str = ""


_site: ContextVar[CallSite | None] = ContextVar("call_site", default=None)


@contextmanager
def call_site(site: CallSite | None) -> Iterator[None]:
    """Make the calls in this block those of a character in a tick."""
    token = _site.set(site)
    try:
        yield
    finally:
        _site.reset(token)


@dataclass(frozen=True, slots=True, order=True)
class CallPlace:
    """One call of a run: its site, and its number among the calls there, from 1."""

    site: CallSite
    number: int

    def __str__(self) -> str:
        about = f" about {self.site.kind}" if self.site.kind else ""
        return f"call {self.number} of {self.site.character}{about} in tick {self.site.tick}"


class ReplyFile:
    """The calls of one run. With `fills` what is missing is asked for and kept; without, the file stays as it is.

    Of a large file, a process holds the calls of its own `characters` only; None means all of them.
    """

    def __init__(self, path: str | Path, *, fills: bool = False, characters: Collection[str] | None = None) -> None:
        self.path = Path(path)
        self.fills = fills
        self._lock = threading.Lock()  # characters of one process may ask on several loops
        self._calls, _ = _load(self.path, characters)

    @classmethod
    def create(cls, path: str | Path) -> Self:
        """Begin a new file; raises `LLMConfigError` if there are calls in it already."""
        file = Path(path)
        if file.is_dir():
            raise LLMConfigError(f"{file} is a folder; name a file for the replies")
        if file.exists() and file.stat().st_size and _load(file)[1] > 1:
            raise LLMConfigError(
                f"{file} already holds the replies of a run; play it (replay), add what is missing (fill), "
                "or choose another file"
            )
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            _append(file, {"tickmind_replies": FORMAT_VERSION}, os.O_TRUNC)
        except OSError as error:
            raise LLMConfigError(f"can't write the replies to {file}: {error.strerror}") from error
        return cls(file, fills=True)

    def __len__(self) -> int:
        return len(self._calls)

    def find(self, place: CallPlace) -> RecordedCall | None:
        """Return a call, if it is there."""
        return self._calls.get(place)

    def keep(self, place: CallPlace, line: Mapping[str, Any]) -> None:
        """Append a call; raises `LLMConfigError` if it can't be written."""
        site = place.site
        about = {"about": site.kind} if site.kind else {}
        form = {"character": site.character, "tick": site.tick, **about, "number": place.number, **line}
        with self._lock:
            try:
                _append(self.path, form)
            except LimitExceededError as error:
                raise LLMConfigError(f"can't write a reply to {self.path}: {error}") from error
            except OSError as error:
                raise LLMConfigError(f"can't write a reply to {self.path}: {error.strerror}") from error
            self._calls[place] = RecordedCall.read(form)


class ReplyTransport(RecordingTransport):
    """Answer from a file of replies where it has the call, else through `inner`.

    A call without a site, such as a model's warm-up, goes through. Without `inner` there is only the file:
    a missing call, or one whose prompt differs from the recorded one, raises `LLMConfigError`. A file that `fills` has
    such a call asked anew and keeps the new reply.
    """

    def __init__(
        self,
        file: ReplyFile | None,
        inner: Transport | None = None,
        *,
        capabilities: Capabilities | None = None,
        clock: Clock | None = None,
        redactor: Redactor = redact,
    ) -> None:
        super().__init__(inner or _NoModel(capabilities or Capabilities()), clock=clock, redactor=redactor)
        self.file = file
        """The file that is in use; None lets every call through."""
        self._asks = inner is not None
        self._counts: Counter[tuple[str, str]] = Counter()  # character and kind -> its calls in its last tick
        self._ticks: dict[tuple[str, str], int] = {}  # character and kind -> the tick of its last call

    async def complete(self, request: ModelRequest, *, timeout_s: float) -> ModelReply:
        """Return the kept reply, or ask and keep it."""
        call, line = self._look_up(request, "complete")
        if line is None:
            return await self._inner.complete(request, timeout_s=timeout_s)
        if call is None:
            return await self._record_whole(request, timeout_s, line)
        if call.reply is None:
            raise call.error()
        return call.reply

    @asynccontextmanager
    async def stream(self, request: ModelRequest, *, timeout_s: float) -> AsyncIterator[AsyncIterator[StreamPiece]]:
        """Yield the kept pieces, or ask and keep them."""
        call, line = self._look_up(request, "stream")
        if line is None:
            async with self._inner.stream(request, timeout_s=timeout_s) as pieces:
                yield pieces
        elif call is None:
            async with self._record_stream(request, timeout_s, line) as pieces:
                yield pieces
        else:
            if call.failure is not None and not call.pieces:
                raise call.error()
            assert self.file is not None, "the call was found in it"
            async with aclosing(play_pieces(call, self.file.path, TimeBudget(timeout_s))) as pieces:
                yield pieces

    async def aclose(self) -> None:
        """Close the wrapped transport."""
        await self._inner.aclose()

    def _look_up(self, request: ModelRequest, mode: CallMode) -> tuple[RecordedCall | None, dict[str, Any] | None]:
        """Return a kept call, if it can be used, and the first fields of its line; no line if it has no site."""
        site, file = _site.get(), self.file
        if site is None or file is None:
            return None, None
        place = CallPlace(site, self._number(site))
        form = request_form(request, redactor=self._redactor)
        line = {"place": place, "key": form_key(form), "mode": mode, "request": form}
        call = file.find(place)
        if call is None:
            if not (file.fills and self._asks):
                raise LLMConfigError(
                    f"{file.path} has no {place}; play it with `fill` to ask a model for what is missing"
                )
            return None, line
        difference = prompt_difference(call.request, form)
        if not difference and call.mode != mode:
            difference = f"a {call.mode} call was recorded, and a {mode} call is made"
        if not difference:
            return call, line
        if file.fills and self._asks:
            _log.warning("a prompt differs from the recorded one; it is asked anew", call=str(place), why=difference)
            return None, line
        raise LLMConfigError(f"the prompt of {place} differs from the one in {file.path}: {difference}")

    def _number(self, site: CallSite) -> int:
        asker = site.character, site.kind
        if self._ticks.get(asker) != site.tick:
            self._ticks[asker] = site.tick
            self._counts[asker] = 0
        self._counts[asker] += 1
        return self._counts[asker]

    def _write(self, line: Mapping[str, Any]) -> None:
        assert self.file is not None, "a line is begun only with a file"
        rest = dict(line)
        self.file.keep(rest.pop("place"), rest)


class _NoModel:
    """The end of the line where replies are only played."""

    def __init__(self, capabilities: Capabilities) -> None:
        self.capabilities = capabilities

    async def complete(self, request: ModelRequest, *, timeout_s: float) -> ModelReply:
        del request, timeout_s
        raise LLMConfigError(_NO_MODEL)

    def stream(
        self, request: ModelRequest, *, timeout_s: float
    ) -> AbstractAsyncContextManager[AsyncIterator[StreamPiece]]:
        del request, timeout_s
        raise LLMConfigError(_NO_MODEL)

    async def aclose(self) -> None:
        pass


def prompt_difference(recorded: Mapping[str, Any], asked: Mapping[str, Any]) -> str:
    """Return where two requests ask for different things, in words; empty if they don't."""
    for name in _PROMPT:
        then, now = recorded.get(name), asked.get(name)
        if then != now:
            return _difference(name, then, now)
    return ""


def _difference(name: str, then: Any, now: Any) -> str:
    if isinstance(then, list) and isinstance(now, list):
        for place, (left, right) in enumerate(zip(then, now, strict=False), start=1):
            if left != right:
                return _difference(f"{name} {place}", left, right)
        return f"{name}: {len(then)} were recorded, and there are {len(now)}"
    if isinstance(then, Mapping) and isinstance(now, Mapping):
        keys = sorted({*then, *now})
        key = next(key for key in keys if then.get(key, _ABSENT) != now.get(key, _ABSENT))
        return _difference(f"{name}, {key}", then.get(key, _ABSENT), now.get(key, _ABSENT))
    if isinstance(then, str) and isinstance(now, str):
        at, left, right = first_difference(then, now)
        return f"{name}, character {at}: {left!r} was recorded, {right!r} is asked"
    return f"{name}: {_shown(then)} was recorded, {_shown(now)} is asked"


def _shown(value: Any) -> str:
    return "nothing" if value is _ABSENT else shortened(repr(value))


def _append(path: Path, form: Mapping[str, Any], flags: int = 0) -> None:
    """Append a line in one write, so that lines of several processes don't mix. One that was torn is ended first."""
    descriptor = open_file(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | flags, mode=PRIVATE_MODE)
    try:
        size = os.fstat(descriptor).st_size
        torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        data = (b"\n" if torn else b"") + to_json(form).encode("ascii") + b"\n"
        MAX_REPLY_FILE_BYTES.check(size + len(data))
        if os.write(descriptor, data) < len(data):
            raise OSError(28, "the disk is full")
    finally:
        os.close(descriptor)


def _load(path: Path, characters: Collection[str] | None = None) -> tuple[dict[CallPlace, RecordedCall], int]:
    """Return the calls of a file, or those of some characters, and the number of its lines."""
    data = read_file(path, MAX_REPLY_FILE_BYTES, f"record one with --replies record {path}")
    if not data:
        raise LLMConfigError(f"{path} is empty; record replies with --replies record {path}")
    calls: dict[CallPlace, RecordedCall] = {}
    version, lines = FORMAT_VERSION, 0
    for number, text in enumerate(data.split(b"\n"), start=1):
        if not text:
            continue
        lines += 1
        try:
            form = json.loads(text)
            if number == 1:
                version = form["tickmind_replies"]
                continue
            site = CallSite(str(form["character"]), int(form["tick"]), str(form.get("about", "")))
            if characters is not None and site.character not in characters:
                continue
            calls[CallPlace(site, int(form["number"]))] = RecordedCall.read(form)
        except UNREADABLE as error:
            if number == 1:
                raise LLMConfigError(f"{path} is not a file of replies: its first line names no format") from error
            _log.warning("a line of a file of replies can't be read; its call is missing", path=str(path), line=number)
    if version != FORMAT_VERSION:
        raise LLMConfigError(
            f"{path} has format {version}, and this tickmind reads format {FORMAT_VERSION}; record the replies again"
        )
    return calls, lines
