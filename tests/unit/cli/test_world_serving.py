"""What a person who starts a world reads before the world is there."""

from pathlib import Path

import pytest

from tickmind.cli.world import serving as world_serving
from tickmind.cli.world.run import WorldRuns
from tickmind.cli.world.serving import Serving
from tickmind.record import RunState, RunStore
from tickmind.server import ServerConfig, TickPace
from tickmind.world import TileWorld, load_scenario

CLEARING = Path(__file__).parents[3] / "scenarios" / "clearing.yaml"


@pytest.mark.parametrize("is_compiled", [False, True])
def test_that_the_first_time_takes_a_minute_is_said_the_first_time_only(monkeypatch, capsys, is_compiled):
    monkeypatch.setattr(world_serving, "is_compiled", lambda: is_compiled)
    monkeypatch.setattr(world_serving, "run_on_quick_loop", lambda serving: serving.close())
    Serving(load_scenario(CLEARING), ServerConfig("127.0.0.1:0"), TickPace(), 1).run()
    said = "" if is_compiled else "Starting; the first time this takes a minute.\n"
    assert capsys.readouterr().err == said


SHORT = """
world: short
floors: {grass: {}}
map: {width: 3, height: 3, floor: grass}
actors: [{id: ada, at: [0, 0]}]
goals:
  start: {tick: 1, who: {id: ada}, score: 3}
  over: {tick: 4, ends: true}
"""


def serve(run, folder):
    pace = TickPace.of(1000, 500, tps=1000)
    Serving(run.scenario, ServerConfig("127.0.0.1:0"), pace, None, run, folder).run()


def test_a_goal_ends_the_run_by_itself_and_it_is_not_resumed(tmp_path, capsys):
    runs = WorldRuns(tmp_path)
    serve(runs.begin(SHORT, "short.yaml", "one"), tmp_path)
    said = capsys.readouterr().err
    assert "Goal start reached in tick 1 by ada (score 3).\n" in said
    assert "Goal over reached in tick 4: the run is over.\n" in said
    assert "shows it.\n" in said
    assert "--resume" not in said
    serve(runs.resume("one"), tmp_path)
    said = capsys.readouterr().err
    assert "Run one is not resumed. Goal over reached in tick 4: the run is over.\n" in said
    with RunStore(tmp_path).open("one") as run:
        assert run.last_tick_id == 4
        assert [tick_id for tick_id, _ in run.rule_events()] == [1, 4]


def test_a_run_that_was_killed_before_its_end_was_said_is_finished_when_it_is_resumed(tmp_path, capsys):
    runs = WorldRuns(tmp_path)
    run = runs.begin(SHORT, "short.yaml", "one")
    world = TileWorld.from_scenario(run.scenario)
    for _ in range(4):
        run.log.publish(world.step({}))
    run.pause()
    serve(runs.resume("one"), tmp_path)
    assert "the run is over" in capsys.readouterr().err
    assert RunStore(tmp_path).summary("one").state is RunState.CLEAN
