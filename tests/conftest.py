"""What all tests share, so that none of them depends on how fast or how busy the machine is."""

import asyncio
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from tests.long import short_or_long
from tests.phases import WARM, PhasePlugin
from tests.warm import WarmPython

from tickmind.base import secret

settings.register_profile(
    "any machine",
    max_examples=short_or_long(40, 200),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("any machine")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--workers", type=int, default=0, help="run in so many processes, in phases (see tests/phases.py)")
    parser.addoption("--phase-report", type=Path, help="write what became of each test to this file")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(PhasePlugin(config.getoption("--workers"), config.getoption("--phase-report")))


class LoopClock:
    """The time that the deadlines and pauses of the running event loop go by.

    Left alone it is the usual time. `skip` moves it, so that a test can wait until something has happened and then let
    a long deadline pass at once; while it is `stopped`, whatever waits for a time does not end.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch
        self._skipped_s = 0.0
        self._stopped_s: float | None = None

    def now_s(self) -> float:
        return self._skipped_s + (time.monotonic() if self._stopped_s is None else self._stopped_s)

    def skip(self, seconds: float) -> None:
        self._take_over()
        self._skipped_s += seconds

    @contextmanager
    def stopped(self) -> Iterator[None]:
        self._take_over()
        self._stopped_s = time.monotonic()
        try:
            yield
        finally:
            self._stopped_s = None

    def _take_over(self) -> None:
        self._monkeypatch.setattr(asyncio.get_running_loop(), "time", self.now_s)


@pytest.fixture(autouse=True)
def secrets_of_the_test_only() -> Iterator[None]:
    """What one test calls a secret is an ordinary word in the next."""
    known, lasting = dict(secret._known), dict(secret._lasting)
    yield
    for table, before in ((secret._known, known), (secret._lasting, lasting)):
        table.clear()
        table.update(before)


@pytest.fixture(autouse=True)
def logging_of_the_test_only() -> Iterator[None]:
    """What a program that ran in one test logs, and from which level on, is not for the next."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture
def loop_clock(monkeypatch: pytest.MonkeyPatch) -> LoopClock:
    return LoopClock(monkeypatch)


@pytest.fixture(scope="session")
def warm(pytestconfig: pytest.Config) -> Iterator[WarmPython]:
    """A Python that has imported the platform; processes for tests are forked from it (see tests/warm.py)."""
    if WARM in pytestconfig.stash:
        yield pytestconfig.stash[WARM]
        return
    python = WarmPython()
    yield python
    python.close()


@pytest.fixture
def lasting_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kept connections do not grow old while the machine is busy with something else."""
    monkeypatch.setattr("tickmind.llm.http.pool.KEEP_ALIVE_S", 600.0)
    monkeypatch.setattr("tickmind.llm.http.client.STALE_S", 600.0)
