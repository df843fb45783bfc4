"""Columns as packed little-endian bytes, and the checks that all of them share."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tickmind.protocol import WorldInfo
from tickmind.wire.errors import MessageError
from tickmind.wire.messages.limits import MAX_NEED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tickmind.protocol.columns import Int32, Int64, UInt8

I1, I2, I4, I8 = np.dtype("<i1"), np.dtype("<i2"), np.dtype("<i4"), np.dtype("<i8")
U1, U2, U8 = np.dtype("<u1"), np.dtype("<u2"), np.dtype("<u8")
# bytes of a number -> its unsigned type on this machine
UNSIGNED: dict[int, type[np.unsignedinteger[Any]]] = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


@dataclass(frozen=True, slots=True)
class ColumnBounds:
    """The sizes of a world, so that no row or code in a column points beyond."""

    actors: int
    objects: int
    item_kinds: int
    verbs: int
    kinds: int  # of objects
    states: int  # the most that any kind of object has
    width: int
    height: int
    own_needs: int = 0

    @classmethod
    def of(cls, world: WorldInfo) -> "ColumnBounds":
        """Return the bounds of a world."""
        return cls(
            actors=len(world.actors),
            objects=len(world.objects),
            item_kinds=len(world.item_kinds),
            verbs=len(world.verbs),
            kinds=len(world.kinds),
            states=max((len(kind.states) for kind in world.kinds), default=0),
            width=world.width,
            height=world.height,
            own_needs=len(world.own_needs),
        )


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name, the type of its numbers, and their range."""

    name: str
    dtype: "np.dtype[Any]"
    low: int = 0
    bound: int | str | None = None  # the first number that is too large, or its name in `ColumnBounds`

    def limit(self, bounds: ColumnBounds) -> int | None:
        """Return the first number that is too large in a world."""
        return getattr(bounds, self.bound) if isinstance(self.bound, str) else self.bound


def pack(column: "NDArray[Any]", dtype: "np.dtype[Any]", field: str) -> bytes:
    """Pack a column; its type must match, because a cast could change numbers unnoticed."""
    check_type(column, dtype, field)
    return column.tobytes()


def check_type(column: "NDArray[Any]", dtype: "np.dtype[Any]", field: str) -> None:
    """Check the type of a column."""
    if column.dtype != dtype:
        raise MessageError(field, f"of type {dtype.name}, not {column.dtype}")


def unpack(data: bytes, dtype: "np.dtype[Any]", field: str, length: int | None = None) -> "NDArray[Any]":
    """Unpack a column without copying it; `length` is how many numbers there must be."""
    size = dtype.itemsize
    if len(data) % size or (length is not None and len(data) != length * size):
        wanted = "whole" if length is None else f"{length:,}"
        raise MessageError(field, f"{wanted} numbers of {size} bytes, not {len(data):,} bytes")
    column: NDArray[Any] = np.frombuffer(data, dtype) if data else np.empty(0, dtype)
    return column if dtype.isnative else column.astype(dtype.newbyteorder("="))


def check_range(column: "NDArray[Any]", low: int, bound: int | None, field: str) -> None:
    """Check that no number is below `low`, or at least `bound`."""
    if not column.size:
        return
    if low == 0 and bound is not None:
        good = int(column.view(UNSIGNED[column.dtype.itemsize]).max()) < bound  # negative numbers are large as unsigned
    else:
        good = int(column.min()) >= low and (bound is None or int(column.max()) < bound)
    if not good:
        raise MessageError(field, f"{low:,} or more" if bound is None else f"from {low:,} to {bound - 1:,}")


def read_column(message: Any, column: Column, length: int, bounds: ColumnBounds) -> "NDArray[Any]":
    """Read a column of a message and check its length and range."""
    array = unpack(getattr(message, column.name), column.dtype, column.name, length)
    bound = column.limit(bounds)
    if bound is not None or (column.low == 0 and column.dtype.kind == "i"):
        check_range(array, column.low, bound, column.name)
    return array


def read_own_needs(data: bytes, dtype: "np.dtype[Any]", length: int, bounds: ColumnBounds) -> "NDArray[Any] | None":
    """Read the own needs of so many actors; None in a world that has none."""
    values = unpack(data, dtype, "own_needs", length * bounds.own_needs)
    check_range(values, 0, int(MAX_NEED.maximum) + 1, "own_needs")
    return values.reshape(length, bounds.own_needs) if bounds.own_needs else None


def read_rows(data: bytes, bound: int, field: str) -> "Int32":
    """Read strictly ascending rows."""
    rows: Int32 = unpack(data, I4, field)
    check_rows(rows, bound, field)
    return rows


def check_rows(rows: "Int32", bound: int, field: str) -> None:
    """Check that rows ascend strictly and lie within the world."""
    if len(rows) and not (rows[0] >= 0 and rows[-1] < bound and (rows[1:] > rows[:-1]).all()):
        raise MessageError(field, f"ascending rows below {bound:,}, none twice")


def read_codes(data: bytes, length: int, bound: int, field: str, low: int = 0) -> "UInt8":
    """Read as many codes as there are rows."""
    codes: UInt8 = unpack(data, U1, field, length)
    check_range(codes, low, bound, field)
    return codes


def read_offsets(data: bytes, length: int, total: int, field: str) -> "Int64":
    """Read where the list of each of `length` observers begins; the lists must fill `total` places exactly."""
    offsets: Int64 = unpack(data, I8, field, length + 1)
    if offsets[0] != 0 or offsets[-1] != total or (offsets[1:] < offsets[:-1]).any():
        raise MessageError(field, f"offsets that grow from 0 to {total:,}")
    return offsets
