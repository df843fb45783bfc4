"""Checkpoints: a world resumes from the last one, and from the recorded ticks after it."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from tickmind.protocol import TickRecord
from tickmind.server.errors import CheckpointError, ReplayError
from tickmind.world import TileWorld

MAGIC = b"tickmind checkpoint 1\n"
DIGEST_BYTES = 32
EVERY_TICKS = 60


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state of a world, and the number of the server's start (incarnation), from which lease epochs grow.

    It holds no leases: after a restart every client acquires anew, and every epoch is greater than all before.
    """

    incarnation: int
    tick_id: int  # the tick that comes next
    snapshot: bytes

    def encode(self) -> bytes:
        """Return the checkpoint as bytes, with a checksum."""
        head = json.dumps({"incarnation": self.incarnation, "tick_id": self.tick_id}).encode()
        body = b"".join((MAGIC, len(head).to_bytes(4, "little"), head, self.snapshot))
        return body + hashlib.sha256(body).digest()

    @classmethod
    def decode(cls, data: bytes) -> "Checkpoint":
        """Decode it; raises `CheckpointError` for anything that `encode` did not write."""
        body, digest = data[:-DIGEST_BYTES], data[-DIGEST_BYTES:]
        if not data.startswith(MAGIC):
            raise CheckpointError("this is no checkpoint of a world, or it is of a later version")
        if hashlib.sha256(body).digest() != digest:
            raise CheckpointError("the checkpoint is damaged; use an older one, or start without it")
        start = len(MAGIC) + 4
        size = int.from_bytes(body[len(MAGIC) : start], "little")
        head = json.loads(body[start : start + size])
        return cls(int(head["incarnation"]), int(head["tick_id"]), body[start + size :])


class CheckpointStore(Protocol):
    """Stores checkpoints. After `save` returns, the checkpoint survives a crash; `load` returns the last one."""

    def save(self, data: bytes) -> None:
        """Store a checkpoint in place of the one before."""
        ...

    def load(self) -> bytes | None:
        """Return the last checkpoint, if there is one."""
        ...


class RunHistory(Protocol):
    """The recorded ticks of a world, as a restart reads them; `record` implements it."""

    @property
    def last_tick_id(self) -> int | None:
        """The last recorded tick, or None if there is none."""
        ...

    def records(self, first: int, /) -> Iterable[TickRecord]:
        """Iterate over the ticks from this one to the last."""
        ...


def resume(world: TileWorld, checkpoint: Checkpoint | None, history: RunHistory | None = None) -> int:
    """Bring a new world to its former state: to the checkpoint, then through the recorded ticks after it.

    Returns the incarnation for the new start. Raises `ReplayError` if a recorded tick is missing or differs. A
    checkpoint may be ahead of a record that was not synced with every tick; then the record alone counts.
    """
    last_tick_id = (history.last_tick_id or 0) if history is not None else None
    if checkpoint is not None and (last_tick_id is None or checkpoint.tick_id <= last_tick_id + 1):
        world.restore(checkpoint.snapshot)
    if history is not None and last_tick_id:
        for record in history.records(world.tick_id):
            _repeat(world, record)
        if world.tick_id <= last_tick_id:
            raise ReplayError(f"tick {world.tick_id} is missing from the record, which ends with {last_tick_id}")
    return checkpoint.incarnation + 1 if checkpoint is not None else 1


def _repeat(world: TileWorld, record: TickRecord) -> None:
    if record.tick_id != world.tick_id:
        raise ReplayError(f"tick {world.tick_id} is missing from the record; the next one is {record.tick_id}")
    if world.step(record.intents, record.controlled).state_hash != record.state_hash:
        raise ReplayError(f"tick {record.tick_id} gives another state than recorded; use the same rules and version")
