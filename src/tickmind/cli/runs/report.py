"""`tickmind report`: a report on a finished run, on the terminal and as a page."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tickmind.base import Limit
from tickmind.base.files import RUNS_FOLDER
from tickmind.cli.runs.commands import Folder, RunId

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from tickmind.record import RunStore
    from tickmind.record.report import OtherRun, PersonFigures, RunFigures
    from tickmind.record.story import RunStory

PAGE = "report.html"
OTHER_REPLAY = "http://127.0.0.1:8701/"  # of the run beside it: `tickmind replay RUN --port 8701`
MAX_STORY_STATES = Limit("actors times ticks of a run whose report tells what happened", 50_000_000)
_TOP = 8  # rows of each table on the terminal
_TALKS = 3  # the longest conversations
_OUTAGES = {"noted": "{}", "model": "the model {} failed call after call", "agent": "{} had no agent"}


def report(
    run: RunId,
    runs: Folder = RUNS_FOLDER,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Where to write the page; report.html beside the run if left out."),
    ] = None,
    beside: Annotated[
        str, typer.Option(metavar="RUN", help="Another run to compare with, as a branch or the same seed again.")
    ] = "",
    replay: Annotated[
        str, typer.Option(metavar="URL", help="Where `tickmind replay RUN` shows the run, for the links of the page.")
    ] = "http://127.0.0.1:8700/",
    page_only: Annotated[bool, typer.Option("--page-only", help="Write the page and print only its path.")] = False,
) -> None:
    """Report on a finished run: a summary here, and one self-contained page that tells what happened.

    The page has the highlights of the run, a part for each character, links into the replay, conversations, goals,
    places, actions, model calls with latency, tokens and cost, and the times in which a model or an agent was missing.
    With `--beside` it shows where another run parts from this one, and how far apart they are.
    """
    from rich.console import Console

    from tickmind.cli.outputs import write_output
    from tickmind.record import RunStore
    from tickmind.record.report import page, read_figures

    store = RunStore(runs)
    for named in filter(None, (run, beside)):
        store.summary(named)  # raises if there is no such run
    folder = store.folder(run)
    console = Console(stderr=True)
    with console.status("Reading the run") as status:
        figures = read_figures(folder, progress=lambda what: status.update(f"Counting {what}"))
        status.update("Reading what happened")
        story = _story(store, run, figures)
        status.update("Comparing the runs")
        other = _other(store, run, beside) if beside else None
    target = out or folder / PAGE
    write_output(target, page(figures, story=story, other=other, replay=replay).encode())
    if not page_only:
        _summary(figures, Console())
    typer.echo(str(target))


def _story(store: "RunStore", run: str, figures: "RunFigures") -> "RunStory | None":
    """Return what happened in a run; none for one so large that reading every tick would take minutes."""
    from tickmind.record.story import read_story

    if not MAX_STORY_STATES.allows(figures.actors * figures.ticks):
        return None
    with store.open(run) as reader:
        return read_story(reader)


def _other(store: "RunStore", run: str, named: str) -> "OtherRun":
    from tickmind.record.report import OtherRun, read_figures
    from tickmind.record.report.divergence import diverge

    figures = read_figures(store.folder(named))
    with store.open(run) as first, store.open(named) as second:
        parted = diverge(first, second)
    return OtherRun(figures, _story(store, named, figures), parted, OTHER_REPLAY)


def _summary(figures: "RunFigures", console: "Console") -> None:
    from rich.table import Table
    from rich.text import Text

    from tickmind.cli.screen import harmless
    from tickmind.record.report import listed_shares, percent, where_and_when

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
    if str(figures.presence):
        console.print(str(figures.presence), highlight=False)
    if figures.people:
        where = {stay.actor_id: stay.shares for stay in figures.stays}
        console.print("Who is who", style="bold")
        for person in figures.people[:_TOP]:
            console.print(text(f"  {_person(figures, person, where.get(person.actor_id, ()))}"))
        if len(figures.people) > _TOP:
            console.print(f"  and {len(figures.people) - _TOP:,} more on the page", highlight=False)
    if figures.zones:
        zones = table("Places", "zone", "visitors", "time", "most time by")
        for zone in figures.zones[:_TOP]:
            regulars = listed_shares((figures.name_of(actor_id), share) for actor_id, share in zone.regulars[:2])
            share = percent(zone.actor_ticks / max(figures.actor_ticks, 1))
            zones.add_row(text(zone.name), f"{zone.visitors:,}", share, text(regulars))
        console.print(zones)
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
    for scored in _goal_tables(figures, table, text):
        console.print(scored)
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
    for talk in figures.conversations[:_TALKS] if figures.has_setting else ():
        who = ", ".join(map(figures.name_of, talk.speakers[:_TOP]))
        console.print(text(f"  {who}: {where_and_when(figures, talk)}"))
    for outage in figures.outages[:_TOP]:
        name = figures.name_of(outage.name) if outage.kind == "agent" else outage.name
        what = f"  {_OUTAGES[outage.kind].format(name)}: ticks {outage.first_tick_id} to {outage.last_tick_id}"
        console.print(text(f"{what}  {outage.detail}".rstrip()))
    if len(figures.outages) > _TOP:
        console.print(f"  and {len(figures.outages) - _TOP:,} more on the page", highlight=False)


def _person(figures: "RunFigures", person: "PersonFigures", shares: "Sequence[tuple[str, float]]") -> str:
    """Return who an actor is, in a line."""
    from tickmind.record.report import listed_shares

    parts = [
        figures.name_of(person.actor_id),
        f"{person.age} years old" if person.age else "",
        f"works in {person.work}" if person.work else "",
        f"lives in {person.home}" if person.home else "",
        f"was in {listed_shares([(zone or 'no zone', share) for zone, share in shares], 3)}" if shares else "",
    ]
    return ", ".join(part for part in parts if part)


def _goal_tables(
    figures: "RunFigures", table: "Callable[..., Table]", text: "Callable[[object], Text]"
) -> "Iterator[Table]":
    """Yield the tables of goals, of rules of the user's own and of scores, if there are any."""
    if figures.goals:
        goals = table("Goals", "goal", "reached in tick", "times", "score")
        for goal in figures.goals[:_TOP]:
            reached = "not reached" if goal.first_tick_id is None else f"{goal.first_tick_id:,}"
            end = ", the end" if goal.ended else ""
            goals.add_row(text(goal.name), f"{reached}{end}", f"{goal.times:,}", f"{goal.points:,}")
        yield goals
    if figures.own_rules:
        rules = table("Rules of your own", "rule", "first in tick", "times", "score")
        for rule in figures.own_rules[:_TOP]:
            end = ", the end" if rule.ended else ""
            rules.add_row(text(rule.name), f"{rule.first_tick_id:,}{end}", f"{rule.times:,}", f"{rule.points:,}")
        yield rules
    if figures.scores:
        scores = table("Scores", "who", "score")
        for score in figures.scores[:_TOP]:
            who = figures.name_of(score.actor_id) if score.actor_id else "the world"
            scores.add_row(text(who), f"{score.points:,}")
        yield scores
