"""`ColumnReader`: unpacks the observations of many actors to one `Observation` each, as its own stream would send it.

An actor that waited has no result here.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, repeat
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tickmind.agent.control.view_cache import DIRECTIONS, STATUS, ActorLooks, ObjectLooks
from tickmind.protocol import (
    ACTION_TYPES,
    ENTERED,
    MOVED,
    REASONS,
    Acted,
    ActionResult,
    Entered,
    Event,
    Heard,
    ItemStack,
    Left,
    Moved,
    Observation,
    ObservationColumns,
    ResultDetail,
    SelfState,
    WorldInfo,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tickmind.protocol.columns import Int64

T = TypeVar("T")


class ColumnReader:
    """Unpack the columns of one world. What several actors perceive is one object for all of them."""

    def __init__(self, world: WorldInfo) -> None:
        self._item_kinds = world.item_kinds
        self._own_needs = world.own_needs
        self._names = [actor.entity_id for actor in world.actors]
        self._actors = ActorLooks(world)
        self._objects = ObjectLooks(world)
        self._tick_id = -1
        self._events_of: dict[type[Event], dict[int, Event]] = {}  # kind -> actor row -> its event of this tick

    def read(self, columns: ObservationColumns) -> list[Observation]:
        """Return the observations that a part of a tick holds."""
        if columns.tick_id != self._tick_id:
            self._actors.begin_tick()
            self._events_of = {Entered: {}, Moved: {}, Acted: {}}
            self._tick_id = columns.tick_id
        self._actors.take_in(columns)
        self._objects.take_in(columns)
        offers = columns.offers_by_place()
        details = {detail.actor: detail for detail in columns.details}
        each = zip(
            columns.actor.tolist(),
            self._selves(columns),
            self._objects.tiles(columns),
            _lists(self._actors.views, columns.entity, columns.entity_offset),
            _lists(self._objects.views, columns.object, columns.object_offset),
            self._objects.piles(columns),
            columns.result_action.tolist(),
            columns.result_reason.tolist(),
            self._events(columns, details),
            strict=True,
        )
        return [
            Observation(
                columns.tick_id,
                columns.deadline_ms,
                me,
                tiles,
                tuple(entities),
                (*things, *lying),
                events,
                _result(me.entity_id, action, reason, details.get(row)) if action or reason else None,
                offers=offers.get(place, ()),
            )
            for place, (row, me, tiles, entities, things, lying, action, reason, events) in enumerate(each)
        ]

    def _selves(self, columns: ObservationColumns) -> list[SelfState]:
        kinds, names = self._item_kinds, self._names
        owner, kind = np.nonzero(columns.inventory)
        amounts = columns.inventory[owner, kind].tolist()
        stacks = [ItemStack(kinds[code], amount) for code, amount in zip(kind.tolist(), amounts, strict=True)]
        bags = pairwise(np.searchsorted(owner, np.arange(len(columns) + 1)).tolist())
        numbers = (columns.actor, columns.x, columns.y, columns.status_bits, columns.facing)
        needs = columns.energy.tolist(), columns.hunger.tolist(), self._named_needs(columns)
        each = zip(*(column.tolist() for column in numbers), bags, *needs, strict=True)
        return [
            SelfState(
                names[row], x, y, STATUS[status], DIRECTIONS[facing], tuple(stacks[start:end]), energy, hunger, own
            )
            for row, x, y, status, facing, (start, end), energy, hunger, own in each
        ]

    def _named_needs(self, columns: ObservationColumns) -> Iterable[tuple[tuple[str, int], ...]]:
        """Return the own needs of each observer, with their names."""
        if columns.own_needs is None:
            return repeat((), len(columns))
        return [tuple(zip(self._own_needs, values, strict=True)) for values in columns.own_needs.tolist()]

    # Events

    def _events(self, columns: ObservationColumns, details: Mapping[int, ResultDetail]) -> Iterator[tuple[Event, ...]]:
        names, views = self._names, self._actors.views
        flags, action = columns.entity_flags, columns.entity_action

        def entered(row: int, _place: int) -> Event:
            return Entered(names[row], views[row].x, views[row].y)

        def moved(row: int, _place: int) -> Event:
            return Moved(names[row], views[row].x, views[row].y, views[row].facing)

        def acted(row: int, place: int) -> Event:
            return Acted(_result(names[row], int(action[place]), int(columns.entity_reason[place]), details.get(row)))

        heard = [Heard(said.actor_id, said.channel, said.text, said.x, said.y) for said in columns.utterances]
        each = zip(
            self._marked_events(Entered, columns, flags & ENTERED, entered),
            self._left(columns),
            self._marked_events(Moved, columns, flags & MOVED, moved),
            self._marked_events(Acted, columns, action, acted),
            _lists(heard, columns.heard, columns.heard_offset),
            strict=True,
        )
        return ((*come, *gone, *going, *doing, *spoken) for come, gone, going, doing, spoken in each)

    def _marked_events(
        self,
        kind: type[Event],
        columns: ObservationColumns,
        marks: "NDArray[np.integer[Any]]",
        make: Callable[[int, int], Event],
    ) -> list[list[Event]]:
        """Return for each observer the events of one kind, of the marked entities; observers share the events."""
        places = np.flatnonzero(marks)
        rows = columns.entity[places].tolist()
        known = self._events_of[kind]
        for row, place in dict(zip(rows, places.tolist(), strict=True)).items():
            if row not in known:
                known[row] = make(row, place)
        events = [known[row] for row in rows]
        cuts = np.searchsorted(places, columns.entity_offset).tolist()
        return [events[start:end] for start, end in pairwise(cuts)]

    def _left(self, columns: ObservationColumns) -> Iterator[list[Event]]:
        """Yield for each observer the entities that went out of sight."""
        gone = list(zip(columns.left.tolist(), self._actors.seen_before(columns.left), strict=True))
        for observer, (start, end) in enumerate(pairwise(columns.left_offset.tolist())):
            left: list[Event] = []
            for row, (x, y) in gone[start:end]:
                at = (x, y) if x >= 0 else (int(columns.x[observer]), int(columns.y[observer]))
                left.append(Left(self._names[row], *at))
            yield left


def _lists(values: Sequence[T], places: "NDArray[np.int32]", offsets: "Int64") -> list[list[T]]:
    """Return for each observer the values at its places."""
    chosen = [values[place] for place in places.tolist()]
    return [chosen[start:end] for start, end in pairwise(offsets.tolist())]


def _result(actor_id: str, action: int, reason: int, more: ResultDetail | None) -> ActionResult:
    target_id, effects = ("", ()) if more is None else (more.target_id, more.effects)
    return ActionResult(actor_id, ACTION_TYPES[action], not reason, REASONS[reason], target_id, effects)
