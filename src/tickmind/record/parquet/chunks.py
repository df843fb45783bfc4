"""Encoded column chunks of row groups, as in a Parquet file.

Arrow's writer looks at each value on its own. Where more is known of a column, e.g. that it has the same value in every
row, or that the rows of an actor stand together, its pages are made here at a small part of the cost; Arrow encodes the
rest. Readers see no difference.
"""

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tickmind.record.columns import Column
from tickmind.record.parquet import thrift
from tickmind.record.parquet.bits import pack_bits
from tickmind.record.parquet.file import open_writer
from tickmind.record.parquet.schemas import TableSpec

_CODEC = pa.Codec("zstd", 1)
_DATA, _DICTIONARY = 0, 2  # kinds of pages
PLAIN, RUNS, CODES = 0, 3, 8  # encodings
_NUMBERS = {"PLAIN": PLAIN, "RLE": RUNS, "BIT_PACKED": 4, "DELTA_BINARY_PACKED": 5, "RLE_DICTIONARY": CODES}
_PAGE_BYTES = 1 << 20
MOST_WORDS = 1 << 8  # of a dictionary of numbers


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """A column of a row group: its pages, the dictionary's first, if there is one."""

    data: bytes | pa.Buffer
    rows: int
    raw_bytes: int
    encodings: tuple[int, ...]
    dictionary_bytes: int = 0  # of `data`; 0: there is none
    ends: tuple[int, int] | None = None  # smallest and largest value, if stated for readers


@dataclass(frozen=True, slots=True, eq=False)
class DictionaryPage:
    """A dictionary, as its page."""

    page: bytes
    raw_bytes: int
    count: int

    @property
    def width(self) -> int:
        """How many bits a code of it takes."""
        return max((self.count - 1).bit_length(), 1)


def encoded_text(text: str) -> bytes:
    """Return a text as it stands in a page."""
    data = text.encode()
    return len(data).to_bytes(4, "little") + data


def words(texts: Iterable[bytes]) -> DictionaryPage:
    """Make a dictionary of encoded texts."""
    encoded = list(texts)
    return _words(b"".join(encoded), len(encoded))


def numbers(low: int, high: int) -> DictionaryPage:
    """Make a dictionary of all whole numbers from `low` to `high`."""
    return _words(np.arange(low, high + 1, dtype="<i4").tobytes(), high - low + 1)


def _words(raw: bytes, count: int) -> DictionaryPage:
    page, raw_bytes = _page(_DICTIONARY, raw, count, PLAIN)
    return DictionaryPage(page, raw_bytes, count)


def _page(kind: int, raw: bytes, values: int, encoding: int) -> tuple[bytes, int]:
    """Return a page with its header, and its unpacked size."""
    stored: bytes = _CODEC.compress(raw, asbytes=True)
    checksum = zlib.crc32(stored)
    about: dict[int, thrift.Item | None] = {1: thrift.i32(values), 2: thrift.i32(encoding)}
    if kind == _DATA:
        about |= {3: thrift.i32(RUNS), 4: thrift.i32(RUNS)}
    head = thrift.struct(
        {
            1: thrift.i32(kind),
            2: thrift.i32(len(raw)),
            3: thrift.i32(len(stored)),
            4: thrift.i32(checksum - (1 << 32) if checksum >> 31 else checksum),
            5 if kind == _DATA else 7: thrift.struct(about),
        }
    ).data
    return head + stored, len(head) + len(raw)


def _run(rows: int, code: int, width: int) -> bytes:
    """Return a run of one code."""
    return thrift.varint(rows << 1) + code.to_bytes((width + 7) // 8, "little")


def _present(rows: int, *, optional: bool) -> bytes:
    """Return the definition levels of a column without nulls that may have them."""
    if not optional:
        return b""
    levels = _run(rows, 1, 1)
    return len(levels).to_bytes(4, "little") + levels


def _coded(dictionary: DictionaryPage, rows: int, runs: bytes, *, optional: bool) -> Chunk:
    raw = b"".join((_present(rows, optional=optional), bytes((dictionary.width,)), runs))
    page, raw_bytes = _page(_DATA, raw, rows, CODES)
    return Chunk(
        dictionary.page + page,
        rows,
        dictionary.raw_bytes + raw_bytes,
        (PLAIN, RUNS, CODES),
        dictionary_bytes=len(dictionary.page),
    )


def same(dictionary: DictionaryPage, rows: int, code: int = 0, *, optional: bool = False) -> Chunk:
    """Encode one word in every row."""
    return _coded(dictionary, rows, _run(rows, code, dictionary.width), optional=optional)


def each_in_turn(dictionary: DictionaryPage, times: int) -> Chunk:
    """Encode every word of the dictionary so many times, one after another."""
    size = (dictionary.width + 7) // 8
    codes = np.arange(dictionary.count, dtype="<u4").view(np.uint8).reshape(-1, 4)[:, :size]
    head = np.frombuffer(thrift.varint(times << 1), dtype=np.uint8)
    runs = np.hstack([np.broadcast_to(head, (dictionary.count, len(head))), codes])
    return _coded(dictionary, dictionary.count * times, runs.tobytes(), optional=False)


def ticks_in_turn(ticks: Sequence[int], times: Sequence[int]) -> Chunk:
    """Encode ascending ticks, each repeated `times` times (at least once)."""
    raw = np.array(ticks, dtype="<i8").tobytes()
    dictionary = _words(raw, len(ticks))
    runs = [_run(count, code, dictionary.width) for code, count in enumerate(times)]
    chunk = _coded(dictionary, sum(times), b"".join(runs), optional=False)
    return replace(chunk, ends=(ticks[0], ticks[-1]))


def coded(dictionary: DictionaryPage, codes: Column, *, optional: bool = False) -> Chunk:
    """Encode a word for each code; codes take one byte or four."""
    groups = thrift.varint(-(-len(codes) // 8) << 1 | 1)
    return _coded(dictionary, len(codes), groups + pack_bits(codes, dictionary.width), optional=optional)


def absent(rows: int) -> Chunk:
    """Encode a null in every row."""
    levels = _run(rows, 0, 1)
    page, raw_bytes = _page(_DATA, len(levels).to_bytes(4, "little") + levels, rows, PLAIN)
    return Chunk(page, rows, raw_bytes, (PLAIN, RUNS))


def true(rows: int) -> Chunk:
    """Encode true in every row."""
    page, raw_bytes = _page(_DATA, b"\xff" * -(-rows // 8), rows, PLAIN)
    return Chunk(page, rows, raw_bytes, (PLAIN, RUNS))


def small_numbers(values: Column, *, optional: bool = False) -> Chunk:
    """Encode numbers of few bytes: by a dictionary if they lie near each other, else plain."""
    low, high = int(values.min()), int(values.max())
    if low == high:
        return same(numbers(low, low), len(values), optional=optional)
    if high - low < MOST_WORDS:
        codes = (values.view(np.uint8) if values.itemsize == 1 else values.astype(np.uint8)) - np.uint8(low & 255)
        return coded(numbers(low, high), codes, optional=optional)
    return _as_they_are(values.astype("<i4"), optional=optional)


def _as_they_are(values: Column, *, optional: bool) -> Chunk:
    """Encode numbers of four bytes plain."""
    pages: list[bytes] = []
    raw_bytes = 0
    for start in range(0, len(values), _PAGE_BYTES // 4):
        some = values[start : start + _PAGE_BYTES // 4]
        page, size = _page(_DATA, _present(len(some), optional=optional) + some.tobytes(), len(some), PLAIN)
        pages.append(page)
        raw_bytes += size
    return Chunk(b"".join(pages), len(values), raw_bytes, (PLAIN, RUNS))


def by_arrow(spec: TableSpec, names: Iterable[str], columns: Iterable[Any]) -> list[Chunk]:
    """Encode some columns of a table by Arrow."""
    part = spec.part(names)
    table = pa.Table.from_arrays(list(columns), schema=part.written_schema)
    stream = pa.BufferOutputStream()
    about: list[pq.FileMetaData] = []
    with open_writer(stream, part, metadata_collector=about) as writer:
        writer.write_table(table, row_group_size=table.num_rows)
    written, group = stream.getvalue(), about[0].row_group(0)
    return [_cut(written, group.column(place)) for place in range(group.num_columns)]


def _cut(written: pa.Buffer, about: pq.ColumnChunkMetaData) -> Chunk:
    start = dictionary_bytes = 0
    if about.has_dictionary_page:
        start = about.dictionary_page_offset
        dictionary_bytes = about.data_page_offset - start
    else:
        start = about.data_page_offset
    statistics = about.statistics
    return Chunk(
        written[start : start + about.total_compressed_size],
        about.num_values,
        about.total_uncompressed_size,
        tuple(_NUMBERS[name] for name in about.encodings),
        dictionary_bytes,
        (int(statistics.min), int(statistics.max)) if statistics is not None and statistics.has_min_max else None,
    )
