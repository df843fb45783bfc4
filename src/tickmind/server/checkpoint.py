"""What a world continues from after a restart: the last checkpoint, and the recorded ticks after it."""

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tickmind.protocol import TickRecord
from tickmind.server.errors import CheckpointError, ReplayError
from tickmind.world import TileWorld

MAGIC = b"tickmind checkpoint 1\n"
DIGEST_BYTES = 32
EVERY_TICKS = 60


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A world at one moment, and the number of the server's start, from which the epochs of leases grow.

    Leases themselves are not in it: after a restart everybody asks again, and every epoch is greater than all before.
    """

    incarnation: int
    tick_id: int  # the tick that comes next
    snapshot: bytes

    def encode(self) -> bytes:
        """The checkpoint as bytes, with a checksum."""
        head = json.dumps({"incarnation": self.incarnation, "tick_id": self.tick_id}).encode()
        body = b"".join((MAGIC, len(head).to_bytes(4, "little"), head, self.snapshot))
        return body + hashlib.sha256(body).digest()

    @classmethod
    def decode(cls, data: bytes) -> "Checkpoint":
        """Read it; anything else than what `encode` wrote is a `CheckpointError`."""
        body, digest = data[:-DIGEST_BYTES], data[-DIGEST_BYTES:]
        if not data.startswith(MAGIC):
            raise CheckpointError("this is no checkpoint of a world, or one of a later version")
        if hashlib.sha256(body).digest() != digest:
            raise CheckpointError("the checkpoint is damaged; use an older one, or start without")
        start = len(MAGIC) + 4
        size = int.from_bytes(body[len(MAGIC) : start], "little")
        head = json.loads(body[start : start + size])
        return cls(int(head["incarnation"]), int(head["tick_id"]), body[start + size :])


class CheckpointStore(Protocol):
    """Where checkpoints are kept. What `save` has returned from survives a crash; `load` gives the last one."""

    def save(self, data: bytes) -> None:
        """Keep a checkpoint in the place of the one before."""
        ...

    def load(self) -> bytes | None:
        """The last checkpoint, if there is one."""
        ...


class FileStore:
    """Keeps the last checkpoint in one file, which is whole at every moment."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def save(self, data: bytes) -> None:
        """Write beside the file, and put it in its place when it is on disk."""
        beside = self._path.with_name(f"{self._path.name}.new")
        try:
            with beside.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(self._path)
            folder = os.open(self._path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except OSError as error:
            raise CheckpointError(f"the checkpoint {self._path} can't be written: {error.strerror}") from error

    def load(self) -> bytes | None:
        """The file's content, if there is one."""
        try:
            return self._path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise CheckpointError(f"the checkpoint {self._path} can't be read: {error.strerror}") from error


def resume(world: TileWorld, checkpoint: Checkpoint | None, records: Iterable[TickRecord] = ()) -> int:
    """Bring a world to where it was: to the checkpoint, then through the recorded ticks after it.

    Gives the incarnation for the new start. A record that gives another world than it did is a `ReplayError`.
    """
    if checkpoint is not None:
        world.restore(checkpoint.snapshot)
    for record in records:
        if record.tick_id < world.tick_id:
            continue
        if record.tick_id > world.tick_id:
            raise ReplayError(
                f"tick {world.tick_id} is missing from the record; the next one there is {record.tick_id}"
            )
        if world.step(record.intents, record.controlled).state_hash != record.state_hash:
            raise ReplayError(f"tick {record.tick_id} gives another world than it did; was it run by other rules?")
    return checkpoint.incarnation + 1 if checkpoint is not None else 1
