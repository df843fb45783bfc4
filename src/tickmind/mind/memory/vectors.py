"""`VectorTable`: what the entries of a memory mean, as rows of small whole numbers."""

from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tickmind.base import Limit

if TYPE_CHECKING:
    from numpy.typing import NDArray

Embed: TypeAlias = Callable[[Sequence[str]], "NDArray[np.float32]"]  # texts -> a row for each; only directions count
MAX_SHARED_ROWS = Limit("number of texts whose rows the minds of a process share", 4096)
_LARGEST, _LARGEST_HALF = 127, 7  # of a number in eight bits, and in four
_PACKED_COLUMNS = 128  # from which on four bits are as good for ranking: errors of so many numbers cancel out
_EXACT_COLUMNS = 1000  # with more, sums of products need more than the 24 bits of a float32


class SharedEmbed:
    """An embedding that gives a text the same row at any time: minds of a process share the rows of texts.

    What one says, several hear and remember. The rows of the last texts are kept here; a mind keeps those of its own.
    """

    def __init__(self, embed: Embed) -> None:
        self._embed = embed
        self._rows: dict[str, bytes] = {}  # text -> its row as tables have it, the last one that was asked for is last

    def __call__(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Return a row for each text."""
        return self._embed(texts)

    def row(self, text: str) -> bytes | None:
        """Return the packed row of a text; None if it is not among the last ones."""
        row = self._rows.pop(text, None)
        if row is not None:
            self._rows[text] = row
        return row

    def share(self, text: str, row: bytes) -> None:
        """Keep the packed row of a text."""
        self._rows[text] = row
        if not MAX_SHARED_ROWS.allows(len(self._rows)):
            del self._rows[next(iter(self._rows))]


class VectorTable:
    """Keep a row for each text, in the order in which they were added, and compare them with others.

    A number of a row takes four bits, from -7 to 7, which ranks nearly as 32 bits do; in a short row it takes eight.
    Sums of products of whole numbers are exact, so a likeness depends neither on the order of the rows nor on the
    machine.
    """

    def __init__(self, embed: Embed) -> None:
        self._embed = embed
        self._shared = embed if isinstance(embed, SharedEmbed) else None
        self._columns = 0  # of a row as it was embedded
        self._rows: list[bytes] = []
        self._lengths = array("f")  # of the rows, at least 1

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, texts: Sequence[str]) -> None:
        """Add a row for each text. Raises `ValueError` if `embed` does not return one for each."""
        known = {} if self._shared is None or not self._columns else self._known(texts)
        new = [text for text in dict.fromkeys(texts) if text not in known]
        if new:
            known.update(zip(new, self._packed(self._embedded(new)), strict=True))
        if self._shared is not None:
            for text in new:
                self._shared.share(text, known[text])
        rows = [known[text] for text in texts]
        self._rows += rows
        self._lengths.extend(self._lengths_of(rows))

    def _known(self, texts: Iterable[str]) -> dict[str, bytes]:
        assert self._shared is not None
        found = ((text, self._shared.row(text)) for text in texts)
        return {text: row for text, row in found if row is not None}

    def put(self, place: int, row: "NDArray[np.float32]") -> None:
        """Replace the row of a text, as one that was not known when it was added."""
        whole = np.zeros((1, self._columns))
        whole[0, : len(row)] = row
        (self._rows[place],) = rows = self._packed(whole)
        (self._lengths[place],) = self._lengths_of(rows)

    def picked(self, places: Sequence[int]) -> "VectorTable":
        """Return a table that has only these rows, in this order."""
        made = VectorTable(self._embed)
        made._columns = self._columns
        made._rows, made._lengths = [self._rows[place] for place in places], array("f")
        made._lengths.extend(self._lengths[place] for place in places)
        return made

    def likeness(self, text: str) -> "NDArray[np.float64]":
        """Return how like each row is to what a text means, from 0 to 1: the cosine, and 0 for opposites."""
        if not self._rows:
            return np.zeros(0)
        (row,) = _whole(self._embedded([text]), _LARGEST)
        length = max(1.0, float(np.sqrt(np.vecdot(row, row))))
        asked = row.astype(np.float32 if row.size <= _EXACT_COLUMNS else np.float64)
        products = self._products(self._pairs(self._rows), asked)
        cosines: NDArray[np.float64] = products / (np.frombuffer(self._lengths, dtype=np.float32) * length)
        return np.maximum(0.0, cosines)

    def _products(self, pairs: "NDArray[np.int8]", asked: "NDArray[Any]") -> "NDArray[np.float64]":
        """Return the product of each packed row with another, which is not packed."""
        if self._columns < _PACKED_COLUMNS:
            whole: NDArray[np.float64] = np.vecdot(pairs.astype(asked.dtype), asked).astype(np.float64)
            return whole
        first, second = asked[::2].copy(), np.zeros(pairs.shape[1], dtype=asked.dtype)
        second[: self._columns // 2] = asked[1::2]
        # A byte is 16 a + b, so 16 (a x + b y) = (16 a + b) x + b (16 y - x), and b + 8 is in its last four bits.
        weights = 16 * second - first
        low = ((pairs + np.int8(8)) & np.int8(15)).astype(asked.dtype)
        products: NDArray[np.float64] = np.vecdot(pairs.astype(asked.dtype), first).astype(np.float64)
        products += np.vecdot(low, weights) - 8.0 * float(weights.sum(dtype=np.float64))
        products /= 16
        return products

    def _embedded(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        rows = self._embed(texts)
        if len(rows) != len(texts):
            raise ValueError(f"embed returned {len(rows)} rows for {len(texts)} texts; it must return one for each")
        self._columns = rows.shape[1]
        return rows

    def _packed(self, rows: "NDArray[Any]") -> list[bytes]:
        """Return rows scaled so that the largest number of each is 7, with two numbers in a byte; short ones as 127."""
        if self._columns < _PACKED_COLUMNS:
            return [row.tobytes() for row in _whole(rows, _LARGEST).astype(np.int8)]
        whole = _whole(rows, _LARGEST_HALF).astype(np.int8)
        pairs = whole[:, ::2] * np.int8(16)
        pairs[:, : whole.shape[1] // 2] += whole[:, 1::2]
        return [row.tobytes() for row in pairs]

    def _pairs(self, rows: Sequence[bytes]) -> "NDArray[np.int8]":
        """Return packed rows as one array; short ones have one number in a byte instead of two."""
        return np.frombuffer(b"".join(rows), dtype=np.int8).reshape(len(rows), -1)

    def _lengths_of(self, rows: Sequence[bytes]) -> list[float]:
        if not rows:
            return []
        pairs = self._pairs(rows)
        squares = np.vecdot(pairs, pairs, dtype=np.float64)
        if self._columns >= _PACKED_COLUMNS:
            low = ((pairs + np.int8(8)) & np.int8(15)) - np.int8(8)
            high = (pairs - low) >> 4
            squares = np.vecdot(low, low, dtype=np.float64) + np.vecdot(high, high, dtype=np.float64)
        return [float(length) for length in np.maximum(1.0, np.sqrt(squares))]


def _whole(rows: "NDArray[Any]", largest: int) -> "NDArray[np.float64]":
    """Return rows of whole numbers, scaled so that the largest of each is a given one."""
    most = np.abs(rows).max(axis=1, keepdims=True)
    whole: NDArray[np.float64] = np.rint(rows / np.where(most > 0, most, 1) * largest).astype(np.float64)
    return whole
