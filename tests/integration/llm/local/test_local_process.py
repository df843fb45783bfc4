"""The model's process: it comes up, it says why when it can't, and nothing of it survives its parent."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tickmind.llm.errors import (
    LLMCancelledError,
    LLMConfigError,
    LLMConnectionError,
    LLMDeadlineError,
    LLMResponseError,
)
from tickmind.llm.local.child import LOG_LINES, GuardedChild
from tickmind.llm.local.kept_prompts import MAX_KEPT
from tickmind.llm.local.machine import default_threads
from tickmind.llm.local.runtimes.ladder import RuntimeLadder
from tickmind.llm.local.runtimes.process import NICENESS
from tickmind.llm.local.runtimes.runtime import Runtime
from tickmind.llm.local.server import LocalModel, Primed
from tickmind.llm.local.weights import WeightStore

FAKE = Path(__file__).with_name("fake_llama_server.py")
RUNTIME = Runtime((sys.executable, str(FAKE)), "a fake")
LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the parent-death signal is Linux's own")
pytestmark = pytest.mark.timeout(180)

PARENT = """
import os, sys, time
from tickmind.llm.local.runtimes.runtime import Runtime
from tickmind.llm.local.server import LocalModel
model = LocalModel({weights!r}, runtime=Runtime({command!r}, "a fake")).start()
{more}
print("up", model._server.pid, flush=True)
time.sleep(3600)
"""


@pytest.fixture
def gguf(tmp_path: Path) -> Path:
    path = tmp_path / "toy.gguf"
    path.write_bytes(b"GGUF")
    return path


class Life:
    """Tells when every fake server that was started here is gone."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self._fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        os.set_blocking(self._fd, True)

    def wait_for_end(self) -> None:
        assert os.read(self._fd, 1) == b""

    def close(self) -> None:
        os.close(self._fd)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TICKMIND_CACHE", str(tmp_path / "own-cache"))


@pytest.fixture
def life(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Life]:
    path = tmp_path / "life"
    monkeypatch.setenv("FAKE_LIFE", str(path))
    pipe = Life(path)
    yield pipe
    pipe.close()


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url.replace("/v1", "/health"), timeout=60) as reply:
            return bool(reply.status == 200)
    except urllib.error.URLError:
        return False


def logged(model: LocalModel, start: str) -> str:
    """The rest of the line that begins so; another thread reads the log, so it may be a moment late."""
    deadline_s = time.monotonic() + 60
    while time.monotonic() < deadline_s:
        for line in model.log_tail.splitlines():
            if line.startswith(start):
                return line.removeprefix(start)
        time.sleep(0.001)
    raise AssertionError(f"no line begins with {start!r}: {model.log_tail}")


def start_parent(gguf: Path, more: str = "") -> tuple[subprocess.Popen[str], int]:
    code = PARENT.format(weights=str(gguf), command=RUNTIME.command, more=more)
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    word, pid = parent.stdout.readline().split()
    assert word == "up"
    return parent, int(pid)


def end(parent: subprocess.Popen[str]) -> None:
    parent.kill()
    parent.wait()
    if parent.stdout is not None:
        parent.stdout.close()


def test_a_model_runs_inside_its_context_only(gguf: Path, life: Life) -> None:
    with LocalModel(gguf, runtime=RUNTIME) as model:
        url = model.base_url
        assert answers(url)
        assert model.running
    life.wait_for_end()
    assert not answers(url)
    assert not model.running


@pytest.mark.asyncio
async def test_a_model_runs_inside_an_async_context(gguf: Path, life: Life) -> None:
    async with LocalModel(gguf, runtime=RUNTIME, slots=2, context=100) as model:
        config = model.model_config()
        assert (config.model, config.context_limit, config.capabilities.output) == ("toy", 100, "grammar")
        assert await asyncio.to_thread(answers, config.base_url)
    life.wait_for_end()


def test_the_server_gets_its_options(gguf: Path) -> None:
    with LocalModel(gguf, runtime=RUNTIME, slots=3, context=100, threads=2) as model:
        line = logged(model, "arguments ")
    assert '"--parallel", "3"' in line
    assert '"--ctx-size", "300"' in line
    assert '"--threads", "2"' in line


def test_the_server_stands_back_behind_the_world_and_its_threads_sleep_soon(gguf: Path) -> None:
    with LocalModel(gguf, runtime=RUNTIME) as model:
        assert int(logged(model, "niceness ")) == min(19, os.nice(0) + NICENESS)
        assert '"GOMP_SPINCOUNT": "1000"' in logged(model, "environment ")


def test_the_fastest_runtime_is_found_when_none_is_given(
    gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen: list[tuple[Path, bool]] = []

    def choose(_ladder: RuntimeLadder, weights: Path, *, counts: bool, **_rest: object) -> Runtime:
        chosen.append((weights, counts))
        return RUNTIME

    monkeypatch.setattr(RuntimeLadder, "choose", choose)
    with LocalModel(gguf) as model:
        assert answers(model.base_url)
    assert chosen == [(gguf, False)]  # any file of weights may not be able to count


def test_one_core_is_left_to_the_world() -> None:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    assert default_threads() == max(min(cores, 2), cores - 1)


def test_the_key_is_in_no_argument_variable_log_or_repr(gguf: Path) -> None:
    with LocalModel(gguf, runtime=RUNTIME) as model:
        config = model.model_config()
        key = config.api_key.reveal()
        assert len(key) > 20
        assert "environment" in model.log_tail
        assert key not in model.log_tail + repr(model) + repr(config) + str(config)


def test_the_key_file_is_gone_once_the_server_is_up(
    gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with LocalModel(gguf, runtime=RUNTIME):
        assert not list(tmp_path.glob("tickmind-model-*"))


def test_two_models_listen_on_ports_of_their_own(gguf: Path) -> None:
    with LocalModel(gguf, runtime=RUNTIME) as first, LocalModel(gguf, runtime=RUNTIME) as second:
        assert first.base_url != second.base_url


def test_priming_pins_the_character_to_its_slot(gguf: Path) -> None:
    with LocalModel(gguf, runtime=RUNTIME, slots=2) as model:
        model.slot_for("anna")
        assert model.prime("bert", [{"role": "system", "content": "You are Bert."}]) == Primed(1, 9, 4)
        assert json.loads(logged(model, "request "))["id_slot"] == 1


def keeping(gguf: Path, cache: Path) -> LocalModel:
    return LocalModel(gguf, runtime=RUNTIME, store=WeightStore(cache))


def test_what_was_read_is_kept_for_the_next_start(gguf: Path, tmp_path: Path) -> None:
    with keeping(gguf, tmp_path / "cache") as model:
        assert model.prime("anna", "You are Anna.", keep=True) == Primed(0, 9, 4)
    with keeping(gguf, tmp_path / "cache") as model:
        assert model.prime("anna", "You are Anna.", keep=True) == Primed(0, 9, 9)
        assert model.prime("anna", "You are Bert.", keep=True) == Primed(0, 9, 4)
        assert model.prime("anna", "You are Anna.") == Primed(0, 9, 4)
    gguf.write_bytes(b"GGUF of another kind")
    with keeping(gguf, tmp_path / "cache") as model:
        assert model.prime("anna", "You are Anna.", keep=True) == Primed(0, 9, 4)


def test_where_nothing_can_be_kept_a_model_runs_all_the_same(gguf: Path) -> None:
    with keeping(gguf, gguf / "cache") as model:  # below a file there is no folder
        assert "--slot-save-path" not in logged(model, "arguments ")
        for _ in range(2):
            assert model.prime("anna", "You are Anna.", keep=True) == Primed(0, 9, 4)


def test_what_was_kept_and_is_broken_is_read_anew(gguf: Path, tmp_path: Path) -> None:
    with keeping(gguf, tmp_path / "cache") as model:
        model.prime("anna", "You are Anna.", keep=True)
        (kept,) = (tmp_path / "cache" / "prompts").iterdir()
        kept.write_bytes(b"broken")
        assert model.prime("anna", "You are Anna.", keep=True) == Primed(0, 9, 4)
        assert model.prime("anna", "You are Anna.", keep=True) == Primed(0, 9, 9)


def test_only_so_many_prompts_are_kept(gguf: Path, tmp_path: Path) -> None:
    with keeping(gguf, tmp_path / "cache") as model:
        for number in range(int(MAX_KEPT.maximum) + 3):
            model.prime("anna", f"You are number {number}.", keep=True)
        assert len(list((tmp_path / "cache" / "prompts").iterdir())) == MAX_KEPT.maximum
        assert model.prime("anna", f"You are number {number}.", keep=True) == Primed(0, 9, 9)


def test_a_server_within_a_script_ends_with_it(gguf: Path, life: Life) -> None:
    script = f'"{sys.executable}" "{FAKE}" "$@"; true'
    with LocalModel(gguf, runtime=Runtime(("/bin/sh", "-c", script, "sh"), "a fake")) as model:
        assert answers(model.base_url)
    life.wait_for_end()


@pytest.mark.asyncio
async def test_priming_has_an_async_twin(gguf: Path) -> None:
    async with LocalModel(gguf, runtime=RUNTIME) as model:
        assert (await model.aprime("anna", "You are Anna.")).prompt_tokens == 9


def test_a_reply_without_counts_is_an_error(gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_MODE", "no-usage")
    with LocalModel(gguf, runtime=RUNTIME) as model, pytest.raises(LLMResponseError, match="no token counts"):
        model.prime("anna", "You are Anna.")


def test_nothing_survives_a_killed_parent(gguf: Path, life: Life) -> None:
    parent, _guard = start_parent(gguf)
    end(parent)
    life.wait_for_end()


def test_a_stubborn_server_does_not_survive_either(gguf: Path, life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_MODE", "stubborn")
    parent, _guard = start_parent(gguf)
    end(parent)
    life.wait_for_end()


@LINUX
def test_nothing_survives_a_killed_guard(gguf: Path, life: Life) -> None:
    parent, guard = start_parent(gguf)
    os.kill(guard, signal.SIGKILL)
    life.wait_for_end()
    end(parent)


@LINUX
def test_nothing_survives_when_both_are_killed(gguf: Path, life: Life) -> None:
    parent, guard = start_parent(gguf)
    os.kill(parent.pid, signal.SIGSTOP)
    os.kill(guard, signal.SIGKILL)
    end(parent)
    life.wait_for_end()


def test_a_forked_sibling_that_holds_the_pipe_keeps_nothing_alive(gguf: Path, life: Life) -> None:
    more = """
sibling = os.fork()
if sibling == 0:
    time.sleep(3600)
print("sibling", sibling, flush=True)
"""
    code = PARENT.format(weights=str(gguf), command=RUNTIME.command, more=more)
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    sibling = int(parent.stdout.readline().split()[1])
    try:
        assert parent.stdout.readline().startswith("up")
        end(parent)
        life.wait_for_end()
    finally:
        os.kill(sibling, signal.SIGKILL)


def test_the_end_of_the_thread_that_started_it_does_not_stop_it(gguf: Path) -> None:
    model = LocalModel(gguf, runtime=RUNTIME)
    thread = threading.Thread(target=model.start)
    thread.start()
    thread.join()
    assert all(answers(model.base_url) for _ in range(5))
    assert model.running
    model.stop()


def test_a_server_that_ends_at_once_is_explained_by_its_last_words(gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_MODE", "exit")
    with pytest.raises(LLMConnectionError, match=r"exit code 3(.|\n)*made of cheese"):
        LocalModel(gguf, runtime=RUNTIME).start()


def test_the_last_words_are_told_though_they_are_read_late(gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = GuardedChild._read

    def read_late(child: GuardedChild) -> None:
        child._process.wait()
        time.sleep(0.3)  # meanwhile the end is noticed
        read(child)

    monkeypatch.setenv("FAKE_MODE", "exit")
    monkeypatch.setattr(GuardedChild, "_read", read_late)
    with pytest.raises(LLMConnectionError, match=r"exit code 3(.|\n)*made of cheese"):
        LocalModel(gguf, runtime=RUNTIME).start()


def test_a_processor_that_is_too_old_is_named(gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_MODE", "illegal")
    with pytest.raises(LLMConnectionError, match="lacks instructions"):
        LocalModel(gguf, runtime=RUNTIME).start()


@pytest.mark.parametrize("mode", ["never-ready", "silent"])
def test_a_server_that_never_gets_ready_is_given_up(
    gguf: Path, life: Life, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setenv("FAKE_MODE", mode)
    with pytest.raises(LLMDeadlineError, match="not ready within"):
        LocalModel(gguf, runtime=RUNTIME, start_timeout_s=0.5).start()
    life.wait_for_end()


@pytest.mark.asyncio
async def test_a_cancelled_start_leaves_nothing_behind(gguf: Path, life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = threading.Event()
    monkeypatch.setattr("tickmind.llm.local.runtimes.process.is_healthy", lambda _port: asked.set())
    model = LocalModel(gguf, runtime=RUNTIME)
    starting = asyncio.create_task(model.astart())
    await asyncio.to_thread(asked.wait)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    life.wait_for_end()
    assert not model.running


@pytest.mark.asyncio
async def test_a_start_that_is_cancelled_before_the_server_is_there_does_not_wait_for_it(
    gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looking, found = threading.Event(), threading.Event()
    asked: list[int] = []

    class SlowDisk(WeightStore):
        def resolve(self, name_or_path: str | Path) -> Path:
            looking.set()
            found.wait(60)
            return super().resolve(name_or_path)

    def healthy(port: int) -> bool:
        asked.append(port)
        return True

    monkeypatch.setattr("tickmind.llm.local.runtimes.process.is_healthy", healthy)
    model = LocalModel(gguf, runtime=RUNTIME, store=SlowDisk(tmp_path / "cache"))
    starting = asyncio.create_task(model.astart())
    await asyncio.to_thread(looking.wait, 60)
    starting.cancel()
    await asyncio.sleep(0)
    found.set()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert asked == []
    async with model:
        assert model.running


def test_giving_up_a_start_is_a_cancellation(gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_MODE", "never-ready")
    model = LocalModel(gguf, runtime=RUNTIME)
    errors: list[BaseException] = []

    def start() -> None:
        try:
            model.start()
        except LLMCancelledError as error:
            errors.append(error)

    thread = threading.Thread(target=start)
    thread.start()
    while model._server is None:
        thread.join(0.01)
    model._given_up.set()
    thread.join()
    assert len(errors) == 1


def test_the_log_is_bounded_and_never_stalls_the_server(gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_MODE", "chatty")
    with LocalModel(gguf, runtime=RUNTIME) as model:
        assert answers(model.base_url)
        assert len(model.log_tail.splitlines()) <= LOG_LINES


def test_a_model_can_be_started_again(gguf: Path) -> None:
    model = LocalModel(gguf, runtime=RUNTIME)
    for _ in range(2):
        with model:
            assert answers(model.base_url)


def test_starting_twice_is_an_error(gguf: Path) -> None:
    with LocalModel(gguf, runtime=RUNTIME) as model, pytest.raises(LLMConfigError, match="already running"):
        model.start()


def test_a_model_that_does_not_run_has_no_address(gguf: Path) -> None:
    with pytest.raises(LLMConfigError, match="not running"):
        _ = LocalModel(gguf, runtime=RUNTIME).base_url


def test_without_a_runtime_the_error_says_how_to_get_one(gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tickmind.llm.local.runtimes.ladder.find_runtimes", lambda *_env, **_folder: ())
    with pytest.raises(LLMConfigError, match="tickmind model install"):
        LocalModel(gguf).start()
