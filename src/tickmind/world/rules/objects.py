"""Changes of objects: actors work on them, and they change and grow by themselves.

Work is done for all actors with the same action at once. Actors at one object come one after another; there are few of
them, because they stand beside it.
"""

from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from tickmind.protocol import ActionType, Effect, ObjectDelta, Reason
from tickmind.world.rules.inventory import hand_over, use_up
from tickmind.world.rules.turn import Turn
from tickmind.world.scenario.kinds import ObjectAction
from tickmind.world.scenario.scenario import NEVER
from tickmind.world.state.timing import change_times, stock_times

if TYPE_CHECKING:
    from tickmind.protocol.columns import Bool, Int32, Int64

_WEAR = 5  # purpose of the random numbers


@dataclass(slots=True)
class _Work:
    """The work of one tick: its deltas with the places of the intents behind them, and effects that many share."""

    deltas: list[tuple[int, ObjectDelta]] = field(default_factory=list)
    _steps: dict[int, tuple[Effect, ...]] = field(default_factory=dict)

    def step(self, left: int) -> tuple[Effect, ...]:
        """Return the effects of a step after which so much work is left."""
        if left not in self._steps:
            self._steps[left] = (Effect("work_remaining", left),)
        return self._steps[left]


def interact(turn: Turn) -> None:
    """Let actors work on objects near them; the last of the work changes the object's state."""
    places = turn.places(ActionType.INTERACT)
    if not len(places):
        return
    places = turn.with_object(places)
    verbs = turn.intents.kind[places]
    places = turn.keep(places, (verbs >= 0) & (verbs < len(turn.tables.verbs)), Reason.ILLEGAL_ACTION)
    places = turn.in_reach(places)
    work = _Work()
    while len(places):
        now = turn.first_at_each(places)
        _work_on(turn, places[now], work)
        places = places[~now]
    turn.deltas += [delta for _, delta in sorted(work.deltas, key=itemgetter(0))]


def _work_on(turn: Turn, places: "Int64", work: _Work) -> None:
    """Let actors work, each on an object of its own."""
    places = turn.still_there(places)
    objects = turn.intents.target[places]
    actions = turn.tables.find_actions(objects, turn.state.object_state[objects], turn.intents.kind[places])
    known = actions >= 0
    places, actions = turn.keep(places, known, Reason.WRONG_STATE), actions[known]
    for number in np.unique(actions).tolist():
        kind, action = turn.tables.actions[number]
        _do(turn, places[actions == number], kind, action, work)


def _do(turn: Turn, places: "Int64", kind: int, action: ObjectAction, work: _Work) -> None:
    """Let actors do one action with objects of one kind and state."""
    tables = turn.tables
    places = able_now(turn, places, action)
    if action.work > 1:
        places = _steps(turn, places, work)
    code = tables.scenario.kinds[kind].state_code(action.to)
    objects = turn.intents.target[places].astype(np.int64)
    if action.removes:
        deltas = [(at, delta) for at, row in enumerate(objects.tolist()) for delta in remove_object(turn, row)]
    else:
        blocked = in_the_way(turn, objects, kind, code)
        places, objects = turn.keep(places, ~blocked, Reason.TARGET_OCCUPIED), objects[~blocked]
        deltas = enter_state(turn, objects, kind, code)
    if not len(places):
        return
    work.deltas += [(int(places[at]), delta) for at, delta in deltas]
    exchange_items(turn, places, action, work.step(0))


def able_now(turn: Turn, places: "Int64", action: ObjectAction) -> "Int64":
    """Return the places of actors that can do an action now, and carry what it takes."""
    if action.limited:
        for time, which in turn.times(turn.intents.actor[places].astype(np.int64)):
            if not time.allows(action.hours, action.seasons, action.weather):
                closed = places[which]
                turn.refuse(closed, Reason.CLOSED)
                if action.hours is not None and time.allows(None, action.seasons, action.weather):
                    turn.effects.update(dict.fromkeys(closed.tolist(), (Effect("opens_at", action.hours[0]),)))
        places = places[turn.reason[places] == 0]
    return _equipped(turn, places, action)


def exchange_items(turn: Turn, places: "Int64", action: ObjectAction, first: tuple[Effect, ...]) -> None:
    """Take what an action consumes from those that have done it, and give them what it yields."""
    tables, rows = turn.tables, turn.intents.actor[places]
    consumes = tables.item_codes(action.consumes)
    use_up(turn, rows, consumes)
    changes = [(item, np.full(len(places), -amount)) for item, amount in consumes]
    changes += _wear(turn, rows, action)
    changes += hand_over(turn, rows, tables.item_codes(action.yields))
    named = [(f"inventory.{tables.item_names[item]}", by) for item, by in changes]
    turn.set_effects(places, first, named)


def _wear(turn: Turn, rows: "Int32", action: ObjectAction) -> "list[tuple[int, Int64]]":
    """Break tools of those that have done an action, by chance; return for each tool by how many each has more."""
    tables = turn.tables
    worn: list[tuple[int, Int64]] = []
    for item, times in tables.item_codes(action.wears):
        keys = rows.astype(np.int64) * len(tables.item_names) + item
        broken = tables.chance.for_carried(_WEAR, turn.tick_id, keys, np.full(len(rows), times)) == 0
        turn.state.inventory[rows[broken], item] -= 1
        worn.append((item, -broken.astype(np.int64)))
    return worn


def _equipped(turn: Turn, places: "Int64", action: ObjectAction) -> "Int64":
    """Return the places of actors that carry what an action takes; the results of the others say what is missing."""
    takes = turn.tables.item_codes(action.takes)
    if not takes:
        return places
    carried = turn.state.inventory[turn.intents.actor[places]]
    short: Bool = np.zeros(len(places), dtype=np.bool_)
    for kind, amount in takes:
        short |= carried[:, kind] < amount
    for at in np.flatnonzero(short).tolist():
        turn.effects[int(places[at])] = turn.missing(carried[at].tolist(), takes)
    return turn.keep(places, ~short, Reason.MISSING_ITEM)


def _steps(turn: Turn, places: "Int64", work: _Work) -> "Int64":
    """Do a step of the work, and return the places of those that have done the last one."""
    state, names = turn.state, turn.tables.object_ids
    objects = turn.intents.target[places]
    left = state.object_work[objects] - 1
    goes_on = left > 0
    state.object_work[objects[goes_on]] = left[goes_on]
    each = zip(places[goes_on].tolist(), objects[goes_on].tolist(), left[goes_on].tolist(), strict=True)
    for place, row, remaining in each:
        turn.effects[place] = work.step(remaining)
        work.deltas.append((place, ObjectDelta(names[row], "work_remaining", remaining)))
    return places[~goes_on]


def change_objects(turn: Turn) -> None:
    """Let objects leave states that do not last; an object waits while an actor stands in its way."""
    state, tables = turn.state, turn.tables
    due = np.flatnonzero(state.change_due <= turn.tick_id)
    if not len(due):
        return
    deltas: list[tuple[int, ObjectDelta]] = []
    kinds, codes = tables.object_kind[due].astype(np.int64), state.object_state[due]
    groups = kinds * tables.change_to.shape[1] + codes
    for group in np.unique(groups).tolist():
        kind, before = divmod(group, tables.change_to.shape[1])
        code = int(tables.change_to[kind, before])
        rows = due[groups == group]
        rows = rows[~in_the_way(turn, rows, kind, code)]
        deltas += [(int(rows[at]), delta) for at, delta in enter_state(turn, rows, kind, code)]
    turn.deltas += [delta for _, delta in sorted(deltas, key=itemgetter(0))]


def grow_stock(turn: Turn) -> None:
    """Let one more item grow on each object whose time has come, or double what is left there."""
    state, tables = turn.state, turn.tables
    rows = np.flatnonzero(state.stock_due <= turn.tick_id)
    if not len(rows):
        return
    kinds, stock_before = tables.object_kind[rows], state.object_stock[rows]
    doubled = np.minimum(stock_before, tables.stock_most[kinds] - stock_before)
    state.object_stock[rows] += np.where(tables.stock_doubles[kinds], doubled, 1).astype(np.int32)
    state.stock_due[rows] = stock_times(tables, rows, state.object_stock[rows], turn.tick_id)
    names, stock = tables.object_ids, state.object_stock[rows].tolist()
    turn.deltas += [ObjectDelta(names[row], "stock", now) for row, now in zip(rows.tolist(), stock, strict=True)]


def in_the_way(turn: Turn, objects: "Int64", kind: int, code: int) -> "Bool":
    """Return for which objects of a kind an actor stands where they would block the tile in this state."""
    tables = turn.tables
    if tables.kind_walkable[kind, code]:
        return np.zeros(len(objects), dtype=np.bool_)
    which, at = turn.maps.tiles_of(objects)
    stands: Bool = np.zeros(len(objects), dtype=np.bool_)
    stands[which[turn.maps.occupancy[at] >= 0]] = True
    return stands


def enter_state(turn: Turn, objects: "Int64", kind: int, code: int) -> list[tuple[int, ObjectDelta]]:
    """Bring objects of one kind and state into another; return the deltas with the places of the objects."""
    state, tables = turn.state, turn.tables
    if not len(objects):
        return []
    names, work = tables.object_ids, int(tables.kind_work[kind, code])
    rows = objects.tolist()
    deltas = [
        (at, ObjectDelta(names[rows[at]], "work_remaining", work))
        for at in np.flatnonzero(state.object_work[objects] != work).tolist()
    ]
    if int(state.object_state[rows[0]]) != code:
        name = tables.scenario.kinds[kind].states[code].name
        deltas += [(at, ObjectDelta(names[row], "state", name)) for at, row in enumerate(rows)]
        turn.changed_objects += rows
    state.object_state[objects] = code
    state.object_work[objects] = work
    codes = np.full(len(rows), code, dtype=np.uint8)
    state.change_due[objects] = change_times(tables, objects.astype(np.int64), codes, turn.tick_id)
    return deltas


def remove_object(turn: Turn, row: int) -> list[ObjectDelta]:
    """Take an object out of the world, with its stock; what it holds stays on the ground. Return what is new of it."""
    state, name = turn.state, turn.tables.object_ids[row]
    turn.bare_tiles += turn.maps.remove(row)
    turn.objects_moved = True
    deltas = [ObjectDelta(name, "tile", "")]
    if state.object_stock[row]:
        state.object_stock[row] = 0
        deltas.append(ObjectDelta(name, "stock", 0))
    state.change_due[row] = state.stock_due[row] = NEVER
    return deltas


def place_object(turn: Turn, row: int, x: int, y: int) -> list[ObjectDelta]:
    """Put an object that is not there on a tile, in its first state and without stock. Return what is new of it."""
    state, tables = turn.state, turn.tables
    name, kind, rows = tables.object_ids[row], tables.kind_of(row), np.array([row], dtype=np.int64)
    turn.maps.place(row, x, y)
    turn.objects_moved = True
    turn.changed_objects.append(row)
    deltas = [ObjectDelta(name, "tile", f"{x},{y}")]
    if state.object_state[row]:
        deltas.append(ObjectDelta(name, "state", kind.states[0].name))
    work = int(tables.kind_work[tables.object_kind[row], 0])
    if state.object_work[row] != work:
        deltas.append(ObjectDelta(name, "work_remaining", work))
    state.object_state[row], state.object_work[row] = 0, work
    state.change_due[row] = change_times(tables, rows, state.object_state[rows], turn.tick_id)[0]
    state.stock_due[row] = stock_times(tables, rows, state.object_stock[rows], turn.tick_id)[0]
    return deltas
