"""A writer of Thrift's compact format, used by page headers and footers of Parquet files."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

_TRUE, _FALSE, _BYTE, _I32, _I64, _BINARY, _LIST, _STRUCT = 1, 2, 3, 5, 6, 8, 9, 12
_SHORT_LIST = 15  # from here on the length is a separate field


class Item(NamedTuple):
    """An encoded value and its type."""

    kind: int
    data: bytes


def varint(value: int) -> bytes:
    """Encode seven bits per byte, lowest first."""
    data = bytearray()
    while value > 127:
        data.append(value & 127 | 128)
        value >>= 7
    data.append(value)
    return bytes(data)


def _signed(value: int) -> bytes:
    return varint(value << 1 if value >= 0 else (-value << 1) - 1)


def boolean(value: bool) -> Item:
    """Encode a truth value, which is part of its type."""
    return Item(_TRUE if value else _FALSE, b"")


def byte(value: int) -> Item:
    """Encode a number of 8 bits."""
    return Item(_BYTE, bytes((value,)))


def i32(value: int) -> Item:
    """Encode a number of 32 bits."""
    return Item(_I32, _signed(value))


def i64(value: int) -> Item:
    """Encode a number of 64 bits."""
    return Item(_I64, _signed(value))


def binary(value: bytes) -> Item:
    """Encode bytes, or a text in UTF-8."""
    return Item(_BINARY, varint(len(value)) + value)


def array(values: Iterable[Item]) -> Item:
    """Encode a list of values of one type; an empty one counts as of structs."""
    items = list(values)
    kind, count = items[0].kind if items else _STRUCT, len(items)
    head = bytes((count << 4 | kind,)) if count < _SHORT_LIST else bytes((_SHORT_LIST << 4 | kind,)) + varint(count)
    return Item(_LIST, head + b"".join(item.data for item in items))


def struct(fields: Mapping[int, Item | None]) -> Item:
    """Encode a struct of fields by ascending numbers, less than 16 apart; None fields are left out."""
    parts: list[bytes] = []
    last = 0
    for number, item in fields.items():
        if item is not None:
            parts += (bytes((number - last << 4 | item.kind,)), item.data)
            last = number
    return Item(_STRUCT, b"".join((*parts, b"\0")))
