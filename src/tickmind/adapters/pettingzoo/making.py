"""Make environments; the packages behind them are imported here, and only when one is made."""

import importlib.util
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from tickmind.base import ConfigError

if TYPE_CHECKING:
    from pettingzoo.utils.env import AECEnv

    from tickmind.adapters.pettingzoo.actor_env import ActorEnv
    from tickmind.adapters.pettingzoo.copies_env import CopiesEnv
    from tickmind.adapters.pettingzoo.scenario_env import ScenarioEnv
    from tickmind.world import OwnRule, Scenario

    Source: TypeAlias = str | Path | Scenario
    Policy: TypeAlias = Callable[[dict[str, Any]], int]

USUAL_TICKS = 500
_NEEDED = {"numpy": "world", "numba": "world", "gymnasium": "learn", "pettingzoo": "learn"}  # package -> extra


def parallel_env(
    scenario: "Source",
    *,
    seed: int | None = None,
    ticks: int = USUAL_TICKS,
    window: int | None = None,
    flat: bool = False,
    render_mode: str | None = None,
    own_rules: "Mapping[str, OwnRule] | None" = None,
) -> "ScenarioEnv":
    """Return a scenario as PettingZoo's `ParallelEnv`: all actors act in each tick.

    `seed` is that of resets without one; `window` is how many tiles around itself an actor gets, at most its sight
    and by default up to 5. With `flat` an observation is one array of numbers from 0 to 1, and the action mask is in
    the infos only. Raises `ConfigError` if a package is missing or there is nothing to learn in the scenario.
    """
    _require("gymnasium", "pettingzoo")
    from tickmind.adapters.pettingzoo.episodes import Episodes
    from tickmind.adapters.pettingzoo.scenario_env import ScenarioEnv
    from tickmind.adapters.pettingzoo.sources import ScenarioSource

    source = ScenarioSource.of(scenario, seed)
    return ScenarioEnv(Episodes(source, 1, ticks, window, flat=flat, own_rules=own_rules), render_mode)


def env(scenario: "Source", **options: Any) -> "AECEnv[Any, Any, Any]":
    """Return a scenario as PettingZoo's `AECEnv`: actors choose one after another, then the tick is resolved.

    It takes the options of `parallel_env`, and is that environment by PettingZoo's own conversion.
    """
    made = parallel_env(scenario, **options)
    from pettingzoo.utils import OrderEnforcingWrapper, parallel_to_aec

    return OrderEnforcingWrapper(parallel_to_aec(made))


def actor_env(
    scenario: "Source",
    *,
    actor: str | None = None,
    others: "Policy | None" = None,
    seed: int | None = None,
    ticks: int = USUAL_TICKS,
    window: int | None = None,
    flat: bool = False,
    render_mode: str | None = None,
    own_rules: "Mapping[str, OwnRule] | None" = None,
) -> "ActorEnv":
    """Return one actor of a scenario as Gymnasium's `Env`; the first one if none is named.

    The others wait, or do what `others` returns for the observation of each of them. The other options are those of
    `parallel_env`.
    """
    _require("gymnasium")
    from tickmind.adapters.pettingzoo.actor_env import ActorEnv
    from tickmind.adapters.pettingzoo.episodes import Episodes
    from tickmind.adapters.pettingzoo.sources import ScenarioSource

    source = ScenarioSource.of(scenario, seed)
    episodes = Episodes(source, 1, ticks, window, flat=flat, own_rules=own_rules)
    return ActorEnv(episodes, actor, others, render_mode)


def vector_env(
    scenario: "Source",
    copies: int,
    *,
    actor: str | None = None,
    seed: int | None = None,
    ticks: int = USUAL_TICKS,
    window: int | None = None,
    flat: bool = False,
) -> "CopiesEnv":
    """Return many copies of a scenario as one Gymnasium `VectorEnv`: they are one world of columns, so it is fast.

    Each actor of each copy is an environment of it, copy by copy; or `actor` alone, and the others wait. Copy k is
    exactly as a world of its own with its seed.
    """
    _require("gymnasium")
    from tickmind.adapters.pettingzoo.copies_env import CopiesEnv
    from tickmind.adapters.pettingzoo.episodes import Episodes
    from tickmind.adapters.pettingzoo.sources import ScenarioSource

    source = ScenarioSource.of(scenario, seed)
    return CopiesEnv(Episodes(source, copies, ticks, window, flat=flat), actor)


def _require(*packages: str) -> None:
    """Raise `ConfigError` with the extra to install unless the packages are there."""
    missing = [name for name in ("numpy", "numba", *packages) if importlib.util.find_spec(name) is None]
    if missing:
        extras = ",".join(sorted({_NEEDED[name] for name in missing}))
        raise ConfigError(f"environments for learners need {', '.join(missing)}: pip install 'tickmind[{extras}]'")
