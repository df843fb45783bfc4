"""`CopiesEnv`: many copies of a scenario as Gymnasium's `VectorEnv`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from tickmind.adapters.pettingzoo.episodes import Episodes, NamedNumbers, row_of, whole_actions
from tickmind.base import ConfigError
from tickmind.world.scenario.limits import MAX_SEED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Seeds: TypeAlias = int | np.integer[Any] | Sequence[int] | NDArray[np.integer[Any]]


class CopiesEnv(NamedNumbers, VectorEnv[Any, Any, Any]):
    """Copies of a scenario as one world of columns. `vector_env` makes it.

    Environment `copy * actors + row` is an actor's, or `copy` where one actor was chosen. A copy begins again, with
    the next seed, in the step in which its episode ends: then the observation is the first one of the new episode,
    and `final_obs` in the infos holds the last ones of the old, with `_final_obs` for which they are. An actor that
    has left before is terminated once; after that it gets zeros and what it does is ignored.
    """

    metadata: ClassVar[dict[str, Any]] = {"autoreset_mode": AutoresetMode.SAME_STEP}  # type: ignore[misc]

    def __init__(self, episodes: Episodes, actor: str | None = None) -> None:
        _check_clock(episodes)
        self._episodes = episodes
        actors = len(episodes.actor_ids)
        everybody = np.arange(episodes.copies * actors, dtype=np.int32)
        self._rows = everybody if actor is None else everybody[row_of(episodes.actor_ids, actor) :: actors]
        self._each = len(self._rows) // episodes.copies
        self.num_envs = len(self._rows)
        self.single_observation_space = episodes.observation_space()
        self.single_action_space = episodes.action_space()
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._gone = np.zeros(self.num_envs, dtype=np.bool_)
        self._begun = False

    @property
    def world_seeds(self) -> list[int]:
        """The seed of each copy in its present episode."""
        return self._episodes.world.seeds

    def reset(
        self, *, seed: "Seeds | None" = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin all copies again. Copy k gets the seed + k, or the one at place k of a list."""
        copies = self._episodes.copies
        if seed is None and not self._begun:
            seed = self._episodes.scenario.seed
        seeds = None if seed is None else _seeds_of(seed, copies)
        super().reset(seed=None if seeds is None else seeds[0], options=options)
        if seeds is None:
            seeds = self._next_seeds(copies)
        self._begun = True
        self._gone[:] = False
        self._episodes.begin(seeds)
        return self._observations(), self._infos()

    def step(
        self, actions: Any
    ) -> "tuple[Any, NDArray[np.float32], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]":
        """Resolve a tick in all copies. Raises `ConfigError` for actions that are none."""
        if not self._begun:
            raise ConfigError("nothing has begun; call reset() before step()")
        episodes = self._episodes
        chosen = whole_actions(actions, self.num_envs, len(episodes.action_names), "actions")
        if self._each == len(episodes.actor_ids):
            numbers = chosen
        else:
            numbers = np.zeros(episodes.copies * len(episodes.actor_ids), dtype=np.int64)
            numbers[self._rows] = chosen
        outcome = episodes.step(numbers)
        rewards = outcome.rewards.reshape(-1)[self._rows]
        ended = np.repeat(outcome.ended, self._each)
        left = outcome.left.reshape(-1)[self._rows]
        terminated = (ended | left) & ~self._gone
        truncated = np.repeat(outcome.over, self._each) & ~terminated & ~self._gone
        self._gone |= left
        over = outcome.ended | outcome.over | self._gone.reshape(episodes.copies, self._each).all(axis=1)
        if not over.any():
            return self._observations(), rewards, terminated, truncated, self._infos()
        final = self._observations()
        copies = np.flatnonzero(over)
        episodes.begin(self._next_seeds(len(copies)), copies.tolist())
        fresh = np.repeat(over, self._each)
        self._gone[fresh] = False
        return (
            self._observations(),
            rewards,
            terminated,
            truncated,
            self._infos()
            | {
                "final_obs": final,
                "_final_obs": fresh,
            },
        )

    def _observations(self) -> Any:
        return self._episodes.observations(None if self._each == len(self._episodes.actor_ids) else self._rows)

    def _infos(self) -> dict[str, Any]:
        return {"action_mask": self._episodes.masks()[self._rows]} if self._episodes.flat else {}

    def _next_seeds(self, count: int) -> list[int]:
        return [int(seed) for seed in self.np_random.integers(MAX_SEED, size=count)]


def _seeds_of(seed: "Seeds", copies: int) -> list[int]:
    """Return a seed for each copy; raises `ConfigError` unless they are whole numbers, or one of them."""
    given = np.asarray(seed)
    if given.dtype.kind not in "iu" or given.ndim > 1:
        raise ConfigError(f"a seed must be a whole number, or a list with one for each copy, not {str(seed)[:100]}")
    if given.ndim == 0:
        return [(int(given) + copy) % (MAX_SEED + 1) for copy in range(copies)]
    if len(given) != copies:
        raise ConfigError(f"there must be one seed for each of {copies:,} copies, not {len(given)}")
    return [int(one) for one in given]


def _check_clock(episodes: Episodes) -> None:
    """Raise `ConfigError` where copies would end apart, though they share the time of the day."""
    apart = [goal.name for goal in episodes.scenario.goals if goal.ends and not goal.tick_id]
    if episodes.copies > 1 and episodes.world.has_one_clock and apart:
        raise ConfigError(
            f"the goal {apart[0]!r} ends copies at different times, but rules of {episodes.scenario.name!r} go by the "
            "time of the day, which is one for all copies; leave out one of them, or use single environments"
        )
