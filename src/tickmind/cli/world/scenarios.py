"""The ids and seeds of runs, and what lies beside them."""

import re
from collections.abc import Collection
from datetime import UTC, datetime
from itertools import chain, count
from typing import Annotated

import typer

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


def new_run_id(name: str, taken: Collection[str] = ()) -> str:
    """Return an id for a new run: its scenario and the time, and a number if that is taken."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", name)[:_NAME_CHARS].strip("-_") or "run"
    run_id = f"{plain}-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    numbered = (f"{run_id}-{number}" for number in count(2))
    return next(candidate for candidate in chain((run_id,), numbered) if candidate not in taken)
