"""`GoalTable`: a goal by numbers, as the rules look it up."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tickmind.protocol import GoalInfo
from tickmind.world.scenario.scenario import Scenario

if TYPE_CHECKING:
    from tickmind.protocol.columns import Int64


class GoalTable:
    """A goal with the rows of its actors, and the place of its entries in `WorldColumns.goal_reached`.

    Goals that each actor reaches for itself have an entry for each of `rows`; the others have one.
    """

    def __init__(
        self,
        info: GoalInfo,
        scenario: Scenario,
        item_code: Mapping[str, int],
        object_row: Mapping[str, int],
        first: int,
    ) -> None:
        self.info = info
        # copy of the world x actors; a world has one copy, unless it is one of many in one
        self.rows: Int64 = np.array([_rows(info, scenario)], dtype=np.int64)
        self.each = bool(info.each_in or info.carry)
        self.entries = slice(first, first + (self.rows.size if self.each else 1))
        zone = scenario.setting.zone(info.all_in or info.each_in)
        self.areas = () if zone is None else zone.areas
        self.items: Int64 = np.array([item_code[item] for item, _ in info.carry], dtype=np.int64)
        self.amounts: Int64 = np.array([amount for _, amount in info.carry], dtype=np.int64)
        self.object_row: Int64 = np.array([object_row.get(info.object_id, -1)], dtype=np.int64)  # by copy
        self.state = -1
        if info.object_id:
            kind = next(kind for kind in scenario.kinds if kind.name == scenario.objects[self.object_row[0]].kind)
            self.state = kind.state_code(info.state)


def goal_tables(
    scenario: Scenario, item_code: Mapping[str, int], object_row: Mapping[str, int]
) -> tuple[GoalTable, ...]:
    """Return the goals of a scenario, their entries one after another."""
    tables: list[GoalTable] = []
    for goal in scenario.goals:
        first = tables[-1].entries.stop if tables else 0
        tables.append(GoalTable(goal, scenario, item_code, object_row, first))
    return tuple(tables)


def _rows(info: GoalInfo, scenario: Scenario) -> Sequence[int]:
    """Return the rows of the actors that a goal is about; none if its score is the world's."""
    if not info.names_actors and (info.object_id or info.tick_id):
        return ()
    return [row for row, actor in enumerate(scenario.actors) if info.fits(actor.tags, actor.type, actor.entity_id)]
