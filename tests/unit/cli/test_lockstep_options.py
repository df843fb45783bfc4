"""The options of runs that repeat: bad ones are refused before anything starts."""

import pytest

from tickmind.agent.contract import Assignment, KeptReplies, Launch
from tickmind.agent.errors import LaunchError
from tickmind.base import ConfigError, ManualClock
from tickmind.base.shipped import scenario_file
from tickmind.cli.ensemble.lockstep import PlayedReplies, kept_replies, lockstep_arguments, played_replies
from tickmind.cli.runner.status import RunProgress
from tickmind.cli.world.status import LockstepWait
from tickmind.llm import ReplyFile
from tickmind.protocol import Thought, ThoughtReport
from tickmind.record import LogOptions, RunStore, SyncPolicy
from tickmind.record.testing import RandomRun
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
    assert kept_replies(("fill", tmp_path / "new.jsonl")) == KeptReplies(tmp_path / "new.jsonl", fills=True)
    assert kept_replies(None) is None


def test_a_folder_and_an_empty_file_hold_no_replies(tmp_path):
    with pytest.raises(ConfigError, match="is a folder; name a file"):
        kept_replies(("record", tmp_path))
    (tmp_path / "empty").touch()
    with pytest.raises(ConfigError, match="is empty; record replies"):
        kept_replies(("replay", tmp_path / "empty"))
    assert kept_replies(("record", tmp_path / "empty")) is not None
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    with pytest.raises(ConfigError, match=r"circle(: it is a link| can't be)"):  # since Python 3.13 it resolves
        kept_replies(("record", tmp_path / "circle"))


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


def test_a_world_in_lockstep_says_once_what_it_waits_for():
    waits = LockstepWait()
    assert waits.next_line(0.0, 1, 3, 9) == ""
    assert waits.next_line(9.0, 1, 3, 9) == ""
    line = waits.next_line(10.0, 1, 3, 9)
    assert line == "Tick 1 waits until 12 characters have an agent that controls them; 3 have one now."
    assert waits.next_line(60.0, 1, 3, 9) == ""
    assert waits.next_line(61.0, 2, 12, 0) == ""
    assert "waits for the intents of its 12 characters" in waits.next_line(71.0, 2, 12, 0)


def test_a_replay_that_went_another_way_is_counted(tmp_path):
    run = RandomRun(1, 4)
    log = RunStore(tmp_path).create(run.info, "run", options=LogOptions(sync=SyncPolicy.NEVER))
    replies = KeptReplies(tmp_path / "replies.jsonl")
    errors = ["", f"the prompt of call 1 of ada in tick 3 differs from the one in {replies.path}: x", "no answer"]
    for error in errors:
        thought = Thought(1, 3, 3, "You live here.", "Hm?", error=error, error_type="api" if error else "")
        log.thought(ThoughtReport("entity:1", 1, thought))
    log.publish(run.tick())
    log.close()
    outcome = played_replies(tmp_path, "run", replies)
    assert outcome.text().startswith(
        "1 of 3 thoughts could not be played, so this is another run; the first: the prompt"
    )
    assert PlayedReplies(3, ()).text() == "All 3 thoughts went by the file of replies."
