"""Stores on both disks, and runs to put into them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tickmind.base import ManualClock
from tickmind.protocol import TickRecord
from tickmind.record import LiveLog, LogOptions, OsDisk, RunStore
from tickmind.record.testing import MemoryDisk, RandomRun

DEFAULT = LogOptions()


def store_on(kind: str, folder: Path) -> RunStore:
    disk = OsDisk() if kind == "os" else MemoryDisk()
    return RunStore(folder, disk, clock=ManualClock())


@pytest.fixture(params=["os", "memory"])
def store(request, tmp_path: Path) -> RunStore:
    return store_on(request.param, tmp_path)


@pytest.fixture(scope="class", params=["os", "memory"])
def shared_store(request, tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    """A store whose runs several tests read and none changes."""
    return store_on(request.param, tmp_path_factory.mktemp("runs"))


@pytest.fixture
def memory() -> tuple[MemoryDisk, RunStore]:
    disk = MemoryDisk()
    return disk, RunStore(Path("/runs"), disk, clock=ManualClock())


@pytest.fixture(scope="session")
def fill() -> Callable[..., tuple[LiveLog, list[TickRecord]]]:
    """Record some ticks of a random run; gives the open log and the ticks."""

    def fill(store, ticks, *, run_id="a-run", seed=1, options=DEFAULT, reports=False, **world):
        run = RandomRun(seed, **world)
        log = store.create(run.info, run_id, options=options)
        records = []
        for _ in range(ticks):
            if reports:
                log.thought(run.thought())
                log.status(run.status())
                log.insight(run.insight())
            records.append(run.tick())
            log.publish(records[-1])
        return log, records

    return fill
