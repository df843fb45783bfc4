"""What the simulated world has shown to anybody, and whether its record says the same."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np

from tickmind.protocol import TickRecord, WorldInfo
from tickmind.wire.codec import parse
from tickmind.wire.columns import ColumnBounds, decode_batch_down, decode_snapshot, decode_viewer_event
from tickmind.wire.messages.frames import BatchOpened, ObservationBatch
from tickmind.wire.messages.viewing import ViewerEvent, ViewerSnapshot
from tickmind.wire.v1 import control_pb2, lease_pb2, observation_pb2, viewer_pb2

_SIGNED = re.compile(r"(\S+) ([0-9]+)")


class BrokenPromiseError(AssertionError):
    """The world did what it must never do."""


class Court:
    """Remembers broken promises, also where the server would take the error for a failed call and go on."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def broken(self, what: str) -> NoReturn:
        """A promise was broken."""
        self.found.append(what)
        raise BrokenPromiseError(what)


@dataclass(slots=True)
class Shown:
    """All that has left the world, in the order in which it was sent."""

    events: list[ViewerEvent] = field(default_factory=list)
    snapshots: list[ViewerSnapshot] = field(default_factory=list)
    selves: list[tuple[int, str, int, int]] = field(default_factory=list)  # tick, entity and where it saw itself
    last_tick: int = 0  # the newest that anybody may know of


class Witness:
    """Reads every message that leaves the world."""

    def __init__(self, world: WorldInfo, court: Court) -> None:
        self._court = court
        self._bounds = ColumnBounds.of(world)
        self._ids = [actor.entity_id for actor in world.actors]
        self._rows = {entity_id: row for row, entity_id in enumerate(self._ids)}
        self._epochs: dict[str, int] = {}  # entity -> its newest
        self.shown = Shown()
        self._readers = {
            "StreamViewerEvents": self._event,
            "GetViewerSnapshot": self._snapshot,
            "StreamObservations": self._observation,
            "Control": self._frame,
            "ControlBatch": self._batch_frame,
            "AcquireLease": self._acquired,
        }

    def see(self, path: str, data: bytes) -> None:
        """A message leaves the world."""
        reader = self._readers.get(path.rsplit("/", 1)[1])
        if reader is not None:
            reader(data)

    def _know(self, tick_id: int) -> None:
        self.shown.last_tick = max(self.shown.last_tick, tick_id)

    def _event(self, data: bytes) -> None:
        event = decode_viewer_event(parse(viewer_pb2.StreamViewerEventsResponse, data).event, self._bounds)
        self.shown.events.append(event)
        self._know(event.tick_id)

    def _snapshot(self, data: bytes) -> None:
        snapshot = decode_snapshot(parse(viewer_pb2.GetViewerSnapshotResponse, data).snapshot, self._bounds)
        self.shown.snapshots.append(snapshot)
        self._know(snapshot.tick_id)

    def _observation(self, data: bytes) -> None:
        self._observed(parse(observation_pb2.StreamObservationsResponse, data).observation)

    def _observed(self, seen: observation_pb2.Observation) -> None:
        me = seen.me
        self.shown.selves.append((seen.tick_id - 1, me.entity_id, me.x, me.y))
        self._know(seen.tick_id - 1)

    def _frame(self, data: bytes) -> None:
        frame = parse(control_pb2.ControlResponse, data)
        match frame.WhichOneof("frame"):
            case "opened":
                self._leased(frame.opened.lease.entity_id, frame.opened.lease.epoch)
            case "observation":
                self._observed(frame.observation)

    def _acquired(self, data: bytes) -> None:
        answer = parse(lease_pb2.AcquireLeaseResponse, data)
        if answer.HasField("lease"):
            self._leased(answer.lease.entity_id, answer.lease.epoch)

    def _batch_frame(self, data: bytes) -> None:
        frame = decode_batch_down(parse(control_pb2.ControlBatchResponse, data), self._bounds)
        if isinstance(frame, BatchOpened):
            for row, epoch in zip(frame.granted.tolist(), frame.epoch.tolist(), strict=True):
                self._leased(self._ids[row], epoch)
        elif isinstance(frame, ObservationBatch):
            seen = frame.observations
            for row, x, y in zip(seen.actor.tolist(), seen.x.tolist(), seen.y.tolist(), strict=True):
                self.shown.selves.append((seen.tick_id - 1, self._ids[row], x, y))
            self._know(seen.tick_id - 1)

    def _leased(self, entity_id: str, epoch: int) -> None:
        before = self._epochs.get(entity_id, 0)
        if epoch <= before:
            self._court.broken(f"{entity_id} got the epoch {epoch} after {before}")
        self._epochs[entity_id] = epoch

    def check_length(self, last_tick: int) -> None:
        """After a restart: nothing that was shown is beyond the record's end."""
        if self.shown.last_tick > last_tick:
            self._court.broken(f"tick {self.shown.last_tick} was shown, and the record ends with {last_tick}")

    def check(self, records: Sequence[TickRecord]) -> None:
        """At the end: the record is whole, and says what was shown."""
        if [record.tick_id for record in records] != list(range(1, len(records) + 1)):
            self._court.broken(f"the record has the ticks {[record.tick_id for record in records]}")
        self.check_length(len(records))
        for event in self.shown.events:
            self._check_event(event, records[event.tick_id - 1])
        for snapshot in self.shown.snapshots:
            if snapshot.tick_id:
                state = records[snapshot.tick_id - 1].actor_state
                self._same(snapshot.tick_id, "x", snapshot.state.x, state.x[snapshot.actor])
                self._same(snapshot.tick_id, "y", snapshot.state.y, state.y[snapshot.actor])
        for tick_id, entity_id, x, y in self.shown.selves:
            if tick_id:
                state, row = records[tick_id - 1].actor_state, self._rows[entity_id]
                self._same(tick_id, entity_id, (x, y), (state.x[row], state.y[row]))
        self._check_speakers(records)

    def _check_event(self, event: ViewerEvent, record: TickRecord) -> None:
        tick_id, state = event.tick_id, record.actor_state
        self._same(tick_id, "x", event.state.x, state.x[event.actor])
        self._same(tick_id, "y", event.state.y, state.y[event.actor])
        self._same(tick_id, "status", event.state.status_bits, state.status_bits[event.actor])
        self._same(tick_id, "actions", event.results.action, record.results.action)
        self._same(tick_id, "reasons", event.results.reason, record.results.reason)
        if event.utterances != record.utterances or event.object_deltas != record.object_deltas:
            self._court.broken(f"tick {tick_id} was shown with other words or things than it is recorded with")

    def check_thoughts(self, recorded: Iterable[tuple[str, str]]) -> None:
        """Thoughts that viewers saw are on record; they are told apart by entity and message."""
        kept = set(recorded)
        for event in self.shown.events:
            for report in event.thoughts:
                if (report.entity_id, report.thought.user_message) not in kept:
                    self._court.broken(f"a thought that was shown in tick {event.tick_id} is not on record")

    def _check_speakers(self, records: Sequence[TickRecord]) -> None:
        """An entity is led by one controller at a time: epochs never go back, and each is one controller's."""
        last: dict[str, tuple[int, str]] = {}  # entity -> epoch and controller
        for record in records:
            for said in record.utterances:
                found = _SIGNED.fullmatch(said.text)
                if found is None:
                    self._court.broken(f"nobody said {said.text!r}")
                controller, epoch = found[1], int(found[2])
                before_epoch, before = last.get(said.actor_id, (0, ""))
                if epoch < before_epoch or (epoch == before_epoch and controller != before):
                    self._court.broken(
                        f"in tick {record.tick_id} {controller} acts for {said.actor_id} with the epoch {epoch}, "
                        f"after {before} with {before_epoch}"
                    )
                last[said.actor_id] = epoch, controller

    def _same(self, tick_id: int, what: str, shown: object, kept: object) -> None:
        if not np.array_equal(np.asarray(shown), np.asarray(kept)):
            self._court.broken(f"tick {tick_id} was shown with {what} {shown} and is recorded with {kept}")
