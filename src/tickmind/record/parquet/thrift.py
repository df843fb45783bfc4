"""Writes the compact form of Thrift in which the headers of pages and the ends of Parquet files are kept."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

_TRUE, _FALSE, _BYTE, _I32, _I64, _BINARY, _LIST, _STRUCT = 1, 2, 3, 5, 6, 8, 9, 12
_SHORT_LIST = 15  # from here on the length has a place of its own


class Item(NamedTuple):
    """A value, written, and of which type it is."""

    kind: int
    data: bytes


def varint(value: int) -> bytes:
    """Seven bits in each byte, the lowest first."""
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    found.append(value)
    return bytes(found)


def _signed(value: int) -> bytes:
    return varint(value << 1 if value >= 0 else (-value << 1) - 1)


def boolean(value: bool) -> Item:
    """A truth value, which stands in its type."""
    return Item(_TRUE if value else _FALSE, b"")


def byte(value: int) -> Item:
    """A number of 8 bits."""
    return Item(_BYTE, bytes((value,)))


def i32(value: int) -> Item:
    """A number of 32 bits."""
    return Item(_I32, _signed(value))


def i64(value: int) -> Item:
    """A number of 64 bits."""
    return Item(_I64, _signed(value))


def binary(value: bytes) -> Item:
    """Bytes, or a text in UTF-8."""
    return Item(_BINARY, varint(len(value)) + value)


def array(values: Iterable[Item]) -> Item:
    """A list of values of one type; where there are none, of structs."""
    found = list(values)
    kind, count = found[0].kind if found else _STRUCT, len(found)
    head = bytes((count << 4 | kind,)) if count < _SHORT_LIST else bytes((_SHORT_LIST << 4 | kind,)) + varint(count)
    return Item(_LIST, head + b"".join(one.data for one in found))


def struct(fields: Mapping[int, Item | None]) -> Item:
    """A struct of fields by their numbers, which ascend by less than 16; those that are None are left out."""
    parts: list[bytes] = []
    last = 0
    for number, item in fields.items():
        if item is not None:
            parts += (bytes((number - last << 4 | item.kind,)), item.data)
            last = number
    return Item(_STRUCT, b"".join((*parts, b"\0")))
