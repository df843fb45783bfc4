"""The scenarios that come with tickmind, by name, and the ids and seeds of their runs."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from tickmind.base import ConfigError

Seed = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=2**63 - 1,  # `limits.MAX_SEED`; importing the world would slow every command down
        help="The seed of all chance, of the world and of its minds; the scenario's if left out.",
    ),
]
TILE_ART = "tiles.json"  # in a run's folder: the picture of its Tiled map, for viewers
_NAME_CHARS = 40


def find_scenario(given: Path) -> Path:
    """Return a scenario file: the given one, or one that comes with tickmind if only a name is given."""
    if given.exists():
        return given
    if given.suffix or given.name != str(given):
        if given.stem in _known():
            raise ConfigError(f"there is no file {given}; for the scenario that comes with tickmind write {given.stem}")
        return given
    return scenario_file(given.name)


def scenario_file(name: str) -> Path:
    """Return a scenario that comes with tickmind, from the package or from a checkout."""
    known = _known()
    if name in known:
        return known[name]
    if not known:
        raise ConfigError("this installation lacks its scenarios; reinstall tickmind")
    raise ConfigError(f"there is no scenario {name!r}; there are {', '.join(sorted(known))}, or give a file")


def _known() -> dict[str, Path]:
    package = Path(__file__).parents[2]
    folders = (package.parents[1] / "scenarios", package / "scenarios")  # the later overrides the earlier
    return {file.stem: file for folder in folders for file in folder.glob("*.yaml")}


def new_run_id(name: str) -> str:
    """Return an id for a new run: its scenario and the time."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", name)[:_NAME_CHARS].strip("-_") or "run"
    return f"{plain}-{datetime.now(UTC):%Y%m%d-%H%M%S}"
