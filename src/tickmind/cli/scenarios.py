"""The scenarios that come with tickmind, by name, and names for what is made of them."""

import re
from datetime import UTC, datetime
from pathlib import Path

from tickmind.base import ConfigError

_NAME_CHARS = 40


def find_scenario(given: Path) -> Path:
    """A scenario file: the one that is given, or one that comes with tickmind if only a name is."""
    if given.exists() or given.suffix or given.name != str(given):
        return given
    return scenario_file(given.name)


def scenario_file(name: str) -> Path:
    """A scenario that comes with tickmind, from the package or from a checkout."""
    package = Path(__file__).parents[1]
    known: set[str] = set()
    for folder in (package / "scenarios", package.parents[1] / "scenarios"):
        if (folder / f"{name}.yaml").is_file():
            return folder / f"{name}.yaml"
        known.update(file.stem for file in folder.glob("*.yaml"))
    if not known:
        raise ConfigError("the scenarios are not where this installation should have them; install tickmind again")
    raise ConfigError(f"there is no scenario {name!r}; there are {', '.join(sorted(known))}, or give a file")


def new_run_id(name: str) -> str:
    """A name for a run that begins now: what it is of, and when."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", name)[:_NAME_CHARS].strip("-_") or "run"
    return f"{plain}-{datetime.now(UTC):%Y%m%d-%H%M%S}"
