"""`tickmind up`: a world, the models' gateway and all agents together, with nothing left of them afterwards."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tickmind.cli.ensemble.empty_run import discard_empty_run
from tickmind.cli.ensemble.lockstep import Lockstep, Replies, kept_replies, lockstep_arguments, played_replies
from tickmind.cli.ports import WantedPort, check_ports
from tickmind.cli.runner.commands import STATE_DIR, StateDir, needs_world, state_dir
from tickmind.cli.world.commands import CheckpointEvery
from tickmind.cli.world.scenarios import TILE_ART, Seed, find_scenario, new_run_id

if TYPE_CHECKING:
    from tickmind.world import Scenario


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
    runs: Annotated[Path, typer.Option(help="The folder in which the run is recorded.")] = Path("runs"),
    tps: Annotated[float | None, typer.Option(help="Ticks per second; the scenario's if left out.")] = None,
    ticks: Annotated[int | None, typer.Option(min=1, help="Stop after so many ticks.")] = None,
    seed: Seed = None,
    lockstep: Lockstep = False,
    replies: Replies = None,
    checkpoint_every: CheckpointEvery = 60,
    state: StateDir = None,
) -> None:
    """Start a world with all its characters and their models; a world that is killed is resumed. Ctrl-C stops all."""
    needs_world()
    import asyncio
    import os

    from tickmind.cli.check import check_file
    from tickmind.cli.ensemble.ensemble import Ensemble, bring_up
    from tickmind.cli.runner.status import RunnerStatus
    from tickmind.runner import MappingFile, check_start

    file_given = find_scenario(scenario)
    if file_given != scenario and state is None:
        state = Path.cwd() / STATE_DIR / scenario  # not in the folder of installed files
    scenario = file_given
    mapping = agents or scenario
    loaded = _load(scenario, seed)  # raises before anything starts, like the next lines
    check_start(mapping, os.environ)
    kept = kept_replies(replies)
    gateway = gateway and (kept is None or kept.fills)  # where replies are only played, no model is asked
    if gateway_config is not None:
        check_file(gateway_config)
    wanted = [WantedPort("world", port, "--port")]
    wanted += [WantedPort("gateway", gateway_port, "--gateway-port")] if gateway else []
    wanted += [WantedPort("viewer", viewer_port, "--viewer-port")] if viewer else []
    check_ports(wanted, "choose another with the option named here; 0 takes any free port")
    file = MappingFile(mapping, replies=kept)
    run_id = new_run_id(scenario.stem)
    always = ["--runs", str(runs), "--checkpoint-every", str(checkpoint_every)]
    always += ["--tps", str(tps)] if tps is not None else []
    always += ["--until", str(ticks)] if ticks is not None else []
    always += lockstep_arguments(loaded, file.mapping) if lockstep else []
    begun = ["--seed", str(seed)] if seed is not None else []
    begun += ["--agents", str(mapping.resolve())]
    models = ["--port", str(gateway_port)] if gateway else []
    models += ["--config", str(gateway_config)] if models and gateway_config is not None else []
    status = RunnerStatus(progress=lockstep, ticks=ticks)
    if kept is not None and not lockstep:
        status.say("In real time a run does not ask the same questions twice; add --lockstep to play its replies.")
    ensemble = Ensemble(
        [str(scenario), "--run-id", run_id, "--port", str(port), "--wait-for", "1", *begun, *always],
        models,
        viewer=["--port", str(viewer_port), "--tiles", str(runs / run_id / TILE_ART)] if viewer else [],
        resume=["--resume", run_id, *always],
        on_page=lambda url: status.say(f"Watch it at {url}"),
    )
    try:
        asyncio.run(bring_up(ensemble, file, state_dir(state, mapping), status))
    finally:
        is_empty = discard_empty_run(runs, run_id)
        if is_empty:
            status.say("No tick has passed, so the run is not kept.")
    if kept is not None and not kept.fills and not is_empty:
        outcome = played_replies(runs, run_id, kept)
        status.say(outcome.text())
        if outcome.unplayed:
            raise typer.Exit(1)


def _load(file: Path, seed: int | None) -> "Scenario":
    """Read a scenario, and check that its rules of the user's own are installed."""
    from tickmind.cli.world.own_rules import find_own_rules
    from tickmind.world import load_scenario

    scenario = load_scenario(file, seed=seed)
    find_own_rules(scenario.own_rules)
    return scenario
