"""Arrow batches in the log: one after another, one for each table that has rows."""

import struct
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from tickmind.record.arrow_guard import is_compressed
from tickmind.record.errors import DamagedRunError

_ENTRY = struct.Struct("<II")  # number of the table, size of its batch

_TEXT = pa.string()
Column = np.ndarray[Any, Any]


def texts(values: Sequence[str]) -> pa.Array:
    """Make a column of texts; invalid Unicode, such as half a surrogate pair, becomes a question mark."""
    try:
        return pa.array(values, pa.string())
    except UnicodeEncodeError:
        return pa.array(list(map(_unicode, values)), pa.string())


def _unicode(value: str) -> str:
    return value.encode("utf-8", "replace").decode()


def pack_batches(batches: Iterable[tuple[int, pa.RecordBatch]]) -> bytes:
    """Return the batches as bytes, without empty ones."""
    parts: list[bytes | pa.Buffer] = []
    for number, batch in batches:
        if batch.num_rows:
            message = batch.serialize()
            parts += (_ENTRY.pack(number, message.size), message)
    return b"".join(parts)


def unpack_batches(
    content: pa.Buffer, schemas: Mapping[int, pa.Schema], *, only: Collection[int] | None = None
) -> dict[int, pa.RecordBatch]:
    """Return the batches by table number, of all tables or only of some; their columns lie in `content`."""
    batches: dict[int, pa.RecordBatch] = {}
    seen: set[int] = set()
    place = 0
    try:
        while place < content.size:
            number, size = _ENTRY.unpack(content[place : place + _ENTRY.size])
            place += _ENTRY.size
            if place + size > content.size:
                raise DamagedRunError("the log holds a truncated batch; recover the run")
            if number in seen:
                raise DamagedRunError("the log holds a table twice in one tick; recover the run")
            seen.add(number)
            schema = schemas[number]
            if only is not None and number not in only:
                place += size
                continue
            message = pa.ipc.read_message(content[place : place + size])
            if message.type != "record batch" or is_compressed(message.metadata.to_pybytes()):
                raise DamagedRunError("the log holds a batch in an unexpected form; recover the run")
            batch = pa.ipc.read_record_batch(message, schema)
            batch.validate(full=True)
            batches[number] = batch
            place += size
    except (pa.ArrowException, struct.error, EOFError, KeyError, OSError, ValueError) as error:
        raise DamagedRunError(f"the log holds an invalid batch ({type(error).__name__}); recover the run") from error
    return batches


def batch(schema: pa.Schema, *columns: Column | Sequence[Any]) -> pa.RecordBatch:
    """Make a batch of one table from columns in the schema's order; arrays are not copied."""
    arrays = [_array(column, kind) for column, kind in zip(columns, schema.types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def one_row(kind: pa.StructType, *values: Any) -> pa.RecordBatch:
    """Make a batch with one row, from values in the order of its fields; faster than by columns."""
    try:
        return pa.RecordBatch.from_struct_array(pa.array([values], kind))
    except UnicodeEncodeError:
        return one_row(kind, *(_unicode(value) if isinstance(value, str) else value for value in values))


def _array(column: Column | Sequence[Any], kind: pa.DataType) -> pa.Array:
    if isinstance(column, np.ndarray):
        assert column.itemsize == kind.bit_width // 8, "columns have the type that is written"
        return pa.Array.from_buffers(kind, len(column), [None, pa.py_buffer(np.ascontiguousarray(column))], 0)
    return texts(column) if kind == _TEXT else pa.array(column, kind)


def numbers(batch: pa.RecordBatch, name: str) -> Column:
    """Return a column of numbers without nulls, not copied."""
    column = batch.column(name)
    if column.null_count:
        raise DamagedRunError(f"the log has a null in the column {name}, which must have none")
    values: Column = column.to_numpy(zero_copy_only=True)
    return values


def values_of(column: pa.ChunkedArray | pa.Array) -> list[Any]:
    """Return the values of a column; equal texts share one object, to save memory."""
    values: list[Any] = []
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else (column,):
        if not pa.types.is_dictionary(chunk.type):
            values += chunk.to_pylist()
            continue
        words, codes = chunk.dictionary, chunk.indices
        if codes.null_count:  # else `fill_null` need not be loaded
            codes = codes.fill_null(len(words))
        places = codes.to_numpy()
        if len(places) < len(words):  # most words belong to rows that are not requested
            used, places = np.unique(places, return_inverse=True)
            words = words.take(pa.array(used[used < len(words)]))
        known = [*words.to_pylist(), None]
        values += [known[code] for code in places.tolist()]
    return values
