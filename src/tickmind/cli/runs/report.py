"""`tickmind report`: a report on a finished run, on the terminal and as a page."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from tickmind.record.report import RunFigures

PAGE = "report.html"
_TOP = 8  # rows of each table on the terminal
_OUTAGES = {"noted": "{}", "model": "the model {} failed call after call", "agent": "{} had no agent"}


def report(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run's id; `tickmind runs` lists them.")],
    runs: Annotated[Path, typer.Option("--runs", help="The folder of all runs.")] = Path("runs"),
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Where to write the page; report.html beside the run if left out."),
    ] = None,
    page_only: Annotated[bool, typer.Option("--page-only", help="Write the page and print only its path.")] = False,
) -> None:
    """Report on a finished run: a summary here, and one self-contained page with charts.

    The page shows goals and scores, actors over time, actions and failures, where characters were, conversations, model
    calls with latency, tokens and cost, and the times in which a model or an agent was missing.
    """
    from rich.console import Console

    from tickmind.cli.outputs import write_output
    from tickmind.record import RunStore
    from tickmind.record.report import page, read_figures

    store = RunStore(runs)
    store.summary(run)  # raises if there is no such run
    folder = store.folder(run)
    console = Console(stderr=True)
    with console.status("Reading the run") as status:
        figures = read_figures(folder, progress=lambda what: status.update(f"Counting {what}"))
    target = out or folder / PAGE
    write_output(target, page(figures).encode())
    if not page_only:
        _summary(figures, Console())
    typer.echo(str(target))


def _summary(figures: "RunFigures", console: "Console") -> None:
    from rich.table import Table
    from rich.text import Text

    from tickmind.cli.screen import harmless

    def text(value: object) -> Text:
        return Text(harmless(str(value)))

    def table(title: str, *columns: str) -> Table:
        made = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
        for place, name in enumerate(columns):
            made.add_column(name, justify="left" if place == 0 else "right")
        return made

    after = ", recovered after a crash" if figures.recovered else ""
    span = f"ticks {figures.first_tick_id} to {figures.last_tick_id}"
    console.print(
        text(f"{figures.world}, run {figures.run_id}: {span}, {figures.actors:,} actors{after}"), style="bold"
    )
    if figures.actions:
        actions = table("Actions", "action", "tried", "worked")
        for action in figures.actions[:_TOP]:
            actions.add_row(text(action.action), f"{action.tried:,}", f"{action.worked / action.tried:.0%}")
        console.print(actions)
    else:
        console.print("No character did anything.")
    if figures.failures:
        failures = table("Failures", "action and reason", "count")
        for failure in figures.failures[:_TOP]:
            failures.add_row(text(f"{failure.action}: {failure.reason.replace('_', ' ')}"), f"{failure.count:,}")
        console.print(failures)
    if figures.goals:
        goals = table("Goals", "goal", "reached in tick", "times", "score")
        for goal in figures.goals[:_TOP]:
            reached = "not reached" if goal.first_tick_id is None else f"{goal.first_tick_id:,}"
            end = ", the end" if goal.ended else ""
            goals.add_row(text(goal.name), f"{reached}{end}", f"{goal.times:,}", f"{goal.points:,}")
        console.print(goals)
    if figures.scores:
        scores = table("Scores", "who", "score")
        for score in figures.scores[:_TOP]:
            scores.add_row(text(score.actor_id or "the world"), f"{score.points:,}")
        console.print(scores)
    if figures.models:
        models = table("Models", "model", "calls", "failed", "median s", "p95 s", "tokens", "cost $")
        for model in figures.models[:_TOP]:
            tokens = model.prompt_tokens + model.completion_tokens
            models.add_row(
                text(model.model or "-"),
                *(f"{model.calls:,}", f"{model.failed:,}", f"{model.latency_p50_s:.2f}", f"{model.latency_p95_s:.2f}"),
                *(f"{tokens:,}", f"{model.cost_usd:.4f}"),
            )
        console.print(models)
    console.print(
        f"{figures.utterances:,} utterances in {len(figures.conversations):,} conversations; "
        f"{len(figures.outages):,} outages",
        highlight=False,
    )
    for outage in figures.outages[:_TOP]:
        what = f"  {_OUTAGES[outage.kind].format(outage.name)}: ticks {outage.first_tick_id} to {outage.last_tick_id}"
        console.print(text(f"{what}  {outage.detail}".rstrip()))
    if len(figures.outages) > _TOP:
        console.print(f"  and {len(figures.outages) - _TOP:,} more on the page", highlight=False)
