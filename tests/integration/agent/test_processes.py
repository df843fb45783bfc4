"""Agents as processes in a world that is a process: how they start, act, die and come back."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

import pytest

from tickmind.agent import Assignment, Heartbeat, Launch, Settings, encode_secrets
from tickmind.base import Secret
from tickmind.protocol import ActionType, LifecycleKind
from tickmind.wire import SyncWorldClient, WireError, WorldEndpoint

ROOT = Path(__file__).parents[3]
READY_S = 180  # compiling the rules for the first time takes a while on a busy machine
TOKEN = "a-token-that-only-friends-know"
pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]


def environment_of(env):
    return {**os.environ, "PYTHONPATH": str(ROOT / "src"), **(env or {})}


@pytest.fixture(scope="module")
def start(warm):
    """Start a Python process with its errors in a pipe."""

    def begin(*arguments, env=None):
        return warm.start(arguments, env=environment_of(env), stderr=subprocess.PIPE)

    return begin


def end(process):
    if process.poll() is None:
        process.kill()
    process.wait()
    process.stderr.close()


class World:
    """A world process, and what happens in it."""

    def __init__(self, process, token=""):
        self.process = process
        found = next(filter(None, (re.search(r"is at (\S+); Ctrl-C", line) for line in process.stderr)))
        self.address = found[1]
        self._reader = threading.Thread(target=process.stderr.read, daemon=True)
        self._reader.start()
        self.client = SyncWorldClient(WorldEndpoint(self.address, token=Secret(token) if token else None, timeout_s=60))
        self.results = defaultdict(list)  # entity id -> action types
        self.said = defaultdict(list)
        self.control = defaultdict(list)  # entity id -> kinds of lifecycle events
        info = self.client.world()
        self.ids = [actor.entity_id for actor in info.actors]
        self._watcher = threading.Thread(target=self._watch, args=(info,), daemon=True)
        self._watcher.start()

    def _watch(self, info):
        with suppress(WireError):  # until the client is closed
            for event in self.client.viewer_events(info):
                for place in range(len(event.results)):
                    one = event.results.named(place, self.ids)
                    self.results[one.actor_id].append((one.action_type, one.ok))
                for said in event.utterances:
                    self.said[said.actor_id].append(said.text)
                for change in event.lifecycle:
                    self.control[change.entity.entity_id].append(change.kind)

    def close(self):
        self.client.close()
        self._watcher.join(60)
        self.process.kill()
        self.process.wait()
        self._reader.join(60)
        self.process.stderr.close()

    def free(self, entity_id):
        return entity_id in {one.entity_id for one in self.client.entities(uncontrolled_only=True)}


def until(condition, *processes):
    """Wait for something with much patience; processes that it depends on must be alive."""
    end_s = time.monotonic() + READY_S
    while not condition():
        assert time.monotonic() < end_s, "it did not happen"
        for process in processes:
            assert process.poll() is None, process.stderr.read()
        time.sleep(0.05)


@pytest.fixture(scope="module")
def open_world(start):
    def begin(folder, *more, scenario="village", token=""):
        file = ROOT / "scenarios" / f"{scenario}.yaml"
        words = ["-m", "tickmind.cli", "world", file, "--port", 0, "--tps", 5, "--runs", folder / "runs", *more]
        return World(start(*words), token)

    return begin


@pytest.fixture(scope="module")
def world(open_world, tmp_path_factory):
    made = open_world(tmp_path_factory.mktemp("world"))
    yield made
    made.close()


def environment(world, entity_id, **more):
    return Launch((Assignment(entity_id, f"test:{entity_id}"),), world_addr=world.address, **more).to_environment()


def test_every_ready_character_acts(start, world):
    names = ["random_walker", "berry_eater", "forager_bt", "villager", "tool_user"]
    running = [
        start("-m", f"tickmind.characters.{name}", env=environment(world, f"entity:{number}"))
        for number, name in enumerate(names, start=1)
    ]
    try:
        until(lambda: all(len(world.results[f"entity:{number}"]) > 5 for number in range(1, 6)), *running)
        until(lambda: (ActionType.MOVE, True) in world.results["entity:1"], *running)
        for process in running:
            process.send_signal(signal.SIGTERM)
        for process in running:
            assert process.wait(READY_S) == 0, process.stderr.read()
        until(lambda: all(world.free(f"entity:{number}") for number in range(1, 6)))
    finally:
        for process in running:
            end(process)


def test_one_process_hosts_many_characters(start, world, tmp_path):
    launch = Launch(
        tuple(Assignment(f"entity:{number}", "host") for number in range(6, 10)),
        world_addr=world.address,
        settings=Settings({"personality": "You are shy."}),
        state_dir=tmp_path / "state",
        config_path=tmp_path / "launch.json",
    )
    launch.write_file()
    process = start("-m", "tickmind.characters.villager", env=launch.to_environment())
    try:
        until(lambda: all(len(world.results[each.entity_id]) > 5 for each in launch.entities), process)
        process.send_signal(signal.SIGTERM)
        assert process.wait(READY_S) == 0
        until(lambda: all(world.free(each.entity_id) for each in launch.entities))
    finally:
        end(process)


def test_an_agent_that_was_killed_takes_its_entity_back_at_once(start, world, tmp_path):
    launch = Launch(
        (Assignment("entity:10", "test:10"),),
        world_addr=world.address,
        state_dir=tmp_path / "state",
        config_path=tmp_path / "launch.json",
    )
    launch.write_file()
    first = start("-m", "tickmind.characters.random_walker", env=launch.to_environment())
    try:
        until(lambda: len(world.results["entity:10"]) > 3, first)
        first.kill()
        first.wait()
    finally:
        end(first)
    changes = len(world.control["entity:10"])
    acted = len(world.results["entity:10"])
    again = start("-m", "tickmind.characters.random_walker", env=launch.to_environment())
    try:
        until(lambda: world.results["entity:10"][acted:].count((ActionType.MOVE, True)) > 2, again)
        again.terminate()
        _, log = again.communicate(timeout=READY_S)
    finally:
        end(again)
    assert "took control" in log
    assert "lease refused" not in log or LifecycleKind.UNCONTROLLED in world.control["entity:10"][changes:]


def test_secrets_and_heartbeats_go_through_descriptors(open_world, tmp_path):
    tokens = tmp_path / "tokens.txt"
    tokens.touch(0o600)
    tokens.write_text(TOKEN)
    guarded = open_world(tmp_path, "--token-file", tokens, scenario="clearing", token=TOKEN)
    secrets = os.memfd_create("secrets", 0)
    os.write(secrets, encode_secrets({"WORLD_TOKEN": Secret(TOKEN)}))
    reader, writer = os.pipe()
    env = environment(guarded, "entity:1", secrets_fd=secrets, heartbeat_fd=writer)
    # In an interpreter of its own, as `/proc` shows what it was started with.
    process = subprocess.Popen(
        [sys.executable, "-m", "tickmind.characters.berry_eater"],
        env=environment_of(env),
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        pass_fds=(secrets, writer),
    )
    os.close(secrets)
    os.close(writer)
    try:
        with os.fdopen(reader, "rb") as lines:
            beats = []
            for line in lines:
                beats.append(Heartbeat.decode(line))
                if beats[-1].tick and beats[-1].acted:
                    break
            inside = Path(f"/proc/{process.pid}")
            assert TOKEN.encode() not in (inside / "environ").read_bytes() + (inside / "cmdline").read_bytes()
            assert not any("secrets" in str(one.readlink()) for one in (inside / "fd").iterdir())
        assert process.wait(READY_S) == 0  # nobody reads its heartbeat any more
        assert process.stderr is not None
        log = process.stderr.read()
        assert TOKEN not in log
        assert "the process that started this one is gone" in log
    finally:
        end(process)
        guarded.close()


@pytest.mark.parametrize(
    ("env", "words"),
    [
        ({}, "ENTITY_ID is not set"),
        ({"ENTITY_ID": "entity:1", "AGENT_CONFIG_PATH": "/nowhere/launch.json"}, "can't be read"),
        ({"ENTITY_ID": "entity:1", "WORLD_ADDR": "203.0.113.1:50051"}, "not on this machine"),
        ({"ENTITY_ID": "nobody"}, "no entity nobody"),
    ],
)
def test_what_is_wrong_with_the_start_is_one_plain_sentence(start, world, env, words):
    process = start("-m", "tickmind.characters.random_walker", env={"WORLD_ADDR": world.address, **env})
    try:
        _, log = process.communicate(timeout=READY_S)
    finally:
        end(process)
    assert process.returncode == 1
    assert words in log
    assert "Traceback" not in log


def test_the_launch_file_of_a_host_holds_no_secret(tmp_path):
    launch = Launch((Assignment("a", "b"),), config_path=tmp_path / "launch.json", secrets_path=tmp_path / "s.json")
    launch.write_file()
    assert set(json.loads((tmp_path / "launch.json").read_text())) == {
        "entities",
        "settings",
        "state_dir",
        "gateway_url",
        "session",
    }
