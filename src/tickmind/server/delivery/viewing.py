"""Viewer events and snapshots: the results of a tick and the present world, narrowed by each viewer's filter."""

import re
import threading
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from tickmind.protocol import (
    NO_REPORTS,
    ActorColumns,
    ActorStatus,
    LifecycleEvent,
    NeedColumns,
    ObjectDelta,
    ResultColumns,
    RuleEvent,
    TickRecord,
    TickReports,
    WorldInfo,
)
from tickmind.protocol.record import AWAY
from tickmind.server.delivery.lens import Lens, Lenses
from tickmind.wire import ViewerEvent, ViewerEventType, ViewerSnapshot, ViewFilter
from tickmind.wire.columns import encode_viewer_event
from tickmind.wire.messages.limits import MAX_EVENTS, MAX_RULE_ACTORS, MAX_RULE_EVENTS
from tickmind.wire.messages.viewing import GroundColumns, ObjectColumns
from tickmind.wire.v1 import viewer_pb2
from tickmind.world import WorldView

if TYPE_CHECKING:
    from tickmind.protocol.columns import Bool, Int32

T = TypeVar("T")
MOST = int(MAX_EVENTS.maximum)  # entries of each list in one event; the rest is left out
_PLAYED = np.int32(ActorStatus.PLAYED)
_GROUND = re.compile(r"ground:([0-9]+),([0-9]+)")


class Viewing:
    """Makes events and snapshots for viewers. Each event is encoded once for all viewers with the same filter."""

    def __init__(self, world: WorldInfo, now: WorldView, run_id: str = "") -> None:
        self._run_id = run_id
        self._rows = {actor.entity_id: row for row, actor in enumerate(world.actors)}
        self._objects_move = any(kind.comes_and_goes for kind in world.kinds)
        self._places = {thing.object_id: (thing.x, thing.y) for thing in world.objects}
        if self._objects_move:  # what was built before this world went on is not where the scenario has it
            at = zip(now.object_x.tolist(), now.object_y.tolist(), strict=True)
            self._places = {thing.object_id: tile for thing, tile in zip(world.objects, at, strict=True)}
        self._lenses = Lenses(world.width, world.height)
        self._looking = threading.Lock()  # snapshots are made in another thread
        before = self._before = now.actors  # the actors as last shown to viewers
        self._event: ViewerEvent | None = None
        self._old = before  # the actors before the event
        self._now = before
        self._encoded: dict[ViewFilter, bytes] = {}  # of the newest event

    def publish(
        self, record: TickRecord, lifecycle: Iterable[LifecycleEvent] = (), reports: TickReports = NO_REPORTS
    ) -> None:
        """Make the event of a recorded tick."""
        old, now = self._before, record.actor_state
        changed = (
            (old.x != now.x) | (old.y != now.y) | (old.status_bits != now.status_bits) | (old.facing != now.facing)
        )
        rows = np.flatnonzero(changed).astype(np.int32)
        for delta in record.object_deltas if self._objects_move else ():
            if (tile := delta.tile) is not None and tile[0] != AWAY:
                self._places[delta.object_id] = tile
        self._event = ViewerEvent(
            tick_id=record.tick_id,
            sim_time_ms=record.sim_time_ms,
            actor=rows,
            state=_take(now, rows),
            results=_bounded(record.results),
            utterances=record.utterances[:MOST],
            object_deltas=record.object_deltas[:MOST],
            lifecycle=tuple(item for item, _ in zip(lifecycle, range(MOST), strict=False)),
            thoughts=reports.thoughts,
            statuses=reports.statuses,
            insights=reports.insights,
            needs=record.needs,
            rule_events=_bounded_events(record.rule_events),
        )
        self._old, self._now, self._before = old, now, now
        self._encoded = {}

    def encoded(self, view: ViewFilter) -> bytes:
        """Return the newest event for a filter, as a serialized response."""
        data = self._encoded.get(view)
        if data is None:
            assert self._event is not None, "events are asked for after the first one was made"
            message = viewer_pb2.StreamViewerEventsResponse(event=encode_viewer_event(self.narrow(self._event, view)))
            data = self._encoded[view] = message.SerializeToString()
        return data

    def narrow(self, event: ViewerEvent, view: ViewFilter) -> ViewerEvent:
        """Narrow the newest event by a filter."""
        if view.types:
            event = _of_types(event, frozenset(view.types))
        if not view.actor_ids and not view.regions:
            return event
        shown = self._shown(view, self._now) | self._shown(view, self._old)  # also who has left
        kept = shown[event.actor]
        return replace(
            event,
            actor=event.actor[kept],
            state=_take(event.state, kept),
            results=_some_results(event.results, shown[event.results.actor]),
            utterances=tuple(said for said in event.utterances if shown[self._rows[said.actor_id]]),
            object_deltas=() if view.actor_ids else tuple(self._deltas_in(event.object_deltas, view)),
            lifecycle=tuple(item for item in event.lifecycle if shown[self._rows[item.entity.entity_id]]),
            thoughts=tuple(item for item in event.thoughts if shown[self._rows[item.entity_id]]),
            statuses=tuple(item for item in event.statuses if shown[self._rows[item.entity_id]]),
            insights=tuple(item for item in event.insights if shown[self._rows[item.entity_id]]),
            needs=_some_needs(event.needs, shown),
            rule_events=tuple(self._events_of(event.rule_events, shown)),
        )

    def snapshot(self, world: WorldView, view: ViewFilter) -> ViewerSnapshot:
        """Return a world narrowed by a filter; objects and ground go by regions only. Thread-safe."""
        shown = self._shown(view, world.actors)
        rows = np.flatnonzero(shown).astype(np.int32)
        lens = self._lens(view)
        objects = np.flatnonzero(lens.holds(world.object_x, world.object_y)).astype(np.int32)
        places = (world.object_x[objects], world.object_y[objects]) if self._objects_move else ()
        lying = lens.holds(world.ground_x, world.ground_y)
        return ViewerSnapshot(
            tick_id=world.tick_id,
            sim_time_ms=world.sim_time_ms,
            actor=rows,
            state=_take(world.actors, rows),
            objects=ObjectColumns(
                objects, world.object_state[objects], world.object_work[objects], world.object_stock[objects], *places
            ),
            ground=GroundColumns(
                world.ground_x[lying], world.ground_y[lying], world.ground_kind[lying], world.ground_amount[lying]
            ),
            needs=_some_needs(world.needs, shown),
            run_id=self._run_id,
        )

    def _shown(self, view: ViewFilter, actors: ActorColumns) -> "Bool":
        """Return actor row -> whether the filter shows it."""
        shown = self._lens(view).holds(actors.x, actors.y)
        if view.actor_ids:
            named = np.zeros(len(shown), dtype=np.bool_)
            named[[self._rows[name] for name in view.actor_ids if name in self._rows]] = True
            shown &= named
        return shown

    def _lens(self, view: ViewFilter) -> Lens:
        with self._looking:
            return self._lenses.of(view.regions)

    def _events_of(self, events: Iterable[RuleEvent], shown: "Bool") -> Iterator[RuleEvent]:
        """Yield events of rules with those of their actors that are shown; those of the world are shown to all."""
        for event in events:
            kept = tuple(actor_id for actor_id in event.actor_ids if shown[self._rows[actor_id]])
            if kept or not event.actor_ids:
                yield replace(event, actor_ids=kept)

    def _deltas_in(self, deltas: Iterable[ObjectDelta], view: ViewFilter) -> list[ObjectDelta]:
        placed: list[tuple[ObjectDelta, tuple[int, int]]] = []
        for delta in deltas:
            place = self._places.get(delta.object_id)
            if place is None and (match := _GROUND.fullmatch(delta.object_id)):
                place = int(match[1]), int(match[2])
            if place is not None:
                placed.append((delta, place))
        at = np.array([place for _, place in placed], dtype=np.int32).reshape(-1, 2)
        held = self._lens(view).holds(at[:, 0], at[:, 1])
        return [delta for (delta, _), kept in zip(placed, held.tolist(), strict=True) if kept or delta.tile is not None]


def mark_played(actors: ActorColumns, played: "Bool") -> ActorColumns:
    """Return the actors with a mark on those that persons play; the world itself does not know of it."""
    if not played.any():
        return actors
    return replace(actors, status_bits=np.where(played, actors.status_bits | _PLAYED, actors.status_bits))


def _take(state: ActorColumns, rows: "Int32 | Bool") -> ActorColumns:
    return ActorColumns(state.x[rows], state.y[rows], state.status_bits[rows], state.facing[rows])


def _of_types(event: ViewerEvent, types: frozenset[ViewerEventType]) -> ViewerEvent:
    def of(kind: ViewerEventType, items: tuple[T, ...]) -> tuple[T, ...]:
        return items if kind in types else ()

    if ViewerEventType.STATE not in types:
        event = replace(event, actor=event.actor[:0], state=_take(event.state, event.actor[:0]))
    if ViewerEventType.RESULT not in types:
        event = replace(event, results=_some_results(event.results, np.zeros(len(event.results), dtype=np.bool_)))
    return replace(
        event,
        utterances=of(ViewerEventType.UTTERANCE, event.utterances),
        object_deltas=of(ViewerEventType.OBJECT, event.object_deltas),
        lifecycle=of(ViewerEventType.LIFECYCLE, event.lifecycle),
        thoughts=of(ViewerEventType.THOUGHT, event.thoughts),
        statuses=of(ViewerEventType.STATUS, event.statuses),
        insights=of(ViewerEventType.INSIGHT, event.insights),
        needs=event.needs if ViewerEventType.NEED in types else None,
        rule_events=of(ViewerEventType.RULE, event.rule_events),
    )


def _some_needs(needs: NeedColumns | None, shown: "Bool") -> NeedColumns | None:
    if needs is None:
        return None
    return needs.some(np.flatnonzero(shown[needs.actor]))


def _some_results(results: ResultColumns, kept: "Bool") -> ResultColumns:
    moved_to = np.cumsum(kept) - 1  # old place -> new place, of those that are kept
    return ResultColumns(
        results.actor[kept],
        results.action[kept],
        results.reason[kept],
        {int(moved_to[at]): name for at, name in results.target_ids.items() if kept[at]},
        {int(moved_to[at]): effects for at, effects in results.effects.items() if kept[at]},
    )


def _bounded(results: ResultColumns) -> ResultColumns:
    """Limit the results with details to what one message may hold."""
    detailed = {*results.target_ids, *results.effects}
    if len(detailed) <= MOST:
        return results
    kept = frozenset(sorted(detailed)[:MOST])
    return replace(
        results,
        target_ids={at: name for at, name in results.target_ids.items() if at in kept},
        effects={at: details for at, details in results.effects.items() if at in kept},
    )


def _bounded_events(events: tuple[RuleEvent, ...]) -> tuple[RuleEvent, ...]:
    """Limit events of rules and their actors to what one message may hold."""
    most = int(MAX_RULE_ACTORS.maximum)
    kept = events[: int(MAX_RULE_EVENTS.maximum)]
    return tuple(replace(one, actor_ids=one.actor_ids[:most]) if len(one.actor_ids) > most else one for one in kept)
