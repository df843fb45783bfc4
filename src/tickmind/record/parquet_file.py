"""Finished tables: how they are written, and how one from anywhere is opened without trusting it."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tickmind.record.errors import DamagedRunError
from tickmind.record.limits import MAX_GROUP_ROWS

_LEVEL = 3


def open_writer(
    where: Any,
    schema: pa.Schema,
    *,
    dictionary: Sequence[str] = (),
    encodings: Mapping[str, str] | None = None,
    level: int = _LEVEL,
) -> pq.ParquetWriter:
    """A writer of one table: zstd, and for each column the encoding that we say, not the one that is guessed."""
    return pq.ParquetWriter(
        where,
        schema,
        compression="zstd",
        compression_level=level,
        use_dictionary=list(dictionary) or False,
        column_encoding=dict(encodings) if encodings else None,
        write_page_checksum=True,
        write_page_index=False,
        data_page_size=1 << 20,
        dictionary_pagesize_limit=48_000_000,
        store_schema=False,
    )


def open_parquet(source: pa.NativeFile, name: str, schema: pa.Schema) -> pq.ParquetFile:
    """A table to read, if it has the columns that it should have; texts come as dictionaries."""
    texts = [one.name for one in schema if pa.types.is_string(one.type)]
    try:
        file = pq.ParquetFile(
            source,
            read_dictionary=texts,
            pre_buffer=False,
            page_checksum_verification=True,
            thrift_string_size_limit=16_000_000,
            thrift_container_size_limit=1_000_000,
            arrow_extensions_enabled=False,
        )
        found = {one.name: one.type for one in file.schema_arrow}
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DamagedRunError(f"{name} is no Parquet file, or it is damaged") from error
    for one in schema:
        kind = found.get(one.name)
        if kind is not None and pa.types.is_dictionary(kind):
            kind = kind.value_type
        if kind != one.type:
            raise DamagedRunError(f"{name} has no column {one.name} of type {one.type}")
    for group in range(file.metadata.num_row_groups):
        MAX_GROUP_ROWS.check(file.metadata.row_group(group).num_rows)
    return file


def read_whole(file: pq.ParquetFile, name: str, schema: pa.Schema) -> pa.Table:
    """All rows of a small table, with texts as texts."""
    try:
        table = file.read(columns=schema.names, use_threads=False)
        return table.cast(schema)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DamagedRunError(f"{name} can't be read: it is damaged") from error
