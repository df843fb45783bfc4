"""A real disk that fails, at every single operation of a recorder: no published tick is lost, and the run goes on.

The kernel is made to answer the recorder's system calls with EIO and ENOSPC by `strace -e inject`. It is for the long
form of the tests only, whose set-up installs strace.
"""

import re
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.integration.record.recorder_under_faults import TICKS
from tests.long import LONG

from tickmind.record import RunState, RunStore
from tickmind.record.testing import RandomRun, differences

ROOT = Path(__file__).parents[3]
PROGRAM = "tests.integration.record.recorder_under_faults"
CALLS = "openat,write,writev,pwrite64,fsync,fdatasync,rename,renameat,renameat2,ftruncate,unlink,unlinkat,mkdir,close"
CALLED = re.compile(r"^(?:\d+ +)?([a-z0-9]+)\(")
PATIENCE_S = 60


@dataclass(frozen=True)
class Life:
    """What a recorder has said of its run."""

    folder: Path
    published: int
    last_words: str  # `closed`, or the error that has ended it; empty if it ended without a word


class Recorders:
    """A process that forks recorders, each with a tracer of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0
        self._process = subprocess.Popen(
            [sys.executable, "-m", PROGRAM, str(folder / "warm")], cwd=ROOT, stdin=subprocess.PIPE, text=True
        )

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait(PATIENCE_S) == 0

    def live(self, *tracing: str) -> Life:
        """Let a recorder live under `strace` with these options."""
        self._count += 1
        folder, address = self._folder / f"runs-{self._count}", self._folder / f"s{self._count}"
        folder.mkdir()
        with socket.socket(socket.AF_UNIX) as listener:
            listener.settimeout(PATIENCE_S)
            listener.bind(str(address))
            listener.listen()
            assert self._process.stdin is not None
            self._process.stdin.write(f"{folder} {address}\n")
            self._process.stdin.flush()
            line, _ = listener.accept()
        with line, line.makefile("r") as said:
            line.settimeout(PATIENCE_S)
            pid = int(said.readline())
            tracer = subprocess.Popen(["strace", "-f", "-qq", "-p", str(pid), *tracing], stderr=subprocess.DEVNULL)
            while "TracerPid:\t0\n" in Path(f"/proc/{pid}/status").read_text():
                assert tracer.poll() is None, "strace could not trace the recorder"
                time.sleep(0.002)
            line.send(b"!")
            words = said.read().split("\n")[:-1]
            tracer.wait(PATIENCE_S)
        ticks = [word for word in words if word.isdigit()]
        assert ticks == [str(number) for number in range(1, len(ticks) + 1)]
        return Life(folder, len(ticks), words[-1] if words and not words[-1].isdigit() else "")


@pytest.fixture
def recorders(tmp_path: Path) -> Iterator[Recorders]:
    made = Recorders(tmp_path)
    yield made
    made.close()


def assert_nothing_is_lost(life: Life) -> None:
    """All that was published is there, and the run can be finished."""
    store = RunStore(life.folder)
    if not store.runs():
        assert life.published == 0
        return
    if store.summary("r").state is not RunState.CLEAN:
        store.recover("r")
    with store.open("r") as reader:
        found = list(reader.records())
    assert life.published <= len(found) <= min(TICKS, life.published + 1)
    run = RandomRun(3, 6)
    assert [differences(one, run.tick()) for one in found] == [[]] * len(found)


if LONG:  # it takes some minutes

    @pytest.mark.slow
    @pytest.mark.timeout(3600)
    @pytest.mark.parametrize("code", ["EIO", "ENOSPC"])
    def test_a_real_fault_at_any_operation_loses_no_published_tick(
        recorders: Recorders, tmp_path: Path, code: str
    ) -> None:
        log = tmp_path / "calls"
        life = recorders.live("-o", str(log), "-e", f"trace={CALLS}")
        assert (life.published, life.last_words) == (TICKS, "closed")
        calls = Counter(match[1] for text in log.read_text().splitlines() if (match := CALLED.match(text)))
        assert calls["fsync"] + calls["fdatasync"] >= TICKS
        stopped = 0
        for call, count in sorted(calls.items()):
            for at in range(1, count + 1):
                life = recorders.live(
                    "-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:error={code}:when={at}"
                )
                assert life.last_words, (call, at, "it ended without a word")
                assert_nothing_is_lost(life)
                stopped += life.last_words != "closed"
        assert stopped > TICKS  # else nothing was injected
