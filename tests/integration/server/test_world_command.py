"""`tickmind world` as a person runs it: a real process, its words, and how it ends."""

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tickmind.protocol import Ack, Say
from tickmind.wire import SyncWorldClient

ROOT = Path(__file__).parents[3]
CLEARING = ROOT / "scenarios" / "clearing.yaml"
READY_S = 180  # compiling the rules for the first time takes a while on a busy machine

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def start(*arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "tickmind.cli", "world", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def address_of(process):
    """Where the world says that it is."""
    for line in process.stderr:
        if found := re.search(r"is at (\S+); Ctrl-C", line):
            return found[1]
    raise AssertionError("it ended without being ready")


def run(*arguments):
    process = start(*arguments)
    out, err = process.communicate(timeout=READY_S)
    return process.returncode, out, err


def test_a_world_runs_its_ticks_and_ends():
    code, out, err = run(CLEARING, "--port", 0, "--tps", 50, "--ticks", 5)
    assert (code, out) == (0, "")
    assert "5 ticks" in err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_a_world_in_good_order(number, tmp_path):
    process = start(CLEARING, "--port", 0, "--tps", 20, "--checkpoint", tmp_path / "world.checkpoint")
    try:
        with SyncWorldClient(address_of(process)) as client:
            lease = client.acquire("entity:1", "me")
            ack = Ack(False)
            for observation in client.observations(lease):
                ack = client.submit(lease, observation.tick_id, Say("hello"))
                if ack.accepted:
                    break
            assert ack == Ack(True)
            process.send_signal(number)
            _, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0
    assert "1 intents" in err
    assert "Traceback" not in err
    assert (tmp_path / "world.checkpoint").stat().st_size > 0


def test_a_taken_port_is_a_plain_sentence():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        code, _, err = run(CLEARING, "--port", taken.getsockname()[1])
    assert code == 1
    assert "choose another port" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--host", "0.0.0.0"], "needs TLS and tokens"),
        (["--tls", "nowhere"], "cert.pem can't be read"),
        (["--tps", "0"], "ticks per second"),
        (["--speed", "0"], "speed"),
    ],
)
def test_what_can_not_be_is_said_in_one_sentence(arguments, words):
    code, _, err = run(CLEARING, *arguments)
    assert code == 1
    assert words in err
    assert "Traceback" not in err


def test_a_missing_scenario_is_named(tmp_path):
    code, _, err = run(tmp_path / "nowhere.yaml")
    assert code == 1
    assert "nowhere.yaml" in err
