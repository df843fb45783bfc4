"""The authority over one world, without network, threads or waiting.

A tick goes through these calls, made by `TickLoop` or by a simulation:

    begin()       opens the tick: ends expired leases, sends observations, takes intents from now on
    ready()       in lockstep: whether all controllers have answered
    resolve()     closes the tick: applies the rules to all intents; returns the record, which is not shown yet
    publish()     shows a record that is stored: sends it to viewers
    prepare()     makes the observations of the next tick, some at a time

Requests of agents in between are answered at once, with a value.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tickmind.base import Clock, Secret, secret_token
from tickmind.protocol import Ack, EntityInfo, Lease, LifecycleKind, Reason, RunInfo, TickEvent, TickRecord
from tickmind.server.callers import caller_name
from tickmind.server.control.inbox import Inbox, merge
from tickmind.server.control.leases import BatchGrant, Grant, Leases
from tickmind.server.control.placements import PlacementQueue
from tickmind.server.control.seat import Seat
from tickmind.server.delivery.audience import ActorListener, Audience
from tickmind.server.delivery.lifecycle import Changes, Lifecycle
from tickmind.server.delivery.outbox import Outbox
from tickmind.server.delivery.reports import ReportBuffer, ReportSink
from tickmind.server.delivery.streams import Stream, Streams
from tickmind.server.delivery.viewing import Viewing, mark_played
from tickmind.server.limits import LEASE_TTL_MS, MAX, ServerLimits
from tickmind.server.pace import TickPace
from tickmind.server.statistics import ServerStatistics, TickTally
from tickmind.wire import ViewerSnapshot, ViewFilter
from tickmind.wire.codec import encode_down, encode_tick
from tickmind.wire.columns import ColumnBounds
from tickmind.wire.messages.frames import Closed, ControlAck, ControlIntent
from tickmind.wire.messages.requests import (
    AcquireRequest,
    EntitiesRequest,
    InsightsRequest,
    ObservationsRequest,
    StatusRequest,
    SubmitRequest,
    ThoughtRequest,
)
from tickmind.wire.v1.tick_pb2 import StreamTicksResponse
from tickmind.world import TileWorld, WorldView

if TYPE_CHECKING:
    from tickmind.protocol.columns import Int32

MOST_ACKS = 64  # distinct ones cached for a tick
MOST_KNOWN = 1024  # distinct intents cached for a tick
LONGEST_KNOWN = 64  # bytes of the longest cached intent; speeches rarely repeat


class Authority:
    """One world with its leases, inbox and streams: decides who may act and who receives what.

    `on_progress` is called after an intent or a change of control, for loops that wait for that. `run_id` is sent to
    all clients, so that none confuses two runs of a world.
    """

    def __init__(
        self,
        world: TileWorld,
        *,
        clock: Clock,
        pace: TickPace | None = None,
        lease_ttl_ms: int = LEASE_TTL_MS,
        secrets: Callable[[], str] = secret_token,
        incarnation: int = 1,
        run_id: str = "",
        reports: ReportSink | None = None,
        limits: ServerLimits = MAX,
    ) -> None:
        self.world = world
        self.run = world.info.describe(RunInfo(run_id, world.mind_seed, world.thinking_ticks), ())
        ids = {actor.entity_id for actor in world.info.actors}
        self._personas, self._goals = world.info.personas(ids), world.info.goals_of(ids)
        self.pace = pace or TickPace.of(world.info.tick_duration_ms, world.info.intent_deadline_ms)
        self.info = info = self.pace.state_in(world.info)
        self.bounds = ColumnBounds.of(info)
        self.clock = clock
        self.limits = limits
        self.inbox = Inbox(len(info.actors))
        self.leases = Leases(
            [actor.entity_id for actor in info.actors],
            clock=clock,
            ttl_ms=lease_ttl_ms,
            secrets=secrets,
            caller_name=caller_name,
            incarnation=incarnation,
            on_change=lambda rows, on: self._hand_over(
                rows, LifecycleKind.CONTROLLED if on else LifecycleKind.UNCONTROLLED
            ),
            on_lost=self._lease_lost,
            on_played=lambda rows, on: self._hand_over(rows, LifecycleKind.PLAYED if on else LifecycleKind.UNPLAYED),
        )
        self.placements = PlacementQueue(world, limits.placements)
        self.streams = Streams(limits)
        self.lifecycle = Lifecycle(info.actors)
        self.audience = Audience(world, self.pace.deadline_ms, int(limits.actors_per_part.maximum))
        self.reports = ReportBuffer(reports, limits)
        self._reported = self.reports.take()  # reports until the tick was closed
        self.tally = TickTally()
        self.stopping = False
        self.on_progress: Callable[[], None] = lambda: None
        self.seats: dict[int, Seat] = {}  # number of a grant -> the control stream that holds it
        self.tick_readers: dict[Outbox[bytes], None] = {}
        self.viewers: dict[Stream[bytes], ViewFilter] = {}
        self._plain: dict[int, list[ActorListener]] = {}  # number of a grant -> plain streams of its observations
        in_order = sorted((actor.entity_id, row) for row, actor in enumerate(info.actors))
        self._names = [name for name, _ in in_order]  # ascending
        self._rows = np.array([row for _, row in in_order], dtype=np.int32)  # of the names
        self._acks: dict[tuple[int, Reason], bytes] = {}  # tick and reason -> frame
        self.read_intents: dict[bytes, ControlIntent] = {}  # frame -> its decoded intent, in this tick
        self._view: WorldView | None = None  # the world after the last recorded tick
        self._played = self.leases.played  # actor row -> whether a person played it in that tick
        self._present = world.present  # actor row -> whether it was there after that tick
        awaited = self.pace.awaited
        self._awaited = (
            None if awaited is None else np.array([actor.entity_id in awaited for actor in info.actors], np.bool_)
        )
        self.viewing = Viewing(info, world.view(), run_id)
        self._started_s = clock.monotonic()
        self._tick = self._tick_event()  # the tick opened last

    # The tick

    def run_of(self, entity_id: str) -> RunInfo:
        """Return the run as the controller of an entity gets it: with who that is, and its goals."""
        persona, goals = self._personas.get(entity_id), self._goals.get(entity_id)
        if persona is None and goals is None:
            return self.run
        return replace(
            self.run,
            personas={} if persona is None else {entity_id: persona},
            goals={} if goals is None else {entity_id: goals},
        )

    def begin(self) -> TickEvent:
        """Open the next tick."""
        self.leases.expire()
        self._started_s = self.clock.monotonic()
        event = self._tick = self._tick_event()
        self.inbox.open(self.world.tick_id)
        self._acks.clear()
        self.read_intents.clear()
        if self.tick_readers:
            message = StreamTicksResponse(tick=encode_tick(event)).SerializeToString()
            for reader in self.tick_readers:
                reader.replace((message,))
        self.audience.send(event)
        return event

    def _tick_event(self) -> TickEvent:
        start_ms = round(self.clock.wall() * 1000)
        pace = self.pace
        return TickEvent(
            self.world.tick_id, start_ms, start_ms + pace.deadline_ms, pace.tick_ms, self.world.world_version
        )

    def ready(self) -> bool:
        """Whether enough actors are controlled and all of them have an intent; for worlds in lockstep."""
        self.leases.expire()
        if self.audience.has_late:
            self.audience.send(self._tick)  # to clients that came after the tick began
        return not self.missing and bool((self.inbox.answered | ~self.leases.controlled).all())

    @property
    def missing(self) -> int:
        """How many more actors must be controlled before a tick is resolved; for worlds in lockstep."""
        controlled = self.leases.controlled
        if self._awaited is not None:
            return int((self._awaited & self._present & ~controlled).sum())
        here = int(self._present.sum())
        expected = max(1, self.pace.controllers - (len(self._present) - here))
        return max(0, min(expected, here) - int(controlled.sum()))

    def resolve(self) -> TickRecord:
        """Close the tick, apply the rules and return the record, which must be stored before it is shown."""
        self.leases.expire()
        started_s = self.clock.monotonic()
        self.world_on_record()
        self._reported = self.reports.take()  # later reports belong to the next tick
        single, batches = self.inbox.close()
        columns = merge([self.world.compile(single), *batches]) if batches else single
        record = self.world.step(columns, self.leases.controlled.copy(), self.placements.take())
        self._played = self.leases.played
        record = replace(record, actor_state=mark_played(record.actor_state, self._played))
        self.tally.ticks += 1
        self.tally.steps.add(self.clock.monotonic() - started_s)
        return record

    def publish(self, record: TickRecord) -> None:
        """Show a stored record to viewers."""
        self._view = None
        self._come_and_go()
        self.placements.settle(record)
        happened = self.lifecycle.take()
        events = (event for changes in happened for event in changes.events(self.info.actors))
        self.viewing.publish(record, events, self._reported)
        for stream, view in list(self.viewers.items()):
            if not stream.outbox.ended and not stream.outbox.put(self.viewing.encoded(view)):
                self.streams.cut_off(stream, "the viewer can't keep up; take a new snapshot and reconnect")

    def _come_and_go(self) -> None:
        """Announce the actors that have come, and take back those that have left."""
        before, self._present = self._present, self.world.present
        left = np.flatnonzero(before & ~self._present).astype(np.int32)
        self.leases.take_back(left, Reason.AWAY)
        come = np.flatnonzero(self._present & ~before).astype(np.int32)
        for kind, rows in ((LifecycleKind.DESPAWNED, left), (LifecycleKind.SPAWNED, come)):
            if len(rows):
                self._announce(kind, rows)

    def prepare(self) -> Iterator[None]:
        """Make the observations of the next tick, some at a time."""
        return self.audience.prepare()

    def stop(self) -> None:
        """Refuse all requests from now on, and end all streams."""
        self.stopping = True
        for seat in list(self.seats.values()):
            seat.close(Reason.STOPPING)
        for listeners in list(self._plain.values()):
            for listener in list(listeners):
                self.leave(listener)
        for reader in self.tick_readers:
            reader.end()
        for stream in self.viewers:
            stream.outbox.end()
        self.lifecycle.end()
        self.placements.end()

    # Control

    def acquire(self, request: AcquireRequest) -> Lease | Closed:
        """Grant a lease, or return why not."""
        result = self.take(request.entity_id, request.controller_id, request.previous_lease_id)
        return result if isinstance(result, Closed) else result[1]

    def take(
        self, entity_id: str, controller_id: str, previous: Secret | None, *, play: bool = False
    ) -> tuple[Grant, Lease] | Closed:
        """Grant a lease, or to `play` borrow the entity; return it with its grant for control streams, or why not."""
        if self.stopping:
            return Closed(Reason.STOPPING)
        row = self.world.row_of(entity_id)
        if row is None:
            return Closed(Reason.UNKNOWN_ENTITY)
        if not self._present[row]:
            return Closed(Reason.AWAY)
        return (self.leases.borrow if play else self.leases.acquire)(row, controller_id, previous)

    def take_many(self, rows: "Int32", controller_id: str, previous: Secret | None) -> BatchGrant | Closed:
        """Grant all of these actors that are there and free; or return why none of them."""
        if self.stopping:
            return Closed(Reason.STOPPING)
        there = self._present[rows]
        if len(rows) and not there.any():
            return Closed(Reason.AWAY)
        granted = self.leases.acquire_many(rows[there], controller_id, previous)
        return granted if isinstance(granted, Closed) else granted.refusing(rows[~there], Reason.AWAY)

    def submit(self, request: SubmitRequest) -> Ack:
        """Accept an intent, or return why not."""
        row = self.world.row_of(request.entity_id)
        if self.stopping:
            return self.refuse(Reason.STOPPING)
        if row is None:
            return self.refuse(Reason.UNKNOWN_ENTITY)
        reason = self.leases.may_act(request.lease_id, row)
        if reason := reason or self.inbox.offer(row, request.tick_id, request.intent):
            return self.refuse(reason)
        self.count_answers(1)
        return Ack(True)

    def refuse(self, reason: Reason, count: int = 1) -> Ack:
        """Count refused intents."""
        self.tally.refused[reason] += count
        return Ack(False, reason)

    def acknowledgement(self, tick_id: int, ack: Ack) -> bytes:
        """Return the frame that acknowledges an intent; most of a tick are equal."""
        key = tick_id, ack.reason
        data = self._acks.get(key)
        if data is None:
            data = encode_down(ControlAck(tick_id, ack)).SerializeToString()
            if len(self._acks) < MOST_ACKS:
                self._acks[key] = data
        return data

    def remember(self, data: bytes, frame: ControlIntent) -> None:
        """Cache a decoded frame, because a thousand agents have only eight directions to go."""
        if len(data) <= LONGEST_KNOWN and len(self.read_intents) < MOST_KNOWN:
            self.read_intents[data] = frame

    def count_answers(self, count: int) -> None:
        """Count accepted intents, and their delay after the start of the tick."""
        self.tally.accepted += count
        self.tally.answers.add(self.clock.monotonic() - self._started_s, count)
        self.on_progress()

    def listen(self, request: ObservationsRequest, outbox: Outbox[bytes]) -> ActorListener | Reason:
        """Send observations to a plain stream, or return why not. `leave` ends it."""
        row = self.world.row_of(request.entity_id)
        if row is None:
            return Reason.UNKNOWN_ENTITY
        grant = self.leases.grant_of(request.lease_id)
        if isinstance(grant, Reason) or (reason := self.leases.check(request.lease_id, row)):
            return grant if isinstance(grant, Reason) else reason
        listener = ActorListener(row, grant, outbox, frames=False, want_floors=request.want_floors, once=request.once)
        self.audience.add(listener)
        self._plain.setdefault(grant.number, []).append(listener)
        if request.once and self.inbox.is_open:
            self.audience.send(self._tick, self._left_ms())
        self.on_progress()
        return listener

    def _left_ms(self) -> int:
        """Return the milliseconds left for intents of the open tick, at least 1."""
        return max(1, self.pace.deadline_ms - round((self.clock.monotonic() - self._started_s) * 1000))

    def leave(self, listener: ActorListener) -> None:
        """Send no more observations to a plain stream that ends."""
        self.audience.remove(listener)
        listener.outbox.end()
        others = self._plain.get(listener.grant.number, [])
        if listener in others:
            others.remove(listener)
        if not others:
            self._plain.pop(listener.grant.number, None)

    # Reports

    def report_thought(self, request: ThoughtRequest) -> Ack:
        """Store a deliberation, or return why not."""
        reason = self._may_report(request.lease_id, request.report.entity_id)
        return _ack(reason or self.reports.add_thought(request.report))

    def report_status(self, request: StatusRequest) -> Ack:
        """Store a status, or return why not."""
        reason = self._may_report(request.lease_id, request.status.entity_id)
        return _ack(reason or self.reports.add_status(request.status))

    def report_insights(self, request: InsightsRequest) -> Ack:
        """Store insights into minds, or return why not all were stored."""
        refused = Reason.NONE
        for insight in request.insights:
            reason = self._may_report(request.lease_id, insight.entity_id) or self.reports.add_insight(insight)
            refused = refused or reason
        return _ack(refused)

    def _may_report(self, lease_id: Secret, entity_id: str) -> Reason:
        row = self.world.row_of(entity_id)
        return self.leases.check(lease_id, row) if row is not None else Reason.UNKNOWN_ENTITY

    # Read-only clients

    def entities(self, request: EntitiesRequest) -> tuple[list[EntityInfo], bool]:
        """Return a page of the actors in ascending ids, and whether there are more."""
        self.leases.expire()
        most = int(self.limits.page.maximum)
        size = min(request.page_size or most, most)
        start = bisect_right(self._names, request.after_entity_id) if request.after_entity_id else 0
        rows = self._rows[start:]
        rows = rows[self._present[rows]]
        if request.uncontrolled_only:
            rows = rows[~self.leases.controlled[rows]]
        return [self.info.actors[row] for row in rows[:size].tolist()], len(rows) > size

    def present(self) -> list[Changes]:
        """Return the present state as changes, for new readers of the lifecycle."""
        self.leases.expire()
        leases = self.leases
        return self.lifecycle.present(self.world.tick_id, self._present, leases.controlled, leases.played)

    def world_on_record(self) -> WorldView:
        """Return the world after the last recorded tick; the same object until the next one."""
        if self._view is None:
            view = self.world.view()
            self._view = replace(view, actors=mark_played(view.actors, self._played))
        return self._view

    def snapshot(self, view: ViewFilter) -> ViewerSnapshot:
        """Return the world after the last recorded tick, narrowed by a filter."""
        return self.viewing.snapshot(self.world_on_record(), view)

    def statistics(self) -> ServerStatistics:
        """Return the server's figures."""
        tally = self.tally
        return ServerStatistics(
            tick_id=self.world.tick_id,
            ticks=tally.ticks,
            overruns=tally.overruns,
            overrun_ms=tally.late_s * 1000,
            overrun_most_ms=tally.late_most_s * 1000,
            jitter_p50_ms=tally.jitter.quantile(0.5) * 1000,
            jitter_p99_ms=tally.jitter.quantile(0.99) * 1000,
            jitter_most_ms=tally.jitter.most_s * 1000,
            answers_p50_ms=tally.answers.quantile(0.5) * 1000,
            answers_p99_ms=tally.answers.quantile(0.99) * 1000,
            step_p50_ms=tally.steps.quantile(0.5) * 1000,
            keep_p50_ms=tally.keeps.quantile(0.5) * 1000,
            prepare_p50_ms=tally.prepares.quantile(0.5) * 1000,
            actors=len(self.info.actors),
            controlled=int(self.leases.controlled.sum()),
            leases=len(self.leases),
            accepted=tally.accepted,
            refused=dict(tally.refused),
            streams={kind.value: count for kind, count in self.streams.by_kind.items()},
            streams_cut=self.streams.cut,
            unread_bytes=self.streams.unread_bytes,
            calls_refused=tally.calls_refused,
        )

    # Callbacks of leases

    def _hand_over(self, rows: "Int32", kind: LifecycleKind) -> None:
        self.inbox.forget(rows)
        self._announce(kind, rows)
        self.on_progress()

    def _announce(self, kind: LifecycleKind, rows: "Int32") -> None:
        for stream in self.lifecycle.publish(self.world.tick_id, kind, rows):
            self.streams.cut_off(stream, "the reader can't keep up; reconnect to get the present state")

    def _lease_lost(self, grant: Grant, rows: "Int32", reason: Reason) -> None:
        seat = self.seats.get(grant.number)
        if seat is not None:
            seat.lose(rows, reason)
        for listener in [reader for reader in self._plain.get(grant.number, ()) if reader.row in rows]:
            self.leave(listener)


def _ack(reason: Reason) -> Ack:
    return Ack(not reason, reason)
