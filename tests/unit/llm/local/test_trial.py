"""Trials: a runtime that dies, answers wrongly or hangs is told apart from one that works. The children are real."""

import sys
import threading
from pathlib import Path

import pytest

from tickmind.llm.errors import LLMCancelledError
from tickmind.llm.local.runtimes import trial as trial_module
from tickmind.llm.local.runtimes.process import LlamaServer
from tickmind.llm.local.runtimes.runtime import Runtime
from tickmind.llm.local.runtimes.trial import TrialVerdict, try_runtime

FAKE = Path(__file__).with_name("fake_runtime.py")
pytestmark = pytest.mark.timeout(180)


def fake(mode: str) -> Runtime:
    return Runtime((sys.executable, "-I", "-S", str(FAKE), mode), "a fake", mode, "1")


@pytest.fixture
def gguf(tmp_path: Path) -> Path:
    path = tmp_path / "toy.gguf"
    path.write_bytes(b"GGUF")
    return path


def test_a_runtime_that_counts_on_works_and_is_timed(gguf: Path) -> None:
    trial = try_runtime(fake("fast"), gguf, threads=1)
    assert trial.works
    assert trial.read_per_s == pytest.approx(100)
    assert trial.written_per_s == pytest.approx(20)
    assert trial.thought_s == pytest.approx(200 / 100 + 60 / 20)
    assert str(trial) == "100 read, 20.0 written tokens/s"


@pytest.mark.parametrize("mode", ["illegal", "illegal-when-asked"])
def test_a_runtime_for_another_processor_is_recognised(gguf: Path, mode: str) -> None:
    trial = try_runtime(fake(mode), gguf, threads=1)
    assert trial.verdict is TrialVerdict.LACKS_INSTRUCTIONS
    assert trial.thought_s == float("inf")


@pytest.mark.parametrize("mode", ["no-library", "no-import"])
def test_a_missing_library_is_named(gguf: Path, mode: str) -> None:
    trial = try_runtime(fake(mode), gguf, threads=1)
    assert trial.verdict is TrialVerdict.LACKS_LIBRARY
    assert "libgomp.so.1" in trial.detail


@pytest.mark.parametrize("mode", ["wrong", "mute"])
def test_a_wrong_answer_is_no_speed(gguf: Path, mode: str) -> None:
    trial = try_runtime(fake(mode), gguf, threads=1)
    assert trial.verdict is TrialVerdict.WRONG_ANSWER
    assert (trial.read_per_s, trial.written_per_s) == (0, 0)


def test_weights_that_may_not_count_need_only_say_something(gguf: Path) -> None:
    assert try_runtime(fake("wrong"), gguf, threads=1, counts=False).works
    assert try_runtime(fake("mute"), gguf, threads=1, counts=False).verdict is TrialVerdict.WRONG_ANSWER


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["hangs", "hangs-when-asked"])
def test_a_runtime_that_hangs_is_given_up(gguf: Path, mode: str) -> None:
    assert try_runtime(fake(mode), gguf, threads=1, timeout_s=1.5).verdict is TrialVerdict.TIMEOUT


def test_a_reply_without_timings_fails(gguf: Path) -> None:
    trial = try_runtime(fake("no-timings"), gguf, threads=1)
    assert trial.verdict is TrialVerdict.FAILED
    assert "timings" in trial.detail


def test_a_program_that_is_not_there_fails_and_is_named(gguf: Path, tmp_path: Path) -> None:
    trial = try_runtime(Runtime((str(tmp_path / "gone"),), "nowhere"), gguf, threads=1)
    assert trial.verdict is TrialVerdict.FAILED
    assert "gone" in trial.detail


def test_a_trial_that_is_given_up_ends_while_the_runtime_is_asked(gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given_up = threading.Event()
    servers: list[LlamaServer] = []

    def ask(server: LlamaServer, timeout_s: float) -> dict[str, object]:
        servers.append(server)
        given_up.set()
        return server.post("/completion", {"prompt": "1,"}, timeout_s=timeout_s)

    monkeypatch.setattr(trial_module, "_ask", ask)
    with pytest.raises(LLMCancelledError):
        try_runtime(fake("hangs-when-asked"), gguf, threads=1, given_up=given_up)
    assert [server.running for server in servers] == [False]
