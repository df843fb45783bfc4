"""Rest and needs: being awake, asleep, hungry, tired, and without a controller."""

from typing import TYPE_CHECKING

import numpy as np

from tickmind.protocol import ACTION_CODES, REASON_CODES, ActionType, ActorStatus, Reason
from tickmind.protocol.record import AWAY
from tickmind.world.rules.turn import Turn
from tickmind.world.scenario.settings import NEED_MOST

if TYPE_CHECKING:
    from tickmind.protocol.columns import Bool, Int64

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
    """Let controlled actors hunger and tire, or rest, also by the floor on which they stand.

    The exhausted fall asleep, the starving are incapacitated.
    """
    needs, state, tables = turn.rules.needs, turn.state, turn.tables
    if needs is None:
        return
    living = ((state.status & _UNCONTROLLED) == 0) & (state.x != AWAY)
    asleep = (state.status & _ASLEEP) != 0
    energy: Int64 = np.where(asleep, needs.rest_per_tick, -needs.energy_per_tick)
    hunger: Int64 = np.full(1, needs.hunger_per_tick)
    if tables.floors_change_needs:
        floor = tables.floor[state.y, state.x]
        energy, hunger = energy + tables.floor_energy[floor], hunger + tables.floor_hunger[floor]
    state.energy = np.clip(state.energy + np.where(living, energy, 0), 0, NEED_MOST).astype(np.int32)
    state.hunger = np.clip(state.hunger + np.where(living, hunger, 0), 0, NEED_MOST).astype(np.int32)
    state.status[living & (state.energy == 0)] |= _ASLEEP
    starving = (state.hunger == NEED_MOST) & needs.starvation
    state.status[starving] |= _INCAPACITATED
    state.status[~starving] &= ~_INCAPACITATED


def _wake_energy(turn: Turn) -> int:
    return turn.rules.needs.wake_energy if turn.rules.needs else 0
