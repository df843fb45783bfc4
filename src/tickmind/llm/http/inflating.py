"""Decompression with a bound, so that a small reply can't become a large one."""

import zlib
from typing import Protocol

from tickmind.llm.errors import LLMResponseError


class _Inflate(Protocol):
    def decompress(self, data: bytes, max_length: int = ...) -> bytes: ...


class Inflater:
    """Decompress what an endpoint compressed unasked: at most `room` bytes, and one more that shows the excess."""

    __slots__ = ("_stream",)

    def __init__(self, coding: str) -> None:
        if coding not in {"gzip", "x-gzip", "deflate"}:
            raise LLMResponseError("the endpoint sent a compression that was not requested")
        self._stream: _Inflate = zlib.decompressobj(wbits=47)  # gzip or zlib, by its header

    def decode(self, data: bytes, *, room: int) -> bytes:
        """Return the next decompressed bytes."""
        try:
            return self._stream.decompress(data, max_length=room + 1)
        except zlib.error as exc:
            raise LLMResponseError("the endpoint's compressed reply is damaged; ask again") from exc
