"""`ScenarioEnv`: a scenario as PettingZoo's `ParallelEnv`."""

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from pettingzoo import ParallelEnv

from tickmind.adapters.pettingzoo.drawing import RENDER_FPS, RENDER_MODES, checked_mode, draw
from tickmind.adapters.pettingzoo.episodes import Episodes, NamedNumbers, whole_actions, whole_seed
from tickmind.base import ConfigError
from tickmind.world.scenario.limits import MAX_SEED

if TYPE_CHECKING:
    from numpy.typing import NDArray


class ScenarioEnv(NamedNumbers, ParallelEnv[str, Any, Any]):  # type: ignore[misc]  # PettingZoo ships no types
    """All actors of a scenario, who act at once in each tick. `parallel_env` makes it.

    Actors that have left, or were there when a goal ended the run, are terminated; after all its ticks an episode is
    truncated. Actors that come later join `agents` when they are there.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "name": "tickmind_v0",
        "render_modes": list(RENDER_MODES),
        "render_fps": RENDER_FPS,
        "is_parallelizable": True,
    }

    def __init__(self, episodes: Episodes, render_mode: str | None = None) -> None:
        self.render_mode = checked_mode(render_mode)
        self._episodes = episodes
        self.possible_agents = list(episodes.actor_ids)
        self.agents: list[str] = []
        self._row = {agent: row for row, agent in enumerate(self.possible_agents)}
        self._finished: set[str] = set()
        self.observation_spaces = {agent: episodes.observation_space() for agent in self.possible_agents}
        self.action_spaces = {agent: episodes.action_space() for agent in self.possible_agents}
        self._seed = episodes.scenario.seed
        self._random = seeding.np_random(self._seed)[0]

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Return the space of an actor's observations; the same object each time."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Return the space of an actor's actions; the same object each time."""
        return self.action_spaces[agent]

    def reset(
        self,
        seed: int | None = None,
        options: dict[str, Any] | None = None,  # noqa: ARG002  PettingZoo's signature; there are none
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin again. With the same seed all happens again; without one the next seed follows from the last."""
        if seed is not None:
            self._seed = whole_seed(seed)
            self._random = seeding.np_random(self._seed)[0]
        self._episodes.begin([self._seed])
        self._seed = int(self._random.integers(MAX_SEED))
        self._finished.clear()
        self.agents = self._present()
        return self._observations(self.agents), self._infos(self.agents)

    def step(
        self, actions: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], dict[str, Any]]:
        """Resolve a tick; an actor without an action waits. Raises `ConfigError` for actions that are none.

        After the end of an episode no actions give nothing, as in PettingZoo's own environments; wrappers count on it.
        """
        if not self.agents and not actions:
            return {}, {}, {}, {}, {}
        if not self.agents:
            raise ConfigError("the episode is over; call reset() before step()")
        if unknown := [agent for agent in actions if agent not in self._row]:
            raise ConfigError(f"there is no actor {str(unknown[0])[:100]!r} in this scenario")
        given = np.zeros(len(self.possible_agents), dtype=np.int64)
        for agent, action in actions.items():
            choice = whole_actions([action], 1, len(self.action_names), f"the actions of {agent}")
            given[self._row[agent]] = choice[0] if agent not in self._finished else 0
        outcome = self._episodes.step(given)
        there = [*self.agents, *(agent for agent in self._present() if agent not in self.agents)]
        rows = [self._row[agent] for agent in there]
        ended, over = bool(outcome.ended[0]), bool(outcome.over[0])
        rewards = {agent: float(outcome.rewards[0, row]) for agent, row in zip(there, rows, strict=True)}
        terminations = {agent: ended or bool(outcome.left[0, row]) for agent, row in zip(there, rows, strict=True)}
        truncations = {agent: over and not terminations[agent] for agent in there}
        observations, infos = self._observations(there), self._infos(there)
        self._finished |= {agent for agent in there if terminations[agent] or truncations[agent]}
        self.agents = [agent for agent in there if agent not in self._finished]
        return observations, rewards, terminations, truncations, infos

    def render(self) -> "NDArray[np.uint8] | str | None":
        """Return the whole map: an image (`rgb_array`) or text (`ansi`); None without a render mode."""
        return draw(self._episodes.world, self.render_mode)

    def state(self) -> "NDArray[Any]":
        """Return what all actors observe, one after another: for learners that share one critic."""
        seen = self._episodes.observations()
        if isinstance(seen, dict):
            return np.concatenate([seen["tiles"].reshape(-1) / np.float32(255), seen["body"].reshape(-1)])
        return seen.reshape(-1)

    def close(self) -> None:
        """Do nothing: there is no window and no process."""

    def _present(self) -> list[str]:
        present = self._episodes.world.present.tolist()
        return [agent for agent in self.possible_agents if present[self._row[agent]] and agent not in self._finished]

    def _observations(self, agents: list[str]) -> dict[str, Any]:
        seen = self._episodes.observations()
        if isinstance(seen, dict):
            return {agent: {name: part[self._row[agent]] for name, part in seen.items()} for agent in agents}
        return {agent: seen[self._row[agent]] for agent in agents}

    def _infos(self, agents: list[str]) -> dict[str, Any]:
        masks = self._episodes.masks()
        return {agent: {"action_mask": masks[self._row[agent]]} for agent in agents}
