"""Arrow batches as the log holds them: one for each table that has rows, one after another."""

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
    """A column of texts; what is no Unicode, as half a surrogate pair, becomes a question mark."""
    try:
        return pa.array(values, pa.string())
    except UnicodeEncodeError:
        return pa.array(list(map(_unicode, values)), pa.string())


def _unicode(value: str) -> str:
    return value.encode("utf-8", "replace").decode()


def pack_batches(batches: Iterable[tuple[int, pa.RecordBatch]]) -> bytes:
    """The batches as bytes; those without rows are left out."""
    parts: list[bytes | pa.Buffer] = []
    for number, batch in batches:
        if batch.num_rows:
            message = batch.serialize()
            parts += (_ENTRY.pack(number, message.size), message)
    return b"".join(parts)


def unpack_batches(
    content: pa.Buffer, schemas: Mapping[int, pa.Schema], *, only: Collection[int] | None = None
) -> dict[int, pa.RecordBatch]:
    """The batches by the number of their table, of all tables or only of some; their columns lie in `content`."""
    found: dict[int, pa.RecordBatch] = {}
    seen: set[int] = set()
    place = 0
    try:
        while place < content.size:
            number, size = _ENTRY.unpack(content[place : place + _ENTRY.size])
            place += _ENTRY.size
            if place + size > content.size:
                raise DamagedRunError("the log holds a batch that is cut short; recover the run")
            if number in seen:
                raise DamagedRunError("the log holds a table twice in one tick")
            seen.add(number)
            schema = schemas[number]
            if only is not None and number not in only:
                place += size
                continue
            message = pa.ipc.read_message(content[place : place + size])
            if message.type != "record batch" or is_compressed(message.metadata.to_pybytes()):
                raise DamagedRunError("the log holds a batch in a form that we never write")
            batch = pa.ipc.read_record_batch(message, schema)
            batch.validate(full=True)
            found[number] = batch
            place += size
    except (pa.ArrowException, struct.error, EOFError, KeyError, OSError, ValueError) as error:
        raise DamagedRunError(f"the log holds what is no batch of ours ({type(error).__name__})") from error
    return found


def batch(schema: pa.Schema, *columns: Column | Sequence[Any]) -> pa.RecordBatch:
    """A batch of one table from columns in the schema's order; arrays are taken as they are, not copied."""
    arrays = [_array(column, kind) for column, kind in zip(columns, schema.types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def one_row(kind: pa.StructType, *values: Any) -> pa.RecordBatch:
    """A batch with one row, from values in the order of its fields; quicker than a column for each."""
    try:
        return pa.RecordBatch.from_struct_array(pa.array([values], kind))
    except UnicodeEncodeError:
        return one_row(kind, *(_unicode(value) if isinstance(value, str) else value for value in values))


def _array(column: Column | Sequence[Any], kind: pa.DataType) -> pa.Array:
    if isinstance(column, np.ndarray):
        assert column.itemsize == kind.bit_width // 8, "columns are handed over in the type that they are written in"
        return pa.Array.from_buffers(kind, len(column), [None, pa.py_buffer(np.ascontiguousarray(column))], 0)
    return texts(column) if kind == _TEXT else pa.array(column, kind)


def numbers(batch: pa.RecordBatch, name: str) -> Column:
    """A column of numbers without nulls, not copied."""
    column = batch.column(name)
    if column.null_count:
        raise DamagedRunError(f"the log has no value where there must be one, in {name}")
    found: Column = column.to_numpy(zero_copy_only=True)
    return found


def values_of(column: pa.ChunkedArray | pa.Array) -> list[Any]:
    """The values of a column; texts that are the same are one object, so that they take no more room than they did."""
    found: list[Any] = []
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else (column,):
        if not pa.types.is_dictionary(chunk.type):
            found += chunk.to_pylist()
            continue
        words, codes = chunk.dictionary, chunk.indices
        if codes.null_count:  # else it is not worth loading what fills them
            codes = codes.fill_null(len(words))
        places = codes.to_numpy()
        if len(places) < len(words):  # most words are of rows that nobody asked for
            used, places = np.unique(places, return_inverse=True)
            words = words.take(pa.array(used[used < len(words)]))
        known = [*words.to_pylist(), None]
        found += [known[code] for code in places.tolist()]
    return found
