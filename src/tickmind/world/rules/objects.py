"""Changes of objects: actors work on them, and they change and grow by themselves."""

import numpy as np

from tickmind.protocol import ActionType, Effect, ObjectDelta, Reason
from tickmind.protocol.setting import in_hours
from tickmind.world.rules.inventory import hand_over, use_up
from tickmind.world.rules.turn import Turn
from tickmind.world.scenario.kinds import ObjectAction
from tickmind.world.state.timing import change_times, stock_times


def interact(turn: Turn) -> None:
    """Let actors work on objects near them, one after another; the last of the work changes the object's state."""
    for place in turn.places(ActionType.INTERACT).tolist():
        reason = _interact_one(turn, place)
        if reason:
            turn.refuse(place, reason)


def _interact_one(turn: Turn, place: int) -> Reason:
    state, tables = turn.state, turn.tables
    row, target, verb = (int(column[place]) for column in (turn.intents.actor, turn.intents.target, turn.intents.kind))
    if not 0 <= target < len(tables.object_ids):
        return Reason.UNKNOWN_TARGET
    turn.target_ids[place] = tables.object_ids[target]
    if not 0 <= verb < len(tables.verbs):
        return Reason.ILLEGAL_ACTION
    x, y = int(tables.object_x[target]), int(tables.object_y[target])
    if max(abs(x - int(state.x[row])), abs(y - int(state.y[row]))) > 1:
        return Reason.TOO_FAR
    action = tables.action(target, int(state.object_state[target]), verb)
    if action is None:
        return Reason.WRONG_STATE
    if action.hours is not None and not in_hours(turn.minute, action.hours):
        turn.effects[place] = (Effect("opens_at", action.hours[0]),)
        return Reason.CLOSED
    if missing := _missing(turn, row, action):
        turn.effects[place] = missing
        return Reason.MISSING_ITEM
    left = int(state.object_work[target]) - 1 if action.work > 1 else 0
    if left > 0:
        state.object_work[target] = left
        turn.deltas.append(ObjectDelta(tables.object_ids[target], "work_remaining", left))
        turn.effects[place] = (Effect("work_remaining", left),)
        return Reason.NONE
    code = tables.kind_of(target).state_code(action.to)
    if in_the_way(turn, target, code):
        return Reason.TARGET_OCCUPIED
    enter_state(turn, target, code)
    spent = use_up(turn, row, tables.item_codes(action.consumes))
    gained = hand_over(turn, row, tables.item_codes(action.yields))
    turn.effects[place] = (Effect("work_remaining", 0), *spent, *gained)
    return Reason.NONE


def _missing(turn: Turn, row: int, action: ObjectAction) -> tuple[Effect, ...]:
    """Return what an actor lacks for an action."""
    if not (action.needs or action.consumes):
        return ()
    carried = turn.state.inventory[row]
    lacks = ((item, amount - int(carried[turn.tables.item_code[item]])) for item, amount in action.takes)
    return tuple(Effect(f"missing.{item}", amount) for item, amount in lacks if amount > 0)


def change_objects(turn: Turn) -> None:
    """Let objects leave states that do not last; an object waits while an actor stands in its way."""
    state, tables = turn.state, turn.tables
    for row in np.flatnonzero(state.change_due <= turn.tick_id).tolist():
        code = int(tables.change_to[tables.object_kind[row], state.object_state[row]])
        if not in_the_way(turn, row, code):
            enter_state(turn, row, code)


def grow_stock(turn: Turn) -> None:
    """Let one more item grow on each object whose time has come."""
    state, tables = turn.state, turn.tables
    rows = np.flatnonzero(state.stock_due <= turn.tick_id)
    if not len(rows):
        return
    state.object_stock[rows] += 1
    state.stock_due[rows] = stock_times(tables, rows, state.object_stock[rows], turn.tick_id)
    turn.deltas += [ObjectDelta(tables.object_ids[row], "stock", int(state.object_stock[row])) for row in rows.tolist()]


def in_the_way(turn: Turn, row: int, code: int) -> bool:
    """Return whether an actor stands where the object would block the tile."""
    tables = turn.tables
    if tables.kind_walkable[tables.object_kind[row], code]:
        return False
    return bool(turn.maps.occupancy[tables.object_y[row], tables.object_x[row]] >= 0)


def enter_state(turn: Turn, row: int, code: int) -> None:
    """Put an object into a state, with the work and the time that this state takes."""
    state, tables = turn.state, turn.tables
    kind, before, name = int(tables.object_kind[row]), int(state.object_state[row]), tables.object_ids[row]
    work = int(tables.kind_work[kind, code])
    if work != state.object_work[row]:
        turn.deltas.append(ObjectDelta(name, "work_remaining", work))
    state.object_state[row] = code
    state.object_work[row] = work
    rows = np.array([row], dtype=np.int64)
    state.change_due[row] = change_times(tables, rows, np.array([code], dtype=np.uint8), turn.tick_id)[0]
    if code != before:
        turn.deltas.append(ObjectDelta(name, "state", tables.kind_of(row).states[code].name))
        turn.changed_objects.append(row)
