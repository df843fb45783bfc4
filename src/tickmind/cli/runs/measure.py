"""`tickmind measure`: how minds lived in some runs, from their records alone."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tickmind.base.files import RUNS_FOLDER
from tickmind.cli.runs.commands import Folder

if TYPE_CHECKING:
    from tickmind.record.measures import Measure, MindMaterial


def measure(
    run: Annotated[list[str], typer.Argument(metavar="RUN", help="The ids of runs; `tickmind runs` lists them.")],
    runs: Folder = RUNS_FOLDER,
    fact: Annotated[
        list[str] | None,
        typer.Option("--fact", help="A sentence that some persona knows: who has learnt it? May be given again."),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option("--page", help="Write a page with charts: who learnt what from whom, promises, plans."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the measures of each run and of all as JSON.")] = False,
) -> None:
    """Measure how minds lived: how much they repeat themselves, end their talks, keep promises and plans, and learn.

    Several runs, such as one scenario with several seeds, give means with 95 % intervals. The guide
    "Measures of minds" defines each measure, and says what it does not show.
    """
    import json

    from rich.console import Console

    from tickmind.cli.outputs import write_output
    from tickmind.record import RunStore
    from tickmind.record.measures import SHOWN_RUNS, measure, measures_page, pooled, read_material

    store, console = RunStore(runs), Console(stderr=True)
    figures: dict[str, list[Measure]] = {}
    materials: dict[str, MindMaterial] = {}
    with console.status("Reading") as status:
        for run_id in run:
            status.update(f"Reading {run_id}")
            with store.open(run_id) as reader:
                material = read_material(reader, fact or ())
            figures[run_id] = measure(material, fact or ())
            if page is not None and len(materials) < SHOWN_RUNS:
                materials[run_id] = material
    together = pooled(list(figures.values()))
    if page is not None:
        write_output(page, measures_page(run, materials, together, fact or ()).encode())
        typer.echo(str(page), err=True)
    if as_json:
        each = {run_id: [figure._asdict() for figure in measures] for run_id, measures in figures.items()}
        typer.echo(json.dumps({"runs": each, "together": [figure._asdict() for figure in together]}, indent=1))
        return
    _print(together, len(figures))


def _print(figures: "list[Measure]", runs: int) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from tickmind.cli.screen import harmless

    table = Table(box=None, pad_edge=False)
    for place, heading in enumerate(("measure", "value", "95 %" if runs > 1 else "", "of")):
        table.add_column(heading, justify="left" if place == 0 else "right")
    for figure in figures:
        table.add_row(Text(harmless(figure.name)), figure.shown, figure.shown_spread, f"{figure.of:,}")
    Console().print(table)
