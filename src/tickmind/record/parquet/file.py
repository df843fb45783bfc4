"""Finished tables: the writer, and a reader that does not trust the file."""

import io
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, BinaryIO, Self

import pyarrow as pa
import pyarrow.parquet as pq

from tickmind.base import LimitExceededError
from tickmind.record.errors import DamagedRunError
from tickmind.record.limits import MAX_FOOTER_BYTES, MAX_GROUP_ROWS
from tickmind.record.parquet.page_guard import check_column
from tickmind.record.parquet.schemas import ENCODING, TableSpec

_END_BYTES = 8
_PAGE_ROWS = 1 << 18  # each page also costs readers


def open_writer(
    where: Any, spec: TableSpec, *, metadata_collector: "list[pq.FileMetaData] | None" = None
) -> pq.ParquetWriter:
    """Open a writer of one table: zstd, with a fixed encoding for each column."""
    return pq.ParquetWriter(
        where,
        spec.written_schema,
        compression="zstd",
        compression_level=1,  # higher levels are slower, and encoded data gets hardly smaller
        use_dictionary=list(spec.dictionary) or False,
        column_encoding={name: ENCODING for name in spec.delta if name in spec.schema.names},
        write_statistics=[name for name in ("tick_id",) if name in spec.schema.names] or False,
        write_page_checksum=True,
        data_page_size=1 << 20,
        max_rows_per_page=_PAGE_ROWS,
        dictionary_pagesize_limit=48_000_000,
        store_schema=False,
        metadata_collector=metadata_collector,
    )


def native_file(file: BinaryIO) -> pa.NativeFile:
    """Return an open file in Arrow's form; a file of the system is read by Arrow's own threads."""
    if not isinstance(file, io.FileIO):
        return pa.PythonFile(file, mode="r")
    with file:
        return pa.OSFile(str(file.name), mode="r")


class TableFile:
    """A finished table to read, row group by row group. Texts stay dictionaries, so they never grow."""

    def __init__(self, source: pa.NativeFile, spec: TableSpec) -> None:
        self._source = source
        self._spec = spec
        self._starts = [0]  # row group -> its first row; and the end
        self._checked: set[tuple[int, str]] = set()  # columns of row groups whose pages were checked
        self._missing: frozenset[str] = frozenset()  # columns that a file of an earlier version lacks
        try:
            self._file: pq.ParquetFile = self._trying(self._open)
            self._count()
        except BaseException:
            source.close()
            raise

    def _count(self) -> None:
        metadata = self._file.metadata
        for group in range(metadata.num_row_groups):
            rows = metadata.row_group(group).num_rows
            if rows < 0:
                raise DamagedRunError(f"{self._spec.file_name} has a row group with a negative number of rows")
            self._starts.append(self._starts[-1] + rows)
            self._trying(self._check_last)
        if self._starts[-1] != metadata.num_rows:
            raise DamagedRunError(f"{self._spec.file_name} has another number of rows than its footer states")

    def _check_last(self) -> None:
        MAX_GROUP_ROWS.check(self._starts[-1] - self._starts[-2])

    def _open(self) -> pq.ParquetFile:
        size = self._source.size()
        footer = (
            int.from_bytes(self._source.read_at(4, max(size - _END_BYTES, 0)), "little") if size > _END_BYTES else 0
        )
        MAX_FOOTER_BYTES.check(footer)
        texts = [column.name for column in self._spec.schema if pa.types.is_string(column.type)]
        try:
            file = self._parquet(texts)
        except KeyError:  # a text column is missing, as in files of earlier versions
            file = self._parquet([name for name in texts if name not in self._spec.added])
        types = {column.name: column.type for column in file.schema_arrow}
        self._missing = frozenset(self._spec.added).difference(types)
        for column in self._spec.schema:
            if column.name in self._missing:
                continue
            kind = types.get(column.name)
            if kind is not None and pa.types.is_dictionary(kind):
                kind = kind.value_type
            if kind != column.type:
                raise DamagedRunError(f"{self._spec.file_name} has no column {column.name} of type {column.type}")
        return file

    def _parquet(self, texts: list[str]) -> pq.ParquetFile:
        return pq.ParquetFile(
            self._source,
            read_dictionary=texts,
            pre_buffer=False,
            page_checksum_verification=True,
            thrift_string_size_limit=1_000_000,
            thrift_container_size_limit=4_000_000,
            arrow_extensions_enabled=False,
        )

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self._starts[-1]

    @property
    def groups(self) -> int:
        """The number of row groups."""
        return len(self._starts) - 1

    def span(self, group: int) -> tuple[int, int]:
        """Return the first row of a row group, and the row after its last."""
        return self._starts[group], self._starts[group + 1]

    def ticks(self, group: int) -> tuple[int, int]:
        """Return the first and the last tick of a row group, by its statistics."""
        span: tuple[int, int] = self._trying(lambda: self._ticks(group))
        return span

    def _ticks(self, group: int) -> tuple[int, int]:
        metadata = self._file.metadata.row_group(group)
        for place in range(metadata.num_columns):
            chunk = metadata.column(place)
            if chunk.path_in_schema == "tick_id" and chunk.statistics is not None and chunk.statistics.has_min_max:
                return int(chunk.statistics.min), int(chunk.statistics.max)
        raise DamagedRunError(f"{self._spec.file_name} has no statistics of its ticks")

    def group(self, number: int, columns: Sequence[str], *, threads: bool = False) -> pa.Table:
        """Return some columns of a row group, in this order."""
        return self._trying(lambda: self._read(number, columns, threads))

    def check_pages(self, columns: Sequence[str]) -> None:
        """Raise `DamagedRunError` unless all pages of these columns have the expected form; nothing is unpacked.

        Call it before another reader gets the file.
        """
        for number in range(self.groups):
            self._trying(partial(self._check, number, columns))

    def empty(self, columns: Sequence[str]) -> pa.Table:
        """Return these columns without rows."""
        kinds = {column.name: column.type for column in (*self._spec.schema, *self._file.schema_arrow)}
        return pa.table({name: pa.array([], kinds[name]) for name in columns})

    def _read(self, number: int, columns: Sequence[str], threads: bool) -> pa.Table:
        metadata = self._check(number, columns)
        there = [name for name in columns if name not in self._missing]
        table = self._file.read_row_group(number, columns=there, use_threads=threads)
        for name in self._missing.intersection(columns):
            kind = self._spec.written_schema.field(name).type
            table = table.append_column(name, pa.nulls(metadata.num_rows, kind))
        table = table.select(list(columns))
        if table.num_rows != metadata.num_rows:
            raise DamagedRunError(f"{self._spec.file_name} has another number of rows than its footer states")
        return table

    def _check(self, number: int, columns: Sequence[str]) -> pq.RowGroupMetaData:
        """Check the pages of some columns of a row group, once."""
        metadata = self._file.metadata.row_group(number)
        for place in range(metadata.num_columns):
            chunk = metadata.column(place)
            name = chunk.path_in_schema.split(".")[0]
            if name in columns and (number, name) not in self._checked:
                check_column(self._source, chunk, self._spec.file_name)
                self._checked.add((number, name))
        return metadata

    def _trying(self, work: "Callable[[], Any]") -> Any:
        name = self._spec.file_name
        try:
            return work()
        except LimitExceededError as error:
            raise DamagedRunError(f"{name} is refused: {error}") from error
        except (pa.ArrowException, OSError, ValueError, KeyError, MemoryError) as error:
            raise DamagedRunError(f"{name} is damaged, or was not written by tickmind") from error

    def close(self) -> None:
        """Close the file."""
        self._source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc_info: object) -> None:
        self.close()
