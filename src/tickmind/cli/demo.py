"""`tickmind demo`: a village that lives, talks and thinks, by one command."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tickmind.cli.runner import STATE_DIR, needs_world, state_dir
from tickmind.cli.scenarios import scenario_file

if TYPE_CHECKING:
    from tickmind.runner import MappingFile

SCENARIO = "willowbrook"
TPS = 2.0


def demo(
    ticks: Annotated[int | None, typer.Option(min=1, help="Stop after so many ticks.")] = None,
    tps: Annotated[float, typer.Option(min=0.1, max=50, help="Ticks per second.")] = TPS,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Whether to open the page in a browser.")
    ] = True,
    scripted: Annotated[
        bool, typer.Option("--scripted", help="Ask no model: a script stands in for it, which is quick and free.")
    ] = False,
    gateway_config: Annotated[
        Path | None, typer.Option(help="A gateway's settings file, to use the models in it.")
    ] = None,
    runs: Annotated[Path, typer.Option(help="The folder in which the run is recorded.")] = Path("runs"),
    ports: Annotated[
        bool, typer.Option("--any-ports", help="Take any free ports instead of 50051, 8766 and 8700.")
    ] = False,
) -> None:
    """Watch a village of twelve: they have needs, memories and conversations, and plans that a model makes.

    The model is the one of LLM_BASE_URL, LLM_API_KEY and LLM_MODEL if they are set, else one on this machine
    (`tickmind model install`), else a script. Ctrl-C stops everything, and the run stays to be replayed.
    """
    needs_world()
    import asyncio
    from datetime import UTC, datetime

    from tickmind.runner import MappingFile

    scenario = scenario_file(SCENARIO)
    run_id = f"demo-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    world = [str(scenario), "--tps", str(tps), "--runs", str(runs), "--run-id", run_id, "--wait-for", "1"]
    world += ["--ticks", str(ticks)] if ticks is not None else []
    folder = state_dir(Path.cwd() / STATE_DIR / SCENARIO, scenario)
    free = ["--port", "0"] if ports else []
    asyncio.run(
        _demo(MappingFile(scenario), folder, [*world, *free], free, gateway_config, scripted=scripted, browser=browser)
    )
    where = [] if runs == Path("runs") else ["--runs", str(runs)]
    typer.echo(f"See it again:  {' '.join([_program(), 'replay', run_id, *where])}")
    typer.echo(f"What happened: {' '.join([_program(), 'report', run_id, *where])}")


async def _demo(
    file: "MappingFile",
    folder: Path,
    world: list[str],
    free: list[str],
    gateway_config: Path | None,
    *,
    scripted: bool,
    browser: bool,
) -> None:
    import webbrowser

    from tickmind.cli.ensemble import Ensemble, bring_up
    from tickmind.cli.runner_status import RunnerStatus
    from tickmind.cli.served_model import served_model

    status = RunnerStatus()

    def on_page(url: str) -> None:
        status.say(f"Watch it at {url}")
        if browser and sys.stdout.isatty():
            webbrowser.open(url)

    settings = ["--config", str(gateway_config)] if gateway_config is not None else []
    async with served_model(os.environ, scripted=scripted, given=gateway_config is not None) as model:
        status.say(model.why)
        ensemble = Ensemble(
            world,
            [*settings, *(free or ["--port", "8766"])],
            free or ["--port", "8700"],
            gateway_env=model.environment(os.environ),
            on_page=on_page,
        )
        await bring_up(ensemble, file, folder, status)


def _program() -> str:
    """How to call this program from here; in a checkout it is not on the path."""
    import shutil

    called = Path(sys.argv[0])
    if called.name != "tickmind" or shutil.which("tickmind"):
        return "tickmind"
    return str(called.relative_to(Path.cwd())) if called.is_relative_to(Path.cwd()) else str(called)
