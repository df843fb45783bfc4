"""`tickmind demo`: a village that lives, talks and thinks, with one command."""

import os
import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tickmind.base import ConfigError
from tickmind.base.shipped import scenario_file
from tickmind.cli.ensemble.empty_run import discard_empty_run
from tickmind.cli.ensemble.lockstep import Lockstep, lockstep_arguments
from tickmind.cli.ports import WantedPort, check_ports
from tickmind.cli.runner.commands import STATE_DIR, needs_world, state_dir
from tickmind.cli.world.commands import CheckpointEvery
from tickmind.cli.world.scenarios import Seed, new_run_id

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from tickmind.cli.drill.drill import Drill
    from tickmind.cli.runner.status import RunnerStatus
    from tickmind.llm.local.model_choice import ModelChoice
    from tickmind.llm.messages import Message

SCENARIO = "willowbrook"
WHO = "ada"  # whose mind the last line offers to show
TPS = 2.0
WORLD_PORT = 50051
GATEWAY_PORT = 8766
VIEWER_PORT = 8700
EXIT_FAILED = 1


@dataclass(frozen=True, slots=True)
class _Plan:
    """The options of the demo."""

    run_id: str
    runs: Path
    ticks: int | None
    tps: float
    gateway_config: Path | None
    scripted: bool
    browser: bool
    any_ports: bool
    seed: int | None = None
    lockstep: bool = False
    checkpoint_every: int = 60

    def world(self, *begun: str) -> list[str]:
        """Return the arguments of the world, with which it begins or resumes."""
        until = ["--until", str(self.ticks)] if self.ticks is not None else []
        every = ["--checkpoint-every", str(self.checkpoint_every)]
        return [*begun, "--tps", str(self.tps), "--runs", str(self.runs), *every, *until]

    def port(self, usual: int) -> list[str]:
        """Return the argument for a port."""
        return ["--port", "0" if self.any_ports else str(usual)]


def demo(
    ticks: Annotated[int | None, typer.Option(min=1, help="Stop after so many ticks.")] = None,
    tps: Annotated[float, typer.Option(min=0.1, max=50, help="Ticks per second.")] = TPS,
    seed: Seed = None,
    checkpoint_every: CheckpointEvery = 60,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Whether to open the page in a browser.")
    ] = True,
    scripted: Annotated[
        bool, typer.Option("--scripted", help="Use a script instead of a model: it is fast and free.")
    ] = False,
    drill: Annotated[bool, typer.Option("--drill", help="Run an outage drill and judge it; uses no model.")] = False,
    gateway_config: Annotated[
        Path | None, typer.Option(help="A gateway's settings file, to use the models in it.")
    ] = None,
    runs: Annotated[Path, typer.Option(help="The folder in which the run is recorded.")] = Path("runs"),
    lockstep: Lockstep = False,
    ports: Annotated[
        bool, typer.Option("--any-ports", help="Take any free ports instead of 50051, 8766 and 8700.")
    ] = False,
) -> None:
    """Watch a village of twelve: they have needs, memories and conversations, and plans made by a model.

    The model is the one of LLM_BASE_URL, LLM_API_KEY and LLM_MODEL if they are set, else one on this machine
    (which is offered if there is none), else a script. Ctrl-C stops everything, and the run can be replayed.
    """
    needs_world()
    import asyncio

    from tickmind.cli.runner.status import RunnerStatus

    if drill and (ticks is not None or gateway_config is not None or lockstep):
        raise ConfigError(
            "a drill uses a scripted model, real time and ends by itself; leave out --ticks, --gateway-config "
            "and --lockstep"
        )
    if gateway_config is not None:
        from tickmind.cli.check import check_file

        check_file(gateway_config)
    if not ports:
        check_ports(
            [
                WantedPort("world", WORLD_PORT, ""),
                WantedPort("gateway", GATEWAY_PORT, ""),
                WantedPort("viewer", VIEWER_PORT, ""),
            ],
            "let `--any-ports` take free ones",
        )
    if sys.stdin.isatty() and sys.stdout.isatty() and not (scripted or drill or gateway_config):
        from tickmind.cli.model.commands import offer_model
        from tickmind.llm.local.weights import WeightStore

        offer_model(WeightStore(), typer.confirm)
    typer.echo("Starting Willowbrook: first the world, then its page, then twelve villagers.", err=True)
    run_id = new_run_id("drill" if drill else "demo")
    open_page = browser and not drill  # a browser would count as a process that outlives the drill
    plan = _Plan(
        run_id,
        runs,
        ticks,
        tps,
        gateway_config,
        scripted or drill,
        open_page,
        ports,
        seed,
        lockstep,
        checkpoint_every,
    )
    status = RunnerStatus(progress=lockstep, ticks=ticks)
    played = _drill(status) if drill else None
    try:
        asyncio.run(_demo(plan, status, played))
    finally:
        is_kept = not discard_empty_run(runs, run_id)
    if not is_kept:
        typer.echo("No tick has passed, so the run is not kept.")
        return
    where = [] if runs == Path("runs") else ["--runs", str(runs)]
    passed = played is None or _judge(played, plan)
    typer.echo(f"See it again:  {' '.join([_program(), 'replay', run_id, *where])}")
    typer.echo(f"Its story:     {' '.join([_program(), 'story', run_id, *where])}")
    typer.echo(f"What happened: {' '.join([_program(), 'report', run_id, *where])}")
    typer.echo(f"Look inside:   {' '.join([_program(), 'mind', run_id, WHO, *where])}")
    if not passed:
        raise typer.Exit(EXIT_FAILED)


async def _demo(plan: _Plan, status: "RunnerStatus", played: "Drill | None") -> None:
    import webbrowser

    from tickmind.cli.ensemble.ensemble import Ensemble, bring_up
    from tickmind.cli.model.probe import BOOK, is_fit_to_decide
    from tickmind.llm.local.model_choice import choose_model
    from tickmind.llm.local.weights import WeightStore
    from tickmind.runner import MappingFile, write_mapping
    from tickmind.world import load_scenario

    def on_page(url: str) -> None:
        status.say(f"Watch it at {url}")
        if plan.browser and sys.stdout.isatty():
            webbrowser.open(url)

    @asynccontextmanager
    async def models() -> "AsyncIterator[Mapping[str, str]]":
        from tickmind.cli.model.served_model import served_model

        given, steps = plan.gateway_config is not None, None if played is None else played.provider.step
        if awaits:
            status.say(awaits)
        async with served_model(
            os.environ, scripted=plan.scripted, given=given, steps=steps, opening=_opening
        ) as model:
            status.say(model.why)
            yield model.environment(os.environ)

    scenario = scenario_file(SCENARIO)
    folder = state_dir(Path.cwd() / STATE_DIR / SCENARIO, scenario)
    gateway_port = 0 if plan.any_ports else GATEWAY_PORT
    if plan.gateway_config is None:
        gateway = ["--host", "127.0.0.1"]
    else:
        gateway = ["--config", str(plan.gateway_config), "--port", str(gateway_port)]
    begun = [str(scenario), "--run-id", plan.run_id, "--wait-for", "1", *plan.port(WORLD_PORT)]
    begun += ["--seed", str(plan.seed)] if plan.seed is not None else []
    choice = None if plan.scripted or plan.gateway_config is not None else choose_model()
    weights, awaits = "" if choice is None else choice.weights, _awaits(choice)
    mapping = scenario
    if weights:
        decides = is_fit_to_decide(WeightStore().cache / BOOK, weights)
        mapping = folder / "agents.yaml"
        write_mapping(scenario, mapping, {"local_model": True, "decides": decides})
        begun += ["--agents", str(mapping)]
    file = MappingFile(mapping)
    waiting = lockstep_arguments(load_scenario(scenario), file.mapping) if plan.lockstep else []
    ensemble = Ensemble(
        plan.world(*begun, *waiting),
        gateway,
        gateway_port if plan.gateway_config is None else None,
        [*plan.port(VIEWER_PORT), *(["--awaits", awaits] if awaits else [])],
        resume=plan.world("--resume", plan.run_id, *waiting),
        world_addr="" if plan.any_ports else f"127.0.0.1:{WORLD_PORT}",
        models=models,
        on_page=on_page,
        beside=None if played is None else played.run,
    )
    await bring_up(ensemble, file, folder, status)


def _awaits(choice: "ModelChoice | None") -> str:
    """Return what villagers and visitors wait for at first; nothing if a script answers at once."""
    from tickmind.llm.local.model_choice import ModelKind

    if choice is None or choice.kind is ModelKind.SCRIPTED:
        return ""
    what = f"Loading {choice.name}" if choice.weights else f"Waiting for the first answer of {choice.name}"
    return f"{what}; the villagers live by themselves until it answers."


def _opening() -> "tuple[Message, ...]":
    from tickmind.characters.villager import Villager

    return Villager.thinking.opening("line")


def _drill(status: "RunnerStatus") -> "Drill":
    from tickmind.cli.drill.drill import Drill
    from tickmind.cli.drill.provider import FailingProvider

    return Drill(FailingProvider(), status.say)


def _judge(played: "Drill", plan: _Plan) -> bool:
    """Write the report of a drill, and show its verdict."""
    from rich.console import Console

    from tickmind.cli.drill.verdict import judge, show
    from tickmind.cli.runs.report import report
    from tickmind.record import RunStore
    from tickmind.record.report import note_outages

    verdict = judge(played, plan.runs, plan.run_id, tick_s=1 / plan.tps)
    note_outages(RunStore(plan.runs).folder(plan.run_id), verdict.outages())
    report(plan.run_id, plan.runs)
    show(verdict, Console())
    return verdict.passed


def _program() -> str:
    """Return how to call this program from here; in a checkout it is not on the path."""
    import shutil

    called = Path(sys.argv[0])
    if called.name != "tickmind" or shutil.which("tickmind"):
        return "tickmind"
    return str(called.relative_to(Path.cwd())) if called.is_relative_to(Path.cwd()) else str(called)
