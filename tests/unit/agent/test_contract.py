import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.agent import Assignment, Heartbeat, HeartbeatWriter, Launch, LaunchError, Settings, encode_secrets
from tickmind.agent.contract import log_level
from tickmind.agent.process.world_access import world_endpoint_of
from tickmind.base import ConfigError, LimitExceededError, Secret
from tickmind.base.access.tls_files import TlsFiles
from tickmind.protocol import AgentState

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def test_three_variables_are_enough():
    launch = Launch.from_environment({"WORLD_ADDR": "127.0.0.1:4000", "ENTITY_ID": "alice", "CONTROLLER_ID": "me"})
    assert launch.entities == (Assignment("alice", "me"),)
    assert launch.world_addr == "127.0.0.1:4000"
    assert launch.state_dir is None
    assert launch.heartbeat_fd is None
    assert launch.take_secrets() == {}


def test_the_entity_alone_is_enough():
    launch = Launch.from_environment({"ENTITY_ID": "alice"})
    assert launch.world_addr == "127.0.0.1:50051"
    assert launch.entities == (Assignment("alice", "agent:alice"),)


def test_a_missing_entity_says_what_to_set():
    with pytest.raises(LaunchError, match=r"ENTITY_ID is not set.*ENTITY_ID=alice python"):
        Launch.from_environment({})


@given(
    ids=st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=5, unique=True),
    settings=st.dictionaries(st.text(), JSON, max_size=4),
    fd=st.none() | st.integers(0, 100),
)
def test_what_a_runner_writes_is_what_the_process_reads(tmp_path_factory, ids, settings, fd):
    folder = tmp_path_factory.mktemp("launch")
    launch = Launch(
        entities=tuple(Assignment(each, f"runner:{each}") for each in ids),
        world_addr="unix:/run/world.sock",
        settings=Settings(settings),
        state_dir=folder / "state",
        gateway_url="http://127.0.0.1:8766",
        session="game",
        config_path=folder / "launch.json",
        secrets_fd=fd,
        heartbeat_fd=fd,
    )
    launch.write_file()
    assert Launch.from_environment(launch.to_environment()) == launch


def test_the_launch_file_is_for_this_user_only(tmp_path):
    launch = Launch((Assignment("a", "b"),), config_path=tmp_path / "launch.json")
    launch.write_file()
    launch.write_file()
    assert (tmp_path / "launch.json").stat().st_mode & 0o777 == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["launch.json"]


def test_the_environment_says_python_unbuffered():
    assert Launch((Assignment("a", "b"),)).to_environment() == {
        "WORLD_ADDR": "127.0.0.1:50051",
        "ENTITY_ID": "a",
        "CONTROLLER_ID": "b",
        "PYTHONUNBUFFERED": "1",
    }


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"[]", "must be a JSON object"),
        (b"{", "must be a JSON object"),
        (b"\xff", "must be a JSON object"),
        (b"[" * 100_000, "must be a JSON object"),
        (b'{"entities": {}}', "must be a list"),
        (b'{"entities": [{"entity_id": 1}]}', r"entities\[0\]"),
        (b'{"entities": ["alice"]}', r"entities\[0\]"),
        (b'{"entities": [{"entity_id": "a"}, {"entity_id": "a"}]}', "twice"),
        (b'{"entities": [{"entity_id": "a"}], "settings": []}', "settings"),
        (b'{"entities": [{"entity_id": "a"}], "state_dir": 3}', "state_dir"),
        (b'{"entities": [{"entity_id": "b"}]}', "ENTITY_ID is 'a'"),
    ],
)
def test_a_wrong_launch_file_is_a_clear_error(tmp_path, content, words):
    (tmp_path / "launch.json").write_bytes(content)
    with pytest.raises(LaunchError, match=words):
        Launch.from_environment({"ENTITY_ID": "a", "AGENT_CONFIG_PATH": str(tmp_path / "launch.json")})


def test_a_launch_file_that_is_not_there_is_a_clear_error(tmp_path):
    with pytest.raises(LaunchError, match="can't be read: No such file"):
        Launch.from_environment({"AGENT_CONFIG_PATH": str(tmp_path / "none.json")})


@pytest.mark.parametrize("number", ["x", "-1", "1.5", "²"])
def test_a_descriptor_that_is_no_number_is_a_clear_error(number):
    with pytest.raises(LaunchError, match="AGENT_SECRETS_FD must be the number"):
        Launch.from_environment({"ENTITY_ID": "a", "AGENT_SECRETS_FD": number})


def _launch(**more):
    return Launch((Assignment("a", "b"),), **more)


def test_secrets_come_through_a_pipe_once_and_close_it():
    reader, writer = os.pipe()
    os.write(writer, encode_secrets({"WORLD_TOKEN": Secret("tok-123456")}))
    os.close(writer)
    assert _launch(secrets_fd=reader).take_secrets() == {"WORLD_TOKEN": Secret("tok-123456")}
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(reader)


def test_secrets_come_through_a_memfd_that_stands_at_its_end():
    descriptor = os.memfd_create("secrets")
    os.write(descriptor, encode_secrets({"LLM_API_KEY": Secret("key-123456")}))
    assert _launch(secrets_fd=descriptor).take_secrets() == {"LLM_API_KEY": Secret("key-123456")}


def test_secrets_come_from_a_file_that_nobody_else_may_read(tmp_path):
    file = tmp_path / "secrets.json"
    file.write_bytes(encode_secrets({"LLM_API_KEY": Secret("key-123456")}))
    file.chmod(0o640)
    with pytest.raises(LaunchError, match="chmod 600"):
        _launch(secrets_path=file).take_secrets()
    file.chmod(0o600)
    assert _launch(secrets_path=file).take_secrets() == {"LLM_API_KEY": Secret("key-123456")}


@pytest.mark.parametrize("content", [b'{"K": "hunter2-hunter2', b'["hunter2-hunter2"]', b'{"K": ["hunter2-hunter2"]}'])
def test_no_error_shows_a_secret(tmp_path, content):
    file = tmp_path / "secrets.json"
    file.write_bytes(content)
    file.chmod(0o600)
    with pytest.raises(ConfigError) as caught:
        _launch(secrets_path=file).take_secrets()
    assert "hunter2" not in str(caught.value)


def test_too_many_secrets_are_refused(tmp_path):
    with pytest.raises(LimitExceededError):
        encode_secrets({"K": Secret("x" * 70_000)})
    file = tmp_path / "secrets.json"
    file.write_bytes(b'{"K": "' + b"x" * 70_000 + b'"}')
    file.chmod(0o600)
    with pytest.raises(LaunchError, match="more than the limit"):
        _launch(secrets_path=file).take_secrets()


def test_a_closed_descriptor_is_a_clear_error():
    reader, writer = os.pipe()
    os.close(writer)
    os.close(reader)
    with pytest.raises(LaunchError, match=f"AGENT_SECRETS_FD is {reader}"):
        _launch(secrets_fd=reader).take_secrets()
    with pytest.raises(LaunchError, match=f"AGENT_HEARTBEAT_FD is {writer}"):
        HeartbeatWriter(writer)


@given(
    tick=st.integers(0, 2**62),
    state=st.sampled_from(AgentState),
    entities=st.integers(0, 10**6),
    acted=st.integers(0, 10**6),
)
def test_heartbeats_travel_as_lines(tick, state, entities, acted):
    beat = Heartbeat(tick, state, entities, acted)
    line = beat.encode()
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert json.loads(line) == {"tick": tick, "state": state.value, "entities": entities, "acted": acted}
    assert Heartbeat.decode(line) == beat


@given(st.binary(max_size=600) | JSON.map(lambda value: json.dumps(value).encode()))
def test_any_line_is_a_heartbeat_or_a_launch_error(line):
    try:
        beat = Heartbeat.decode(line)
    except LaunchError:
        return
    assert Heartbeat.decode(beat.encode()) == beat


def test_a_full_pipe_loses_beats_and_waits_for_nobody():
    reader, writer = os.pipe()
    pulse = HeartbeatWriter(writer)
    beat = Heartbeat(1, AgentState.RUNNING, 1, 1)
    sent = 0
    while pulse.beat(beat):
        sent += 1
    assert sent > 100
    assert os.read(reader, len(beat.encode())) == beat.encode()
    os.close(reader)
    assert not pulse.beat(beat)
    assert not pulse.beat(beat)


def test_children_do_not_inherit_the_pulse():
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    pulse = HeartbeatWriter(writer)
    assert not os.get_inheritable(writer)
    pulse.close()
    pulse.close()
    assert os.read(reader, 1) == b""
    os.close(reader)


def test_settings_are_read_by_kind():
    settings = Settings(
        {"name": "Alice", "greed": 0.5, "steps": 3, "shy": True, "friends": ["bob"], "model": {"role": "thinker"}}
    )
    assert settings.text("name") == "Alice"
    assert settings.number("greed") == 0.5
    assert settings.number("steps") == 3.0
    assert settings.whole("steps") == 3
    assert settings.flag("shy")
    assert settings.texts("friends") == ("bob",)
    assert settings.section("model").text("role") == "thinker"
    assert settings.section("none").text("role", "x") == "x"
    assert "greed" in settings
    assert sorted(settings) == ["friends", "greed", "model", "name", "shy", "steps"]
    for read in (settings.number, settings.whole, settings.flag, settings.texts, settings.section):
        with pytest.raises(LaunchError, match="the setting 'name' must be"):
            read("name")
    with pytest.raises(LaunchError, match="must be a text"):
        settings.text("steps")
    with pytest.raises(LaunchError, match="whole number"):
        settings.whole("shy")


def test_the_log_level_is_one_of_a_few():
    assert log_level({}) == "info"
    assert log_level({"AGENT_LOG_LEVEL": "ERROR"}) == "error"
    with pytest.raises(LaunchError, match="AGENT_LOG_LEVEL must be one of debug, info, warning, error"):
        log_level({"AGENT_LOG_LEVEL": "loud"})


def test_a_path_in_the_launch_file_is_a_path(tmp_path):
    (tmp_path / "launch.json").write_text('{"entities": [{"entity_id": "a"}], "state_dir": "/run/a"}')
    launch = Launch.from_environment({"AGENT_CONFIG_PATH": str(tmp_path / "launch.json")})
    assert launch.state_dir == Path("/run/a")
    assert launch.entities == (Assignment("a", "agent:a"),)


def test_certificates_and_the_token_file_pass_through_the_launch_file(tmp_path):
    launch = Launch(
        (Assignment("a", "b"),),
        config_path=tmp_path / "launch.json",
        tls=TlsFiles(tmp_path / "ca.pem", tmp_path / "cert.pem", tmp_path / "key.pem", "world.lab"),
        world_token_file=tmp_path / "token",
    )
    launch.write_file()
    read = Launch.from_environment(launch.to_environment())
    assert (read.tls, read.world_token_file) == (launch.tls, launch.world_token_file)
    assert not any("TLS" in name or "TOKEN" in name for name in launch.to_environment())


@pytest.mark.parametrize(
    ("tls", "words"),
    [
        ([], "tls in the launch file must have a ca"),
        ({}, "must have a ca"),
        ({"ca": ""}, "must have a ca"),
        ({"ca": 5}, "must have a ca"),
        ({"ca": "a", "key": None}, "all of them paths"),
        ({"ca": "a", "key": "b"}, "give both, or neither"),
    ],
)
def test_wrong_certificates_in_the_launch_file_are_said(tmp_path, tls, words):
    file = tmp_path / "launch.json"
    file.write_text(json.dumps({"tls": tls}))
    with pytest.raises(LaunchError, match=words):
        Launch.from_environment({"ENTITY_ID": "a", "AGENT_CONFIG_PATH": str(file)})


@pytest.mark.parametrize(("key", "words"), [("tls", "can't be read"), ("world_token_file", "can't be read")])
def test_files_that_are_missing_end_the_start_with_their_names(tmp_path, key, words):
    path = tmp_path / "missing"
    given = {"tls": TlsFiles(path)} if key == "tls" else {"world_token_file": path}
    with pytest.raises(LaunchError, match=f"missing {words}"):
        world_endpoint_of(Launch((Assignment("a", "b"),), **given), {})


def test_a_world_on_another_machine_is_not_reached_without_tls():
    with pytest.raises(LaunchError, match="would travel in the clear"):
        world_endpoint_of(Launch((Assignment("a", "b"),), world_addr="192.0.2.7:50051"), {})
