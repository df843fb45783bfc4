"""Rows of a finished table by their numbers; the row group at hand is kept, because the next rows are in it too."""

from bisect import bisect_right
from collections.abc import Sequence

import pyarrow as pa

from tickmind.record.errors import DamagedRunError
from tickmind.record.parquet_file import TableFile


class RowWindow:
    """Some columns of one table, read forwards."""

    def __init__(self, file: TableFile, columns: Sequence[str]) -> None:
        self._file = file
        self._columns = list(columns)
        self._starts = [file.span(group)[0] for group in range(file.groups)]
        self._group = -1
        self._table: pa.Table | None = None

    def rows(self, start: int, count: int) -> pa.Table:
        """These rows, all of them."""
        if start < 0 or count < 0 or start + count > self._file.rows:
            raise DamagedRunError("the finished files do not have the rows that they say")
        parts = []
        while count:
            group = bisect_right(self._starts, start) - 1
            while self._file.span(group)[1] <= start:
                group += 1
            first, stop = self._file.span(group)
            taken = min(count, stop - start)
            parts.append(self._load(group).slice(start - first, taken))
            start, count = start + taken, count - taken
        return pa.concat_tables(parts) if parts else self._empty()

    def _load(self, group: int) -> pa.Table:
        if self._table is None or group != self._group:
            self._table = self._file.group(group, self._columns)
            self._group = group
        return self._table

    def _empty(self) -> pa.Table:
        if self._file.groups:
            return self._load(max(self._group, 0)).slice(0, 0)
        return self._file.empty(self._columns)
