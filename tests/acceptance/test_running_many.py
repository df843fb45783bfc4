"""What the guide about running many shows is run: its file and its commands, as real processes that leave nothing."""

import os
import re
import shutil
import signal
import socket
import time
import uuid
from pathlib import Path

import pytest
from tests.acceptance.test_documents import BLOCKS, ROOT, RUN_CLI, commands_of, fresh_environment

from tickmind.record import RunStore

GUIDE = ROOT / "docs" / "guides" / "running-many.md"
COMMANDS = [words for block in BLOCKS[GUIDE] if block.language == "console" for words in commands_of(block)]
READY_S = 200
GONE_S = 60  # that nobody is left is the claim, not how soon
pytestmark = [pytest.mark.slow, pytest.mark.timeout(290)]


def marked(mark):
    """All living processes that came from a test: locale variables are passed on to agents."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if mark.encode() in (folder / "environ").read_bytes():
                    found.append(int(folder.name))
            except OSError:
                continue
    return found


@pytest.fixture
def mark():
    return uuid.uuid4().hex


@pytest.fixture
def folder(tmp_path):
    """A folder with the guide's mapping and the scenarios."""
    (mapping,) = (block.text for block in BLOCKS[GUIDE] if block.language == "yaml")
    (tmp_path / "agents.yaml").write_text(mapping)
    shutil.copytree(ROOT / "scenarios", tmp_path / "scenarios")
    return tmp_path


class Process:
    """A command as a person runs it, with what it says so far."""

    def __init__(self, warm, words, folder, mark):
        self._log = folder / f"{uuid.uuid4().hex}.log"
        with self._log.open("wb") as opened:
            env = {**fresh_environment(), "LC_TICKMIND_MARK": mark}
            self._process = warm.start(["-c", RUN_CLI, *words], cwd=folder, env=env, stdout=opened, stderr=opened)

    def says(self, pattern, times=1):
        """Wait until it has said something so many times; what it said last."""
        until_s = time.monotonic() + READY_S
        while len(found := re.findall(pattern, self._log.read_text())) < times:
            assert self._process.poll() is None, self._log.read_text()
            assert time.monotonic() < until_s, self._log.read_text()
            time.sleep(0.05)
        return found[-1]

    def end(self, number=None):
        """Send a signal and wait; the code and all that it said."""
        if number is not None:
            self._process.send_signal(number)
        code = self._process.wait(READY_S)
        return code, self._log.read_text()


@pytest.fixture
def start(warm, folder, mark):
    started = []

    def run(*words):
        started.append(Process(warm, words, folder, mark))
        return started[-1]

    yield run
    for process in started:
        process._process.kill()
        process._process.wait()


def gone(mark):
    until_s = time.monotonic() + GONE_S
    while marked(mark) and time.monotonic() < until_s:
        time.sleep(0.02)
    return marked(mark) == []


def test_the_guide_has_the_commands_that_are_run_here():
    assert {words[1] for words in COMMANDS} == {"up", "world", "runner", "check", "doctor", "conformance"}


def test_a_check_says_that_the_guides_files_are_good(start):
    (check,) = (words[1:] for words in COMMANDS if words[1] == "check")
    code, said = start(*check).end()
    assert code == 0, said
    assert "agents.yaml: a mapping with 2 agents and 3 assignments" in said
    assert "clearing: the world clearing, 24 x 15 tiles, 3 characters; a mapping with 2" in said


def test_the_doctor_says_how_agents_are_kept(start):
    code, said = start("doctor").end()
    assert code == 0
    assert re.search(r"agents: kept by .*(namespaces|subreaper)", said)


def test_up_brings_everybody_up_and_ctrl_c_leaves_nothing(start, mark):
    (up,) = (words[1:] for words in COMMANDS if words[1] == "up")
    process = start(*up, "--port", "0")
    process.says(r"entity:\d: \w+ is running", times=3)
    assert len(marked(mark)) >= 4  # the world, and the agents; this process has none of its own environment in /proc
    code, said = process.end(signal.SIGINT)
    assert code == 0, said
    assert "3 characters, 0 restarts; all agents have ended." in said
    assert "Traceback" not in said
    assert gone(mark)


def test_nothing_survives_when_up_is_killed(start, mark):
    process = start("up", "scenarios/village.yaml", "--no-gateway", "--port", "0")
    process.says(r"villager is running", times=12)
    process.end(signal.SIGKILL)
    assert gone(mark)


def test_up_ends_with_its_world_and_brings_a_gateway(start, mark):
    process = start(
        "up", "scenarios/clearing.yaml", "--port", "0", "--gateway-port", "0", "--tps", "10", "--ticks", "60"
    )
    process.says(r"gateway: The gateway is at http://")
    code, said = process.end()
    assert code == 0, said
    assert "world: 60 ticks" in said
    assert gone(mark)


def wait_for_tick(runs, run_id="clearing-*"):
    """Wait until a run has recorded a tick: before that it is empty, and not kept when it ends."""
    until_s = time.monotonic() + READY_S
    while not has_tick(runs, run_id):
        assert time.monotonic() < until_s
        time.sleep(0.02)


def has_tick(runs, run_id):
    for meta in runs.glob(f"{run_id}/meta.json"):
        with RunStore(runs).open(meta.parent.name) as run:
            if run.last_tick_id:
                return True
    return False


def test_a_world_that_is_killed_goes_on_and_nobody_is_lost(start, mark, folder):
    process = start("up", "scenarios/clearing.yaml", "--no-gateway", "--no-viewer", "--port", "0", "--tps", "10")
    process.says(r"entity:\d: \w+ is running", times=3)
    wait_for_tick(folder / "runs")
    (world,) = (pid for pid in marked(mark) if is_command(pid, "world"))
    os.kill(world, signal.SIGKILL)
    process.says(r"It was killed; restarting it where it was.")
    process.says(r"world: The world clearing is at", times=2)
    code, said = process.end(signal.SIGINT)
    assert code == 0, said
    assert len(list((folder / "runs").glob("clearing-*/meta.json"))) == 1
    assert gone(mark)


def is_command(pid, name):
    words = (Path("/proc") / str(pid) / "cmdline").read_bytes().split(b"\0")
    return b"tickmind.cli" in words and words[words.index(b"tickmind.cli") + 1] == name.encode()


def test_up_says_why_a_part_does_not_come_up(start, mark, folder):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        code, said = start("up", "scenarios/clearing.yaml", "--no-gateway", "--port", port).end()
    assert code == 1
    assert f"port {port} of the world (--port) can't be used: Address already in use. Nothing was started." in said
    assert gone(mark)
    assert not (folder / "runs").exists()


def test_a_runner_follows_its_file_and_a_second_one_is_refused(start, mark, folder):
    world = start("world", "scenarios/clearing.yaml", "--port", "0", "--tps", "2")
    address = world.says(r"is at (\S+); Ctrl-C")
    runner = start("runner", "agents.yaml", "--world", address)
    runner.says(r"entity:\d: berry_eater is running", times=2)
    code, said = start("runner", "agents.yaml", "--world", address).end()
    assert code == 1
    assert "another runner uses" in said
    file = folder / "agents.yaml"
    text = file.read_text()
    file.write_text(text.replace("use: null", "use: nobody"))
    runner.says(r"the mapping has errors")
    file.write_text(text.replace("use: null", "use: walker"))
    runner.says(r"reloaded: 0 agents stop, 1 start")
    runner.says(r"entity:3: walker is running")
    code, said = runner.end(signal.SIGTERM)
    assert code == 0, said
    assert "entity:1: berry_eater is stopped" in said
    assert world.end(signal.SIGINT)[0] == 0
    assert gone(mark)
    log = next((folder / ".tickmind" / "agents").glob("berry_eater*/agent.log")).read_text()
    assert "took control" in log


def test_a_runner_without_a_world_waits_for_it(start):
    runner = start("runner", "agents.yaml", "--world", "127.0.0.1:1")
    runner.says(r"Agents are kept by")
    code, said = runner.end(signal.SIGINT)
    assert code == 0
    assert "0 characters" in said
