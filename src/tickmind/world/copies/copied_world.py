"""`CopiedWorld`: many copies of one scenario as one world."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tickmind.base import ConfigError
from tickmind.protocol import Intent, IntentColumns, Observation, Placement, TickRecord
from tickmind.world.copies.beginnings import Beginnings, columns_of_copy
from tickmind.world.copies.layout import Layout
from tickmind.world.copies.tables import CopiedTables
from tickmind.world.errors import WorldError
from tickmind.world.rules.aftermath import NOTHING
from tickmind.world.rules.own_rules import OwnRule
from tickmind.world.scenario.limits import MAX_SEED
from tickmind.world.scenario.scenario import NEVER, Scenario
from tickmind.world.scenario.settings import NEED_MOST
from tickmind.world.state.columns import WorldColumns
from tickmind.world.state.tables import Tables
from tickmind.world.tileworld import TileWorld

if TYPE_CHECKING:
    from tickmind.protocol.columns import Bool, Float32, Int64


class CopiedWorld(TileWorld):
    """Copies of a scenario, one for each seed, each exactly as a world of its own with that seed.

    The copies lie side by side on one map, so that a step costs little more than the actors in it. Row
    `copy * len(scenario.actors) + row` is an actor's; names are those of the scenario, the same in each copy.

        world = CopiedWorld(load_scenario("clearing.yaml"), seeds=range(1024))
        world.step(intents)
        world.state_hash_of(7)          # what a world with the eighth seed has after the same intents
        world.begin([7], [99])          # copy 7 begins again, with another seed; the others go on

    `at_seed` gives the scenario at another seed where the seed chooses places of actors and the weather; without it all
    copies begin at the same places, and have the same weather. What needs one clock for all refuses to begin copies at
    different times. Raises `ConfigError` for several copies of a scenario with rules of its user's own.
    """

    def __init__(
        self,
        scenario: Scenario,
        seeds: Sequence[int],
        own_rules: Mapping[str, OwnRule] | None = None,
        *,
        at_seed: Callable[[int], Scenario] | None = None,
    ) -> None:
        if scenario.own_rules and len(seeds) > 1:
            raise ConfigError(
                f"{scenario.name!r} has rules of its user's own ({', '.join(scenario.own_rules)}), which know "
                "one world only; use a single environment"
            )
        single = Tables(scenario)
        self._layout = Layout(scenario, len(seeds))
        tables = CopiedTables(single, self._layout)
        tables.weather_by_seed = at_seed is not None and len(seeds) > 1 and _weather_matters(scenario)
        self._beginnings = Beginnings(single, tables, self._layout, at_seed)
        self._one_clock = _goes_by_calendar(scenario)
        self._copied_tables = tables
        state = self._beginnings.everything()
        self._beginnings.write(state, np.arange(len(seeds), dtype=np.int64), _checked(seeds), 0)
        super().__init__(tables, own_rules, state)
        self.points: Int64 = np.zeros(self.shape, dtype=np.int64)
        self.ended: Bool = np.zeros(len(seeds), dtype=np.bool_)

    @property
    def scenario(self) -> Scenario:
        """The scenario of which it holds copies."""
        return self._tables.scenario

    @property
    def shape(self) -> tuple[int, int]:
        """The number of copies, and of actors in each."""
        return self._layout.count, self._layout.actors

    @property
    def has_one_clock(self) -> bool:
        """Whether rules go by the time of the day, so that all copies have to begin at the same time."""
        return self._one_clock

    @property
    def seeds(self) -> list[int]:
        """The seed of each copy."""
        return [int(seed) for seed in self._copied_tables.chance.seeds]

    def begin(self, copies: Sequence[int], seeds: Sequence[int]) -> None:
        """Let copies begin again, each with a seed. Where all do, the first tick of the world is 1 again.

        Raises `WorldError` unless each copy is there, is named once and has one seed, or if only some of those that
        need one clock would begin again.
        """
        which = np.array(copies, dtype=np.int64)
        if len(which) != len(seeds) or len(np.unique(which)) != len(which):
            raise WorldError("each copy that begins again needs one seed; pass lists of one length, no copy twice")
        if len(which) and not 0 <= which.min() <= which.max() < self._layout.count:
            raise WorldError(f"copies go from 0 to {self._layout.count - 1}")
        everything = len(which) == self._layout.count
        if self._one_clock and not everything:
            raise WorldError("the rules go by the time of the day, so that all copies have to begin at the same time")
        if everything:
            self._tick_id = 1
        state, maps = self._state, self._maps
        for name in ("x", "y", "status", "facing", "energy", "hunger", "own_needs"):
            setattr(state, name, getattr(state, name).copy())  # the last record has the old ones
        self._beginnings.write(state, which, _checked(seeds), self._tick_id - 1)
        self._beginnings.draw_maps(maps, state, which)
        if self._tables.objects_move:
            self._objects.update()
        self._eyes.adapt(maps.opaque)
        self._now = self._perceive()
        self._observer = None
        self._views.clear()
        if everything:
            self._before, self._last = None, NOTHING

    def step(
        self,
        intents: Mapping[int, Intent] | IntentColumns,
        controlled: "Bool | None" = None,
        placements: Sequence[Placement] = (),
    ) -> TickRecord:
        """Resolve one tick of all copies; then `points` and `ended` are those of this tick.

        Raises `WorldError` for `placements` among several copies.
        """
        if placements and self._layout.count > 1:
            raise WorldError("no actors can be placed among copies, whose actors have the same names")
        before = self._state.goal_reached.copy()
        record = super().step(intents, controlled, placements)
        self.points = np.zeros(self.shape, dtype=np.int64)
        self.ended = np.zeros(self._layout.count, dtype=np.bool_)
        self._count_goals(before)
        for event in record.rule_events:
            if event.own:  # then there is one copy
                rows = [self._tables.actor_row[actor_id] for actor_id in event.actor_ids]
                self.points[0, rows or slice(None)] += event.score
                self.ended[0] |= event.ends
        return record

    def observe(self, rows: Sequence[int], deadline_ms: int | None = None, *, floors: bool = True) -> list[Observation]:
        """Return observations with names, of a single copy; among more, actors of all copies have the same names.

        Raises `WorldError` for several copies.
        """
        if self._layout.count > 1:
            raise WorldError("observations with names are of one world; use observe_windows() or observe_columns()")
        return super().observe(rows, deadline_ms, floors=floors)

    def columns_of(self, copy: int) -> WorldColumns:
        """Return the state of a copy as that of a world of its own."""
        return columns_of_copy(self._state, self._copied_tables, copy)

    def state_hash_of(self, copy: int) -> bytes:
        """Return the hash that a world of its own would have with the state of this copy."""
        ticks_before = int(self._copied_tables.chance.ticks_before[copy])
        return self.columns_of(copy).digest(self._tick_id - ticks_before)

    def needs_kept(self) -> "Float32":
        """Return how well each actor's needs are kept, copies x actors: the mean of all from 0 to 1, 0 without any."""
        state, needs = self._state, self._tables.scenario.rules.needs
        if needs is None:
            return np.zeros(self.shape, dtype=np.float32)
        kept = (state.energy + (NEED_MOST - state.hunger)).astype(np.float32)
        if len(state.own_needs):
            kept += state.own_needs.sum(axis=1)
        kept /= NEED_MOST * (2 + len(needs.own))
        return kept.reshape(self.shape)

    def still_to_come(self) -> "Bool":
        """Return which actors are away and will come by themselves, copies x actors."""
        due = self._state.arrive_due
        if not len(due):
            return np.zeros(self.shape, dtype=np.bool_)
        to_come: Bool = (due != NEVER) & ~self.present
        return to_come.reshape(self.shape)

    def _count_goals(self, before: "Bool") -> None:
        """Count the points of goals that were reached; those of the world go to all of its actors."""
        for goal in self._tables.goals:
            new = (self._state.goal_reached[goal.entries] & ~before[goal.entries]).reshape(self._layout.count, -1)
            if not new.any():
                continue
            rows = goal.rows[0] if goal.rows.size else np.arange(self._layout.actors)
            self.points[:, rows] += goal.info.score * new
            if goal.info.ends:
                self.ended |= new.any(axis=1)


def with_seed(scenario: Scenario, seed: int) -> Scenario:
    """Return a scenario with another seed for what happens in it; places of actors and the weather stay."""
    return replace(scenario, seed=seed)


def _checked(seeds: Sequence[int]) -> "np.ndarray[tuple[int], np.dtype[np.uint64]]":
    for seed in seeds:
        if int(seed) != seed or not 0 <= seed <= MAX_SEED:
            raise ConfigError(f"a seed must be a whole number from 0 to {MAX_SEED}, not {seed}")
    return np.array([int(seed) for seed in seeds], dtype=np.uint64)


def _goes_by_calendar(scenario: Scenario) -> bool:
    """Return whether something depends on the time of the day, or on the day."""
    needs = scenario.rules.needs
    return bool(
        scenario.own_rules
        or scenario.rules.night_sight_radius is not None
        or (needs is not None and any(need.goes_by_calendar for need in needs.own))
        or any(kind.container is not None and kind.container.hours for kind in scenario.kinds)
        or any(action.limited for kind in scenario.kinds for state in kind.states for action in state.actions)
        or any(kind.build is not None and kind.build.limited for kind in scenario.kinds)
    )


def _weather_matters(scenario: Scenario) -> bool:
    needs = scenario.rules.needs
    actions = [action for kind in scenario.kinds for state in kind.states for action in state.actions]
    actions += [kind.build for kind in scenario.kinds if kind.build is not None]
    return any(action.weather for action in actions) or (
        needs is not None and any(need.in_weather for need in needs.own)
    )
