"""The audience: clients that get observations, prepared late in a tick and sent at the start of the next."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from tickmind.protocol import TickEvent
from tickmind.server.control.leases import Grant
from tickmind.server.delivery.outbox import Outbox
from tickmind.server.delivery.slices import slice_columns
from tickmind.wire.codec import ObservationWriter, write_times
from tickmind.wire.columns import write_observations
from tickmind.wire.json_form.frames import JsonObservations
from tickmind.wire.messages.frames import ObservationBatch
from tickmind.world import TileWorld

if TYPE_CHECKING:
    from tickmind.protocol.columns import Int32

AT_ONCE = 64  # observers prepared together, before the event loop gets a turn
ROWS_AT_ONCE = 150_000  # actors of hosts prepared together


class ActorListener:
    """The client of one actor, on a control stream or a plain one."""

    __slots__ = (
        "as_json", "frames", "grant", "json", "once", "outbox", "ready", "row", "sent", "tick_id", "want_floors",
    )  # fmt: skip

    def __init__(
        self,
        row: int,
        grant: Grant,
        outbox: Outbox[bytes],
        *,
        frames: bool,
        want_floors: bool,
        once: bool = False,
        as_json: bool = False,
    ) -> None:
        self.row = row
        self.grant = grant
        self.outbox = outbox
        self.frames = frames  # whether observations travel as frames of a control stream
        self.want_floors = want_floors
        self.as_json = as_json  # whether its frames with observations are a `JsonFrame` each
        self.once = once  # whether it requested one observation, which its lease has not had yet
        self.tick_id = grant.observed_tick if once else 0  # tick of its last observation
        self.ready: bytes | None = None  # the observation, until it is sent
        self.json = ""  # the same as JSON, if it is wanted so
        self.sent = False  # whether the requested observation was sent


class Host:
    """The client of many actors."""

    __slots__ = ("grant", "outbox", "ready", "rows", "tick_id")

    def __init__(self, rows: "Int32", grant: Grant, outbox: Outbox[bytes]) -> None:
        self.rows = rows
        self.grant = grant
        self.outbox = outbox
        self.tick_id = 0  # tick of its last observations
        self.ready: list[bytes] | None = None  # the observations, until they are sent

    def lose(self, rows: "Int32") -> None:
        """Stop observing for these actors; prepared observations are made anew without them."""
        self.rows = self.rows[~np.isin(self.rows, rows)]
        self.tick_id, self.ready = 0, None


class Audience:
    """All observing clients. Prepared observations are kept until the tick begins; late clients are served at once."""

    def __init__(self, world: TileWorld, deadline_ms: int, actors_per_part: int) -> None:
        self._world = world
        self._deadline_ms = deadline_ms
        self._actors_per_part = actors_per_part
        self._writer = ObservationWriter()
        self._writer_tick = 0
        self._json = JsonObservations()
        self._listeners: dict[ActorListener, None] = {}
        self._hosts: dict[Host, None] = {}
        self.has_late = False  # whether a client came since observations were last sent

    def add(self, observer: ActorListener | Host) -> None:
        """Add a client."""
        if isinstance(observer, ActorListener):
            self._listeners[observer] = None
        else:
            self._hosts[observer] = None
        self.has_late = True

    def remove(self, observer: ActorListener | Host) -> None:
        """Remove a client."""
        if isinstance(observer, ActorListener):
            self._listeners.pop(observer, None)
        else:
            self._hosts.pop(observer, None)

    def prepare(self) -> Iterator[None]:
        """Make the observations of the next tick, some at a time; the event loop gets a turn in between."""
        tick_id = self._world.tick_id
        waiting = [
            listener for listener in self._listeners if listener.tick_id != tick_id and not listener.outbox.ended
        ]
        hosts = [host for host in self._hosts if host.tick_id != tick_id and not host.outbox.ended]
        if not waiting and not hosts:
            return
        self._look(waiting, hosts)
        yield
        for floors in (False, True):
            alike = [listener for listener in waiting if listener.want_floors is floors]
            for start in range(0, len(alike), AT_ONCE):
                self._make(alike[start : start + AT_ONCE], floors=floors)
                yield
        yield from self._make_parts(hosts)

    def send(self, event: TickEvent, left_ms: int | None = None) -> None:
        """Send the observations of the tick that has begun which were not sent yet; missing ones are made now.

        `left_ms` is the time left for intents if the tick began earlier.
        """
        self.has_late = False
        for _ in self.prepare():
            pass
        frame_times, response_times = write_times(event, left_ms)
        json_times = self._json.times(event) if left_ms is None else None
        for listener in list(self._listeners):
            if listener.ready is not None:
                message = listener.ready + (frame_times if listener.frames else response_times)
                if listener.as_json:
                    text, write = listener.json, self._json
                    message = write.whole(message) if json_times is None else write.finish(text, json_times)
                listener.ready, listener.json = None, ""
                if listener.once:
                    self._send_last(listener, message)
                else:
                    listener.outbox.replace((message,))
        for host in self._hosts:
            if host.ready is not None:
                host.outbox.replace(host.ready)
                host.ready = None

    def _send_last(self, listener: ActorListener, message: bytes) -> None:
        listener.grant.observed_tick, listener.sent = listener.tick_id, True
        self.remove(listener)
        listener.outbox.end(message)

    def _look(self, listeners: Sequence[ActorListener], hosts: Sequence[Host]) -> None:
        """Observe for all at once. The rows of each host ascend, so mostly they are already in order."""
        rows = np.concatenate([host.rows for host in hosts] or [np.zeros(0, dtype=np.int32)])
        if listeners or not bool((rows[1:] > rows[:-1]).all()):
            rows = np.unique(np.concatenate((rows, np.array([listener.row for listener in listeners], dtype=np.int32))))
        self._world.look(rows)

    def _make(self, listeners: Sequence[ActorListener], *, floors: bool) -> None:
        tick_id = self._world.tick_id
        if self._writer_tick != tick_id:
            self._writer, self._writer_tick = ObservationWriter(), tick_id
        observations = self._world.observe([listener.row for listener in listeners], self._deadline_ms, floors=floors)
        for listener, seen in zip(listeners, observations, strict=True):
            write = self._writer.write_frame if listener.frames else self._writer.write_response
            listener.tick_id, listener.ready = tick_id, write(seen)
            if listener.as_json:
                listener.json = self._json.prepare(listener.ready)

    def _make_parts(self, hosts: Sequence[Host]) -> Iterator[None]:
        """Make the observations of some hosts together, and split them by host."""
        most, tick_id = self._actors_per_part, self._world.tick_id
        for group in _groups(hosts):
            rows = [host.rows for host in group]
            columns = self._world.observe_columns(np.concatenate(rows), self._deadline_ms)
            yield
            start = 0
            for host, own in zip(group, rows, strict=True):
                cuts = [*range(start, start + len(own), most), start + len(own)]
                slices = [slice_columns(columns, low, high) for low, high in pairwise(cuts)]
                start += len(own)
                frames = [ObservationBatch(part, len(slices), some) for part, some in enumerate(slices)]
                parts = [write_observations(frame) for frame in frames]
                if own is host.rows:  # else it has lost rows meanwhile
                    host.tick_id, host.ready = tick_id, parts
                yield


def _groups(hosts: Sequence[Host]) -> Iterator[list[Host]]:
    """Group hosts for one pass: large enough to be fast, small enough for the event loop to get a turn."""
    group: list[Host] = []
    for host in hosts:
        if group and sum(len(member.rows) for member in group) + len(host.rows) > ROWS_AT_ONCE:
            yield group
            group = []
        group.append(host)
    if group:
        yield group
