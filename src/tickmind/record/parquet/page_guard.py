"""A guard that checks the pages of a column before they are unpacked: the footer of a Parquet file may lie.

A page that would unpack to more than tickmind ever writes, or in an encoding that repeats values, is not read.
"""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from tickmind.record.errors import DamagedRunError
from tickmind.record.limits import MAX_CHUNK_BYTES, MAX_GROUP_ROWS, MAX_PAGE_BYTES

_HEADER_BYTES = 1 << 13
_MOST_DEPTH = 8
_MOST_PAGES = 100_000
_MOST_HEADER_BYTES = 1 << 20  # of all pages of a column together
_ALLOWED = frozenset({0, 2, 3, 4, 5, 8})  # plain, dictionary, run lengths, bits, differences of numbers, dictionary

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)


@dataclass(frozen=True, slots=True)
class PageHeader:
    """The header of a page."""

    raw_bytes: int
    stored_bytes: int
    values: int
    encoding: int
    size: int  # of the header itself


class _Thrift:
    """Reads Thrift's compact format of page headers; raises `IndexError` at a premature end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.place = 0

    def byte(self) -> int:
        value = self._data[self.place]
        self.place += 1
        return value

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise DamagedRunError("a page of a table has an invalid number")

    def number(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def struct(self, depth: int = 0) -> dict[int, object]:
        """Return the numbers and structs in a struct by field number; everything else is skipped."""
        if depth > _MOST_DEPTH:
            raise DamagedRunError("a page of a table has an invalid header")
        fields: dict[int, object] = {}
        field = 0
        while head := self.byte():
            kind = head & 15
            field = field + (head >> 4) if head >> 4 else self.number()
            fields[field] = self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> object:
        if kind in (_TRUE, _FALSE):
            return kind == _TRUE
        if kind == _BYTE:
            return self.byte()
        if kind in (_I16, _I32, _I64):
            return self.number()
        if kind == _DOUBLE:
            self.place += 8
        elif kind == _BINARY:
            size = self.varint()
            self.place += size
        elif kind == _STRUCT:
            return self.struct(depth + 1)
        elif kind in (_LIST, _SET):
            self._list(depth + 1)
        else:
            raise DamagedRunError("a page of a table has an invalid header")
        return None

    def _list(self, depth: int) -> None:
        """Skip a list. Each value takes at least a byte, so there are no more of them than bytes."""
        if depth > _MOST_DEPTH:
            raise DamagedRunError("a page of a table has an invalid header")
        head = self.byte()
        count = self.varint() if head >> 4 == 15 else head >> 4
        if count > _HEADER_BYTES:
            raise DamagedRunError("a page of a table has an invalid header")
        kind = _BYTE if head & 15 in (_TRUE, _FALSE) else head & 15
        for _ in range(count):
            self._value(kind, depth)


def read_page_header(data: bytes) -> PageHeader:
    """Parse the header at the beginning of these bytes."""
    reader = _Thrift(data)
    try:
        fields = reader.struct()
    except IndexError:
        raise DamagedRunError("a page of a table has a truncated header") from None
    inner = next((fields[place] for place in (5, 7, 8) if isinstance(fields.get(place), dict)), {})
    assert isinstance(inner, dict)
    encoding = inner.get(4 if 8 in fields else 2, -1)
    numbers = [fields.get(2), fields.get(3), inner.get(1, 0), encoding]
    if not all(isinstance(number, int) and number >= 0 for number in numbers):
        raise DamagedRunError("a page of a table does not state its size")
    raw, stored, values, encoding = (int(str(number)) for number in numbers)
    return PageHeader(raw, stored, values, encoding, reader.place)


def check_column(source: pa.NativeFile, chunk: pq.ColumnChunkMetaData, name: str) -> None:
    """Raise `DamagedRunError` unless all pages of a column chunk have the expected form."""
    start = chunk.data_page_offset
    if chunk.has_dictionary_page and chunk.dictionary_page_offset is not None:
        start = min(start, chunk.dictionary_page_offset)
    end, size = start + chunk.total_compressed_size, source.size()
    if not 0 < start <= end <= size:
        raise DamagedRunError(f"{name} has a column that lies outside the file")
    raw = values = pages = headers = 0
    place = start
    while place < end:
        header = read_page_header(source.read_at(min(_HEADER_BYTES, size - place), place))
        if header.encoding not in _ALLOWED:
            raise DamagedRunError(f"{name} has a page in an unexpected encoding")
        MAX_PAGE_BYTES.check(header.raw_bytes)
        raw, values, pages = raw + header.raw_bytes, values + header.values, pages + 1
        headers += header.size
        place += header.size + header.stored_bytes
        MAX_CHUNK_BYTES.check(raw)
        MAX_GROUP_ROWS.check(values // 2)  # a dictionary has values too
        if pages > _MOST_PAGES or headers > _MOST_HEADER_BYTES:
            raise DamagedRunError(f"{name} has a column with too many pages")
    if place != end:
        raise DamagedRunError(f"{name} has a column whose pages do not add up")
