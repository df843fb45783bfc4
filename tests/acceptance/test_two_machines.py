"""The guide about two machines is run as it stands: as two network namespaces, or with two loopback addresses.

Root may make namespaces. They have a wire between them and none to anywhere else.
"""

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.acceptance.test_documents import BLOCKS, ROOT, RUN_CLI, commands_of, fresh_environment

GUIDE = ROOT / "docs" / "guides" / "two-machines.md"
COMMANDS = [words for block in BLOCKS[GUIDE] if block.language == "console" for words in commands_of(block)]
MAPPING = next(block.text for block in BLOCKS[GUIDE] if block.language == "yaml")
WORLD, OTHER = "10.77.0.1", "10.77.0.2"
LOOPBACK = "127.0.0.2"  # where there are no namespaces
READY_S = 240
ENTER = """
import ctypes, os
if {namespace!r}:
    assert ctypes.CDLL(None).setns(os.open("/run/netns/" + {namespace!r}, os.O_RDONLY), 0x40000000) == 0, "setns"
"""
ASK = """
import json, os, sys
from dataclasses import replace
from pathlib import Path
from tickmind.base.access.tls_files import TlsFiles
from tickmind.base.access.token_file import TokenFile
from tickmind.wire import LeaseRefusedError, SyncWorldClient, Tls, WireError, WorldEndpoint

address = sys.argv[1]
tls = Tls.load(TlsFiles(Path("ca.pem")))
viewer = WorldEndpoint(address, tls=tls, token=TokenFile(Path("tokens/viewers")), timeout_s=60)

def refusal(endpoint, entity="", controller="thief", previous=None):
    try:
        with SyncWorldClient(endpoint) as client:
            if entity:
                client.acquire(entity, controller, previous=previous)
            else:
                client.entities()
    except WireError as error:
        return str(error)
    return "let in"
"""
WATCH = """
with SyncWorldClient(viewer) as client:
    info, acting, last = client.world(), set(), 0
    for event in client.viewer_events(info):
        acting.update(info.actors[row].entity_id for row in event.results.actor.tolist())
        last = event.tick_id
        if len(acting) == len(info.actors):
            break
print(json.dumps([last, sorted(acting)]))
"""
TRY = """
wrong = replace(viewer, tls=Tls.load(TlsFiles(Path("strange/ca.pem"))))
stolen = WorldEndpoint(address, tls=tls, token=TokenFile(Path("tokens/strangers")), timeout_s=60)
entity = json.loads(Path("held.json").read_text())
from tickmind.base import Secret
print(json.dumps({
    "wrong CA": refusal(wrong),
    "viewer": refusal(viewer, entity["entity_id"]),
    "no token": refusal(replace(viewer, token=None)),
    "stolen lease": refusal(stolen, entity["entity_id"], entity["controller_id"], Secret(entity["lease_id"])),
}))
"""
PAGE = """
import json, urllib.request
with urllib.request.urlopen("http://127.0.0.1:{port}/api/span", timeout=60) as answer:
    print(answer.read().decode())
"""
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@dataclass(frozen=True)
class Machine:
    """One of the two: its namespace, which is empty where there is none, and a folder of its own."""

    namespace: str
    folder: Path


def free_port():
    with socket.socket() as taken:
        taken.bind((LOOPBACK, 0))
        return taken.getsockname()[1]


class Lab:
    """Both machines, and what runs on them."""

    def __init__(self, warm, world, other):
        self.world, self.other = world, other
        self._warm = warm
        self._running = []
        self._logs = 0

        self.address = f"{WORLD}:50051" if world.namespace else f"{LOOPBACK}:{free_port()}"

    def words(self, words):
        host = self.address.rpartition(":")[0]
        return [word.replace(f"{WORLD}:50051", self.address).replace(WORLD, host) for word in words]

    def begin(self, machine, code, words):
        """Start a process on a machine; returns it and the file of its output."""
        self._logs += 1
        log = machine.folder / f"output-{self._logs}.txt"
        with log.open("wb") as opened:
            entering = ENTER.format(namespace=machine.namespace)
            process = self._warm.start(
                ["-c", entering + code, *words],
                cwd=machine.folder,
                env=fresh_environment(),
                stdout=opened,
                stderr=opened,
            )
        self._running.append(process)
        return process, log

    def finish(self, machine, code, words):
        process, log = self.begin(machine, code, words)
        status = process.wait(READY_S)
        text = log.read_text()
        assert status == 0, text
        return text

    def command(self, machine, words):
        assert words[0] == "tickmind"
        return self.finish(machine, RUN_CLI, self.words(words[1:]))

    def serve(self, machine, words, pattern):
        """Start a command that goes on, and wait until it says something."""
        process, log = self.begin(machine, RUN_CLI, self.words(words[1:]))
        return self.says(process, log, pattern)

    @staticmethod
    def says(process, log, pattern):
        end_s = time.monotonic() + READY_S
        while not (found := re.search(pattern, log.read_text())):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < end_s, f"it never said {pattern!r}: {log.read_text()}"
            time.sleep(0.05)
        return found

    def ask(self, code):
        return json.loads(self.finish(self.other, ASK + code, [self.address]).splitlines()[-1])

    def close(self):
        for process in reversed(self._running):
            if process.poll() is None:
                process.terminate()
        for process in self._running:
            process.wait(60)


@pytest.fixture(scope="module")
def names():
    """Two namespaces with a wire between them, or none."""
    if os.geteuid() != 0 or not (shutil.which("ip") and shutil.which("unshare")):
        yield "", ""
        return
    made = [f"tickmind-{os.getpid()}-{side}" for side in "ab"]

    def ip(words):
        return subprocess.run(["ip", *shlex.split(words)], capture_output=True, check=True)

    added = []
    try:
        for name in made:
            ip(f"netns add {name}")
            added.append(name)
        ip(f"link add wire0 netns {made[0]} type veth peer name wire0 netns {made[1]}")
        for name, address in zip(made, (WORLD, OTHER), strict=True):
            ip(f"-n {name} address add {address}/24 dev wire0")
            ip(f"-n {name} link set wire0 up")
            ip(f"-n {name} link set lo up")
        usable = True
    except subprocess.CalledProcessError:  # not allowed in this container
        usable = False
    yield tuple(made) if usable else ("", "")
    for name in added:
        ip(f"netns delete {name}")


@pytest.fixture(scope="module")
def lab(warm, names, tmp_path_factory):
    machines = [Machine(name, tmp_path_factory.mktemp(side)) for name, side in zip(names, "ab", strict=True)]
    made = Lab(warm, *machines)
    yield made
    made.close()


def copy(lab, *files):
    """Carry files to the other machine, as the guide says."""
    for file in files:
        target = lab.other.folder / file.removeprefix("certificates/")
        target.parent.mkdir(exist_ok=True)
        shutil.copy(lab.world.folder / file, target)


def command_with(*words):
    (found,) = [
        command for command in COMMANDS if command[: len(words)] == list(words) and "--client-ca" not in command
    ]
    return found


def test_the_guide_holds_from_the_certificates_to_a_rotated_token(lab):
    rotating = [command for command in COMMANDS if command[:2] == ["tickmind", "token"]]
    making, *_ = [command for command in COMMANDS if command[:3] == ["tickmind", "certificates", "make"]]
    first, viewers, operators, again, only = rotating
    making = [*making, "--host", LOOPBACK]
    for command in (making, first, viewers, operators):
        lab.command(lab.world, command)
    copy(lab, "certificates/ca.pem", "tokens/agents", "tokens/viewers")
    (lab.other.folder / "agents.yaml").write_text(" ".join(lab.words([MAPPING])))

    serving = [*command_with("tickmind", "world"), "--no-record", "--port", lab.address.rpartition(":")[2]]
    lab.serve(lab.world, serving, r"is at (\S+); Ctrl-C")
    assert "agents.yaml" in lab.command(lab.other, command_with("tickmind", "check"))
    lab.serve(lab.other, command_with("tickmind", "runner"), "Agents are kept by")
    watching = [*command_with("tickmind", "viewer"), "--port", "0"]
    port = lab.serve(lab.other, watching, r"The viewer is at http://127.0.0.1:(\d+)/")[1]

    tick, acting = lab.ask(WATCH)
    assert acting
    page = json.loads(lab.finish(lab.other, PAGE.format(port=port), []))
    assert page["live"], page

    lab.command(lab.world, again)
    copy(lab, "tokens/agents")
    withdrawn = (lab.world.folder / "tokens" / "agents").read_text().splitlines()[1]
    lab.command(lab.world, only)
    later, still_acting = lab.ask(WATCH)
    assert later > tick
    assert still_acting == acting
    assert withdrawn not in (lab.world.folder / "tokens" / "agents").read_text()

    lab.command(lab.world, ["tickmind", "token", "tokens/agents", "--name", "host-c"])
    stranger = (lab.world.folder / "tokens" / "agents").read_text().splitlines()[0]
    strangers = lab.other.folder / "tokens" / "strangers"
    strangers.touch(0o600)
    strangers.write_text(stranger)
    lab.command(lab.other, ["tickmind", "certificates", "make", "strange", "--host", "world.lab"])
    (lease_file,) = lab.other.folder.glob(".tickmind/*/*/state/lease.json")
    held = {"entity_id": acting[0], **json.loads(lease_file.read_text())}
    (lab.other.folder / "held.json").write_text(json.dumps(held))
    refused = lab.ask(TRY)
    assert "the given CA did not sign" in refused["wrong CA"]
    assert "may look and not control" in refused["viewer"]
    assert "missing or wrong token" in refused["no token"]
    assert "lease_held" in refused["stolen lease"]
    assert lab.ask(WATCH)[1] == acting

    assert "until" in lab.command(lab.world, command_with("tickmind", "certificates", "renew"))
