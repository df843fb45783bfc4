"""`tickmind up`: a world, the models' gateway and all agents together, with nothing left of them afterwards."""

from pathlib import Path
from typing import Annotated

import typer

from tickmind.base import ConfigError
from tickmind.base.shipped import find_scenario
from tickmind.cli.ensemble.empty_run import discard_empty_run
from tickmind.cli.ensemble.lockstep import Lockstep, Replies, played_replies
from tickmind.cli.ports import WantedPort, check_ports
from tickmind.cli.runner.commands import STATE_DIR, StateDir, needs_world, state_dir
from tickmind.cli.world.commands import CheckpointEvery
from tickmind.cli.world.scenarios import Seed


def up(
    scenario: Annotated[Path, typer.Argument(help="The scenario: a file, or a name such as arena, escape, island.")],
    agents: Annotated[
        Path | None, typer.Option(help="The mapping; the scenario's own agents and assignments if left out.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The world's port; 0 takes any free port.")] = 50051,
    gateway: Annotated[
        bool, typer.Option("--gateway/--no-gateway", help="Whether to start a gateway for the agents' models.")
    ] = True,
    gateway_config: Annotated[
        Path | None, typer.Option(help="The gateway's settings; the environment is used if left out.")
    ] = None,
    gateway_port: Annotated[int, typer.Option(min=0, max=65535, help="The gateway's port; 0 takes any.")] = 8766,
    viewer: Annotated[
        bool, typer.Option("--viewer/--no-viewer", help="Whether to serve a page that shows the world.")
    ] = True,
    viewer_port: Annotated[int, typer.Option(min=0, max=65535, help="The page's port; 0 takes any.")] = 8700,
    any_ports: Annotated[bool, typer.Option("--any-ports", help="Take any free ports instead of those above.")] = False,
    runs: Annotated[Path, typer.Option(help="The folder in which the run is recorded.")] = Path("runs"),
    tps: Annotated[float | None, typer.Option(help="Ticks per second; the scenario's if left out.")] = None,
    ticks: Annotated[int | None, typer.Option(min=1, help="Stop after so many ticks.")] = None,
    seed: Seed = None,
    lockstep: Lockstep = False,
    replies: Replies = None,
    checkpoint_every: CheckpointEvery = 60,
    state: StateDir = None,
    reload: Annotated[
        bool,
        typer.Option(
            "--reload",
            help="Begin a new run whenever the scenario, or a file that it names, is saved; where only agents have "
            "changed, the run goes on with them.",
        ),
    ] = False,
) -> None:
    """Start a world with all its characters and their models; a world that is killed is resumed. Ctrl-C stops all."""
    needs_world()
    import asyncio

    from tickmind.cli.check import check_file
    from tickmind.cli.ensemble.ensemble import Ensemble, bring_up
    from tickmind.cli.ensemble.run_plan import RunPlanner
    from tickmind.cli.ensemble.scenario_watch import ScenarioWatch
    from tickmind.cli.runner.status import RunnerStatus

    if reload and replies is not None:
        raise ConfigError("a file of replies is for one run, and --reload begins new ones; leave out one of the two")
    file_given = find_scenario(scenario)
    if file_given != scenario and state is None:
        state = Path.cwd() / STATE_DIR / scenario  # not in the folder of installed files
    scenario = file_given
    mapping = agents or scenario
    always = ["--runs", str(runs), "--checkpoint-every", str(checkpoint_every)]
    always += ["--tps", str(tps)] if tps is not None else []
    always += ["--until", str(ticks)] if ticks is not None else []
    planner = RunPlanner(scenario, mapping, always, seed=seed, lockstep=lockstep, replies=replies)
    first = planner.plan()  # raises before anything starts, like the next lines
    kept = first.replies
    gateway = gateway and (kept is None or kept.fills)  # where replies are only played, no model is asked
    if gateway_config is not None:
        check_file(gateway_config)
    port, gateway_port, viewer_port = (0, 0, 0) if any_ports else (port, gateway_port, viewer_port)
    wanted = [WantedPort("world", port, "--port")]
    wanted += [WantedPort("gateway", gateway_port, "--gateway-port")] if gateway else []
    wanted += [WantedPort("viewer", viewer_port, "--viewer-port")] if viewer else []
    check_ports(
        wanted,
        "choose another with the option named here; 0 takes any free port, `--any-ports` takes free ones for all",
    )
    models = ["--port", str(gateway_port)] if gateway else []
    models += ["--config", str(gateway_config)] if models and gateway_config is not None else []
    status = RunnerStatus(progress=lockstep, ticks=ticks)
    if kept is not None and not lockstep:
        status.say("In real time a run does not ask the same questions twice; add --lockstep to play its replies.")
    ensemble = Ensemble(
        [*first.world, "--port", str(port)],
        models,
        viewer=["--port", str(viewer_port), "--runs", str(runs)] if viewer else [],
        viewer_port=viewer_port,
        resume=first.resume,
        on_page=lambda url: status.say(f"Watch it at {url}"),
        next_run=ScenarioWatch(scenario, planner.plan, first, status.say).next_run if reload else None,
        follow_mapping=not reload or agents is not None,
    )
    try:
        asyncio.run(bring_up(ensemble, first.file, state_dir(state, mapping), status))
    finally:
        is_empty = [discard_empty_run(runs, run_id) for run_id in planner.run_ids][-1]
        if is_empty:
            status.say("No tick has passed, so the run is not kept.")
    if kept is not None and not kept.fills and not is_empty:
        outcome = played_replies(runs, first.run_id, kept)
        status.say(outcome.text())
        if outcome.unplayed:
            raise typer.Exit(1)
