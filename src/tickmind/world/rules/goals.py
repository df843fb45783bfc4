"""Goals: conditions that are looked at after all other rules of a tick, each until it is reached."""

from typing import TYPE_CHECKING

import numpy as np

from tickmind.protocol import RuleEvent
from tickmind.protocol.record import AWAY
from tickmind.world.rules.turn import Turn
from tickmind.world.state.goals import GoalTable

if TYPE_CHECKING:
    from tickmind.protocol.columns import Bool, Int64


def reach_goals(turn: Turn) -> None:
    """Find the goals that are reached in this tick; each counts once, or once for each of its actors."""
    ids = turn.tables.actor_ids
    for goal in turn.tables.goals:
        reached = turn.state.goal_reached[goal.entries].reshape(len(goal.rows), -1)
        if reached.all():
            continue
        new = ~reached & (_holds_for(turn, goal, goal.rows) if goal.each else _holds(turn, goal)[:, None])
        if not new.any():
            continue
        reached |= new
        info = goal.info
        for copy in np.flatnonzero(new.any(axis=1)).tolist():
            rows = goal.rows[copy][new[copy]] if goal.each else goal.rows[copy]
            names = tuple(ids[row] for row in rows.tolist())
            turn.rule_events.append(RuleEvent(info.name, names, info.score, info.ends))


def _holds(turn: Turn, goal: GoalTable) -> "Bool":
    """Return for each copy of the world whether the one condition of a goal holds."""
    info = goal.info
    if info.all_in:
        inside: Bool = np.logical_and.reduce(turn.in_areas(goal.areas, goal.rows), axis=1)
        return inside
    if info.object_id:
        objects = goal.object_row
        there: Bool = turn.maps.object_x[objects] != AWAY
        there &= turn.state.object_state[objects] == goal.state
        return there
    return turn.tables.ticks_of_copies(turn.tick_id) >= info.tick_id


def _holds_for(turn: Turn, goal: GoalTable, rows: "Int64") -> "Bool":
    """Return for which actors the condition of a goal holds."""
    if goal.info.each_in:
        return turn.in_areas(goal.areas, rows)
    carried = turn.state.inventory[rows[:, :, None], goal.items]
    reached: Bool = np.logical_and.reduce(carried >= goal.amounts, axis=2)
    reached &= turn.state.x[rows] != AWAY
    return reached
