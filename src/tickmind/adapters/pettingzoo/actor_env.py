"""`ActorEnv`: one actor of a scenario as Gymnasium's `Env`."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import gymnasium
import numpy as np

from tickmind.adapters.pettingzoo.drawing import RENDER_FPS, RENDER_MODES, checked_mode, draw
from tickmind.adapters.pettingzoo.episodes import Episodes, NamedNumbers, row_of, whole_actions, whole_seed
from tickmind.base import ConfigError
from tickmind.world.scenario.limits import MAX_SEED

if TYPE_CHECKING:
    from numpy.typing import NDArray


class ActorEnv(NamedNumbers, gymnasium.Env[Any, Any]):
    """One actor; the others wait, or do what `others` returns for the observation of each. `actor_env` makes it."""

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]  # Gymnasium declares it for instances
        "render_modes": list(RENDER_MODES),
        "render_fps": RENDER_FPS,
    }

    def __init__(
        self,
        episodes: Episodes,
        actor: str | None = None,
        others: Callable[[dict[str, Any]], int] | None = None,
        render_mode: str | None = None,
    ) -> None:
        self.render_mode = checked_mode(render_mode)
        self._episodes = episodes
        self._row = row_of(episodes.actor_ids, actor)
        self._others = others
        self._begun = False
        self.observation_space = episodes.observation_space()
        self.action_space = episodes.action_space()

    def reset(
        self, *, seed: "int | np.integer[Any] | None" = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin again. With the same seed all happens again; without one the next seed follows from the last."""
        seed = None if seed is None else whole_seed(seed)  # NumPy's whole numbers are none to Gymnasium
        super().reset(seed=seed, options=options)
        first = self._episodes.scenario.seed if not self._begun else int(self.np_random.integers(MAX_SEED))
        self._begun = True
        self._episodes.begin([first if seed is None else seed])
        return self._observation(), self._info()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Resolve a tick. Raises `ConfigError` for an action that is none."""
        if not self._begun:
            raise ConfigError("nothing has begun; call reset() before step()")
        count, choices = len(self._episodes.actor_ids), len(self.action_names)
        chosen = whole_actions([action], 1, choices, "actions")[0]
        numbers = np.zeros(count, dtype=np.int64)
        if self._others is not None:
            seen = self._episodes.observations()
            for row in np.flatnonzero(self._episodes.world.present).tolist():
                if row != self._row:
                    numbers[row] = self._choice_of_other(_part(seen, row), choices)
        numbers[self._row] = chosen
        outcome = self._episodes.step(numbers)
        terminated = bool(outcome.ended[0] or outcome.left[0, self._row])
        truncated = bool(outcome.over[0]) and not terminated
        return self._observation(), float(outcome.rewards[0, self._row]), terminated, truncated, self._info()

    def render(self) -> Any:
        """Return the whole map: an image (`rgb_array`) or text (`ansi`); None without a render mode."""
        return draw(self._episodes.world, self.render_mode)

    def _choice_of_other(self, seen: Any, choices: int) -> int:
        assert self._others is not None, "else nothing is asked"
        return int(whole_actions([self._others(seen)], 1, choices, "what `others` returns")[0])

    def _observation(self) -> Any:
        return _part(self._episodes.observations(np.array([self._row], dtype=np.int32)), 0)

    def _info(self) -> dict[str, Any]:
        return {"action_mask": self._episodes.masks()[self._row]}


def _part(seen: "dict[str, NDArray[Any]] | NDArray[np.float32]", row: int) -> Any:
    return {name: part[row] for name, part in seen.items()} if isinstance(seen, dict) else seen[row]
