"""`tickmind experiment`: one scenario under several conditions, and whether they differ."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tickmind.base import ConfigError
from tickmind.base.shipped import find_scenario
from tickmind.cli.lab.executors import ExecutorKind, open_executor

if TYPE_CHECKING:
    from tickmind.lab.experiments.experiment import Experiment
    from tickmind.lab.experiments.experiment_run import ExperimentResult, ExperimentRun
    from tickmind.lab.experiments.results.analysis import ExperimentAnalysis

EXIT_UNFINISHED = 1
RESULTS = Path("experiments")
PAGE, FIGURES, FILE = "experiment.html", "experiment.json", "experiment.yaml"


def experiment(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The experiment: its scenario, factors and measures.")],
    out: Annotated[
        Path | None, typer.Option(help="The folder of the results; experiments/NAME if left out.", show_default=False)
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=0, max=256, help="How many trials run at once; 0 is one for each processor.")
    ] = None,
    on: Annotated[ExecutorKind, typer.Option(help="Where the trials run.")] = ExecutorKind.PROCESSES,
    keep: Annotated[
        str | None, typer.Option(help="What is left of each trial: none (its rows in the tables), measures, or runs.")
    ] = None,
    seeds: Annotated[int | None, typer.Option(min=1, max=10_000, help="Run only the first seeds, as a pilot.")] = None,
    ticks: Annotated[int | None, typer.Option(min=1, help="Run shorter or longer trials than the file says.")] = None,
    power: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MEASURE=DIFFERENCE",
            help="How many seeds find such a difference of a measure, by the trials that are there. Repeatable.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print all figures as JSON.")] = False,
) -> None:
    """Run the trials of an experiment that are missing, and say whether its conditions differ.

    Ctrl-C, or a kill, loses the trials under way and no other: the same command goes on. The results are a page, two
    Parquet tables, and all figures as JSON.
    """
    from tickmind.lab.experiments.experiment import Keep
    from tickmind.lab.experiments.experiment_file import read_experiment
    from tickmind.lab.experiments.results.analysis import analyse
    from tickmind.lab.experiments.results.methods import needed_seeds, power_line

    wanted = _effects(power or [])
    read = _with_options(read_experiment(file, find_scenario), workers, keep, seeds, ticks)
    folder = out or RESULTS / read.name
    run, result = _run(read, folder, on)
    analysis = analyse(result)
    paths = _write(analysis, folder)
    if read.keep is Keep.NONE and result.is_whole:
        run.forget_trials()
    if as_json:
        typer.echo(paths[FIGURES].read_text(encoding="utf-8"))
    else:
        _print(analysis)
    for name, condition, effect, count in needed_seeds(analysis, wanted):
        typer.echo(power_line(name, condition, effect, count, analysis.tests), err=as_json)
    typer.echo(f"The results are in {folder}: {PAGE} shows them.", err=True)
    if not result.is_whole or analysis.errors:
        raise typer.Exit(EXIT_UNFINISHED)


def _effects(given: list[str]) -> dict[str, float]:
    found = {}
    for text in given:
        name, _, effect = text.rpartition("=")
        try:
            found[name] = float(effect)
        except ValueError:
            name = ""
        if not name:
            raise ConfigError(f"--power takes a measure and a difference, such as knows=0.1, not {text[:60]!r}")
    return found


def _with_options(
    read: "Experiment", workers: int | None, keep: str | None, seeds: int | None, ticks: int | None
) -> "Experiment":
    from dataclasses import replace

    from tickmind.lab.experiments.experiment import Keep

    if keep is not None and keep not in list(Keep):
        raise ConfigError(f"--keep takes {', '.join(Keep)}, not {keep[:40]!r}")
    return replace(
        read,
        workers=read.workers if workers is None else workers,
        keep=read.keep if keep is None else Keep(keep),
        seeds=read.seeds[:seeds],
        ticks=ticks or read.ticks,
    )


def _run(read: "Experiment", folder: Path, on: ExecutorKind) -> "tuple[ExperimentRun, ExperimentResult]":
    from contextlib import closing

    from tickmind.cli.lab.experiment_status import ExperimentStatus
    from tickmind.cli.world.own_rules import load_own_rules
    from tickmind.lab.experiments.experiment_run import ExperimentRun, check_result

    with closing(open_executor(on, read.workers, read.trials)) as executor:
        status = ExperimentStatus(read, executor.workers)
        run = ExperimentRun(read, folder, executor, status, load_rules=load_own_rules)
        result = run.run()
    check_result(result)
    if result.is_over_budget:
        status.say("The experiment stopped for its budget. Change it in the file, and the same command goes on.")
    return run, result


def _write(analysis: "ExperimentAnalysis", folder: Path) -> dict[str, Path]:
    """Write the page, the tables and the figures; return the paths of what is no table."""
    from tickmind.cli.outputs import write_output
    from tickmind.lab.experiments.results.methods import analysis_json
    from tickmind.lab.experiments.results.page import experiment_page
    from tickmind.lab.experiments.results.tables import write_tables

    write_tables(analysis.result, folder)
    contents = {
        PAGE: experiment_page(analysis),
        FIGURES: analysis_json(analysis),
        FILE: analysis.result.experiment.text,
    }
    for name, content in contents.items():
        write_output(folder / name, content.encode())
    return {name: folder / name for name in contents}


def _print(analysis: "ExperimentAnalysis") -> None:
    from rich.console import Console
    from rich.table import Table

    from tickmind.lab.experiments.results.page import contrast_row, summary_row

    console = Console()
    for measure in analysis.measures:
        table = Table(box=None, pad_edge=False, title=measure.name, title_justify="left")
        for place, heading in enumerate(("condition", "seeds", "mean", "95 %", "deviation")):
            table.add_column(heading, justify="right" if place else "left")
        for summary in measure.summaries:
            table.add_row(*summary_row(summary))
        console.print(table)
        if measure.contrasts:
            table = Table(box=None, pad_edge=False)
            names = (f"less {measure.contrasts[0].baseline}", "difference", "95 %", "d of pairs", "p (Holm)")
            for place, heading in enumerate(names):
                table.add_column(heading, justify="right" if place else "left")
            for contrast in measure.contrasts:
                name, _, difference, interval, _, paired_d, _, _, p = contrast_row(contrast)
                table.add_row(name, difference, interval, paired_d, p)
            console.print(table)
        console.print()
