"""`VectorTable`: what the entries of a memory mean, as rows of small whole numbers."""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Embed: TypeAlias = Callable[[Sequence[str]], "NDArray[np.float32]"]  # texts -> a row for each; only directions count
_LARGEST = 127  # of a number in eight bits
_SMALLEST = np.finfo(np.float32).tiny  # by which zeros can be divided
_PACKED_COLUMNS = 128  # from which on two bits are enough: errors of so many numbers nearly cancel out
_NUMBERS_EACH = 4  # numbers in a byte, the first one in the lowest bits
_LEAST_ROOM, _MORE_ROOM = 16, 8  # rows; a table grows by an eighth of its rows
_EXACT_COLUMNS = 1000  # with more, sums of products need more than the 24 bits of a float32
# Byte -> the codes of its four numbers.
_CODES: "NDArray[np.float32]" = (np.arange(256)[:, np.newaxis] >> 2 * np.arange(_NUMBERS_EACH) & 3).astype(np.float32)


class VectorTable:
    """Keep a row for each text, in the order in which they were added, and compare them with others.

    A number of a row takes two bits: its sign, and whether it is larger than usual in its row, as one of -3, -1, 1 and
    3. In a short row it takes eight. Sums of products of whole numbers are exact, so a likeness depends neither on the
    order of the rows nor on the machine.
    """

    def __init__(self, embed: Embed) -> None:
        self._embed = embed
        self._columns = 0  # of a row as it was embedded
        self._count = 0
        self._numbers: NDArray[Any] = np.zeros((0, 0), dtype=np.uint8)  # of packed rows, with room for more
        self._lengths: NDArray[np.float32] = np.zeros(0, dtype=np.float32)

    def __len__(self) -> int:
        return self._count

    def add(self, texts: Sequence[str]) -> None:
        """Add a row for each text. Raises `ValueError` if `embed` does not return one for each."""
        if not texts:
            return
        rows = _packed(self._embedded(texts))
        begin, self._count = self._count, self._count + len(rows)
        self._make_room(rows["numbers"])
        self._numbers[begin : self._count] = rows["numbers"]
        self._lengths[begin : self._count] = rows["length"]

    def _make_room(self, numbers: "NDArray[Any]") -> None:
        """Make room for all rows, of numbers like these."""
        if self._count > len(self._lengths):
            room, used = self._count + max(_LEAST_ROOM, self._count // _MORE_ROOM), len(self._lengths)
            before, self._numbers = self._numbers, np.zeros((room, numbers.shape[1]), dtype=numbers.dtype)
            if used:
                self._numbers[:used] = before
            self._lengths = np.concatenate((self._lengths, np.zeros(room - used, dtype=np.float32)))

    def put(self, place: int, row: "NDArray[np.float32]") -> None:
        """Replace the row of a text, as one that was not known when it was added."""
        whole = np.zeros((1, self._columns))
        whole[0, : len(row)] = row
        self._lengths[place], self._numbers[place] = _packed(whole)[0]

    def picked(self, places: Sequence[int]) -> "VectorTable":
        """Return a table that has only these rows, in this order."""
        made = VectorTable(self._embed)
        made._columns, made._count = self._columns, len(places)
        made._numbers, made._lengths = self._numbers[list(places)], self._lengths[list(places)]
        return made

    def asked(self, text: str) -> "NDArray[Any]":
        """Return what a text means, as a row to compare with those of the table."""
        row: NDArray[Any] = _whole(self._embedded([text]))[0]
        return row

    def likeness(self, asked: "NDArray[Any]", places: "NDArray[np.intp] | slice") -> "NDArray[np.float64]":
        """Return how like the rows at some places are to another: the cosine, and 0 for opposites."""
        numbers, lengths = self._numbers[: self._count][places], self._lengths[: self._count][places]
        if not len(numbers):
            return np.zeros(0)
        cosines = _products(numbers, asked)
        cosines /= lengths * max(1.0, math.sqrt(np.vecdot(asked, asked)))
        return np.maximum(cosines, 0.0, out=cosines)

    def _embedded(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        rows = self._embed(texts)
        if len(rows) != len(texts):
            raise ValueError(f"embed returned {len(rows)} rows for {len(texts)} texts; it must return one for each")
        self._columns = rows.shape[1]
        return rows


def _row_type(columns: int) -> "np.dtype[np.void]":
    """Return the type of a packed row: its length, which is infinite for a row of zeros, and its numbers."""
    if columns < _PACKED_COLUMNS:
        return np.dtype([("length", np.float32), ("numbers", np.int8, (columns,))])
    return np.dtype([("length", np.float32), ("numbers", np.uint8, (-(-columns // _NUMBERS_EACH),))])


def _packed(rows: "NDArray[Any]") -> "NDArray[np.void]":
    """Return rows with the two bits of four numbers in a byte, and short ones with one number in a byte."""
    columns = rows.shape[1]
    packed, whole = np.zeros(len(rows), dtype=_row_type(columns)), _whole(rows)
    squares = np.vecdot(whole, whole)
    if columns < _PACKED_COLUMNS:
        packed["numbers"] = whole
    else:
        # Zeros, as at the end of a row that was shorter, count for nothing: others are zero there, too.
        count = np.count_nonzero(rows, axis=1)
        is_large = whole * whole * count[:, np.newaxis] > squares[:, np.newaxis]
        codes = np.zeros((len(rows), packed["numbers"].shape[1], _NUMBERS_EACH), dtype=np.uint8)
        codes.reshape(len(rows), -1)[:, :columns] = np.where(whole < 0, 1 - is_large, 2 + is_large)
        for place in range(_NUMBERS_EACH):
            packed["numbers"] |= codes[:, :, place] << np.uint8(2 * place)
        squares = count + 8.0 * is_large.sum(axis=1)
    packed["length"] = np.where(whole.any(axis=1), np.sqrt(squares), np.inf)
    return packed


def _products(numbers: "NDArray[Any]", asked: "NDArray[Any]") -> "NDArray[np.float64]":
    """Return the product of each packed row with another, which is not packed."""
    if numbers.dtype == np.int8:
        products: NDArray[np.float64] = np.vecdot(numbers.astype(asked.dtype), asked).astype(np.float64)
        return products
    codes = _CODES.take(numbers, axis=0, mode="clip").reshape(len(numbers), -1)  # a byte is always in range
    products = np.vecdot(codes[:, : len(asked)], asked).astype(np.float64)
    products *= 2.0  # a number is two times its code, less 3
    products -= 3.0 * float(asked.sum(dtype=np.float64))
    return products


def _whole(rows: "NDArray[Any]") -> "NDArray[Any]":
    """Return rows of whole numbers, scaled so that the largest of each is that of eight bits."""
    most = np.abs(rows).max(axis=1, keepdims=True)
    whole: NDArray[Any] = rows / np.maximum(most, _SMALLEST)
    whole *= _LARGEST
    np.rint(whole, out=whole)
    return whole.astype(np.float32 if rows.shape[1] <= _EXACT_COLUMNS else np.float64, copy=False)
