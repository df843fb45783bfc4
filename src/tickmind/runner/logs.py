"""Agents' logs: their output in files of bounded size, however much they print."""

import asyncio
import os
import re
from collections.abc import Callable
from pathlib import Path

from tickmind.base import Clock, Limit, get_logger, redact
from tickmind.base.files import PRIVATE_MODE, create_file, open_file

MAX_LOG_BYTES = Limit("size of one log file of an agent", 1_000_000, "bytes")
MAX_LOG_RATE = Limit("what an agent may log", 65_536, "bytes a second")
MAX_LINE_BYTES = Limit("length of a line in an agent's log", 8_192, "bytes")
KEPT_FILES = 3
_log = get_logger(__name__)
_LAST_CHARS = 300
_ERROR_LINES = 12  # of one error; gRPC's have five
_TRACEBACK = "Traceback (most recent call last):"
_THROWN = re.compile(r"(Uncaught )?([A-Z]\w*)?(Error|Exception)\b[^:]{0,40}: ")
_BURST_S = 4.0  # burst: an agent that was quiet may log so many seconds' worth at once


class AgentLog:
    """Takes the output of one agent: whole lines, secrets masked, at a bounded rate, in a few files of bounded size.

    Output beyond that is counted and left out, which a line in the log states.
    """

    def __init__(
        self,
        path: Path,
        clock: Clock,
        *,
        max_bytes: Limit = MAX_LOG_BYTES,
        max_rate: Limit = MAX_LOG_RATE,
        kept_files: int = KEPT_FILES,
    ) -> None:
        self._path = path
        self._clock = clock
        self._max_bytes = max_bytes
        self._rate = float(max_rate.maximum)
        self._kept_files = kept_files
        self._allowed = self._rate * _BURST_S
        self._asked_s = clock.monotonic()
        self._rest = b""  # the beginning of a line
        self._cut = False  # skipping the rest of a too long line
        self._left_out_lines = 0
        self._broken = False
        self._last = ""  # last line of the agent since its start
        self._thrown = ""  # last line of it that names an error of JavaScript
        self._raised: list[str] | None = None  # the error behind the last traceback, if nothing else was written since
        self._in_traceback = False  # whether the error is still to come
        descriptor = open_file(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, mode=PRIVATE_MODE)
        self._file = os.fdopen(descriptor, "ab", buffering=0)
        self._size = os.fstat(descriptor).st_size

    def take(self, data: bytes) -> None:
        """Take more output, split anywhere."""
        self._refill()
        *lines, rest = (self._rest + data).split(b"\n")
        longest = int(MAX_LINE_BYTES.maximum)
        kept = bytearray()
        if lines and self._cut:
            self._cut = False
            del lines[0]
        for place, line in enumerate(lines):
            if self._allowed <= 0:
                self._left_out_lines += len(lines) - place
                break
            self._keep(line[:longest], kept)
        if len(rest) > longest:
            if not self._cut:
                self._keep(rest[:longest], kept)
            self._cut, rest = True, b""
        self._rest = rest
        if kept:
            self._write(bytes(kept))

    def begin(self, text: str) -> None:
        """Begin the output of a new process, with a note."""
        self._last, self._thrown = "", ""
        self._raised, self._in_traceback = None, False
        self.note(text)

    @property
    def last_line(self) -> str:
        """Return why the process ended, from its last output, shortened: the error of a traceback, or the last line.

        Errors may span several lines, like those of gRPC, whose last line is a bracket.
        """
        rest = redact(self._rest.decode("utf-8", "replace")) if self._rest and not self._cut else ""
        if self._raised:
            return " ".join(" ".join([*self._raised, rest]).split())[:_LAST_CHARS]
        return " ".join((rest or self._last).split())[:_LAST_CHARS]

    def note(self, text: str) -> None:
        """Write a line of the runner itself, which is never left out."""
        self._write(f"--- {text}\n".encode())

    def close(self) -> None:
        """Write the rest and close the file."""
        if self._rest and not self._cut:
            self.take(b"\n")
        if self._left_out_lines:
            self.note(self._left_out())
        self._file.close()

    def _refill(self) -> None:
        now_s = self._clock.monotonic()
        self._allowed = min(self._rate * _BURST_S, self._allowed + (now_s - self._asked_s) * self._rate)
        self._asked_s = now_s

    def _keep(self, line: bytes, kept: bytearray) -> None:
        if self._allowed <= 0:
            self._left_out_lines += 1
            return
        self._allowed -= len(line) + 1
        if self._left_out_lines:
            kept += f"--- {self._left_out()}\n".encode()
            self._left_out_lines = 0
        text = redact(line.decode("utf-8", "replace"))
        kept += text.encode() + b"\n"
        if text and not text.isspace():
            if _THROWN.match(text):
                self._thrown = text
            # Node ends with its version, below the error, its stack and its code.
            self._last = self._thrown if self._thrown and text.startswith("Node.js v") else text
            self._follow(text)

    def _follow(self, text: str) -> None:
        """Collect the lines of the error after a traceback; too many lines are no error."""
        if text.startswith(_TRACEBACK):
            self._raised, self._in_traceback = None, True
        elif self._in_traceback:
            if not text[0].isspace():
                self._raised, self._in_traceback = [text], False
        elif self._raised is not None:
            self._raised.append(text)
            if len(self._raised) > _ERROR_LINES:
                self._raised = None

    def _left_out(self) -> str:
        return f"{self._left_out_lines:,} lines left out: the agent logs more than {self._rate:,.0f} bytes a second"

    def _write(self, data: bytes) -> None:
        try:
            if self._size and not self._max_bytes.allows(self._size + len(data)):
                self._rotate()
            self._file.write(data)
        except OSError as error:
            if not self._broken:
                self._broken = True
                _log.error("an agent's log can't be written; it runs on", file=str(self._path), why=error.strerror)
            return
        self._size += len(data)

    def _rotate(self) -> None:
        self._file.close()
        for number in range(self._kept_files - 1, 0, -1):
            older = self._numbered(number - 1)
            if older.exists():
                older.replace(self._numbered(number))
        self._file = os.fdopen(create_file(self._path, mode=PRIVATE_MODE), "ab", buffering=0)
        self._size = 0

    def _numbered(self, number: int) -> Path:
        return self._path if number == 0 else self._path.with_name(f"{self._path.name}.{number}")


class PacedReader:
    """Reads a pipe in pieces with a pause after each, so that a flooding writer waits instead of the reader."""

    def __init__(
        self, descriptor: int, on_data: Callable[[bytes], None], *, piece_bytes: int = 65_536, pause_s: float = 0.05
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._descriptor = descriptor
        self._on_data = on_data
        self._piece_bytes = piece_bytes
        self._pause_s = pause_s
        self._open = True
        os.set_blocking(descriptor, False)
        self._loop.add_reader(descriptor, self._read)

    def _read(self) -> None:
        if not self._open:
            return
        try:
            data = os.read(self._descriptor, self._piece_bytes)
        except BlockingIOError:
            return
        if not data:
            self.close()
            return
        self._loop.remove_reader(self._descriptor)
        self._loop.call_later(self._pause_s, self._listen)
        self._on_data(data)

    def _listen(self) -> None:
        if self._open:
            self._loop.add_reader(self._descriptor, self._read)

    def drain(self) -> None:
        """Read the rest, up to one piece, and close: after the end of the process."""
        if self._open:
            try:
                data = os.read(self._descriptor, self._piece_bytes)
            except BlockingIOError:
                data = b""
            if data:
                self._on_data(data)
            self.close()

    def close(self) -> None:
        """Close the pipe; a writer gets an error from then on."""
        if self._open:
            self._open = False
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
