"""`tickmind check` and the schema of a mapping: what is said before anything starts."""

import json
import re
from pathlib import Path

import pytest

from tickmind.world import ScenarioError, load_scenario

SCENARIOS = Path(__file__).parents[3] / "scenarios"
MAPPING = "agents: {a: {cmd: [sleep, '1']%s}}\nassignments: [{match: {}, use: a}]\n"


def test_good_files_are_told_by_what_they_are(tickmind, tmp_path):
    (tmp_path / "agents.yaml").write_text(MAPPING % "")
    (tmp_path / "gateway.yaml").write_text("listen: {port: 0}\n")
    result = tickmind("check", "agents.yaml", "gateway.yaml", str(SCENARIOS / "clearing.yaml"))
    assert result.exit_code == 0
    first, second, third = result.stdout.splitlines()
    assert first == "agents.yaml: a mapping with 1 agent and 1 assignment for 3 of 3 characters"
    assert second.startswith("gateway.yaml: settings of a gateway with ")
    assert "the world clearing, 24 x 15 tiles, 3 characters; a mapping with 2 agents" in third


def test_a_scenario_that_comes_with_tickmind_is_checked_by_its_name(tickmind):
    assert tickmind("check", "clearing").stdout.startswith("clearing: the world clearing, 24 x 15 tiles, 3 characters")


def test_every_mistake_in_every_file_is_told(tickmind, tmp_path):
    (tmp_path / "agents.yaml").write_text(MAPPING % ", per_proces: 2")
    (tmp_path / "gateway.yaml").write_text("listn: {port: 0}\n")
    result = tickmind("check", "agents.yaml", "gateway.yaml", "nowhere.yaml", str(SCENARIOS / "village.yaml"))
    assert result.exit_code == 1
    assert re.search(r"agents.yaml:1:\d+: agents.a.per_proces: there is no such setting", result.stderr)
    assert "gateway.yaml:1:1: listn: there is no such setting" in result.stderr
    assert "nowhere.yaml: the configuration file can't be read" in result.stderr
    assert "the world village-7" in result.stdout


def test_a_mapping_that_names_a_stranger_is_a_mistake(tickmind, tmp_path):
    text = (SCENARIOS / "clearing.yaml").read_text()
    (tmp_path / "world.yaml").write_text(text.replace("- match: {tags: [player]}", '- match: {id: "entity:99"}'))
    result = tickmind("check", "world.yaml")
    assert result.exit_code == 1
    words = r"world.yaml:\d+:\d+: assignments\[0\].match.id: no character there is called entity:99"
    assert re.search(words, result.stderr)


def test_a_mapping_is_compared_with_the_scenarios_beside_it_in_any_order(tickmind, tmp_path):
    (tmp_path / "agents.yaml").write_text(MAPPING.replace("{match: {}", "{match: {tags: [plyer]}") % "")
    assert tickmind("check", "agents.yaml").exit_code == 0
    for files in (("agents.yaml", "clearing"), ("clearing", "agents.yaml")):
        result = tickmind("check", *files)
        assert result.exit_code == 1
        assert "no character there has the tag plyer (did you mean 'player'?)" in result.stderr
        assert "clearing: the world clearing" in result.stdout


def test_a_mapping_that_can_not_run_is_told_by_line_and_without_secrets(tickmind, tmp_path, monkeypatch, canary):
    (tmp_path / "gatherer.py").write_text("")
    monkeypatch.setenv("BROKEN_KEY", f"{canary} and more")
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    (tmp_path / "agents.yaml").write_text(
        "agents:\n"
        "  a:\n"
        "    cmd: [python, gatherr.py]\n"
        "    secrets: {A: {env: NO_SUCH_KEY}, B: {env: BROKEN_KEY}, C: {file: nowhere}}\n"
        "assignments: [{match: {}, use: a}]\n"
    )
    result = tickmind("check", "agents.yaml")
    assert result.exit_code == 1
    assert re.search(r"agents.yaml:3:\d+: agents.a.cmd: there is no file gatherr.py in .*'gatherer.py'", result.stderr)
    assert "agents.a.secrets.A: the environment variable NO_SUCH_KEY is not set" in result.stderr
    assert "agents.a.secrets.B: the value of BROKEN_KEY is no key" in result.stderr
    assert "agents.a.secrets.C: the key file" in result.stderr
    assert canary not in result.output


def test_habits_that_look_like_errands_and_are_none_are_named(tickmind, tmp_path):
    text = (SCENARIOS / "willowbrook.yaml").read_text()
    habits = 'habits: ["08:00 wrk", "09:00 work at the market", "sings"]'
    (tmp_path / "mine.yaml").write_text(text.replace("traits: [warm, brisk]", f"traits: [warm, brisk], {habits}"))
    result = tickmind("check", "mine.yaml")
    assert result.exit_code == 0
    assert "or to be in a zone): ada: '08:00 wrk'" in result.stdout


def test_a_mistake_in_a_scenario_is_told(tickmind, tmp_path):
    (tmp_path / "world.yaml").write_text("world: x\n")
    result = tickmind("check", "world.yaml")
    assert result.exit_code == 1
    assert "world.yaml:1:1: the key 'floors' is missing" in result.stderr


@pytest.mark.parametrize("text", ["", "\n", "# nothing but words\n", "---\n", "{}\n"])
def test_an_empty_file_is_called_empty(tickmind, tmp_path, text):
    (tmp_path / "mine.yaml").write_text(text)
    result = tickmind("check", "mine.yaml")
    assert result.exit_code == 1
    assert result.stderr.startswith("mine.yaml: the file is empty; a scenario begins with `world: NAME`, ")


def test_a_scenario_without_a_world_is_judged_as_a_scenario(tickmind, tmp_path):
    text = (SCENARIOS / "clearing.yaml").read_text()
    (tmp_path / "mine.yaml").write_text(re.sub(r"(?m)^world:.*\n", "", text))
    result = tickmind("check", "mine.yaml")
    assert result.exit_code == 1
    assert re.fullmatch(r"mine.yaml:\d+:\d+: the key 'world' is missing\n", result.stderr)


def test_a_file_of_no_known_kind_is_called_that(tickmind, tmp_path):
    for text in ("colour: blue\n", "- one\n", "just words\n"):
        (tmp_path / "mine.yaml").write_text(text)
        result = tickmind("check", "mine.yaml")
        assert result.exit_code == 1
        assert result.stderr.startswith("mine.yaml: the kind of this file is unknown; a scenario begins with")


def test_all_mistakes_of_a_scenario_and_its_mapping_are_told_at_once_in_one_form(tickmind, tmp_path):
    text = """world: x
sed: 3
rules: {sight_radius: 99, tick_duration_ms: soon}
floors: {grass: {walkabel: true}}
models: {}
map: {width: 5, height: 5, floor: grass}
actors:
  - {at: [9, 0]}
  - {at: [1, 1], colour: red}
agents: {a: {cmd: [sleep, '1'], per_proces: 2}}
assignments: [{match: {}, use: b}]
"""
    (tmp_path / "mine.yaml").write_text(text)
    lines = tickmind("check", "mine.yaml").stderr.splitlines()
    assert [line.rpartition(": ")[0].split(":")[1] for line in lines] == ["2", "3", "3", "4", "5", "8", "9", "10"]
    assert all(re.match(r"mine.yaml:\d+:\d+: ", line) for line in lines)
    assert "unknown key 'sed' (did you mean 'seed'?)" in lines[0]


def test_the_schema_is_printed_for_editors(tickmind):
    result = tickmind("runner", "--schema")
    assert json.loads(result.stdout)["title"] == "tickmind runner"


def test_a_runner_without_a_mapping_says_what_to_write(tickmind):
    result = tickmind("runner")
    assert result.exit_code == 1
    assert "tickmind runner agents.yaml" in result.stderr


@pytest.mark.parametrize("arguments", [("runner", "nowhere.yaml"), ("up", "nowhere.yaml")])
def test_a_missing_file_is_one_sentence(tickmind, arguments):
    result = tickmind(*arguments)
    assert result.exit_code == 1
    assert "can't be read" in result.stderr


@pytest.mark.parametrize("arguments", [("runner",), ("up", "arena", "--agents")])
def test_a_program_that_is_not_there_is_told_before_anything_starts(tickmind, tmp_path, arguments):
    (tmp_path / "agents.yaml").write_text("agents: {a: {cmd: [python, hree.py]}}\nassignments: [{match: {}, use: a}]\n")
    result = tickmind(*arguments, "agents.yaml")
    assert result.exit_code == 1
    assert "agents.yaml:1:19: agents.a.cmd: there is no file hree.py" in result.stderr
    assert not (tmp_path / ".tickmind").exists()


def test_a_gateways_file_without_its_option_is_answered_with_the_option(tickmind):
    result = tickmind("gateway", "mine.yaml")
    assert result.exit_code == 2
    assert "Settings are given as: tickmind gateway --config mine.yaml" in result.stderr


def test_up_judges_a_file_as_a_scenario_and_nothing_else(tickmind, tmp_path):
    (tmp_path / "mine.yaml").write_text("name: x\n")
    result = tickmind("up", "mine.yaml")
    assert result.exit_code == 1
    assert "mine.yaml:1:1: unknown key 'name'; known here: actors, " in result.stderr
    assert "llm_variables" not in result.stderr


def test_a_demo_with_settings_that_are_not_there_begins_no_run(tickmind, tmp_path):
    result = tickmind("demo", "--gateway-config", "nowhere.yaml", "--no-browser", "--any-ports")
    assert result.exit_code == 1
    assert "nowhere.yaml: the configuration file can't be read" in result.stderr
    assert not (tmp_path / "runs").exists()


def test_a_mistake_that_two_readers_find_is_told_once(tickmind, tmp_path):
    text = (SCENARIOS / "clearing.yaml").read_text()
    (tmp_path / "world.yaml").write_text(text.replace("- match: {tags: [player]}\n    use:", "- agent:"))
    result = tickmind("check", "world.yaml")
    assert result.exit_code == 1
    assert result.stderr.count("'match' is missing") == 1


def test_a_key_that_is_there_twice_is_told_as_a_world_tells_it(tickmind, tmp_path):
    file = tmp_path / "world.yaml"
    file.write_text(
        "world: w\nfloors: {grass: {}}\nmap: {width: 3, height: 3, floor: grass}\nactors:\n  - {id: a, id: b}\n"
    )
    with pytest.raises(ScenarioError) as raised:
        load_scenario(file)
    checked = tickmind("check", str(file))
    assert checked.exit_code == 1
    assert checked.stderr.strip() == str(raised.value)
    assert checked.stderr.strip().endswith(":5:13: the key 'id' stands here twice, first in line 5; keep one")


@pytest.mark.parametrize(("name", "code"), [("wrods", 1), ("words", 0), ("endpoint", 0)])
def test_embeddings_of_an_actor_that_there_are_not_are_a_mistake(tickmind, tmp_path, name, code):
    text = (SCENARIOS / "willowbrook.yaml").read_text()
    own = f"agent: {{embeddings: {name}}}"
    (tmp_path / "mine.yaml").write_text(text.replace("traits: [warm, brisk]", f"traits: [warm, brisk], {own}"))
    result = tickmind("check", "mine.yaml")
    assert result.exit_code == code
    assert ("ada: there are no embeddings 'wrods'; known: words, endpoint" in result.stderr) is (code == 1)
