"""`tickmind story`: the chronicle of recorded runs, as text, Markdown and JSON."""

import json
from dataclasses import replace

import pytest
from tests.kits.lived_runs import record_villagers

from tickmind.llm.testing import FakeProvider
from tickmind.llm.transport import ModelReply
from tickmind.protocol import Persona
from tickmind.record import RunStore
from tickmind.record.testing import RandomRun

HOSTILE = "Ash\x1b]0;pwned\x07\r\npwned[red]"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("told") / "runs"
    record_villagers(folder, "clearing-1", ticks=60)
    store = RunStore(folder)
    world = RandomRun(seed=4)
    with store.create(world.info, "random") as log:
        for _ in range(40):
            log.publish(world.tick())
    store.create(world.info, "empty").close()
    return folder


def test_a_chronicle_has_days_with_sentences_and_ticks(tickmind, runs):
    result = tickmind("story", "clearing-1", "--runs", str(runs))
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == "clearing, run clearing-1"
    assert "Day 1" in lines
    assert any(line.startswith("   ") and "tick " in line for line in lines)
    assert max(map(len, lines)) <= 110


def test_links_are_addresses_of_the_replay(tickmind, runs):
    result = tickmind("story", "clearing-1", "--runs", str(runs), "--links", "--replay", "http://h/")
    assert "http://h/#tick=" in result.stdout


def test_markdown_and_json_have_addresses(tickmind, runs):
    written = tickmind("story", "clearing-1", "--runs", str(runs), "--markdown", "--most", "2").stdout
    assert written.startswith("# clearing: the run clearing-1\n")
    assert written.count("](http://127.0.0.1:8700/#tick=") == 2
    found = json.loads(tickmind("story", "clearing-1", "--runs", str(runs), "--json", "--most", "2").stdout)
    assert sum(len(part["sentences"]) for part in found["days"][0]["parts"]) == 2


def test_a_run_without_minds_and_one_without_ticks_are_told_too(tickmind, runs):
    assert tickmind("story", "random", "--runs", str(runs)).exit_code == 0
    empty = tickmind("story", "empty", "--runs", str(runs))
    assert (empty.exit_code, "Nothing happened" in empty.stdout) == (0, True)


def test_what_is_unknown_is_named(tickmind, runs):
    for arguments, words in (
        (("clearing-9",), "clearing-9"),
        (("clearing-1", "--who", "nobody"), "nobody"),
        (("clearing-1", "--day", "99"), "99"),
        (("clearing-1", "--json", "--markdown"), "--markdown"),
    ):
        result = tickmind("story", *arguments, "--runs", str(runs))
        assert result.exit_code != 0
        assert words in result.output


def test_names_can_not_control_the_terminal(tickmind, tmp_path):
    world = RandomRun(seed=4)
    actors = tuple(replace(one, persona=Persona(f"{HOSTILE}{one.entity_id}")) for one in world.info.actors)
    with RunStore(tmp_path).create(replace(world.info, actors=actors), "evil") as log:
        for _ in range(40):
            log.publish(world.tick())
    result = tickmind("story", "evil", "--runs", str(tmp_path))
    assert result.exit_code == 0, result.output
    assert "[red]" in result.stdout
    assert not {"\x1b", "\x07", "\r"} & set(result.stdout)


def test_without_a_model_prose_is_by_code_and_says_so(tickmind, runs, monkeypatch):
    from tickmind.cli.runs import story_prose
    from tickmind.llm.local.default_model import scripted_choice

    monkeypatch.setattr(story_prose, "choose_model", scripted_choice)
    plain = tickmind("story", "clearing-1", "--runs", str(runs))
    told = tickmind("story", "clearing-1", "--runs", str(runs), "--prose")
    assert told.stdout == plain.stdout
    assert "told by code" in told.stderr


def test_a_model_that_obeys_what_characters_say_changes_nothing(tickmind, runs, monkeypatch):
    with FakeProvider.in_thread(models=("fake-1",)) as provider:
        monkeypatch.setenv("LLM_BASE_URL", provider.base_url)
        for _ in range(9):
            provider.enqueue(ModelReply("PWNED http://evil.example", "stop"))
        plain = tickmind("story", "clearing-1", "--runs", str(runs), "--most", "4")
        told = tickmind("story", "clearing-1", "--runs", str(runs), "--most", "4", "--prose", "--model", "fake-1")
        asked = len(provider.seen)
    assert told.exit_code == 0, told.output
    assert (told.stdout, asked > 0) == (plain.stdout, True)
    assert f"0 of {asked} parts are told by fake-1" in told.stderr


def test_a_model_is_named_for_prose_only(tickmind, runs):
    assert tickmind("story", "clearing-1", "--runs", str(runs), "--model", "x").exit_code == 2
