"""Decompression with a bound, so that a small reply can't become a large one."""

import zlib
from typing import Protocol

from tickmind.llm.errors import LLMResponseError


class _Inflate(Protocol):
    def decompress(self, data: bytes, max_length: int = ...) -> bytes: ...


class Inflater:
    """Decompresses what an endpoint compressed unasked, never more than there is room for and one byte to tell."""

    __slots__ = ("_stream",)

    def __init__(self, coding: str) -> None:
        if coding not in {"gzip", "x-gzip", "deflate"}:
            raise LLMResponseError("the endpoint compressed its reply in a way that was not asked for")
        self._stream: _Inflate = zlib.decompressobj(wbits=47)  # gzip or zlib, by its header

    def decode(self, data: bytes, *, room: int) -> bytes:
        """The next decompressed bytes."""
        try:
            return self._stream.decompress(data, max_length=room + 1)
        except zlib.error as exc:
            raise LLMResponseError("the endpoint's compressed reply is damaged") from exc
