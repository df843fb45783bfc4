"""`--checkpoint-every` of the commands that start a world, and the pace that a world states."""

import json
from types import SimpleNamespace

import pytest

from tickmind.cli.demo import _Plan
from tickmind.server.checkpoint import EVERY_TICKS
from tickmind.world import TileWorld

WORLD = """
world: small
floors: {grass: {}}
map: {width: 5, height: 5, floor: grass}
actors:
  - {count: 2, type: villager}
"""


@pytest.fixture
def served(monkeypatch):
    """Worlds that `tickmind world` would serve: they make one tick and end."""
    worlds = []

    class OneTick:
        def __init__(self, scenario, config, pace, _ticks, run, *_rest):
            worlds.append(SimpleNamespace(scenario=scenario, config=config, pace=pace, run=run))

        def run(self):
            run = worlds[-1].run
            run.log.publish(TileWorld.from_scenario(run.scenario).step({}))
            run.finish()

    monkeypatch.setattr("tickmind.cli.world.serving.Serving", OneTick)
    return worlds


@pytest.fixture
def begin(tickmind, served, tmp_path):
    """Begin a world with some options; gives what is served and its `meta.json`."""

    def begin(*options):
        (tmp_path / "small.yaml").write_text(WORLD)
        runs = tmp_path / "runs"
        given = (str(tmp_path / "small.yaml"), "--port", "0", "--runs", str(runs), "--run-id", "one", *options)
        done = tickmind("world", *given)
        assert done.exit_code == 0, done.output
        return served[-1], json.loads((runs / "one" / "meta.json").read_text())

    return begin


@pytest.mark.parametrize(("options", "ticks"), [((), EVERY_TICKS), (("--checkpoint-every", "7"), 7)])
def test_a_world_keeps_a_checkpoint_every_so_many_ticks(begin, options, ticks):
    world, _ = begin(*options)
    assert world.config.checkpoint_every_ticks == ticks


def test_a_distance_of_no_tick_is_refused(tickmind):
    assert tickmind("world", "small.yaml", "--checkpoint-every", "0").exit_code == 2


@pytest.mark.parametrize(
    ("options", "pace"),
    [
        (("--tps", "4"), {"lockstep": False, "tps": 4.0}),
        (("--tps", "4", "--speed", "2.5"), {"lockstep": False, "tps": 10.0}),
        (("--lockstep",), {"lockstep": True, "tps": None}),
    ],
)
def test_a_world_states_its_pace_in_its_run(begin, options, pace):
    _, meta = begin(*options)
    assert meta["pace"] == pace
    assert meta["begun_at"] <= meta["ended_at"]


def test_up_passes_it_to_the_world_also_when_that_is_resumed(tickmind, monkeypatch, tmp_path):
    started = []

    class Parts:
        def __init__(self, world, _gateway, *, resume, **_rest):
            started.append((world, resume))

    async def bring_up(*_given):
        """Start nothing."""

    monkeypatch.setattr("tickmind.cli.ensemble.ensemble.Ensemble", Parts)
    monkeypatch.setattr("tickmind.cli.ensemble.ensemble.bring_up", bring_up)
    monkeypatch.chdir(tmp_path)
    ports = ("--port", "0", "--gateway-port", "0", "--viewer-port", "0")
    done = tickmind("up", "arena", *ports, "--checkpoint-every", "9")
    assert done.exit_code == 0, done.output
    ((world, resume),) = started
    for arguments in (world, resume):
        assert arguments[arguments.index("--checkpoint-every") + 1] == "9"


def test_the_demo_passes_it_to_its_world(tmp_path):
    plan = _Plan("one", tmp_path, None, 2.0, None, True, False, True, checkpoint_every=9)
    arguments = plan.world("--resume", "one")
    assert arguments[arguments.index("--checkpoint-every") + 1] == "9"
