"""From the packed observations of many actors to one `Observation` for each, as an actor's own stream would send it.

Columns do not tell what an action had as its target and effects, so `ActionResult`s have none here; and an actor that
waited has no result.
"""

from typing import Any

import numpy as np

from tickmind.protocol import (
    ACTION_TYPES,
    ENTERED,
    MOVED,
    REASONS,
    Acted,
    ActionResult,
    Direction,
    Entered,
    Event,
    Heard,
    ItemStack,
    Left,
    Moved,
    Observation,
    ObservationColumns,
    SelfState,
    Status,
    VisibleEntity,
    VisibleObject,
    VisibleTiles,
    WorldInfo,
)

GROUND = "ground"
_DIRECTIONS = tuple(Direction)
_STATUS = tuple(Status(bits) for bits in range(8))
MOST_VIEWS = 100_000  # looks of objects that are kept


class ColumnReader:
    """Gives names to the columns of one world. What several actors perceive is one object for all of them."""

    def __init__(self, world: WorldInfo) -> None:
        self._world = world
        self._names = [actor.entity_id for actor in world.actors]
        kinds = {kind.name: kind for kind in world.kinds}
        self._kinds = [kinds[thing.kind] for thing in world.objects]  # object row -> its kind
        codes = np.frombuffer(world.floor_codes, dtype=np.uint8).reshape(world.height, world.width)
        self._floor_walkable = np.array([floor.walkable for floor in world.floors], dtype=np.bool_)[codes]
        self._walkable = self._floor_walkable.copy()  # as far as objects were seen
        self._states = np.full(len(world.objects), -1, dtype=np.int16)  # object row -> its state when it was seen last
        self._in_the_way: dict[int, bool] = {}  # object row -> whether it was when it was seen last
        self._at: dict[tuple[int, int], list[int]] = {}  # tile -> rows of the objects on it
        for row, thing in enumerate(world.objects):
            self._at.setdefault((thing.x, thing.y), []).append(row)
        self._views: dict[tuple[int, int, int, int], VisibleObject] = {}  # row, state, work, stock -> how it looks
        self._tick_id = -1
        self._before: dict[int, tuple[int, int]] = {}  # actor row -> where it was seen before this tick
        self._now: dict[int, tuple[int, int]] = {}
        self._entities: dict[int, VisibleEntity] = {}  # actor row -> how it looks in this tick
        self._events_of: dict[tuple[type[Event], int], Event] = {}  # kind and actor row -> itself

    def read(self, columns: ObservationColumns) -> list[Observation]:
        """The observations that a part of a tick holds."""
        if columns.tick_id != self._tick_id:
            self._before.update(self._now)
            self._now, self._entities, self._events_of = {}, {}, {}
            self._tick_id = columns.tick_id
        lists = _Lists(columns)
        self._note_objects(columns)
        tiles = self._tiles(columns)
        return [self._one(columns, lists, place, tiles[place]) for place in range(len(columns))]

    def _one(self, columns: ObservationColumns, lists: "_Lists", place: int, tiles: VisibleTiles) -> Observation:
        me = self._me(lists, place)
        start, end = lists.entity_offset[place], lists.entity_offset[place + 1]
        known = self._entities
        entities = [
            known.get(row) or self._entity(lists, pair, me)
            for pair, row in enumerate(lists.entity[start:end], start=start)
        ]
        start, end = lists.object_offset[place], lists.object_offset[place + 1]
        looks = zip(
            lists.object[start:end],
            lists.object_state[start:end],
            lists.object_work[start:end],
            lists.object_stock[start:end],
            strict=True,
        )
        things = [self._views.get(look) or self._object(look) for look in looks]
        action, reason = lists.result_action[place], lists.result_reason[place]
        return Observation(
            tick_id=columns.tick_id,
            deadline_ms=columns.deadline_ms,
            me=me,
            visible_tiles=tiles,
            visible_entities=tuple(entities),
            visible_objects=(*things, *self._lying(me, lists, place)),
            events=self._events(me, lists, place),
            result=_result(me.entity_id, action, reason) if action or reason else None,
        )

    def _me(self, lists: "_Lists", place: int) -> SelfState:
        kinds = self._world.item_kinds
        return SelfState(
            entity_id=self._names[lists.actor[place]],
            x=lists.x[place],
            y=lists.y[place],
            status=_STATUS[lists.status_bits[place]],
            facing=_DIRECTIONS[lists.facing[place]],
            inventory=tuple(
                [ItemStack(kinds[kind], number) for kind, number in enumerate(lists.inventory[place]) if number]
            ),
            energy=lists.energy[place],
            hunger=lists.hunger[place],
        )

    def _entity(self, lists: "_Lists", pair: int, me: SelfState) -> VisibleEntity:
        row = lists.entity[pair]
        actor = self._world.actors[row]
        at = self._now[row] = (me.x + lists.entity_dx[pair], me.y + lists.entity_dy[pair])
        view = self._entities[row] = VisibleEntity(
            entity_id=actor.entity_id,
            x=at[0],
            y=at[1],
            type=actor.type,
            tags=actor.tags,
            status=_STATUS[lists.entity_status[pair]],
            facing=_DIRECTIONS[lists.entity_facing[pair]],
        )
        return view

    def _object(self, look: tuple[int, int, int, int]) -> VisibleObject:
        row, state, work, stock = look
        thing, kind = self._world.objects[row], self._kinds[row]
        view = VisibleObject(
            object_id=thing.object_id,
            kind=thing.kind,
            x=thing.x,
            y=thing.y,
            state=kind.states[state],
            work_remaining=work,
            items=(ItemStack(kind.stock_item, stock),) if kind.stock_item and stock else (),
            verbs=kind.verbs[state],
        )
        if len(self._views) >= MOST_VIEWS:
            self._views.clear()
        self._views[look] = view
        return view

    def _lying(self, me: SelfState, lists: "_Lists", place: int) -> list[VisibleObject]:
        """What lies on tiles in sight, one object for each tile."""
        piles: dict[tuple[int, int], list[ItemStack]] = {}
        for item in range(lists.ground_offset[place], lists.ground_offset[place + 1]):
            at = (me.x + lists.ground_dx[item], me.y + lists.ground_dy[item])
            stack = ItemStack(self._world.item_kinds[lists.ground_kind[item]], lists.ground_amount[item])
            piles.setdefault(at, []).append(stack)
        return [
            VisibleObject(f"{GROUND}:{x},{y}", GROUND, x, y, items=tuple(stacks)) for (x, y), stacks in piles.items()
        ]

    def _events(self, me: SelfState, lists: "_Lists", place: int) -> tuple[Event, ...]:
        names, shared, share = self._names, self._events_of.get, self._share
        entered: list[Event] = []
        moved: list[Event] = []
        acted: list[Event] = []
        start, end = lists.entity_offset[place], lists.entity_offset[place + 1]
        marks = zip(lists.entity_flags[start:end], lists.entity_action[start:end], strict=True)
        for pair, (flags, action) in enumerate(marks, start=start):
            if not flags and not action:
                continue
            row = lists.entity[pair]
            if flags & ENTERED:
                entered.append(shared((Entered, row)) or share(Entered, row, Entered(names[row], *self._now[row])))
            if flags & MOVED:
                way = _DIRECTIONS[lists.entity_facing[pair]]
                moved.append(shared((Moved, row)) or share(Moved, row, Moved(names[row], *self._now[row], way)))
            if action:
                result = _result(names[row], action, lists.entity_reason[pair])
                acted.append(shared((Acted, row)) or share(Acted, row, Acted(result)))
        gone = lists.left[lists.left_offset[place] : lists.left_offset[place + 1]]
        left = [Left(names[row], *self._before.get(row, (me.x, me.y))) for row in gone]
        said = lists.heard[lists.heard_offset[place] : lists.heard_offset[place + 1]]
        spoken = (lists.utterances[number] for number in said)
        heard = [Heard(one.actor_id, one.channel, one.text, one.x, one.y) for one in spoken]
        return (*entered, *left, *moved, *acted, *heard)

    def _share(self, kind: type[Event], row: int, event: Event) -> Event:
        """Keep an event for the other observers, who perceive the same."""
        self._events_of[kind, row] = event
        return event

    # What stands in the way

    def _note_objects(self, columns: ObservationColumns) -> None:
        """Keep the map of walkable tiles as the objects in sight make it."""
        states = self._states
        fresh = np.flatnonzero(states[columns.object] != columns.object_state)
        for place in fresh.tolist():
            row, state = int(columns.object[place]), int(columns.object_state[place])
            if states[row] == state:
                continue  # somebody else saw it too
            states[row] = state
            in_the_way = not self._kinds[row].walkable[state]
            if self._in_the_way.get(row) is not in_the_way:
                self._in_the_way[row] = in_the_way
                thing = self._world.objects[row]
                blocked = any(self._in_the_way.get(other, False) for other in self._at[thing.x, thing.y])
                self._walkable[thing.y, thing.x] = self._floor_walkable[thing.y, thing.x] and not blocked

    def _tiles(self, columns: ObservationColumns) -> list[VisibleTiles]:
        radius, side = columns.radius, 2 * columns.radius + 1
        lines, across = np.divmod(np.arange(side * side, dtype=np.int32), side)
        y = np.clip(columns.y[:, None] + (lines - radius), 0, self._world.height - 1)
        x = np.clip(columns.x[:, None] + (across - radius), 0, self._world.width - 1)
        raw = np.ascontiguousarray(columns.visible.astype("<u8", copy=False)).view(np.uint8)
        visible = np.unpackbits(raw, axis=1, count=side * side, bitorder="little")
        walkable = np.packbits(self._walkable[y, x] & (visible != 0), axis=1, bitorder="little")
        seen = np.packbits(visible, axis=1, bitorder="little")
        centres = zip(columns.x.tolist(), columns.y.tolist(), strict=True)
        return [
            VisibleTiles(radius, *at, seen[place].tobytes(), walkable[place].tobytes())
            for place, at in enumerate(centres)
        ]


def _result(actor_id: str, action: int, reason: int) -> ActionResult:
    return ActionResult(actor_id, ACTION_TYPES[action], ok=not reason, reason=REASONS[reason])


class _Lists:
    """Columns as plain lists, which are much quicker to read one by one."""

    def __init__(self, columns: ObservationColumns) -> None:
        self._columns = columns

    def __getattr__(self, name: str) -> Any:
        column = getattr(self._columns, name)
        values = column if isinstance(column, tuple) else column.tolist()
        setattr(self, name, values)
        return values
