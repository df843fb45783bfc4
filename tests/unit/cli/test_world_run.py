"""Worlds that are begun, resumed and ended, without a server."""

import json
from pathlib import Path

import pytest

from tickmind.cli.world.run import WorldRuns
from tickmind.record import NoSuchRunError, OsDisk, RecordError, RunBusyError, RunExistsError, RunState, RunStore
from tickmind.record.replay.run_files import SCENARIO
from tickmind.record.testing import MemoryDisk
from tickmind.server import Checkpoint, load_checkpoint, resume, save_checkpoint
from tickmind.viewer.frames import Tag, unpack
from tickmind.viewer.sources.replay import ReplaySource
from tickmind.world import ScenarioError, TileWorld

ROOT = Path("/runs")
TEXT = """
world: small
rules: {sight_radius: 2, hearing_radius: 2}
floors: {grass: {}}
map: {width: 5, height: 5, floor: grass}
actors:
  - {count: 2, type: villager}
"""


@pytest.fixture
def disk():
    return MemoryDisk(1)


@pytest.fixture
def runs(disk):
    return WorldRuns(ROOT, disk)


def test_a_run_goes_on_with_the_scenario_as_it_was(runs):
    run = runs.begin(TEXT, "small.yaml", "one")
    world = TileWorld.from_scenario(run.scenario)
    save_checkpoint(run.checkpoints, Checkpoint(1, 1, world.snapshot()))
    for _ in range(3):
        run.log.publish(world.step({}))
    run.abandon()
    again = runs.resume("one")
    assert again.scenario.digest == run.scenario.digest
    other = TileWorld.from_scenario(again.scenario)
    assert resume(other, load_checkpoint(again.checkpoints), again.history) == 2
    assert other.state_hash() == world.state_hash()


def test_the_length_of_a_tick_reaches_the_record_the_replay_and_a_run_that_goes_on(runs, disk):
    run = runs.begin(TEXT, "small.yaml", "one", tick_ms=50)
    world = TileWorld.from_scenario(run.scenario)
    assert (world.info.tick_duration_ms, world.info.intent_deadline_ms) == (50, 25)
    for _ in range(3):
        run.log.publish(world.step({}))
    run.finish()
    document = json.loads(disk.read_bytes(ROOT / "one" / "meta.json"))
    assert document["world"]["tick_duration_ms"] == 50
    with RunStore(ROOT, disk).open("one") as reader:
        assert [record.sim_time_ms for record in reader.records()] == [50, 100, 150]
    (frame,) = unpack(ReplaySource(lambda: RunStore(ROOT, disk).open("one")).hello())
    assert json.loads(bytes(frame.sections[Tag.INFO]))["tick_ms"] == 50
    again = runs.resume("one")
    assert again.scenario.digest == run.scenario.digest


def test_the_seed_of_a_run_is_recorded_and_kept_by_a_run_that_goes_on(runs, disk):
    run = runs.begin(TEXT, "small.yaml", "one", seed=9)
    run.log.publish(TileWorld.from_scenario(run.scenario).step({}))
    run.abandon()
    assert json.loads(disk.read_bytes(ROOT / "one" / "meta.json"))["world"]["seed"] == 9
    again = runs.resume("one")
    assert (again.scenario.seed, again.history.info.seed) == (9, 9)
    assert again.scenario.digest == run.scenario.digest
    again.abandon()


def test_a_run_that_goes_on_takes_no_other_seed(tickmind, tmp_path):
    done = tickmind("world", "--resume", "one", "--runs", str(tmp_path), "--seed", "3")
    assert "keeps its seed" in done.stderr


def test_a_run_that_goes_on_keeps_its_ticks_per_second(tickmind, tmp_path):
    WorldRuns(tmp_path / "runs").begin(TEXT, "small.yaml", "one", tick_ms=50).pause()
    found = tickmind("world", "--resume", "one", "--port", "0", "--tps", "5", "--ticks", "1")
    assert found.exit_code == 1
    assert "run one has 20 ticks per second" in found.output
    assert "--speed" in found.output


@pytest.mark.parametrize("end", ["finish", "pause", "abandon"])
def test_a_run_can_be_resumed_however_it_ended(runs, end):
    run = runs.begin(TEXT, "small.yaml", "one")
    world = TileWorld.from_scenario(run.scenario)
    run.log.publish(world.step({}))
    getattr(run, end)()
    run.abandon()  # a second end does no harm
    assert runs.resume("one").log.last_tick_id == 1


@pytest.mark.parametrize("make_disk", [MemoryDisk, OsDisk])
def test_a_run_that_is_running_is_not_resumed(tmp_path, make_disk):
    runs = WorldRuns(tmp_path, make_disk())
    run = runs.begin(TEXT, "small.yaml", "one")
    with pytest.raises(RunBusyError, match="another process"):
        runs.resume("one")
    run.log.abandon()
    runs.resume("one").abandon()


def test_an_attempt_to_go_on_without_the_scenario_leaves_a_finished_run_finished(runs, disk):
    run = runs.begin(TEXT, "small.yaml", "one")
    run.log.publish(TileWorld.from_scenario(run.scenario).step({}))
    run.finish()
    disk.remove(ROOT / "one" / SCENARIO)
    with pytest.raises(RecordError, match="create a new run"):
        runs.resume("one")
    assert RunStore(ROOT, disk).summary("one").state is RunState.CLEAN


def test_a_name_is_given_once(runs):
    runs.begin(TEXT, "small.yaml", "one").log.abandon()
    with pytest.raises(RunExistsError):
        runs.begin(TEXT, "small.yaml", "one")


def test_a_run_that_never_began_says_so(runs, disk):
    runs.begin(TEXT, "small.yaml", "one").log.abandon()
    disk.remove(ROOT / "one" / SCENARIO)
    with pytest.raises(RecordError, match="create a new run"):
        runs.resume("one")
    with pytest.raises(RecordError, match="create a new run"):
        runs.resume("one")  # and the run was let go


def test_an_unknown_run_and_a_wrong_scenario_are_named(runs):
    with pytest.raises(NoSuchRunError, match="no run two"):
        runs.resume("two")
    with pytest.raises(ScenarioError, match=r"small\.yaml"):
        runs.begin("world: [", "small.yaml", "three")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "either a scenario"),
        (("a.yaml", "--resume", "one"), "either a scenario"),
        (("--resume", "one", "--no-record"), "its own name"),
        (("--resume", "one", "--run-id", "two"), "its own name"),
        (("--resume", "one", "--port", "0"), "no run one"),
        (("--resume", "../one", "--port", "0"), "can't be a run id"),
    ],
)
def test_what_can_not_be_resumed_is_said_in_one_sentence(tickmind, arguments, words):
    result = tickmind("world", *arguments)
    assert result.exit_code == 1
    assert words in result.stderr


def test_a_new_run_without_a_tick_is_not_kept(runs, disk):
    run = runs.begin(TEXT, "small.yaml", "one")
    assert run.is_empty
    run.abandon()
    assert disk.list(ROOT) == []
    with pytest.raises(NoSuchRunError):
        runs.resume("one")


def test_an_empty_run_that_was_gone_on_with_is_left_to_who_began_it(runs, disk):
    runs.begin(TEXT, "small.yaml", "one").log.abandon()  # killed
    again = runs.resume("one")
    assert not again.is_empty
    again.abandon()
    assert disk.list(ROOT) == ["one"]


def test_a_run_goes_on_without_the_persona_files_of_its_scenario(runs, tmp_path):
    people = tmp_path / "people.yaml"
    people.write_text("drifter: {name: Eve, age: 30}\n")
    text = TEXT.replace("actors:", "persona_files: [people.yaml]\nactors:").replace(
        "villager}", "villager, persona: drifter}"
    )
    run = runs.begin(text, "small.yaml", "one", folder=tmp_path)
    run.log.publish(TileWorld.from_scenario(run.scenario).step({}))
    run.abandon()
    people.unlink()
    again = runs.resume("one")
    assert again.scenario.digest == run.scenario.digest
    assert [actor.persona.name for actor in again.scenario.actors] == ["Eve", "Eve"]
    again.abandon()
