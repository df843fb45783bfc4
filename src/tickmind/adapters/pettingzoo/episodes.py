"""`Episodes`: one or many copies of a scenario from their first tick to their end, as arrays."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from gymnasium import spaces

from tickmind.adapters.pettingzoo.sources import ScenarioSource
from tickmind.base import ConfigError
from tickmind.world import CopiedWorld, OwnRule, Scenario
from tickmind.world.kernels import warm_up
from tickmind.world.kernels.learning.windows import CHANNELS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Arrays: TypeAlias = dict[str, NDArray[Any]]
    Flags: TypeAlias = NDArray[np.bool_]
    Numbers: TypeAlias = NDArray[np.int64]

USUAL_WINDOW = 5
_LARGEST_CODE = 255


def whole_seed(given: object) -> int:
    """Return a seed, which may be a whole number of NumPy's; raises `ConfigError` for anything else."""
    if isinstance(given, bool) or not isinstance(given, (int, np.integer)):
        raise ConfigError(f"a seed must be a whole number, not {str(given)[:100]!r}")
    return int(given)


@dataclass(frozen=True, slots=True)
class TickOutcome:
    """What a tick has brought, by copy and actor."""

    rewards: "NDArray[np.float32]"
    left: "Flags"  # the actor is not there any more
    ended: "Flags"  # by copy: a goal has ended it
    over: "Flags"  # by copy: all its ticks are done


class Episodes:
    """Step copies of a scenario and make arrays of what is observed, for all environments of this package.

    The reward of an actor is what it scores in a tick: by goals, and by rules of the user's own in a single world. In
    a scenario without either it is by how much its needs are better kept than in the tick before: the mean of all,
    from 0 to 1, hunger reversed.
    """

    def __init__(
        self,
        source: ScenarioSource,
        copies: int,
        ticks: int,
        window: int | None,
        *,
        flat: bool = False,
        own_rules: Mapping[str, OwnRule] | None = None,
    ) -> None:
        self.scenario = source.scenario
        _check(self.scenario, copies, ticks, window)
        self.copies, self.ticks, self.flat = copies, ticks, flat
        self.actor_ids = tuple(actor.entity_id for actor in self.scenario.actors)
        sight = self.scenario.rules.sight_radius
        self.window = min(sight, USUAL_WINDOW) if window is None else window
        self._source = source
        self._own_rules = own_rules
        self._scores = any(goal.score for goal in self.scenario.goals) or bool(self.scenario.own_rules)
        warm_up()
        self.world = self._new_world([self.scenario.seed] * copies)
        self._rows = np.arange(copies * len(self.actor_ids), dtype=np.int32)
        self._kept = self.world.needs_kept()
        self._elapsed = np.zeros(copies, dtype=np.int64)
        self._mask: NDArray[np.int8] | None = None  # of the present tick, once it is needed

    @property
    def action_names(self) -> tuple[str, ...]:
        """The actions by their numbers."""
        return self.world.choosing.actions.names

    @property
    def body_names(self) -> tuple[str, ...]:
        """What the numbers of `body` in an observation are."""
        return self.world.windows.body_names

    def observation_space(self) -> spaces.Space[Any]:
        """Return the space of one actor's observation."""
        side, numbers, actions = 2 * self.window + 1, len(self.body_names), len(self.action_names)
        if self.flat:
            return spaces.Box(0.0, 1.0, (side * side * len(CHANNELS) + numbers,), np.float32)
        return spaces.Dict(
            {
                "tiles": spaces.Box(0, _LARGEST_CODE, (side, side, len(CHANNELS)), np.uint8),
                "body": spaces.Box(0.0, 1.0, (numbers,), np.float32),
                "action_mask": spaces.Box(0, 1, (actions,), np.int8),
            }
        )

    def action_space(self) -> spaces.Discrete:
        """Return the space of one actor's actions."""
        return spaces.Discrete(len(self.action_names))

    def begin(self, seeds: Sequence[int], copies: Sequence[int] | None = None) -> None:
        """Begin again: all copies, or some of them, each with a seed."""
        if copies is not None and len(copies) < self.copies:
            self.world.begin(copies, seeds)
            self._elapsed[copies] = 0
        else:
            if self.copies == 1 and self._source.is_text:
                self.world = self._new_world(seeds)
            else:
                self.world.begin(range(self.copies), seeds)
            self._elapsed[:] = 0
        self._kept = self.world.needs_kept()
        self._mask = None

    def step(self, numbers: "Numbers") -> TickOutcome:
        """Let all actors of all copies do these actions, row by row; they are whole numbers of the list."""
        world = self.world
        world.step(world.intents_of(self._rows, numbers))
        self._mask = None
        self._elapsed += 1
        present = world.present.reshape(world.shape)
        if self._scores:
            rewards = world.points.astype(np.float32)
        else:
            kept = world.needs_kept()
            rewards = kept - self._kept
            self._kept = kept
        left = ~present & ~world.still_to_come()
        return TickOutcome(rewards, left, world.ended, self._elapsed >= self.ticks)

    def masks(self) -> "NDArray[np.int8]":
        """Return rows x actions: 1 for what is possible now."""
        if self._mask is None:
            self._mask = self.world.choices_of(self._rows)
        return self._mask

    def observations(self, rows: "NDArray[np.int32] | None" = None) -> "Arrays | NDArray[np.float32]":
        """Return the observations of all rows, or of some."""
        chosen = self._rows if rows is None else rows
        seen = self.world.observe_windows(chosen, self.window)
        if self.flat:
            tiles = seen.tiles.reshape(len(chosen), -1)
            flat = np.empty((len(chosen), tiles.shape[1] + seen.body.shape[1]), dtype=np.float32)
            np.divide(tiles, np.float32(_LARGEST_CODE), out=flat[:, : tiles.shape[1]])
            flat[:, tiles.shape[1] :] = seen.body
            return flat
        mask = self.masks() if rows is None else self.masks()[rows]
        return {"tiles": seen.tiles, "body": seen.body, "action_mask": mask}

    def _new_world(self, seeds: Sequence[int]) -> CopiedWorld:
        """Return a world before its first tick; a single one from a text is that of `tickmind up` with this seed."""
        many = self.copies > 1
        scenario = self.scenario if many else self._source.at_seed(int(seeds[0]))
        at_seed = self._source.at_seed if many and self._source.is_text else None
        return CopiedWorld(scenario, seeds, self._own_rules, at_seed=at_seed)


class NamedNumbers:
    """What the numbers of an environment mean."""

    _episodes: Episodes

    @property
    def action_names(self) -> tuple[str, ...]:
        """The actions by their numbers."""
        return self._episodes.action_names

    @property
    def body_names(self) -> tuple[str, ...]:
        """What the numbers of `body` in an observation are."""
        return self._episodes.body_names


def row_of(actor_ids: Sequence[str], actor: str | None) -> int:
    """Return the row of an actor, the first if none is named; raises `ConfigError` if there is none of that name."""
    if actor is None:
        return 0
    if actor not in actor_ids:
        raise ConfigError(f"there is no actor {actor[:100]!r}; there are {', '.join(actor_ids[:12])}")
    return actor_ids.index(actor)


def whole_actions(given: Any, count: int, choices: int, what: str) -> "Numbers":
    """Return actions as an array; raises `ConfigError` in plain words unless they are numbers of the list."""
    array = np.asarray(given)
    if array.shape != (count,):
        raise ConfigError(f"{what} must be {count:,} numbers of actions, not an array of the shape {array.shape}")
    if array.dtype.kind not in "iu":
        raise ConfigError(f"{what} must be whole numbers, not {array.dtype}; take them from action_space")
    wrong = np.flatnonzero((array < 0) | (array >= choices))
    if len(wrong):
        value = array[wrong[0]]
        raise ConfigError(f"{what} go from 0 to {choices - 1}; that at place {wrong[0]} is {value}")
    return array.astype(np.int64)


def _check(scenario: Scenario, copies: int, ticks: int, window: int | None) -> None:
    sight = scenario.rules.sight_radius
    if copies < 1 or ticks < 1:
        raise ConfigError(f"there must be at least one copy and one tick, not {copies} and {ticks}")
    if window is not None and not 0 <= window <= sight:
        raise ConfigError(f"a window goes from 0 to {sight} tiles, the sight of {scenario.name!r}, not {window}")
    if not scenario.actors:
        raise ConfigError(f"{scenario.name!r} has no actors; add one that can learn")
    scores = any(goal.score for goal in scenario.goals) or scenario.own_rules
    if not scores and scenario.rules.needs is None:
        raise ConfigError(
            f"{scenario.name!r} has neither goals with a score nor needs, so there is nothing to learn; add `goals`"
        )
