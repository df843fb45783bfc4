"""`VectorTable`: what the entries of a memory mean, as rows of whole numbers."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Embed: TypeAlias = Callable[[Sequence[str]], "NDArray[np.float32]"]  # texts -> a row for each; only directions count
_LARGEST = 127
_EXACT_COLUMNS = 2**24 // _LARGEST**2  # with more, sums of products need more than the 24 bits of a float32
_MORE_ROWS = 16  # few, because a row may be large; to copy all of them takes microseconds


class VectorTable:
    """Keep a row for each text, in the order in which they were added, and compare them with others.

    A number of a row takes one byte, from -127 to 127, which is as good for ranking as 32 bits. Sums of products of
    whole numbers are exact, so a likeness depends neither on the order of the rows nor on the machine.
    """

    def __init__(self, embed: Embed) -> None:
        self._embed = embed
        self._count = 0
        self._rows: NDArray[np.int8] = np.zeros((0, 0), dtype=np.int8)  # with room for more
        self._lengths: NDArray[np.float64] = np.zeros(0)  # of the rows, at least 1

    def __len__(self) -> int:
        return self._count

    def add(self, texts: Sequence[str]) -> None:
        """Add a row for each text. Raises `ValueError` if `embed` does not return one for each."""
        if not texts:
            return
        rows, lengths = self._rounded(texts)
        end = self._count + len(rows)
        if end > len(self._rows):
            columns, more = rows.shape[1], end - self._count + _MORE_ROWS
            known = self._rows[: self._count].reshape(self._count, columns)
            self._rows = np.concatenate((known, np.zeros((more, columns), dtype=np.int8)))
            self._lengths = np.concatenate((self._lengths[: self._count], np.zeros(more)))
        self._rows[self._count : end] = rows
        self._lengths[self._count : end] = lengths
        self._count = end

    def put(self, place: int, row: "NDArray[np.float32]") -> None:
        """Replace the row of a text, as one that was not known when it was added."""
        whole = np.zeros((1, self._rows.shape[1]), dtype=np.float64)
        whole[0, : len(row)] = row
        (self._rows[place],), (self._lengths[place],) = _whole_rows(whole)

    def picked(self, places: Sequence[int]) -> "VectorTable":
        """Return a table that has only these rows, in this order."""
        made = VectorTable(self._embed)
        if places:
            made._rows, made._lengths, made._count = self._rows[places], self._lengths[places], len(places)
        return made

    def likeness(self, text: str) -> "NDArray[np.float64]":
        """Return how like each row is to what a text means, from 0 to 1: the cosine, and 0 for opposites."""
        if not self._count:
            return np.zeros(0)
        (row,), (length,) = self._rounded([text])
        exact = np.float32 if row.size <= _EXACT_COLUMNS else np.float64
        products = np.vecdot(self._rows[: self._count].astype(exact), row.astype(exact)).astype(np.float64)
        cosines: NDArray[np.float64] = products / (self._lengths[: self._count] * length)
        return np.maximum(0.0, cosines)

    def _rounded(self, texts: Sequence[str]) -> "tuple[NDArray[np.int8], NDArray[np.float64]]":
        """Return the texts' rows, scaled so that the largest number of each is 127, and their lengths."""
        rows = self._embed(texts)
        if len(rows) != len(texts):
            raise ValueError(f"embed returned {len(rows)} rows for {len(texts)} texts; it must return one for each")
        return _whole_rows(rows)


def _whole_rows(rows: "NDArray[Any]") -> "tuple[NDArray[np.int8], NDArray[np.float64]]":
    largest = np.abs(rows).max(axis=1, keepdims=True)
    whole = np.rint(rows / np.where(largest > 0, largest, 1) * _LARGEST)
    lengths = np.sqrt(np.vecdot(whole, whole, dtype=np.float64))
    return whole.astype(np.int8), np.maximum(1.0, lengths)
