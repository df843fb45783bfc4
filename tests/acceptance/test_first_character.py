"""The guide to a first character, step by step with real processes: the character walks, eats and speaks."""

import re
import subprocess
import threading
import time
from collections import defaultdict
from contextlib import suppress

import pytest
from tests.acceptance.test_documents import ASSIGNMENT, BLOCKS, ROOT, RUN_CLI, commands_of, fresh_environment

from tickmind.protocol import ActionType, Direction, Move
from tickmind.wire import SyncWorldClient, WireError, WorldEndpoint

GUIDE = ROOT / "docs" / "guides" / "first-character.md"
COMMANDS = [words for block in BLOCKS[GUIDE] if block.language == "console" for words in commands_of(block)]
READY_S = 180

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


class Steps:
    """Runs the guide's commands in a folder, as a reader would."""

    def __init__(self, warm, folder):
        self.warm = warm
        self.folder = folder
        self.env = fresh_environment()
        self.running = []

    def command(self, words):
        given = dict(word.split("=", 1) for word in words if ASSIGNMENT.fullmatch(word))
        program, *arguments = [word for word in words if not ASSIGNMENT.fullmatch(word)]
        how = {
            "tickmind": ["-c", RUN_CLI],
            "python": [],
            "pytest": ["-m", "pytest", "-q", "-p", "no:cacheprovider"],
        }
        return [*how[program], *arguments], {**self.env, **given}

    def run(self, words):
        command, env = self.command(words)
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = self.warm.start(command, cwd=self.folder, env=env, **pipes)
        out, err = process.communicate(timeout=READY_S)
        process.stdout.close()
        process.stderr.close()
        assert process.returncode == 0, f"{words}: {out}{err}"
        return out

    def start(self, words, *more):
        command, env = self.command(words)
        process = self.warm.start([*command, *more], cwd=self.folder, env=env, stderr=subprocess.PIPE)
        self.running.append(process)
        return process

    def end(self):
        for process in self.running:
            if process.poll() is None:
                process.kill()
            process.wait()
            process.stderr.close()


@pytest.fixture
def steps(warm, tmp_path):
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    made = Steps(warm, tmp_path)
    yield made
    made.end()


def test_the_guide_leads_to_a_character_that_walks_eats_and_speaks(steps):
    world_words, new_words, test_words, live_words, villager_words = COMMANDS
    # On a port of its own and faster than a person would want it, so that hunger comes soon.
    world = steps.start(world_words, "--port", "0", "--tps", "10")
    found = next(filter(None, (re.search(r"is at (\S+); Ctrl-C", line) for line in world.stderr)))
    steps.env["WORLD_ADDR"] = found[1]

    printed = steps.run(new_words)
    assert "Wrote gatherer.py" in printed
    assert "Wrote test_gatherer.py" in printed
    assert "passed" in steps.run(test_words)

    with SyncWorldClient(WorldEndpoint(found[1], timeout_s=60)) as client:
        info = client.world()
        ids = [actor.entity_id for actor in info.actors]
        done, said = defaultdict(set), defaultdict(list)

        def watch():
            with suppress(WireError):  # until the client is closed
                for event in client.viewer_events(info):
                    for place in range(len(event.results)):
                        one = event.results.named(place, ids)
                        if one.ok:
                            done[one.actor_id].add(one.action_type)
                    for utterance in event.utterances:
                        said[utterance.actor_id].append(utterance.text)

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        gatherer = steps.start(live_words)
        villager = steps.start(villager_words)
        wanted = {ActionType.MOVE, ActionType.USE, ActionType.SAY}
        visitor = threading.Thread(target=come_by, args=(found[1], done), daemon=True)
        visitor.start()
        end_s = time.monotonic() + READY_S
        while not (wanted <= done["entity:1"] and done["entity:2"]):
            assert time.monotonic() < end_s, (done, said)
            assert gatherer.poll() is None, gatherer.stderr.read()
            assert villager.poll() is None, villager.stderr.read()
            time.sleep(0.1)
        assert "Hello there!" in said["entity:1"]
        for process in (gatherer, villager):
            process.terminate()
            assert process.wait(READY_S) == 0
        visitor.join(60)
    watcher.join(60)


def come_by(address, done):
    """Let a third character go to and fro, so that there is somebody to greet."""
    with (
        SyncWorldClient(WorldEndpoint(address, timeout_s=60)) as client,
        client.control("entity:3", "a visitor") as session,
    ):
        for observation in session:
            if ActionType.SAY in done["entity:1"]:
                return
            way = Direction.W if observation.tick_id // 12 % 2 else Direction.NW
            session.submit(observation.tick_id, Move(way))


def test_the_code_in_the_guide_is_what_the_command_writes(steps, tmp_path):
    steps.run(["tickmind", "new", "agent", "gatherer"])
    written = (tmp_path / "gatherer.py").read_text()
    shown = next(block.text for block in BLOCKS[GUIDE] if block.language == "python")
    for line in ("def gatherer(observation: Observation) -> Intent:", 'return Say("Hello there!")', 'Use("berries")'):
        assert line in written
        assert line in shown
