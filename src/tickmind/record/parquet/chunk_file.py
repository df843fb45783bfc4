"""A writer of Parquet files from columns that are already encoded."""

from collections.abc import Sequence
from typing import BinaryIO, Self

import pyarrow as pa

from tickmind.record.parquet import thrift
from tickmind.record.parquet.chunks import Chunk
from tickmind.record.parquet.schemas import TableSpec

_MAGIC = b"PAR1"
_CREATED_BY = b"tickmind version 1.0.0"
_ZSTD = 6
_TEXT = thrift.struct({1: thrift.struct({})})
_SMALL = thrift.struct({10: thrift.struct({1: thrift.byte(8), 2: thrift.boolean(True)})})
# type of a column -> number of its physical type, and its logical type, in the old and in the new way
_KINDS: dict[pa.DataType, tuple[int, thrift.Item | None, thrift.Item | None]] = {
    pa.bool_(): (0, None, None),
    pa.int8(): (1, thrift.i32(15), _SMALL),
    pa.int32(): (1, None, None),
    pa.int64(): (2, None, None),
    pa.string(): (6, thrift.i32(0), _TEXT),
}


class ChunkFile:
    """Writes row groups one after another, and the footer at the end."""

    def __init__(self, stream: BinaryIO | pa.NativeFile, spec: TableSpec) -> None:
        self._stream = stream
        self._spec = spec
        self._groups: list[thrift.Item] = []
        self._rows = 0
        self._place = 0
        self._write(_MAGIC)

    def _write(self, data: bytes | pa.Buffer) -> None:
        self._stream.write(data)
        self._place += len(data)

    def add(self, chunks: Sequence[Chunk]) -> None:
        """Add a row group: all columns in the order of the schema."""
        first, rows, columns = self._place, chunks[0].rows, []
        for field, chunk in zip(self._spec.schema, chunks, strict=True):
            assert chunk.rows == rows
            columns.append(self._column(field, chunk))
            self._write(chunk.data)
        self._groups.append(
            thrift.struct(
                {
                    1: thrift.array(columns),
                    2: thrift.i64(sum(chunk.raw_bytes for chunk in chunks)),
                    3: thrift.i64(rows),
                    5: thrift.i64(first),
                    6: thrift.i64(self._place - first),
                }
            )
        )
        self._rows += rows

    def _column(self, field: pa.Field, chunk: Chunk) -> thrift.Item:
        """Return the metadata of a column that begins at this place."""
        about = thrift.struct(
            {
                1: thrift.i32(_KINDS[field.type][0]),
                2: thrift.array(map(thrift.i32, chunk.encodings)),
                3: thrift.array([thrift.binary(field.name.encode())]),
                4: thrift.i32(_ZSTD),
                5: thrift.i64(chunk.rows),
                6: thrift.i64(chunk.raw_bytes),
                7: thrift.i64(len(chunk.data)),
                9: thrift.i64(self._place + chunk.dictionary_bytes),
                11: thrift.i64(self._place) if chunk.dictionary_bytes else None,
                12: _statistics(chunk.ends),
            }
        )
        return thrift.struct({2: thrift.i64(0), 3: about})

    def close(self) -> None:
        """Write the footer; the stream stays open."""
        schema = self._spec.schema
        root = thrift.struct({3: thrift.i32(0), 4: thrift.binary(b"schema"), 5: thrift.i32(len(schema))})
        foot = thrift.struct(
            {
                1: thrift.i32(2),
                2: thrift.array([root, *map(_element, schema)]),
                3: thrift.i64(self._rows),
                4: thrift.array(self._groups),
                6: thrift.binary(_CREATED_BY),
                7: thrift.array([thrift.struct({1: thrift.struct({})})] * len(schema)),
            }
        ).data
        self._write(foot)
        self._write(len(foot).to_bytes(4, "little") + _MAGIC)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_exc_info: object) -> None:
        if kind is None:
            self.close()


def _element(field: pa.Field) -> thrift.Item:
    form, old, new = _KINDS[field.type]
    return thrift.struct(
        {
            1: thrift.i32(form),
            3: thrift.i32(int(field.nullable)),
            4: thrift.binary(field.name.encode()),
            6: old,
            10: new,
        }
    )


def _statistics(ends: tuple[int, int] | None) -> thrift.Item | None:
    if ends is None:
        return None
    low, high = (thrift.binary(end.to_bytes(8, "little", signed=True)) for end in ends)
    return thrift.struct({3: thrift.i64(0), 5: high, 6: low})
