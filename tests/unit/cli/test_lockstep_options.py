"""The options of runs that repeat: bad ones are refused before anything starts."""

import pytest

from tickmind.agent.contract import Assignment, KeptReplies, Launch
from tickmind.agent.errors import LaunchError
from tickmind.base import ConfigError, ManualClock
from tickmind.cli.ensemble.lockstep import kept_replies, lockstep_arguments
from tickmind.cli.runner.status import RunProgress
from tickmind.cli.world.scenarios import scenario_file
from tickmind.llm import ReplyFile
from tickmind.runner import MappingFile
from tickmind.world import load_scenario


def test_a_world_in_lockstep_waits_for_every_character_with_an_agent():
    file = scenario_file("willowbrook")
    assert lockstep_arguments(load_scenario(file), MappingFile(file).mapping) == ["--lockstep", "--controllers", "12"]


def test_lockstep_without_agents_is_refused(tmp_path):
    mapping = tmp_path / "agents.yaml"
    mapping.write_text(
        "agents: {a: {cmd: [python, -m, tickmind.characters.villager]}}\n"
        "assignments: [{match: {type: dragon}, use: a}]\n"
    )
    with pytest.raises(ConfigError, match="it would wait forever"):
        lockstep_arguments(load_scenario(scenario_file("willowbrook")), MappingFile(mapping).mapping)


def test_recording_begins_a_file_and_playing_needs_one(tmp_path):
    path = tmp_path / "new" / "replies.jsonl"
    with pytest.raises(ConfigError, match="can't be read"):
        kept_replies(("replay", path))
    assert kept_replies(("record", path)) == KeptReplies(path, fills=True)
    assert len(ReplyFile(path)) == 0
    assert kept_replies(("replay", path)) == KeptReplies(path, fills=False)
    assert kept_replies(("fill", path)) == KeptReplies(path, fills=True)
    assert kept_replies(None) is None


def test_an_unknown_mode_is_named(tmp_path):
    with pytest.raises(ConfigError, match="--replies takes record, replay or fill and a file, not 'rewind'"):
        kept_replies(("rewind", tmp_path / "r"))


def test_the_launch_file_carries_the_replies(tmp_path):
    launch = Launch(
        (Assignment("ada", "runner:ada"),),
        config_path=tmp_path / "launch.json",
        replies=KeptReplies(tmp_path / "r", True),
    )
    launch.write_file()
    assert Launch.from_environment(launch.to_environment()).replies == launch.replies


@pytest.mark.parametrize("replies", ['"x"', '{"fills": true}', '{"path": "x", "fills": 1}'])
def test_malformed_replies_of_a_launch_file_are_refused(tmp_path, replies):
    path = tmp_path / "launch.json"
    path.write_text(f'{{"entities": [{{"entity_id": "ada", "controller_id": "c"}}], "replies": {replies}}}')
    with pytest.raises(LaunchError, match="replies in the launch file must have a path"):
        Launch.from_environment({"AGENT_CONFIG_PATH": str(path)})


def test_progress_says_the_tick_and_the_pace():
    clock = ManualClock()
    progress = RunProgress(500, clock)
    assert progress.next_line(1) == "tick 1 of 500"
    clock.advance(5.0)
    assert progress.next_line(21) == ""  # too soon for another line
    clock.advance(5.0)
    assert progress.next_line(41) == "tick 41 of 500, 4.0 ticks a second"
    clock.advance(60.0)
    assert progress.next_line(41) == ""  # nothing has happened
    assert RunProgress(None, clock).text(7) == "tick 7"
