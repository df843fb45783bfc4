"""The events of a run, one after another, for searches."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from tickmind.protocol import ActionResult, ActorColumns, ObjectDelta, ObjectInfo, TickRecord, Utterance
from tickmind.protocol.record import AWAY
from tickmind.record.tables.gifts import Gift, gifts_in

_GROUND = "ground:"


class EventKind(StrEnum):
    """The kinds of events."""

    ACTION = "action"
    UTTERANCE = "utterance"
    OBJECT = "object"
    GIFT = "gift"  # one for the giver, one for the receiver


Happening: TypeAlias = ActionResult | Utterance | ObjectDelta | Gift


@dataclass(frozen=True, slots=True)
class TileArea:
    """A rectangle of tiles, including its corners."""

    left: int
    top: int
    right: int
    bottom: int

    def holds(self, x: int, y: int) -> bool:
        """Whether a tile lies in it."""
        return self.left <= x <= self.right and self.top <= y <= self.bottom


@dataclass(frozen=True, slots=True)
class RunEvent:
    """An event; its place is the object's, or the actor's after the tick: before it, if the actor left the world."""

    tick_id: int
    kind: EventKind
    subject_id: str  # of the actor or object
    x: int  # -1, as y, where none is known
    y: int
    what: Happening


@dataclass(frozen=True, slots=True)
class EventFilter:
    """A filter for events; None means all."""

    kinds: Collection[EventKind] | None = None
    actors: Collection[str] | None = None  # if given, events of objects are left out
    region: TileArea | None = None


class EventFinder:
    """Finds the events in ticks. `state_before` returns all actors before a tick, or None if that is not recorded."""

    def __init__(
        self,
        objects: Collection[ObjectInfo],
        wanted: EventFilter,
        state_before: Callable[[int], ActorColumns | None] = lambda _tick_id: None,
    ) -> None:
        self._places = {thing.object_id: (thing.x, thing.y) for thing in objects}
        self._kinds = frozenset(EventKind) if wanted.kinds is None else frozenset(wanted.kinds)
        self._actors = None if wanted.actors is None else frozenset(wanted.actors)
        self._region = wanted.region
        self._state_before = state_before
        self._before: tuple[int, ActorColumns | None] = (-1, None)  # a tick, and the actors before it
        self.finds_objects = EventKind.OBJECT in self._kinds and wanted.actors is None

    def find(self, record: TickRecord) -> Iterator[RunEvent]:
        """Iterate over the matching events of a tick: results of actions, speech, objects, then gifts."""
        for event in self._all(record):
            if self._region is None or (event.x != AWAY and self._region.holds(event.x, event.y)):
                yield event

    def follow(self, deltas: Iterable[ObjectDelta]) -> None:
        """Note where objects are built; one that is gone counts as where it was."""
        for delta in deltas:
            if (tile := delta.tile) is not None and tile[0] != AWAY:
                self._places[delta.object_id] = tile

    def _all(self, record: TickRecord) -> Iterator[RunEvent]:
        tick_id = record.tick_id
        if EventKind.ACTION in self._kinds:
            for place, row in enumerate(record.results.actor.tolist()):
                if self._actors is None or record.actor_ids[row] in self._actors:
                    result = record.result_at(place)
                    x, y = self._actor_place(record, row)
                    yield RunEvent(tick_id, EventKind.ACTION, result.actor_id, x, y, result)
        if EventKind.UTTERANCE in self._kinds:
            for said in record.utterances:
                if self._actors is None or said.actor_id in self._actors:
                    yield RunEvent(tick_id, EventKind.UTTERANCE, said.actor_id, said.x, said.y, said)
        if self.finds_objects:
            self.follow(record.object_deltas)
            for delta in record.object_deltas:
                x, y = self._place_of(delta.object_id)
                yield RunEvent(tick_id, EventKind.OBJECT, delta.object_id, x, y, delta)
        if EventKind.GIFT in self._kinds:
            yield from self._gifts(record)

    def _gifts(self, record: TickRecord) -> Iterator[RunEvent]:
        """Iterate over both sides of each gift, each where its actor is."""
        gifts = gifts_in(record)
        rows = {actor_id: row for row, actor_id in enumerate(record.actor_ids)} if gifts else {}
        for gift in gifts:
            for actor_id in (gift.giver_id, gift.receiver_id):
                row = rows.get(actor_id)
                if row is not None and (self._actors is None or actor_id in self._actors):
                    x, y = self._actor_place(record, row)
                    yield RunEvent(record.tick_id, EventKind.GIFT, actor_id, x, y, gift)

    def _actor_place(self, record: TickRecord, row: int) -> tuple[int, int]:
        """Return where an actor is after a tick; where it was before it, if it left the world in the tick."""
        state: ActorColumns | None = record.actor_state
        if record.actor_state.x[row] == AWAY:
            if self._before[0] != record.tick_id:
                self._before = (record.tick_id, self._state_before(record.tick_id))
            state = self._before[1]
        return (AWAY, AWAY) if state is None else (int(state.x[row]), int(state.y[row]))

    def _place_of(self, object_id: str) -> tuple[int, int]:
        """Return where an object is; items on the ground have their tile in the name."""
        place = self._places.get(object_id)
        if place is not None:
            return place
        x, _, y = object_id.removeprefix(_GROUND).partition(",")
        return (int(x), int(y)) if x.isdecimal() and y.isdecimal() else (-1, -1)
