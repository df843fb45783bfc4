"""Tables of many trials: one tidy Parquet file, the same bytes for the same rows."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tickmind.base.files import replace_file
from tickmind.record.disk import disk_fault

_KINDS = {"seed": pa.int64(), "repeat": pa.int32(), "tick_id": pa.int64(), "value": pa.float64()}


def write_trial_table(path: Path, columns: Mapping[str, Sequence[object]]) -> None:
    """Write columns by their names; seed, repeat, tick_id and value are numbers, and all others texts.

    Raises `DiskFaultError` if the file can't be written.
    """
    arrays = {name: pa.array(values, _KINDS.get(name, pa.string())) for name, values in columns.items()}
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(arrays), sink, compression="zstd", use_dictionary=True, store_schema=False)
    try:
        replace_file(path, sink.getvalue().to_pybytes())
    except OSError as error:
        raise disk_fault(f"writing {path}", error) from error
