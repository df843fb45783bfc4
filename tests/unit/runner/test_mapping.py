"""Mapping files: what they mean, and what is said of those that mean nothing."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from tickmind.base import ConfigError
from tickmind.base.problems import ConfigFileError
from tickmind.base.shipped import scenario_file
from tickmind.protocol import EntityInfo
from tickmind.runner import (
    MappingFile,
    ResourceLimits,
    ResourceRequest,
    RestartPolicy,
    SecretSource,
    load_mapping,
    mapping_schema_text,
    write_mapping,
)
from tickmind.world import load_scenario

ROOT = Path(__file__).parents[3]
SEED = """
world_addr: "127.0.0.1:50051"

defaults:
  restart:
    max_restarts_per_10m: 10
    backoff_ms: [250, 500, 1000, 2000, 5000]

agents:
  berry_eater:
    cmd: ["python", "-m", "agents.berry_eater"]
    env:
      MAX_TOKENS: "800"

assignments:
  - match:
      tags: ["player"]
    use: berry_eater
  - match:
      tags: ["npc"]
    use: berry_eater
"""
SMALL = "agents:\n  a: {cmd: [sleep, '1']%s}\n  b: {cmd: [sleep, '1']}\nassignments:\n  - {match: {}, use: a}\n"


@pytest.fixture
def load(tmp_path):
    def write_and_load(text):
        file = tmp_path / "agents.yaml"
        file.write_text(text, encoding="utf-8")
        return load_mapping(file)

    return write_and_load


def complaint(load, text):
    with pytest.raises(ConfigFileError) as caught:
        load(text)
    return str(caught.value)


def test_the_plainest_mapping_has_sensible_defaults(load, tmp_path):
    mapping = load(SEED)
    spec = mapping.agents["berry_eater"]
    assert spec.cmd == ("python", "-m", "agents.berry_eater")
    assert spec.env == (("MAX_TOKENS", "800"),)
    assert spec.restart == RestartPolicy(10, (250, 500, 1000, 2000, 5000))
    assert spec.limits == ResourceLimits()
    assert spec.cwd == tmp_path
    assert (mapping.world_addr, mapping.name) == ("127.0.0.1:50051", "runner")
    assert mapping.spec_for(EntityInfo("x", "villager", ("npc",))) is spec
    assert mapping.spec_for(EntityInfo("x", "villager", ("tree",))) is None


def test_what_an_agent_says_goes_before_the_defaults(load):
    mapping = load(
        "defaults: {restart: {max_restarts_per_10m: 2}, limits: {memory_mb: 100, files: 50}, missed_intents: 7,"
        " env: {A: '1', B: '1'}}\n"
        + SMALL
        % ", restart: {backoff_ms: [1]}, limits: {files: 60}, missed_intents: 0, env: {B: '2'}, per_process: 9"
    )
    a, b = mapping.agents["a"], mapping.agents["b"]
    assert a.restart == RestartPolicy(2, (1,))
    assert (a.limits.memory_mb, a.limits.files, a.limits.processes) == (100, 60, ResourceLimits().processes)
    assert (a.missed_intents, a.per_process, a.env) == (0, 9, (("A", "1"), ("B", "2")))
    assert (b.missed_intents, b.limits.files, b.restart.max_restarts_per_10m) == (7, 50, 2)


def test_secrets_are_named_and_never_written(load, tmp_path):
    spec = load(SMALL % ", secrets: {LLM_API_KEY: {env: MY_KEY}, OTHER: {file: keys/other}}").agents["a"]
    assert dict(spec.secrets) == {
        "LLM_API_KEY": SecretSource("MY_KEY"),
        "OTHER": SecretSource(file=tmp_path / "keys/other"),
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (SMALL % ", fallback: ^c", "agents.a.fallback: there is no agent 'c'"),
        (SMALL % ", fallback: ^a", "the fallbacks go in a circle: a -> a"),
        (SMALL % ", per_process: ^0", "agents.a.per_process: expected a whole number of 1 or more"),
        (SMALL % ", limits: {^memory: 1}", "did you mean 'memory_mb'?"),
        (SMALL % ", env: {N: ^5}", "agents.a.env.N: expected a text; put numbers and truth values in quotes"),
        (SMALL % ", env: {^ENTITY_ID: x}", "the runner sets this variable itself"),
        (SMALL % ", env: {^MY_API_KEY: abcdefghij}", "by a file descriptor"),
        (SMALL % ", restart: {backoff_ms: ^[]}", "at least 1 entries"),
        (SMALL % ", secrets: {A: ^abcdefghij}", "either `env: NAME` or `file: PATH`"),
        (SMALL.replace("use: a", "use: ^aa") % "", "assignments[0].use: there is no agent 'aa' (did you mean 'a'?)"),
        (SMALL.replace("match: {}", "match: {^tag: [x]}") % "", "did you mean 'tags'?"),
        ("world_addr: ^example.org:1\n" + SMALL % "", "on another machine; add `tls: {ca: FILE}`"),
        ("tls: ^{ca: ca.pem, key: key.pem}\n" + SMALL % "", "give both, or neither"),
        ("world_ws_url: ^ws://example.org:1/ws/v1\n" + SMALL % "", "write wss://"),
        ("world_addr: ^nowhere\n" + SMALL % "", "write host:port"),
        ("agents: ^{}\nassignments: []\n", "expected"),
        ("agents:\n^\ta: 1\n", "indent with blanks"),
        ("^assignments: []\n", "'agents' is missing"),
    ],
)
def test_a_mistake_is_told_by_line_and_column_with_what_was_expected(load, text, words):
    before, _, after = text.partition("^")
    said = complaint(load, before + after)
    assert f"agents.yaml:{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}: " in said
    assert words in said
    assert "abcdefghij" not in said


def test_all_mistakes_are_told_at_once(load):
    said = complaint(load, SMALL % ", per_process: 0, fallbak: b, heartbeat_timeout_ms: -1")
    assert len(said.splitlines()) == 3


def test_a_scenario_may_hold_its_mapping(tmp_path):
    text = (ROOT / "scenarios" / "clearing.yaml").read_text(encoding="utf-8").partition("# Who lives there")[0]
    file = tmp_path / "clearing.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigFileError, match="names no agents"):
        load_mapping(file)
    file.write_text(text + SMALL % "", encoding="utf-8")
    assert set(load_mapping(file).agents) == {"a", "b"}
    lines = text.count("\n")
    file.write_text(text + SMALL % ", per_process: 0", encoding="utf-8")
    with pytest.raises(ConfigFileError, match=f"clearing.yaml:{lines + 2}:39: "):
        load_mapping(file)


@pytest.mark.parametrize("name", ["clearing.yaml", "village.yaml"])
def test_the_scenarios_name_agents_for_everybody(name):
    scenario = ROOT / "scenarios" / name
    mapping = load_mapping(scenario)
    for actor in load_scenario(scenario).actors:
        assert mapping.spec_for(EntityInfo(actor.entity_id, actor.type, actor.tags)) is not None


def test_a_missing_file_is_a_plain_sentence(tmp_path):
    with pytest.raises(ConfigError, match="can't be read: No such file"):
        load_mapping(tmp_path / "none.yaml")


def test_every_setting_of_the_schema_is_explained_by_an_example_or_a_default():
    schema = json.loads(mapping_schema_text())
    agent = schema["properties"]["agents"]["additionalProperties"]["properties"]
    for name, part in {**schema["properties"], **agent}.items():
        assert "$ref" in part or "description" in part, name


# Reloading


def write(file, text):
    file.write_text(text, encoding="utf-8")
    os.utime(file, ns=(file.stat().st_mtime_ns + 1, file.stat().st_mtime_ns + 1))


def test_a_changed_file_is_read_again_and_an_unchanged_one_is_not(tmp_path):
    file = tmp_path / "agents.yaml"
    file.write_text(SMALL % "", encoding="utf-8")
    mapping = MappingFile(file, gateway_url="http://127.0.0.1:9")
    assert mapping.mapping.gateway_url == "http://127.0.0.1:9"
    assert mapping.reload() is None
    assert mapping.reload(even_if_same=True) is not None
    write(file, SMALL % ", per_process: 5")
    found = mapping.reload()
    assert found is not None
    assert found.agents["a"].per_process == 5
    assert mapping.reload() is None


@pytest.mark.parametrize("text", ["agents: [", "world_addr: 127.0.0.1:1\n" + SMALL % ""])
def test_a_mapping_with_mistakes_leaves_the_one_before(tmp_path, text, caplog):
    file = tmp_path / "agents.yaml"
    file.write_text(SMALL % "", encoding="utf-8")
    mapping = MappingFile(file)
    before = mapping.mapping
    write(file, text)
    assert mapping.reload() is None
    assert mapping.mapping is before
    assert "mapping" in caplog.text
    file.unlink()
    assert mapping.reload() is None


def test_addresses_that_are_known_later_hold_whatever_the_file_has_become(tmp_path, caplog):
    file = tmp_path / "agents.yaml"
    file.write_text(SMALL % "", encoding="utf-8")
    mapping = MappingFile(file)
    write(file, "agents: [")  # saved with a mistake while the world was getting ready
    settled = mapping.settle("127.0.0.1:7", "http://127.0.0.1:9")
    assert (settled.world_addr, settled.gateway_url) == ("127.0.0.1:7", "http://127.0.0.1:9")
    assert mapping.reload() is None
    assert "mistakes" in caplog.text
    write(file, SMALL % ", per_process: 5")
    found = mapping.reload()
    assert found is not None
    assert found.agents["a"].per_process == 5
    assert (found.world_addr, found.gateway_url) == ("127.0.0.1:7", "http://127.0.0.1:9")


def test_a_mapping_is_written_with_settings_for_all_agents_under_their_own(tmp_path):
    source, file = tmp_path / "source.yaml", tmp_path / "agents.yaml"
    source.write_text(SMALL % ", settings: {food: [bread], local_model: false}", encoding="utf-8")
    write_mapping(source, file, {"local_model": True, "model": "small"})
    before, after = load_mapping(source), load_mapping(file)
    assert after.agents["a"].settings.to_json() == {"local_model": False, "model": "small", "food": ["bread"]}
    assert after.agents["a"].cmd == before.agents["a"].cmd
    assert after.rules == before.rules


def test_a_mapping_is_written_of_a_scenario_with_all_that_its_agents_have(tmp_path):
    scenario, file = scenario_file("willowbrook"), tmp_path / "agents.yaml"
    write_mapping(scenario, file, {"local_model": True})
    before, after = load_mapping(scenario).agents["villager"], load_mapping(file).agents["villager"]
    assert after.settings.to_json() == {"local_model": True, **before.settings.to_json()}
    assert replace(after, settings=before.settings, cwd=before.cwd) == before


def test_what_a_process_asks_of_a_cluster_is_read_over_its_defaults(tmp_path):
    file = tmp_path / "agents.yaml"
    file.write_text(
        "defaults: {place: {cpus: 0.5, memory_mb: 300}}\n"
        "agents:\n"
        "  a: {cmd: [python, -m, a]}\n"
        "  b: {cmd: [python, -m, b], place: {cpus: 2, resources: {village: 1}}}\n"
        "assignments: [{match: {}, use: a}]\n"
    )
    agents = load_mapping(file).agents
    assert agents["a"].place == ResourceRequest(0.5, 300)
    assert agents["b"].place == ResourceRequest(2, 300, (("village", 1),))


def test_agents_are_told_of_the_socket_that_is_known_only_now_unless_the_mapping_names_one(tmp_path):
    file = tmp_path / "agents.yaml"
    text = "agents: {idler: {cmd: [python, -c, pass]}}\nassignments: [{match: {}, use: idler}]\n"
    file.write_text(text)
    mapping = MappingFile(file)
    assert mapping.mapping.world_ws_url == ""
    settled = mapping.settle("127.0.0.1:50051", world_ws_url="ws://127.0.0.1:8700/ws/v1")
    assert settled.world_ws_url == "ws://127.0.0.1:8700/ws/v1"
    file.write_text(f'{text}world_ws_url: "ws://127.0.0.1:9000/ws/v1"\n')
    reloaded = mapping.reload(even_if_same=True)
    assert reloaded is not None
    assert reloaded.world_ws_url == "ws://127.0.0.1:9000/ws/v1"
