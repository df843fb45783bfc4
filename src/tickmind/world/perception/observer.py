"""`Observer`: observations one by one, with names, for actors whose processes get them singly."""

from typing import TYPE_CHECKING, Any

import numpy as np

from tickmind.protocol import (
    ENTERED,
    MOVED,
    Acted,
    ActionResult,
    ActorStatus,
    Direction,
    Entered,
    Event,
    Heard,
    ItemStack,
    Left,
    Moved,
    Observation,
    ObservationColumns,
    OpenOffer,
    SelfState,
    VisibleEntity,
    VisibleObject,
    VisibleTiles,
)
from tickmind.protocol.observation import GROUND
from tickmind.world.perception.perception import Perception
from tickmind.world.rules.aftermath import Aftermath
from tickmind.world.rules.piles import ground_id
from tickmind.world.state.columns import WorldColumns
from tickmind.world.state.maps import Maps
from tickmind.world.state.tables import Tables

if TYPE_CHECKING:
    from tickmind.protocol.columns import UInt64

_DIRECTIONS = tuple(Direction)
_AT_ONCE = 1024  # windows that are copied together
_STATUS = tuple(ActorStatus(bits) for bits in range(8))


class Observer:
    """Unpack the observations of one tick; it reads the state and changes nothing."""

    def __init__(
        self,
        tables: Tables,
        state: WorldColumns,
        maps: Maps,
        before: Perception | None,
        last: Aftermath,
        objects: dict[int, VisibleObject],
    ) -> None:
        self._tables = tables
        self._state = state
        self._maps = maps
        self._before = before
        self._last = last
        self._objects = objects  # object row -> its view, for those that were seen since they changed
        self._entities: dict[int, VisibleEntity] = {}  # actor row -> its view
        self._events_of: dict[tuple[type[Event], int], Event] = {}  # kind and actor row or utterance -> itself
        self._place = {row: place for place, row in enumerate(last.results.actor.tolist())}  # actor row -> its result

    def observe(self, columns: ObservationColumns, *, floors: bool) -> list[Observation]:
        """Return the observations that the columns hold."""
        tiles = self._tiles(columns, floors=floors)
        lists = _Lists(columns)
        offers = columns.offers_by_place()
        return [self._one(columns, lists, place, tiles[place], offers.get(place, ())) for place in range(len(columns))]

    def _one(
        self,
        columns: ObservationColumns,
        lists: "_Lists",
        place: int,
        tiles: VisibleTiles,
        offers: tuple[OpenOffer, ...],
    ) -> Observation:
        row = lists.actor[place]
        me = self._me(row, lists, place)
        seen = lists.entity[lists.entity_offset[place] : lists.entity_offset[place + 1]]
        things = lists.object[lists.object_offset[place] : lists.object_offset[place + 1]]
        views = [self._objects.get(thing) or self._object(thing) for thing in things]
        return Observation(
            tick_id=columns.tick_id,
            deadline_ms=columns.deadline_ms,
            me=me,
            visible_tiles=tiles,
            visible_entities=tuple([self._entities.get(other) or self._entity(other) for other in seen]),
            visible_objects=(*views, *self._lying(me, lists, place)),
            events=self._events(me, lists, place),
            result=self._result(row) if row in self._place else None,
            offers=offers,
        )

    def _me(self, row: int, lists: "_Lists", place: int) -> SelfState:
        names, own = self._tables.item_names, self._tables.needs.names
        return SelfState(
            entity_id=self._tables.actor_ids[row],
            x=lists.x[place],
            y=lists.y[place],
            status=_STATUS[lists.status_bits[place]],
            facing=_DIRECTIONS[lists.facing[place]],
            inventory=tuple(
                [ItemStack(names[kind], number) for kind, number in enumerate(lists.inventory[place]) if number]
            ),
            energy=lists.energy[place],
            hunger=lists.hunger[place],
            needs=tuple(zip(own, lists.own_needs[place], strict=True)) if own else (),
        )

    def _tiles(self, columns: ObservationColumns, *, floors: bool) -> list[VisibleTiles]:
        """Return the windows of all observers, some at a time to save memory; tiles off the map are in no mask."""
        radius, side = columns.radius, 2 * columns.radius + 1
        lines, across = np.divmod(np.arange(side * side, dtype=np.int32), side)
        windows: list[VisibleTiles] = []
        for start in range(0, len(columns), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            visible = unpack_masks(columns.visible[part], side * side)
            y = np.minimum(np.maximum(columns.y[part, None] + (lines - radius), 0), self._tables.height - 1)
            x = np.minimum(np.maximum(columns.x[part, None] + (across - radius), 0), self._tables.width - 1)
            walkable = np.packbits(self._maps.walkable[y, x] & (visible != 0), axis=1, bitorder="little")
            codes = self._tables.floor[y, x] * visible if floors else visible[:, :0]
            seen = np.packbits(visible, axis=1, bitorder="little")
            centres = zip(columns.x[part].tolist(), columns.y[part].tolist(), strict=True)
            windows += [
                VisibleTiles(radius, *at, seen[place].tobytes(), walkable[place].tobytes(), codes[place].tobytes())
                for place, at in enumerate(centres)
            ]
        return windows

    def _entity(self, row: int) -> VisibleEntity:
        state, actor = self._state, self._tables.scenario.actors[row]
        self._entities[row] = view = VisibleEntity(
            entity_id=actor.entity_id,
            x=int(state.x[row]),
            y=int(state.y[row]),
            type=actor.type,
            tags=actor.tags,
            status=_STATUS[state.status[row]],
            facing=_DIRECTIONS[state.facing[row]],
        )
        return view

    def _object(self, row: int) -> VisibleObject:
        tables, state = self._tables, self._state
        kind, now = tables.kind_of(row), int(state.object_state[row])
        stock = int(state.object_stock[row])
        self._objects[row] = view = VisibleObject(
            object_id=tables.object_ids[row],
            kind=kind.name,
            x=int(self._maps.object_x[row]),
            y=int(self._maps.object_y[row]),
            state=kind.states[now].name,
            work_remaining=int(state.object_work[row]),
            items=(ItemStack(kind.stock.item, stock),) if kind.stock and stock else (),
            verbs=tuple(action.verb for action in kind.states[now].actions),
            owner=tables.object_owner.get(row, ""),
            size=kind.size,
        )
        return view

    def _lying(self, me: SelfState, lists: "_Lists", place: int) -> list[VisibleObject]:
        """Return the items on tiles in sight, one object for each tile."""
        piles: dict[tuple[int, int], list[ItemStack]] = {}
        for item in range(lists.ground_offset[place], lists.ground_offset[place + 1]):
            at = (me.x + lists.ground_dx[item], me.y + lists.ground_dy[item])
            stack = ItemStack(self._tables.item_names[lists.ground_kind[item]], lists.ground_amount[item])
            piles.setdefault(at, []).append(stack)
        return [VisibleObject(ground_id(x, y), GROUND, x, y, items=tuple(stacks)) for (x, y), stacks in piles.items()]

    def _events(self, me: SelfState, lists: "_Lists", place: int) -> tuple[Event, ...]:
        ids, shared, share = self._tables.actor_ids, self._events_of, self._share
        entered: list[Event] = []
        moved: list[Event] = []
        acted: list[Event] = []
        for pair in range(lists.entity_offset[place], lists.entity_offset[place + 1]):
            flags = lists.entity_flags[pair]
            if not flags and not lists.entity_action[pair]:
                continue
            other = lists.entity[pair]
            x, y = me.x + lists.entity_dx[pair], me.y + lists.entity_dy[pair]
            if flags & ENTERED:
                entered.append(shared.get((Entered, other)) or share(Entered, other, Entered(ids[other], x, y)))
            if flags & MOVED:
                way = _DIRECTIONS[lists.entity_facing[pair]]
                moved.append(shared.get((Moved, other)) or share(Moved, other, Moved(ids[other], x, y, way)))
            if lists.entity_action[pair]:
                acted.append(shared.get((Acted, other)) or share(Acted, other, Acted(self._result(other))))
        gone = lists.left[lists.left_offset[place] : lists.left_offset[place + 1]]
        left = [shared.get((Left, other)) or share(Left, other, self._left(other)) for other in gone]
        said = lists.heard[lists.heard_offset[place] : lists.heard_offset[place + 1]]
        heard = [shared.get((Heard, number)) or share(Heard, number, self._heard(number)) for number in said]
        return (*entered, *left, *moved, *acted, *heard)

    def _share(self, kind: type[Event], number: int, event: Event) -> Event:
        """Keep an event for the other observers, who perceive the same one."""
        self._events_of[kind, number] = event
        return event

    def _left(self, row: int) -> Left:
        assert self._before is not None, "no actor leaves before the first tick"
        return Left(self._tables.actor_ids[row], int(self._before.x[row]), int(self._before.y[row]))

    def _heard(self, number: int) -> Heard:
        said = self._last.utterances[number]
        return Heard(said.actor_id, said.channel, said.text, said.x, said.y)

    def _result(self, row: int) -> ActionResult:
        return self._last.results.named(self._place[row], self._tables.actor_ids)


class _Lists:
    """Columns as plain lists, which are much faster to read one by one."""

    def __init__(self, columns: ObservationColumns) -> None:
        self._columns = columns

    def __getattr__(self, name: str) -> Any:
        values = getattr(self._columns, name).tolist()
        setattr(self, name, values)
        return values


def unpack_masks(masks: "UInt64", tiles: int) -> Any:
    """Return masks as one byte of 0 or 1 for each tile."""
    raw = np.ascontiguousarray(masks.astype("<u8", copy=False)).view(np.uint8)
    return np.unpackbits(raw, axis=1, count=tiles, bitorder="little")
