"""`tickmind story`: the chronicle of a recorded run, in plain sentences."""

from typing import TYPE_CHECKING, Annotated

import typer

from tickmind.base.files import RUNS_FOLDER
from tickmind.cli.runs.commands import Folder, RunId

if TYPE_CHECKING:
    from tickmind.record.story import Chronicle

WIDTH = 110  # at most, so that lines are easy to read
PEOPLE = 20  # names of people that are listed


def story(
    run: RunId,
    runs: Folder = RUNS_FOLDER,
    who: Annotated[str, typer.Option("--who", help="Only what concerns one character: its id or its name.")] = "",
    day: Annotated[int, typer.Option("--day", min=0, help="Only one day; 0: all of them.")] = 0,
    most: Annotated[int, typer.Option("--most", min=1, max=1000, help="The number of sentences for each day.")] = 12,
    links: Annotated[
        bool, typer.Option("--links", help="Print the address of each sentence in the replay, not only its tick.")
    ] = False,
    replay: Annotated[
        str, typer.Option("--replay", metavar="URL", help="Where `tickmind replay RUN` shows the run, for addresses.")
    ] = "http://127.0.0.1:8700/",
    prose: Annotated[
        bool, typer.Option("--prose", help="Let a model retell it: LLM_BASE_URL's, or one on this machine.")
    ] = False,
    model: Annotated[str, typer.Option(help="The model for --prose, instead of LLM_MODEL.")] = "",
    base_url: Annotated[
        str, typer.Option(help="The endpoint for --prose, instead of LLM_BASE_URL. Its key is LLM_API_KEY.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="Print Markdown, with links into the replay.")
    ] = False,
) -> None:
    """Tell a recorded run as a chronicle: day by day, who met whom, promised, kept or broke a promise, learnt, built.

    Everything is made by code from the record alone. Repeated things are merged, and the most interesting sentences of
    each day are kept. Each has the tick at which `tickmind replay RUN` shows it. With `--prose` a model retells each
    part of a day; where its words say other things than the record, the sentences by code stay.
    """
    from rich.console import Console

    from tickmind.cli.screen import harmless
    from tickmind.record import RunStore
    from tickmind.record.story import as_json as to_json
    from tickmind.record.story import as_markdown as to_markdown
    from tickmind.record.story import chronicle, read_story

    if as_json and as_markdown:
        raise typer.BadParameter("choose one of --json and --markdown")
    if (model or base_url) and not prose:
        raise typer.BadParameter("--model and --base-url are for --prose")
    with Console(stderr=True).status("Reading the run"), RunStore(runs).open(run) as reader:
        told = chronicle(read_story(reader), per_day=most, who=who, day=day)
    if prose:
        from tickmind.cli.runs.story_prose import retold  # the model layer, which a story by code does without

        told, note = retold(told, model=model, base_url=base_url)
        typer.echo(harmless(note), err=True)
    if as_json:
        typer.echo(to_json(told, replay))
    elif as_markdown:
        typer.echo(to_markdown(told, replay), nl=False)
    else:
        _print(told, replay if links else "")


def _print(told: "Chronicle", replay: str) -> None:
    from rich.console import Console
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    from tickmind.cli.screen import harmless
    from tickmind.record.story import address, listed

    console = Console(highlight=False)
    console.width = min(console.width, WIDTH)

    def text(value: str, style: str = "") -> Text:
        return Text(harmless(value), style=style)

    console.print(text(f"{told.world}, run {told.run_id}", "bold"))
    if told.people:
        console.print(text(listed(told.people, PEOPLE)))
    if not told.days:
        console.print("Nothing happened that could be told.")
    for day in told.days:
        console.print()
        console.print(text(f"Day {day.day}{f': {day.about}' if day.about else ''}", "bold"))
        for part in day.parts:
            console.print(Padding(text(part.title, "italic"), (0, 0, 0, 1), expand=False))
            if part.prose:
                console.print(Padding(text(part.prose), (0, 0, 0, 3), expand=False))
                continue
            lines = Table.grid(padding=(0, 2, 0, 0), expand=True)
            lines.add_column(ratio=1)
            lines.add_column(justify="right", no_wrap=not replay, overflow="fold")
            for one in part.sentences:
                where = address(one, replay) if replay else f"tick {one.tick_id}"
                lines.add_row(text(one.text), text(where, "dim"))
            console.print(Padding(lines, (0, 0, 0, 3)))
    if told.ending:
        console.print()
        console.print(text("In the end", "bold"))
        for sentence in told.ending:
            console.print(Padding(text(sentence), (0, 0, 0, 3), expand=False))
