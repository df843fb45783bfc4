r"""Join letters that a stream cut in two: JSON writes those beyond 16 bits as a pair of escapes, `\ud83d\ude00`.

Some endpoints cut their events between the two, so that neither event by itself is valid text.
"""

import json
import re
from dataclasses import replace
from typing import Any

from tickmind.llm.transport import StreamPiece

_HALF = re.compile("[\ud800-\udfff]")
_LAST_IS_FIRST_HALF = re.compile("[\ud800-\udbff]\\Z")


def parse_with_halves(data: bytes) -> Any:
    """Parse JSON whose texts may hold half letters; raises `ValueError` if it is no JSON for another reason."""
    return json.loads(data, parse_constant=_refuse)


def may_hold_half(data: bytes) -> bool:
    """Return whether JSON text holds an escape that may be half a letter."""
    return b"\\ud" in data.lower()


def without_halves(value: Any) -> Any:
    """Return parsed JSON with U+FFFD in place of each half."""
    if isinstance(value, str):
        return joined(value)
    if isinstance(value, dict):
        return {joined(name): without_halves(item) for name, item in value.items()}
    return [without_halves(item) for item in value] if isinstance(value, list) else value


def has_half(text: str) -> bool:
    """Return whether a text holds a half letter."""
    return not text.isascii() and _HALF.search(text) is not None


def joined(text: str) -> str:
    """Join pairs of halves; a half without its other one becomes U+FFFD."""
    if not has_half(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class LetterJoiner:
    """Join letters that the pieces of one stream hold in halves."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held: dict[str | int, str] = {}  # content, thinking or a call's index -> first half of its next letter

    def join(self, piece: StreamPiece) -> StreamPiece:
        """Return the piece with whole letters only; the first half of a letter waits for the next piece."""
        return replace(
            piece,
            content=self._take("content", piece.content),
            thinking=self._take("thinking", piece.thinking),
            tool_calls=tuple(
                replace(delta, arguments=self._take(delta.index, delta.arguments)) for delta in piece.tool_calls
            ),
            block=None if piece.block is None else replace(piece.block, text=joined(piece.block.text)),
        )

    def _take(self, place: str | int, text: str) -> str:
        if not text:
            return text
        text = self._held.pop(place, "") + text
        if _LAST_IS_FIRST_HALF.search(text):
            self._held[place] = text[-1]
            text = text[:-1]
        return joined(text)


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
