"""Who gets observations: prepared in the quiet part of a tick, sent at the start of the next."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tickmind.protocol import Observation
from tickmind.server.leases import Grant
from tickmind.server.outbox import Outbox
from tickmind.wire.codec import ObservationWriter
from tickmind.wire.columns import encode_batch_down
from tickmind.wire.frames import ObservationBatch
from tickmind.world import TileWorld

if TYPE_CHECKING:
    from tickmind.protocol.columns import Int32

AT_ONCE = 64  # observers that are prepared together, before others get a turn


class Listener:
    """One actor's process, on a control stream or on a plain one."""

    __slots__ = ("frames", "grant", "outbox", "ready", "row", "tick_id", "want_floors")

    def __init__(self, row: int, grant: Grant, outbox: Outbox[bytes], *, frames: bool, want_floors: bool) -> None:
        self.row = row
        self.grant = grant
        self.outbox = outbox
        self.frames = frames  # whether observations travel as frames of a control stream
        self.want_floors = want_floors
        self.tick_id = 0  # the last one that an observation was made for
        self.ready: bytes | None = None  # the observation, until it is sent


class Host:
    """A process with many actors."""

    __slots__ = ("grant", "outbox", "ready", "rows", "tick_id")

    def __init__(self, rows: "Int32", grant: Grant, outbox: Outbox[bytes]) -> None:
        self.rows = rows
        self.grant = grant
        self.outbox = outbox
        self.tick_id = 0  # the last one that observations were made for
        self.ready: list[bytes] | None = None  # the observations, until they are sent

    def lose(self, rows: "Int32") -> None:
        """Observe for these actors no longer; what was made for them is made anew without them."""
        self.rows = self.rows[~np.isin(self.rows, rows)]
        self.tick_id, self.ready = 0, None


class Audience:
    """All that observe. What was prepared is kept until the tick begins; whoever comes later is served at once."""

    def __init__(self, world: TileWorld, deadline_ms: int, actors_per_part: int) -> None:
        self._world = world
        self._deadline_ms = deadline_ms
        self._actors_per_part = actors_per_part
        self._writer = ObservationWriter()
        self._writer_tick = 0
        self._listeners: dict[Listener, None] = {}
        self._hosts: dict[Host, None] = {}
        self.has_late = False  # whether somebody came since observations were sent last

    def add(self, one: Listener | Host) -> None:
        """Let somebody observe from now on."""
        if isinstance(one, Listener):
            self._listeners[one] = None
        else:
            self._hosts[one] = None
        self.has_late = True

    def remove(self, one: Listener | Host) -> None:
        """Let somebody observe no longer."""
        if isinstance(one, Listener):
            self._listeners.pop(one, None)
        else:
            self._hosts.pop(one, None)

    def prepare(self) -> Iterator[None]:
        """Make the observations of the next tick, some at a time; others get a turn in between."""
        tick_id = self._world.tick_id
        waiting = [one for one in self._listeners if one.tick_id != tick_id]
        hosts = [host for host in self._hosts if host.tick_id != tick_id]
        if not waiting and not hosts:
            return
        self._look(waiting, hosts)
        yield
        for start in range(0, len(waiting), AT_ONCE):
            self._make(waiting[start : start + AT_ONCE])
            yield
        for host in hosts:
            yield from self._make_parts(host)

    def send(self) -> None:
        """Send what was not sent yet of the tick that has begun; what is not prepared is made now."""
        self.has_late = False
        for _ in self.prepare():
            pass
        for listener in self._listeners:
            if listener.ready is not None:
                listener.outbox.replace((listener.ready,))
                listener.ready = None
        for host in self._hosts:
            if host.ready is not None:
                host.outbox.replace(host.ready)
                host.ready = None

    def _look(self, listeners: Sequence[Listener], hosts: Sequence[Host]) -> None:
        rows = [np.array([one.row for one in listeners], dtype=np.int32), *(host.rows for host in hosts)]
        together = np.unique(np.concatenate(rows))
        if len(together):
            self._world.look(together)

    def _make(self, listeners: Sequence[Listener]) -> None:
        tick_id = self._world.tick_id
        if self._writer_tick != tick_id:
            self._writer, self._writer_tick = ObservationWriter(), tick_id
        observations = self._world.observe([one.row for one in listeners], self._deadline_ms)
        for listener, seen in zip(listeners, observations, strict=True):
            shown = seen if listener.want_floors else _without_floors(seen)
            write = self._writer.write_frame if listener.frames else self._writer.write_response
            listener.tick_id, listener.ready = tick_id, write(shown)

    def _make_parts(self, host: Host) -> Iterator[None]:
        most, rows = self._actors_per_part, host.rows
        slices = [rows[start : start + most] for start in range(0, len(rows), most)]
        parts: list[bytes] = []
        for part, some in enumerate(slices):
            columns = self._world.observe_columns(some, self._deadline_ms)
            parts.append(encode_batch_down(ObservationBatch(part, len(slices), columns)).SerializeToString())
            yield
        if rows is host.rows:  # else it has lost some meanwhile
            host.tick_id, host.ready = self._world.tick_id, parts


def _without_floors(seen: Observation) -> Observation:
    return replace(seen, visible_tiles=replace(seen.visible_tiles, floors=b""))
