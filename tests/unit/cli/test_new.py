"""`tickmind new` writes what runs."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tickmind.agent import CharacterHost, Start
from tickmind.agent.guarded_host import GuardedHost
from tickmind.agent.reliving import PastTurn, play_turn
from tickmind.characters.crafter import Crafter
from tickmind.cli.app import app
from tickmind.protocol import RunInfo
from tickmind.runner.mapping import load_mapping
from tickmind.world import TileWorld, load_scenario

ROOT = Path(__file__).parents[3]


def run(*arguments):
    return CliRunner().invoke(app, ["new", *map(str, arguments)])


def test_a_new_agent_is_written_with_its_test(tmp_path):
    done = run("agent", "gatherer", "--folder", tmp_path / "mine")
    assert done.exit_code == 0, done.output
    assert sorted(file.name for file in (tmp_path / "mine").iterdir()) == ["gatherer.py", "test_gatherer.py"]
    assert "ENTITY_ID=entity:1 python" in done.output


@pytest.mark.parametrize("name", ["Gatherer", "berry picker", "class", "../x", "", "1st", "größe"])
def test_a_name_that_is_none_is_refused(tmp_path, name):
    done = run("agent", name, "--folder", tmp_path)
    assert done.exit_code == 1
    assert "is no valid file name" in done.output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["pytest", "conftest", "tickmind", "numpy", "structlog", "json"])
def test_a_name_that_would_hide_a_module_is_refused(tmp_path, name):
    """Or the agent's own test, or the agent, imports the agent in the place of what it needs."""
    done = run("agent", name, "--folder", tmp_path)
    assert done.exit_code == 1
    assert f"{name}.py would shadow" in done.output
    assert f"such as my_{name}" in done.output
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten(tmp_path):
    (tmp_path / "test_gatherer.py").write_text("mine")
    done = run("agent", "gatherer", "--folder", tmp_path)
    assert done.exit_code == 1
    assert "exists already" in done.output
    assert [file.read_text() for file in tmp_path.iterdir()] == ["mine"]


def without(plugin):
    return "-p", f"no:{plugin}"


@pytest.mark.slow
def test_the_test_that_is_written_passes_and_the_code_is_clean(tmp_path):
    assert run("agent", "berry_picker", "--folder", tmp_path).exit_code == 0
    env = {"PYTHONPATH": str(ROOT / "src"), "PATH": ""}
    checks = [
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            *without("cacheprovider"),
            *without("schemathesis"),
            "test_berry_picker.py",
        ],
        [sys.executable, "-m", "ruff", "check", "--no-cache", "--isolated", "--line-length", "120", "."],
        [sys.executable, "-m", "ruff", "format", "--no-cache", "--isolated", "--line-length", "120", "--check", "."],
    ]
    for check in checks:
        done = subprocess.run(check, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["random", "queue", "tickmind"])
def test_a_name_that_would_hide_a_module_of_python_is_refused(tmp_path, name):
    done = run("agent", name, "--folder", tmp_path)
    assert done.exit_code == 1
    assert f"choose another name, such as my_{name}" in done.output
    assert list(tmp_path.iterdir()) == []


def test_a_new_scenario_is_alive_as_it_is(tmp_path, tickmind):
    done = run("scenario", "my_village", "--folder", tmp_path)
    assert done.exit_code == 0, done.output
    path = tmp_path / "my_village.yaml"
    assert f"tickmind up {path}" in done.output
    checked = tickmind("check", str(path))
    assert checked.exit_code == 0, checked.output
    assert "2 of 2 characters" in checked.output
    scenario = load_scenario(path)
    spec = load_mapping(path).spec_for(TileWorld.from_scenario(scenario).info.actors[0])
    assert spec is not None
    world = TileWorld.from_scenario(scenario)
    host = CharacterHost(Crafter, lambda name: Start(name, spec.settings))
    host.enter(RunInfo("run", 1, kinds=world.info.kinds, setting=world.info.setting))
    guarded = GuardedHost(host)
    rows_of = {actor.entity_id: row for row, actor in enumerate(world.info.actors)}
    for _ in range(300):
        intents = play_turn(guarded, PastTurn(world.tick_id, world.observe(range(2))))
        world.step({rows_of[name]: intent for name, intent in intents.items()})
    carried = [{stack.kind: stack.quantity for stack in one.me.inventory} for one in world.observe(range(2))]
    assert all(each.get("bread", 0) >= 3 for each in carried), carried


@pytest.mark.parametrize("name", ["My Village", "../x", "", "größe", "1st", "a" * 80])
def test_a_name_that_is_none_for_a_world_is_refused(tmp_path, name):
    done = run("scenario", name, "--folder", tmp_path)
    assert done.exit_code == 1
    assert "is no valid name" in done.output
    assert list(tmp_path.iterdir()) == []


def test_no_scenario_is_overwritten(tmp_path):
    (tmp_path / "mine.yaml").write_text("mine")
    done = run("scenario", "mine", "--folder", tmp_path)
    assert done.exit_code == 1
    assert (tmp_path / "mine.yaml").read_text() == "mine"
