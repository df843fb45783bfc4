"""`tickmind runs` and `tickmind recover`: lists recorded runs, and finishes runs after a crash."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from tickmind.base.files import RUNS_FOLDER, runs_option
from tickmind.cli.runs.change_options import change_text
from tickmind.cli.runs.sealing_progress import SealingProgress
from tickmind.cli.screen import harmless

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tickmind.record import RunReader, RunStore, RunSummary
    from tickmind.record.meta import RunPace, TableMeta

Folder = Annotated[Path, typer.Option("--runs", help="The folder with the runs.")]
RunId = Annotated[str, typer.Argument(help="The run's id; `tickmind runs` lists them.")]
RunAgents = Annotated[Path | None, typer.Option(help="The mapping that the run had, if it is not recorded with it.")]
_HEADINGS = ("run", "state", "world", "ticks", "actors", "size", "began")
_WIDEST_CELL = 60  # in a pipe, where no cell is cut before that
LOG_FOLDER = "live"  # in a run's folder, while the run can be resumed
DropLog = Annotated[
    bool, typer.Option("--drop-log", help="Remove the log of a finished run, which can't be resumed then.")
]


class RunsGroup(TyperGroup):
    """Explains how to see a run, if its id is given in place of a command."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command; an unknown name may be a run."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            named = f"{args[0]}{runs_option(ctx.params.get('folder', RUNS_FOLDER))}"
            ctx.fail(f"there is no command {args[0]!r}; if it is a run, use `tickmind runs show {named}`")
        return super().resolve_command(ctx, args)


runs_app = typer.Typer(
    name="runs",
    cls=RunsGroup,
    help="What was recorded: all runs, or one of them.",
    add_completion=False,
)


def open_store(folder: Path) -> "RunStore":
    """Open the runs in a folder."""
    from tickmind.record import RunStore

    return RunStore(folder)


@runs_app.callback(invoke_without_command=True)
def list_runs(context: typer.Context, folder: Folder = RUNS_FOLDER) -> None:
    """List all runs with their length, actors, size and state."""
    if context.invoked_subcommand is not None:
        return
    runs = open_store(folder).runs()
    if not runs:
        typer.echo(f"There are no runs in {folder}; `tickmind world SCENARIO{runs_option(folder)}` records one.")
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    rows = []
    for depth, run in as_tree(runs):
        name, *cells = _cells(run)
        stem = f"{'  ' * (depth - 1)}└ " if depth else ""
        rows.append((f"{stem}{name}", *cells))
    console = Console()
    shown = list(_HEADINGS)
    for spared in ("began", "size", "actors"):  # what a narrow terminal has no room for
        needed = sum(max(len(row[_HEADINGS.index(one)]) for row in (*rows, _HEADINGS)) + 2 for one in shown)
        if console.is_terminal and needed > console.width:
            shown.remove(spared)
    table = Table(box=None, pad_edge=False)
    for heading in shown:
        right = heading in ("ticks", "actors", "size")
        table.add_column(heading, justify="right" if right else "left", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(harmless(row[_HEADINGS.index(one)])) for one in shown))
    if not console.is_terminal:
        console.width = max(console.width, sum(_WIDEST_CELL for _ in shown))  # a pipe has no edge
    console.print(table)
    for run in runs:
        if run.problem:
            typer.echo(f"{run.run_id}: {harmless(run.problem)}")
    crashed = [run.run_id for run in runs if run.state == "crashed"]
    if crashed:
        typer.echo(f"\n{_what_to_do(crashed[0], folder)}")


def as_tree(runs: "Sequence[RunSummary]") -> "Iterator[tuple[int, RunSummary]]":
    """Yield each run, and behind it the runs that branched off it, with their depth."""
    known = {run.run_id for run in runs}
    branches: dict[str, list[RunSummary]] = {}
    for run in runs:
        branches.setdefault(run.parent if run.parent in known else "", []).append(run)
    waiting = [(0, run) for run in reversed(branches.pop("", []))]
    while waiting or branches:
        if not waiting:  # a circle, as only edited files have: shown as if its first run had no parent
            waiting = [(0, run) for run in reversed(branches.pop(next(iter(branches))))]
        depth, run = waiting.pop()
        yield depth, run
        waiting += [(depth + 1, each) for each in reversed(branches.pop(run.run_id, []))]


def _what_to_do(run_id: str, folder: Path) -> str:
    """Describe how to resume or finish a run."""
    named = f"{run_id}{runs_option(folder)}"
    return (
        f"`tickmind world --resume {named}` resumes the run, "
        f"`tickmind recover {named}` writes its tables and removes its log."
    )


def _cells(run: "RunSummary") -> tuple[str, ...]:
    state = f"{run.state}, recovered" if run.recovered else str(run.state)
    began = run.created_at[:16].replace("T", " ")
    return run.run_id, state, run.world, f"{run.ticks:,}", f"{run.actors:,}", size_text(run.size_bytes), began


def size_text(size_bytes: int) -> str:
    """Format a size."""
    for unit in ("B", "kB", "MB", "GB"):
        if size_bytes < 1000 or unit == "GB":
            break
        size_bytes //= 1000
    return f"{size_bytes:,} {unit}"


@runs_app.command()
def show(run_id: RunId, folder: Folder = RUNS_FOLDER) -> None:
    """Summarise one run."""
    store = open_store(folder)
    summary = store.summary(run_id)
    with store.open(run_id) as run:
        for name, value in _facts(summary, run):
            typer.echo(f"{name} {harmless(value)}")
    if summary.state == "crashed":
        typer.echo(f"\nThe run is not finished. {_what_to_do(run_id, folder)}")


def _facts(summary: "RunSummary", run: "RunReader") -> list[tuple[str, str]]:
    from tickmind.protocol.record import AWAY

    info, meta = run.info, run.meta
    facts = [
        ("run", run.run_id),
        ("state", f"{summary.state}, recovered after a crash" if summary.recovered else str(summary.state)),
        ("world", f"{info.name}, rules {info.world_version}, {info.width} x {info.height} tiles"),
        ("seed", "not recorded" if info.seed is None else str(info.seed)),
        ("pace", _pace_text(meta.pace)),
        ("actors", f"{len(info.actors):,}"),
        ("objects", f"{sum(thing.x != AWAY for thing in info.objects):,}"),
        ("began", meta.created_at),
        ("ticks", "none" if run.first_tick_id is None else f"{run.first_tick_id:,} to {run.last_tick_id:,}"),
        ("size", size_text(summary.size_bytes)),
    ]
    if meta.finished_at:
        facts.insert(8, ("finished", meta.finished_at))
    if meta.parent is not None:
        facts.append(("parent", f"{meta.parent.run_id}, tick {meta.parent.tick_id:,}"))
        facts += [("changed", change_text(change)) for change in meta.parent.changes]
    if meta.stored_at:
        facts.append(("stored at", meta.stored_at))
    facts += [(f"{name}.parquet", _table_text(table)) for name, table in meta.tables.items()]
    width = max(len(name) for name, _ in facts)
    return [(name.ljust(width), value) for name, value in facts]


def _pace_text(pace: "RunPace | None") -> str:
    if pace is None:
        return "not recorded"
    return "lockstep" if pace.lockstep else f"{pace.tps:g} ticks a second"


def _table_text(table: "TableMeta") -> str:
    return f"{table.rows:,} row{'s' if table.rows != 1 else ''}, {size_text(table.size_bytes)}"


@runs_app.command()
def compare(
    first: RunId,
    second: Annotated[str, typer.Argument(help="The id of the other run.")],
    folder: Folder = RUNS_FOLDER,
) -> None:
    """Compare two runs tick by tick and thought by thought.

    Exits with 1 if they differ, and names the first other state, prompt or thought.
    """
    from tickmind.record.report.comparison import compare_runs

    store = open_store(folder)
    with store.open(first) as one, store.open(second) as other:
        outcome = compare_runs(one, other)
    if outcome.equal:
        typer.echo(f"The runs are the same: {outcome.ticks:,} ticks, {outcome.thoughts:,} thoughts.")
        return
    for difference in (outcome.state_difference, outcome.thought_difference):
        if difference:
            typer.echo(harmless(f"{difference[0].upper()}{difference[1:]}."))
    raise typer.Exit(1)


def recover(run_id: RunId, folder: Folder = RUNS_FOLDER, drop_log: DropLog = False) -> None:
    """Finish a run after a crash: write the tables of every whole tick. A finished run is not changed."""
    store = open_store(folder)
    before = store.summary(run_id)
    if before.state == "clean":
        dropped = drop_log and (store.folder(run_id) / LOG_FOLDER).exists()
        store.recover(run_id, drop_log=drop_log)
        more = "its log is gone now, so it can't be resumed" if dropped else "nothing was changed"
        typer.echo(f"Run {run_id} is finished already; {more}.")
        return
    with SealingProgress(run_id) as progress:
        after = store.recover(run_id, progress=progress.show)
    typer.echo(f"Run {run_id} is finished: {after.ticks:,} ticks, {size_text(after.size_bytes)}.")
    with store.open(run_id) as run:
        if after.loss:
            typer.echo(f"It ends with tick {run.last_tick_id or 0:,}, because {after.loss}.")
        elif run.meta.cut_bytes:
            typer.echo(f"{run.meta.cut_bytes:,} bytes at the end were half-written or damaged, and were cut.")
