"""`tickmind world` as a person runs it: a real process, its words, and how it ends."""

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tickmind.protocol import Ack, Say, Thought
from tickmind.record import RunState, RunStore
from tickmind.wire import SyncWorldClient

ROOT = Path(__file__).parents[3]
CLEARING = ROOT / "scenarios" / "clearing.yaml"
WITHOUT_ARROW = "import sys; sys.modules['pyarrow'] = None; from tickmind.cli import main; main()"
READY_S = 180  # compiling the rules for the first time takes a while on a busy machine

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(autouse=True)
def _somewhere_else(tmp_path, monkeypatch):
    """Runs are recorded where the program is started."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def start(warm):
    """Start `tickmind world`; with a `program`, in an interpreter of its own."""
    started = []

    def begin(*arguments, program=None):
        env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        pipe = subprocess.PIPE
        if program is None:
            started.append(warm.start(["-m", "tickmind.cli", "world", *arguments], env=env, stdout=pipe, stderr=pipe))
        else:
            words = [sys.executable, *program, "world", *map(str, arguments)]
            begun = subprocess.Popen(words, env=env, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True)
            started.append(begun)
        return started[-1]

    yield begin
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


def address_of(process):
    """Where the world says that it is."""
    for line in process.stderr:
        if found := re.search(r"is at (\S+); Ctrl-C", line):
            return found[1]
    raise AssertionError("it ended without being ready")


@pytest.fixture
def run(start):
    """Run `tickmind world` to its end; its exit code and what it said."""

    def whole(*arguments, **how):
        process = start(*arguments, **how)
        out, err = process.communicate(timeout=READY_S)
        return process.returncode, out, err

    return whole


@pytest.mark.parametrize(
    ("number", "state"), [(signal.SIGINT, RunState.CLEAN), (signal.SIGTERM, RunState.CRASHED)], ids=["INT", "TERM"]
)
def test_a_signal_stops_a_world_in_good_order_and_it_goes_on_later(number, state, start, run, tmp_path):
    scenario = tmp_path / "clearing.yaml"
    scenario.write_text(CLEARING.read_text())
    process = start(scenario, "--port", 0, "--tps", 20, "--run-id", "one")
    with SyncWorldClient(address_of(process)) as client:
        assert client.world().tick_duration_ms == 50  # as --tps says
        lease = client.acquire("entity:1", "me")
        ack = Ack(False)
        for observation in client.observations(lease):
            if ack.accepted:
                break  # the tick of the intent is over
            ack = client.submit(lease, observation.tick_id, Say("hello"))
            if ack.accepted:
                client.report_thought(lease, observation.tick_id, Thought(1, 1, 1, "", "why?", "because"))
        assert ack == Ack(True)
        process.send_signal(number)
        _, err = process.communicate(timeout=READY_S)
    assert process.returncode == 0
    assert "1 intents" in err
    assert ("Writing the finished files of run one." in err) == (state is RunState.CLEAN)
    assert "tickmind world --resume one" in err
    assert "Traceback" not in err
    store = RunStore(Path("runs"))
    summary = store.summary("one")
    assert summary.state is state
    with store.open("one") as reader:
        assert [said.text for record in reader.records() for said in record.utterances] == ["hello"]
        assert [one.thought.reply for one in reader.thoughts()] == ["because"]
    scenario.unlink()  # the run has its own
    code, _, err = run("--resume", "one", "--port", 0, "--speed", 2.5, "--ticks", 5)
    assert code == 0
    assert f"resumes after tick {summary.last_tick_id}" in err
    assert store.summary("one").ticks == summary.ticks + 5


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["INT", "TERM"])
def test_a_world_that_is_stopped_before_its_first_tick_leaves_no_run(number, start):
    process = start(CLEARING, "--port", 0, "--wait-for", 1)
    address_of(process)
    process.send_signal(number)
    _, err = process.communicate(timeout=READY_S)
    assert process.returncode == 0
    assert err.endswith("No tick has passed, so the run is not kept.\n")
    assert list(Path("runs").glob("*")) == []


def test_a_world_whose_metrics_port_is_taken_leaves_no_run(run):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, _, err = run(CLEARING, "--port", 0, "--metrics-port", port)
    assert (code, err) == (
        1,
        f"can't serve metrics on port {port}: Address already in use; choose another port (--metrics-port)\n",
    )
    assert not Path("runs").exists()


def test_a_world_runs_its_ticks_records_them_and_says_where(run):
    code, out, err = run(CLEARING, "--port", 0, "--tps", 50, "--ticks", 5, "--sync", 100)
    assert (code, out) == (0, "")
    assert "5 ticks" in err
    [summary] = RunStore(Path("runs")).runs()
    assert summary.ticks == 5
    assert f"Run {summary.run_id} begins." in err
    assert f"tickmind runs show {summary.run_id}" in err


def test_a_world_can_do_without_a_record_and_then_without_what_records_need(run):
    code, _, err = run(CLEARING, "--port", 0, "--tps", 50, "--ticks", 5, "--no-record", program=("-c", WITHOUT_ARROW))
    assert code == 0, err
    assert not Path("runs").exists()


def test_a_world_that_can_not_be_recorded_names_what_to_install(run):
    code, _, err = run(CLEARING, "--port", 0, "--ticks", 5, program=("-c", WITHOUT_ARROW))
    assert code == 1
    assert "pyarrow" in err
    assert "install tickmind[record], or record nothing with --no-record" in err
    assert "Traceback" not in err


def test_a_taken_port_is_a_plain_sentence(run):
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
        (["--sync", "often"], "every-tick"),
    ],
)
def test_what_can_not_be_is_said_in_one_sentence(run, arguments, words):
    code, _, err = run(CLEARING, *arguments)
    assert code == 1
    assert words in err
    assert "Traceback" not in err


def test_a_missing_scenario_is_named(run, tmp_path):
    code, _, err = run(tmp_path / "nowhere.yaml")
    assert code == 1
    assert "nowhere.yaml" in err
