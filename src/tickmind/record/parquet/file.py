"""Finished tables: how they are written, and how one from anywhere is read without trusting it."""

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
_PAGE_ROWS = 1 << 18  # each page costs a reader, too


def open_writer(
    where: Any, spec: TableSpec, *, metadata_collector: "list[pq.FileMetaData] | None" = None
) -> pq.ParquetWriter:
    """A writer of one table: zstd, and for each column the encoding that we say, not the one that is guessed."""
    return pq.ParquetWriter(
        where,
        spec.written_schema,
        compression="zstd",
        compression_level=1,  # more takes longer, and makes what is encoded already hardly smaller
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
    """A file that was opened for reading as Arrow takes it: one of the system is read by Arrow's own threads."""
    if not isinstance(file, io.FileIO):
        return pa.PythonFile(file, mode="r")
    with file:
        return pa.OSFile(str(file.name), mode="r")


class TableFile:
    """A finished table to read, row group by row group. Texts come as dictionaries, so they never grow."""

    def __init__(self, source: pa.NativeFile, spec: TableSpec) -> None:
        self._source = source
        self._spec = spec
        self._starts = [0]  # row group -> its first row; and the end
        self._checked: set[tuple[int, str]] = set()  # columns of row groups whose pages were looked at
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
                raise DamagedRunError(f"{self._spec.file_name} has a row group of less than no rows")
            self._starts.append(self._starts[-1] + rows)
            self._trying(self._check_last)
        if self._starts[-1] != metadata.num_rows:
            raise DamagedRunError(f"{self._spec.file_name} has another number of rows than it says")

    def _check_last(self) -> None:
        MAX_GROUP_ROWS.check(self._starts[-1] - self._starts[-2])

    def _open(self) -> pq.ParquetFile:
        size = self._source.size()
        footer = (
            int.from_bytes(self._source.read_at(4, max(size - _END_BYTES, 0)), "little") if size > _END_BYTES else 0
        )
        MAX_FOOTER_BYTES.check(footer)
        file = pq.ParquetFile(
            self._source,
            read_dictionary=[one.name for one in self._spec.schema if pa.types.is_string(one.type)],
            pre_buffer=False,
            page_checksum_verification=True,
            thrift_string_size_limit=1_000_000,
            thrift_container_size_limit=4_000_000,
            arrow_extensions_enabled=False,
        )
        found = {one.name: one.type for one in file.schema_arrow}
        for one in self._spec.schema:
            kind = found.get(one.name)
            if kind is not None and pa.types.is_dictionary(kind):
                kind = kind.value_type
            if kind != one.type:
                raise DamagedRunError(f"{self._spec.file_name} has no column {one.name} of type {one.type}")
        return file

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self._starts[-1]

    @property
    def groups(self) -> int:
        """How many row groups there are."""
        return len(self._starts) - 1

    def span(self, group: int) -> tuple[int, int]:
        """The first row of a row group, and the one behind its last."""
        return self._starts[group], self._starts[group + 1]

    def ticks(self, group: int) -> tuple[int, int]:
        """The first and the last tick of a row group, as far as the file says so."""
        found: tuple[int, int] = self._trying(lambda: self._ticks(group))
        return found

    def _ticks(self, group: int) -> tuple[int, int]:
        metadata = self._file.metadata.row_group(group)
        for place in range(metadata.num_columns):
            chunk = metadata.column(place)
            if chunk.path_in_schema == "tick_id" and chunk.statistics is not None and chunk.statistics.has_min_max:
                return int(chunk.statistics.min), int(chunk.statistics.max)
        raise DamagedRunError(f"{self._spec.file_name} does not say which ticks it has")

    def group(self, number: int, columns: Sequence[str], *, threads: bool = False) -> pa.Table:
        """Some columns of a row group, in this order."""
        return self._trying(lambda: self._read(number, columns, threads))

    def check_pages(self, columns: Sequence[str]) -> None:
        """Raise `DamagedRunError` unless all pages of these columns are such as we write; nothing is unpacked for it.

        Call it before another reader gets the file.
        """
        for number in range(self.groups):
            self._trying(partial(self._check, number, columns))

    def empty(self, columns: Sequence[str]) -> pa.Table:
        """These columns without rows."""
        kinds = {one.name: one.type for one in self._file.schema_arrow}
        return pa.table({name: pa.array([], kinds[name]) for name in columns})

    def _read(self, number: int, columns: Sequence[str], threads: bool) -> pa.Table:
        metadata = self._check(number, columns)
        table = self._file.read_row_group(number, columns=list(columns), use_threads=threads).select(list(columns))
        if table.num_rows != metadata.num_rows:
            raise DamagedRunError(f"{self._spec.file_name} has another number of rows than it says")
        return table

    def _check(self, number: int, columns: Sequence[str]) -> pq.RowGroupMetaData:
        """Look at the pages of some columns of a row group, once."""
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
        except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
            raise DamagedRunError(f"{name} is damaged, or is no table of ours") from error

    def close(self) -> None:
        """Let go of the file."""
        self._source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc_info: object) -> None:
        self.close()
