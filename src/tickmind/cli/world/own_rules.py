"""Rules of the user's own, from entry points of installed packages.

A scenario only names them, so no file that is read can bring code with it: not a scenario of another person, and not
the one in the folder of a run. They are loaded when a world runs, and by no command that reads a run.
"""

from collections.abc import Sequence
from importlib.metadata import EntryPoint, entry_points

from tickmind.base import ConfigError
from tickmind.base.problems import nearest
from tickmind.world import OwnRule

GROUP = "tickmind.rules"


def find_own_rules(names: Sequence[str]) -> dict[str, EntryPoint]:
    """Find the rules that a scenario names, without importing them. Raises `ConfigError` if one is not installed."""
    offered: dict[str, set[EntryPoint]] = {}
    for point in entry_points(group=GROUP) if names else ():
        offered.setdefault(point.name, set()).add(point)
    found: dict[str, EntryPoint] = {}
    for name in names:
        points = offered.get(name, set())
        if not points:
            raise ConfigError(
                f"the scenario names the rule {name!r}, and no installed package has an entry point of this name in "
                f"the group {GROUP}{nearest(name, offered)}; install the package, or take the rule out of `own_rules`"
            )
        if len({point.value for point in points}) > 1:
            values = ", ".join(sorted(point.value for point in points))
            raise ConfigError(f"several installed packages offer the rule {name!r}: {values}; uninstall all but one")
        found[name] = next(iter(points))
    return found


def load_own_rules(names: Sequence[str]) -> dict[str, OwnRule]:
    """Import the rules that a scenario names. Raises `ConfigError` if one can't be used."""
    return {name: _load(name, point) for name, point in find_own_rules(names).items()}


def _load(name: str, point: EntryPoint) -> OwnRule:
    try:
        rule = point.load()
    except Exception as error:
        raise ConfigError(
            f"the rule {name!r} ({point.value}) can't be loaded: {type(error).__name__}: {error}"
        ) from error
    if not callable(rule):
        raise ConfigError(f"the rule {name!r} ({point.value}) is no function, but {type(rule).__name__}")
    loaded: OwnRule = rule
    return loaded
