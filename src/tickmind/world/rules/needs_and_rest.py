"""Rest and needs: being awake, asleep, hungry, tired, and without a controller."""

from typing import TYPE_CHECKING

import numpy as np

from tickmind.protocol import ACTION_CODES, REASON_CODES, ActionType, ActorStatus, Reason
from tickmind.protocol.record import AWAY
from tickmind.world.rules.turn import Turn
from tickmind.world.scenario.settings import NEED_MOST
from tickmind.world.state.needs import BODY

if TYPE_CHECKING:
    from tickmind.protocol.columns import Bool, Int32, Int64

_ASLEEP = int(ActorStatus.ASLEEP)
_INCAPACITATED = int(ActorStatus.INCAPACITATED)
_UNCONTROLLED = int(ActorStatus.UNCONTROLLED)


def _allowed(*actions: ActionType) -> "Bool":
    table = np.zeros(256, dtype=np.bool_)
    table[[ACTION_CODES[action] for action in actions]] = True
    return table


_KNOWN = _allowed(*ActionType)
_WHEN_ASLEEP = _allowed(ActionType.WAIT, ActionType.WAKE)
_WHEN_INCAPACITATED = _allowed(ActionType.WAIT, ActionType.WAKE, ActionType.USE, ActionType.SAY)


def take_control(turn: Turn, controlled: "Bool | None") -> None:
    """Note which actors have a controller now. An actor that gets one wakes up, if not too tired."""
    state = turn.state
    before = (state.status & _UNCONTROLLED) != 0
    now = np.zeros(len(before), dtype=np.bool_) if controlled is None else ~controlled
    state.status = np.where(now, state.status | _UNCONTROLLED, state.status & ~_UNCONTROLLED).astype(np.int32)
    gained = before & ~now & (state.energy >= _wake_energy(turn))
    state.status[gained] &= ~_ASLEEP


def stop_the_unable(turn: Turn) -> None:
    """Refuse what actors can't do in the state in which they begin the tick."""
    action, reason = turn.intents.action, turn.reason
    status = turn.state.status[turn.intents.actor]
    if status.any():
        reason[((status & _INCAPACITATED) != 0) & ~_WHEN_INCAPACITATED[action]] = REASON_CODES[Reason.INCAPACITATED]
        reason[((status & _ASLEEP) != 0) & ~_WHEN_ASLEEP[action]] = REASON_CODES[Reason.ASLEEP]
        reason[(status & _UNCONTROLLED) != 0] = REASON_CODES[Reason.INVALID_LEASE]
    if turn.state.some_away:
        reason[turn.state.x[turn.intents.actor] == AWAY] = REASON_CODES[Reason.AWAY]
    known = _KNOWN[action]
    if not known.all():
        reason[~known] = REASON_CODES[Reason.ILLEGAL_ACTION]


def fall_asleep_and_wake(turn: Turn) -> None:
    """Let actors lie down and get up."""
    state, actor = turn.state, turn.intents.actor
    places = turn.places(ActionType.SLEEP)
    if len(places):
        state.status[actor[places]] |= _ASLEEP
    places = turn.places(ActionType.WAKE)
    if not len(places):
        return
    places = turn.keep(places, (state.status[actor[places]] & _ASLEEP) != 0, Reason.NOT_ASLEEP)
    places = turn.keep(places, state.energy[actor[places]] >= _wake_energy(turn), Reason.TOO_TIRED)
    state.status[actor[places]] &= ~_ASLEEP


def leave_alone(turn: Turn) -> None:
    """Let actors without a controller fall asleep where there is furniture to rest on."""
    state, tables = turn.state, turn.tables
    rows = np.flatnonzero(((state.status & (_UNCONTROLLED | _ASLEEP)) == _UNCONTROLLED) & (state.x != AWAY))
    if not len(rows):
        return
    objects = turn.maps.object_at[state.y[rows], state.x[rows]]
    rows, objects = rows[objects >= 0], objects[objects >= 0]
    state.status[rows[tables.kind_restful[tables.object_kind[objects]]]] |= _ASLEEP


def feel_needs(turn: Turn) -> None:
    """Let controlled actors hunger and tire, or rest, also by the floor on which they stand and by objects near.

    The exhausted fall asleep, the starving are incapacitated.
    """
    needs, state, tables = turn.rules.needs, turn.state, turn.tables
    if needs is None:
        return
    living = ((state.status & _UNCONTROLLED) == 0) & (state.x != AWAY)
    near = _near_objects(turn) if len(tables.needs.objects) else None
    if len(state.own_needs):
        _feel_own_needs(turn, living, near)
    asleep = (state.status & _ASLEEP) != 0
    energy: Int64 = np.where(asleep, needs.rest_per_tick, -needs.energy_per_tick)
    hunger: Int64 = np.full(1, needs.hunger_per_tick)
    if tables.floors_change_needs:
        floor = tables.floor[state.y, state.x]
        energy, hunger = energy + tables.floor_energy[floor], hunger + tables.floor_hunger[floor]
    if near is not None:
        energy, hunger = energy + near[:, 0], hunger + near[:, 1]
    state.energy = np.clip(state.energy + np.where(living, energy, 0), 0, NEED_MOST).astype(np.int32)
    state.hunger = np.clip(state.hunger + np.where(living, hunger, 0), 0, NEED_MOST).astype(np.int32)
    state.status[living & (state.energy == 0)] |= _ASLEEP
    incapacitate(turn)


def incapacitate(turn: Turn) -> None:
    """Incapacitate the starving, and those of whom an own need that does so is at 0; let the others act again."""
    needs, state, own = turn.rules.needs, turn.state, turn.tables.needs
    assert needs is not None, "nothing else incapacitates"
    unable = (state.hunger == NEED_MOST) & needs.starvation
    if len(own.incapacitates) and len(state.own_needs):
        unable |= (state.own_needs[:, own.incapacitates] == 0).any(axis=1)
    state.status[unable] |= _INCAPACITATED
    state.status[~unable] &= ~_INCAPACITATED


def _feel_own_needs(turn: Turn, living: "Bool", near: "Int32 | None") -> None:
    """Change the needs that the scenario declares, by what all needs are at the beginning."""
    state, own = turn.state, turn.tables.needs
    change: Int32 = np.tile(own.each_tick, (len(living), 1))
    if own.go_by_calendar:
        for time, which in turn.times(np.arange(len(living), dtype=np.int64)):
            change[which] += own.at_night * time.night + own.in_weather.get(time.weather, 0)
    if own.at_zero.any():
        change += (state.own_needs == 0) @ own.at_zero
    if own.when_starving.any():
        change += (state.hunger == NEED_MOST)[:, None] * own.when_starving
    if own.floors.any():
        change += own.floors[turn.tables.floor[state.y, state.x]]
    if near is not None:
        change += near[:, BODY:]
    state.own_needs = np.clip(state.own_needs + living[:, None] * change, 0, NEED_MOST).astype(np.int32)


def _near_objects(turn: Turn) -> "Int32":
    """Return by actor row what objects on its tile and beside it add to energy, hunger and own needs."""
    state, tables, maps = turn.state, turn.tables, turn.maps
    rows = tables.needs.objects
    rows = rows[maps.object_x[rows] != AWAY]
    adds = tables.needs.states[tables.object_kind[rows], state.object_state[rows]]
    rows, adds = rows[adds.any(axis=1)], adds[adds.any(axis=1)]
    near: Int32 = np.zeros((len(state.x), tables.needs.states.shape[2]), dtype=np.int32)
    west, north = maps.object_x[rows], maps.object_y[rows]
    width, height = tables.object_width[rows], tables.object_height[rows]
    for dy in range(-1, int(height.max(initial=0)) + 1):
        for dx in range(-1, int(width.max(initial=0)) + 1):
            x, y = west + dx, north + dy
            on_map = (x >= 0) & (x < tables.width) & (y >= 0) & (y < tables.height)
            beside = np.flatnonzero(on_map & (dx <= width) & (dy <= height))
            actors = maps.occupancy[y[beside], x[beside]]
            there = actors >= 0
            near[actors[there]] += adds[beside[there]]  # two objects have no actor in common at one offset
    return near


def _wake_energy(turn: Turn) -> int:
    return turn.rules.needs.wake_energy if turn.rules.needs else 0
