"""Lifecycle events: actors come and go, and their control changes; for runners and viewers."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tickmind.protocol import EntityInfo, LifecycleEvent, LifecycleKind
from tickmind.server.delivery.streams import Stream

if TYPE_CHECKING:
    from tickmind.protocol.columns import Bool, Int32


@dataclass(frozen=True, slots=True, eq=False)
class Changes:
    """A change of several actors at once; single events are made only when a client reads them."""

    tick_id: int
    kind: LifecycleKind
    rows: "Int32"

    def events(self, actors: tuple[EntityInfo, ...]) -> Iterator[LifecycleEvent]:
        """Iterate over one event for each actor."""
        return (LifecycleEvent(self.tick_id, self.kind, actors[row]) for row in self.rows.tolist())


class Lifecycle:
    """Sends changes to readers as they happen, and keeps them for viewers until the tick is over."""

    def __init__(self, actors: tuple[EntityInfo, ...]) -> None:
        self.actors = actors
        self._readers: dict[Stream[Changes], None] = {}
        self._of_tick: list[Changes] = []

    def publish(self, tick_id: int, kind: LifecycleKind, rows: "Int32") -> list[Stream[Changes]]:
        """Send a change; return the streams of readers whose backlog is full."""
        changes = Changes(tick_id, kind, rows)
        self._of_tick.append(changes)
        return [reader for reader in self._readers if not reader.outbox.put(changes) and not reader.outbox.ended]

    def follow(self, reader: Stream[Changes]) -> None:
        """Send a reader all changes from now on."""
        self._readers[reader] = None

    def leave(self, reader: Stream[Changes]) -> None:
        """Remove a reader."""
        self._readers.pop(reader, None)

    def present(self, tick_id: int, there: "Bool", controlled: "Bool", played: "Bool") -> list[Changes]:
        """Return the present state as changes."""
        actors = np.arange(len(self.actors), dtype=np.int32)
        changes = [
            Changes(tick_id, LifecycleKind.SPAWNED, actors[there]),
            Changes(tick_id, LifecycleKind.CONTROLLED, actors[controlled]),
        ]
        return [*changes, Changes(tick_id, LifecycleKind.PLAYED, actors[played])] if played.any() else changes

    def end(self) -> None:
        """End all readers' streams."""
        for reader in self._readers:
            reader.outbox.end()

    def take(self) -> list[Changes]:
        """Return the changes since the last call."""
        changes, self._of_tick = self._of_tick, []
        return changes
