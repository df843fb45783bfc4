"""A streamed reply in transit: masks secrets, drops events only the gateway asked for, and counts tokens."""

import re
from typing import Any

import orjson

from tickmind.gateway.http.masking import StreamMask
from tickmind.gateway.http.outcomes import tokens_of_stream

_TAIL_BYTES = 4096  # where the token counts are
_END_BYTES = 32  # where the mark of the end is
_FIRST_BYTES = 1024  # which hold the second event
_TEXTS = re.compile(rb'"(?:content|reasoning|reasoning_content|refusal|delta)": *"([^"\\]*(?:\\.[^"\\]*)*)"').findall
_MAX_HELD_BYTES = 64 * 1024  # of an event that is held back until it is complete
_ENVELOPE_BYTES = 200  # of an event without its text, where the first events don't show it
_BYTES_PER_TOKEN = 4
_NEWLINE = ord("\n")
_NO_CHOICES = (b'"choices":[]', b'"choices": []')


class StreamRelay:
    """Takes a stream in pieces and returns what the caller should get.

    `hides_usage`: the gateway, not the caller, asked the provider for token counts, so the event with these counts is
    removed.
    """

    __slots__ = ("_events", "_first", "_held", "_hides", "_is_torn", "_mask", "_secrets", "_size", "_tail", "_usage")

    def __init__(self, secrets: tuple[bytes, ...], *, hides_usage: bool = False) -> None:
        self._secrets = secrets
        self._mask: StreamMask | None = None  # made when something comes that does not pass unchanged
        self._hides = hides_usage
        self._held = b""  # beginning of an incomplete event
        self._first = b""
        self._tail = b""
        self._is_torn = False  # whether lines of the tail came in pieces, so that `_usage` may lack them
        self._usage = b""  # the lines with the token counts, if they came in whole chunks
        self._events = 0
        self._size = 0

    @property
    def is_cut(self) -> bool:
        """Whether the stream ended within an event."""
        return bool(self._tail) and not self._tail.endswith(b"\n\n")

    def passes(self, chunks: bytes) -> bool:
        """Whether whole lines, with their chunk framing, can be passed on unchanged; records them if so."""
        usage = chunks.rfind(b'"usage"') >= 0  # quicker than from the left, where every name begins with a quote
        if self._hides and (self._held or (usage and any(chunks.find(mark) >= 0 for mark in _NO_CHOICES))):
            return False
        mask = self._mask
        if mask is not None and not mask.is_empty:
            return False
        for secret in self._secrets:
            if chunks.find(secret) >= 0 or secret.find(b"\n") >= 0:  # quicker than `in`, as in `masked`
                return False
        if usage:
            self._usage = chunks
        self._is_torn = False
        self._events += chunks.count(b"\ndata:")  # each follows the line with its chunk's size
        if self._size < _FIRST_BYTES:
            self._first += chunks
        self._size += len(chunks)
        self._tail = chunks[-_TAIL_BYTES:-2]
        return True

    def feed(self, data: bytes) -> bytes:
        """Take bytes and return those that can be passed on."""
        self._note(data)
        self._is_torn = True
        self._tail = data if len(data) >= _TAIL_BYTES else (self._tail + data)[-_TAIL_BYTES:]
        if self._mask is None:
            self._mask = StreamMask(self._secrets)
        data = self._mask.feed(data)
        return self._without_usage(data) if self._hides else data

    def end(self) -> bytes:
        """Return the bytes that were held back."""
        last = self._held if self._mask is None else self._held + self._mask.end()
        self._held = b""
        return b"" if self._hides and _is_usage(last) else last

    def counts(self, prompt_tokens: int) -> tuple[int, int]:
        """Return prompt and completion tokens as the provider counted them, else `prompt_tokens` and an estimate."""
        events = self._usage + self._tail if self._is_torn else self._usage
        prompt, completion = tokens_of_stream(events) if events else (None, None)
        return prompt_tokens if prompt is None else prompt, self._counted() if completion is None else completion

    def _note(self, data: bytes) -> None:
        self._events += data.count(b"\ndata:") + data.startswith(b"data:")
        if self._size < _FIRST_BYTES:
            self._first += data
        self._size += len(data)

    def _counted(self) -> int:
        """Estimate the tokens of all events: one for each event, or more where the texts are long."""
        events = self._events - (self._tail.find(b"[DONE]", -_END_BYTES) >= 0)
        return max(events, (self._size - self._events * _envelope_bytes(self._first)) // _BYTES_PER_TOKEN, 0)

    def _without_usage(self, data: bytes) -> bytes:
        """Return whole events except that of the token counts; an incomplete event waits for its rest."""
        data = self._held + data
        stop = (
            max(data.rfind(b"\n\n") + 2, data.rfind(b"\r\n\r\n") + 4) if b"\n\n" in data or b"\r\n\r\n" in data else 0
        )
        if len(data) - stop > _MAX_HELD_BYTES:
            stop = len(data)
        self._held = data[stop:]
        data = data[:stop]
        if not any(mark in data for mark in _NO_CHOICES):
            return data
        separator = b"\r\n\r\n" if b"\r\n\r\n" in data else b"\n\n"
        return separator.join(event for event in data.split(separator) if not _is_usage(event))


def _envelope_bytes(first: bytes) -> int:
    """Return the size of the second event of a stream without its text, its framing included; the first may differ."""
    begin = first.find(b"\n\n") + 2
    end = first.find(b"\n\n", begin) + 2
    if end < begin:
        begin, end = 0, begin
    event = first[begin:end]
    return len(event) - sum(map(len, _TEXTS(event))) if event.find(b"data:") >= 0 else _ENVELOPE_BYTES


def error_of_stream(data: bytes) -> bytes:
    """Return the error with which a stream begins instead of an answer, as JSON; empty if there is none."""
    at = data.find(b"data:")
    while at > 0 and data[at - 1] != _NEWLINE:  # within a line
        at = data.find(b"data:", at + 1)
    if at < 0:
        return b""
    end = data.find(b"\n", at)
    line = data[at:end] if end >= 0 else data[at:]
    if line.find(b'"error"') < 0:
        return b""
    document = _document(line)
    return line[5:].strip() if type(document.get("error")) is dict and not document.get("choices") else b""


def _document(line: bytes) -> dict[str, Any]:
    try:
        document = orjson.loads(line[5:])
    except orjson.JSONDecodeError:
        return {}
    return document if type(document) is dict else {}


def _is_usage(event: bytes) -> bool:
    if b'"usage"' not in event:
        return False
    line = next((line for line in event.split(b"\n") if line.startswith(b"data:")), b"data:")
    document = _document(line)
    return document.get("choices") == [] and type(document.get("usage")) is dict
