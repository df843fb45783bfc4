"""Checkpoints: a world resumes from the newest sound one, and from the recorded ticks after it."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from tickmind.base import get_logger
from tickmind.protocol import TickRecord
from tickmind.server.errors import CheckpointError, ReplayError
from tickmind.world import TileWorld

MAGIC = b"tickmind checkpoint 1\n"
DIGEST_BYTES = 32
EVERY_TICKS = 60
_log = get_logger(__name__)


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


class StoredBytes(Protocol):
    """One checkpoint in a store. Its incarnation is known even if its content is damaged."""

    @property
    def after_tick(self) -> int:
        """The last tick in it; 0 at the beginning of a run, -1 if only the content says."""
        ...

    @property
    def incarnation(self) -> int:
        """The number of the start that saved it; 0 if only the content says."""
        ...

    def read(self) -> bytes:
        """Return its content."""
        ...


class CheckpointStore(Protocol):
    """Stores checkpoints; `record.CheckpointFolder` is one on disk."""

    def save(self, data: bytes, *, after_tick: int, incarnation: int) -> None:
        """Store a checkpoint. After it returns, the checkpoint survives a crash."""
        ...

    def stored(self) -> Sequence[StoredBytes]:
        """Return the stored checkpoints, the newest last."""
        ...


def save_checkpoint(store: CheckpointStore, checkpoint: Checkpoint) -> None:
    """Store a checkpoint under its tick."""
    store.save(checkpoint.encode(), after_tick=checkpoint.tick_id - 1, incarnation=checkpoint.incarnation)


def load_checkpoint(store: CheckpointStore, last_tick_id: int | None = None) -> Checkpoint | None:
    """Return the newest sound checkpoint after tick `last_tick_id` or an earlier one; without a tick, the newest.

    A damaged one is reported, and the one before it is used. The result has the largest incarnation of all that are
    stored, because later starts must have a greater one. Raises `CheckpointError` if there are some and none is sound.
    """
    stored = store.stored()
    if not stored:
        return None
    latest = max(saved.incarnation for saved in stored)
    within = [saved for saved in stored if last_tick_id is None or saved.after_tick <= last_tick_id]
    damage: CheckpointError | None = None
    for saved in reversed(within or stored):
        try:
            checkpoint = Checkpoint.decode(saved.read())
        except CheckpointError as error:
            damage = error
            _log.warning("a checkpoint is damaged; using the one before it", after_tick=saved.after_tick)
            continue
        return replace(checkpoint, incarnation=max(latest, checkpoint.incarnation))
    raise CheckpointError("no checkpoint of the run is sound; recover the run, and begin a new one") from damage


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
    if not world.repeat(record):
        raise ReplayError(f"tick {record.tick_id} gives another state than recorded; use the same rules and version")
