"""`Snapshot`: a world's state as bytes, for checkpoints: a header, columns, and a checksum.

    magic (8 bytes) | header length (4, little endian) | header as JSON | columns one after another | BLAKE2b (16)

Byte order is little endian. A format is read for as long as the rule set that it belongs to.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tickmind.world.errors import SnapshotMismatchError

_MAGIC = b"tmworld\x01"  # the last byte is the format
_CHECK_BYTES = 16

Column = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """The content of a snapshot: the identity of its world, plain values, and named columns."""

    world_version: str
    scenario_digest: bytes
    tick_id: int
    notes: str  # plain values as JSON, for the code that made the snapshot
    columns: Mapping[str, Column]


def pack(snapshot: Snapshot) -> bytes:
    """Encode a snapshot."""
    shapes = [[name, column.dtype.str, list(column.shape)] for name, column in snapshot.columns.items()]
    header = json.dumps(
        {
            "world_version": snapshot.world_version,
            "scenario": snapshot.scenario_digest.hex(),
            "tick_id": snapshot.tick_id,
            "notes": snapshot.notes,
            "columns": shapes,
        }
    ).encode()
    parts = [_MAGIC, len(header).to_bytes(4, "little"), header]
    parts += [np.ascontiguousarray(column).tobytes() for column in snapshot.columns.values()]
    body = b"".join(parts)
    return body + hashlib.blake2b(body, digest_size=_CHECK_BYTES).digest()


def unpack(data: bytes) -> Snapshot:
    """Decode a snapshot. Raises `SnapshotMismatchError` if it is none, or damaged."""
    if data[: len(_MAGIC) - 1] != _MAGIC[:-1]:
        raise SnapshotMismatchError("this is not a snapshot of a world; pass what snapshot() returned")
    if data[: len(_MAGIC)] != _MAGIC:
        raise SnapshotMismatchError(f"the snapshot has format {data[len(_MAGIC) - 1 : len(_MAGIC)].hex()}, not 01")
    body, check = data[:-_CHECK_BYTES], data[-_CHECK_BYTES:]
    if hashlib.blake2b(body, digest_size=_CHECK_BYTES).digest() != check:
        raise SnapshotMismatchError("the snapshot is damaged; use an earlier one")
    start = len(_MAGIC) + 4
    end = start + int.from_bytes(body[len(_MAGIC) : start], "little")
    header = json.loads(body[start:end])
    columns: dict[str, Column] = {}
    for name, dtype, shape in header["columns"]:
        count = int(np.prod(shape, dtype=np.int64))
        kind = np.dtype(dtype)
        columns[name] = np.frombuffer(body, dtype=kind, count=count, offset=end).reshape(shape).copy()
        end += count * kind.itemsize
    return Snapshot(
        world_version=header["world_version"],
        scenario_digest=bytes.fromhex(header["scenario"]),
        tick_id=header["tick_id"],
        notes=header["notes"],
        columns=columns,
    )
