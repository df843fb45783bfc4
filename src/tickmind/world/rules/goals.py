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
        reached = turn.state.goal_reached[goal.entries]
        if reached.all():
            continue
        rows = goal.rows
        if goal.each:
            new = ~reached & _holds_for(turn, goal, rows)
            if not new.any():
                continue
            reached |= new
            rows = rows[new]
        elif _holds(turn, goal):
            reached[0] = True
        else:
            continue
        info = goal.info
        turn.rule_events.append(RuleEvent(info.name, tuple(ids[row] for row in rows.tolist()), info.score, info.ends))


def _holds(turn: Turn, goal: GoalTable) -> bool:
    """Return whether the one condition of a goal holds."""
    info = goal.info
    if info.all_in:
        return bool(turn.in_areas(goal.areas, goal.rows).all())
    if info.object_id:
        there = turn.maps.object_x[goal.object_row] != AWAY
        return bool(there and turn.state.object_state[goal.object_row] == goal.state)
    return turn.tick_id >= info.tick_id


def _holds_for(turn: Turn, goal: GoalTable, rows: "Int64") -> "Bool":
    """Return for which actors the condition of a goal holds."""
    if goal.info.each_in:
        return turn.in_areas(goal.areas, rows)
    reached: Bool = np.logical_and.reduce(turn.state.inventory[np.ix_(rows, goal.items)] >= goal.amounts, axis=1)
    reached &= turn.state.x[rows] != AWAY
    return reached
