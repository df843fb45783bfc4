"""What a person who starts a world reads before the world is there."""

from pathlib import Path

import pytest

from tickmind.cli.world import serving as world_serving
from tickmind.cli.world.serving import Serving
from tickmind.server import ServerConfig, TickPace
from tickmind.world import load_scenario

CLEARING = Path(__file__).parents[3] / "scenarios" / "clearing.yaml"


@pytest.mark.parametrize("is_compiled", [False, True])
def test_that_the_first_time_takes_a_minute_is_said_the_first_time_only(monkeypatch, capsys, is_compiled):
    monkeypatch.setattr(world_serving, "is_compiled", lambda: is_compiled)
    monkeypatch.setattr(world_serving, "run_on_quick_loop", lambda serving: serving.close())
    Serving(load_scenario(CLEARING), ServerConfig("127.0.0.1:0"), TickPace(), 1).run()
    said = "" if is_compiled else "Starting; the first time this takes a minute.\n"
    assert capsys.readouterr().err == said
