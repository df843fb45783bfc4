"""`tickmind world`: serves and records a world of tiles, with a live status."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tickmind.base import ConfigError
from tickmind.base.shipped import find_scenario
from tickmind.cli.exposure import ClientCa, Host, Port, Tls
from tickmind.cli.world.scenarios import Seed

if TYPE_CHECKING:
    from tickmind.cli.world.run import WorldRun
    from tickmind.world import Scenario

CheckpointEvery = Annotated[
    int, typer.Option(min=1, metavar="TICKS", help="Keep a checkpoint of the world every so many ticks.")
]


@contextmanager
def _without_collector() -> Iterator[None]:
    """Disable garbage collection while the program starts, which is slow and finds little; the server enables it."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@_without_collector()
def world(
    scenario: Annotated[
        Path | None, typer.Argument(help="The scenario: a file, or a name such as arena or island.", show_default=False)
    ] = None,
    host: Host = "127.0.0.1",
    port: Port = 50051,
    socket: Annotated[Path | None, typer.Option(help="Listen on this Unix socket instead of a port.")] = None,
    tps: Annotated[float | None, typer.Option(help="Ticks per second; the scenario's if left out.")] = None,
    speed: Annotated[float, typer.Option(help="How many times faster than real time.")] = 1.0,
    seed: Seed = None,
    lockstep: Annotated[bool, typer.Option("--lockstep", help="Wait for all controllers, not for the clock.")] = False,
    controllers: Annotated[int, typer.Option(min=1, help="In lockstep: wait for at least so many.")] = 1,
    wait_for: Annotated[
        int, typer.Option(min=0, help="Start when so many characters are controlled, or after a minute.")
    ] = 0,
    ticks: Annotated[int | None, typer.Option(min=1, help="Stop after so many ticks.")] = None,
    until: Annotated[int | None, typer.Option(min=1, help="Stop after this tick, also in a resumed run.")] = None,
    runs: Annotated[Path, typer.Option(help="The folder in which runs are recorded.")] = Path("runs"),
    run_id: Annotated[str | None, typer.Option(help="The name of the new run; generated if left out.")] = None,
    resume: Annotated[
        str | None, typer.Option(metavar="RUN", help="Resume this run after its last tick, with its own scenario.")
    ] = None,
    agents: Annotated[
        Path | None,
        typer.Option(
            help="Keep this mapping of agents beside the run, for `tickmind mind`. In lockstep, wait for those that "
            "have an agent in it and are in the world, not for --controllers."
        ),
    ] = None,
    sync: Annotated[
        str, typer.Option(help="When a tick must be on disk: every-tick, never, or at least every so many ms.")
    ] = "every-tick",
    checkpoint_every: CheckpointEvery = 60,
    no_record: Annotated[bool, typer.Option("--no-record", help="Record nothing.")] = False,
    metrics_port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Serve /metrics for Prometheus on this port of this machine.")
    ] = None,
    reflection: Annotated[
        bool | None,
        typer.Option(
            "--reflection/--no-reflection",
            help="Let tools ask for the gRPC services; by default only where the world is not beyond this machine.",
            show_default=False,
        ),
    ] = None,
    tls: Tls = None,
    client_ca: ClientCa = None,
    token_file: Annotated[
        Path | None, typer.Option(help="A file with the tokens of agents, one per line; it may change meanwhile.")
    ] = None,
    viewer_token_file: Annotated[
        Path | None, typer.Option(help="A file with the tokens of those that may look and not control.")
    ] = None,
    operator_token_file: Annotated[
        Path | None,
        typer.Option(help="A file with the tokens of operators, one per line: for `tickmind world spawn` and despawn."),
    ] = None,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON schema of a scenario, for editors, and exit.")
    ] = False,
) -> None:
    """Serve a world: ticks, leases, observations and intents. Ctrl-C stops it.

    While it runs, `tickmind world spawn` and `tickmind world despawn` bring actors into it and take them out.
    """
    if schema:
        typer.echo(_schema_text())
        return
    _check_arguments(scenario, run_id, resume, seed, no_record=no_record)
    scenario = find_scenario(scenario) if scenario is not None else None
    from tickmind.base.access.token_file import TokenFile
    from tickmind.cli.world.serving import Serving
    from tickmind.server import ServerConfig, ServerTls, TickPace

    if tls is None and client_ca is not None:
        raise ConfigError("--client-ca is for certificates of clients, which only TLS has; give --tls too")
    config = ServerConfig(
        address=f"unix:{socket}" if socket is not None else f"[{host}]:{port}" if ":" in host else f"{host}:{port}",
        tls=ServerTls.load(tls, client_ca) if tls is not None else None,
        tokens=TokenFile(token_file) if token_file is not None else (),
        operator_tokens=TokenFile(operator_token_file) if operator_token_file is not None else (),
        viewer_tokens=TokenFile(viewer_token_file) if viewer_token_file is not None else (),
        reflection=reflection,
        metrics_port=metrics_port,
        checkpoint_every_ticks=checkpoint_every,
        keep_garbage=True,
    )
    config.check()
    tick_ms = None if tps is None else TickPace.of(1000, 500, tps=tps).tick_ms

    def pace_of(loaded: "Scenario") -> TickPace:
        rules = loaded.rules
        pace = TickPace.of(
            rules.tick_duration_ms,
            rules.intent_deadline_ms,
            tps=tps,
            speed=speed,
            lockstep=lockstep,
            controllers=controllers,
        )
        return replace(pace, awaited=_with_agents(loaded, agents)) if lockstep and agents is not None else pace

    if no_record:
        from tickmind.world import load_scenario

        assert scenario is not None, "the arguments were checked"
        read = load_scenario(scenario, seed=seed).with_ticks_of(tick_ms)
        Serving(read, config, pace_of(read), _fewer(ticks, until), wait_for=wait_for).run()
        return
    run = _open_run(scenario, runs, run_id, resume, sync, tick_ms, seed, agents)
    try:
        _check_pace(run, tick_ms)
        left = None if until is None else max(0, until - (run.log.last_tick_id or 0))
        pace = pace_of(run.scenario)
        run.state_pace(lockstep=pace.lockstep, tps=1 / pace.tick_s)
        Serving(run.scenario, config, pace, _fewer(ticks, left), run, runs, wait_for).run()
    finally:
        run.abandon()  # if it is not finished yet


def _with_agents(scenario: "Scenario", agents: Path) -> frozenset[str]:
    """Return the characters that have an agent in a mapping."""
    from tickmind.cli.world.agents import characters_with_agents
    from tickmind.runner import load_mapping

    return characters_with_agents(scenario, load_mapping(agents))


def _fewer(*limits: int | None) -> int | None:
    return min((limit for limit in limits if limit is not None), default=None)


def _check_arguments(
    scenario: Path | None, run_id: str | None, resume: str | None, seed: int | None, *, no_record: bool
) -> None:
    if (scenario is None) == (resume is None):
        raise ConfigError("name either a scenario to start, or a run to resume (--resume RUN)")
    if resume is not None and (no_record or run_id is not None):
        raise ConfigError("a resumed run is recorded under its own name; leave out --no-record and --run-id")
    if resume is not None and seed is not None:
        raise ConfigError("a resumed run keeps its seed; leave out --seed")


def _check_pace(run: "WorldRun", tick_ms: int | None) -> None:
    """Raise if a resumed run is to have ticks of another length, because its record states one length for all."""
    of_run_ms = run.scenario.rules.tick_duration_ms
    if tick_ms not in (None, of_run_ms):
        raise ConfigError(
            f"run {run.run_id} has {1000 / of_run_ms:.6g} ticks per second, and its record says so; leave out --tps, "
            "or change its speed with --speed"
        )


def _open_run(
    scenario: Path | None,
    runs: Path,
    run_id: str | None,
    resume: str | None,
    sync: str,
    tick_ms: int | None,
    seed: int | None,
    agents: Path | None,
) -> "WorldRun":
    from tickmind.world.scenario.scenario_reader import scenario_text

    try:
        from tickmind.cli.world.run import DEFAULT_OPTIONS, WorldRuns
        from tickmind.record import SyncPolicy
        from tickmind.record.replay.run_files import KEPT_FROM
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"recording needs {error.name}, which is not installed; install tickmind[record], or record nothing "
            "with --no-record"
        ) from error
    store = WorldRuns(runs, options=replace(DEFAULT_OPTIONS, sync=SyncPolicy.parse(sync)))
    if resume is not None:
        return store.resume(resume)
    assert scenario is not None, "the arguments were checked"
    kept = f"{KEPT_FROM}{agents.resolve()}\n{scenario_text(agents)}" if agents is not None else None
    text, folder = scenario_text(scenario), scenario.parent
    return store.begin(text, str(scenario), run_id, tick_ms=tick_ms, seed=seed, agents=kept, folder=folder)


def _schema_text() -> str:
    """Return the schema of a scenario with a mapping in it."""
    import json

    from tickmind.runner import mapping_schema_text
    from tickmind.world.scenario.json_schema import scenario_schema
    from tickmind.world.scenario.scenario_reader import OTHER_SECTIONS

    mapping = json.loads(mapping_schema_text())
    schema = scenario_schema({name: mapping["properties"][name] for name in OTHER_SECTIONS})
    return json.dumps({**schema, "$defs": mapping["$defs"]}, indent=2)
