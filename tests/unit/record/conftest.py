"""Stores on both disks, and runs to put into them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tickmind.base import ManualClock
from tickmind.protocol import TickRecord
from tickmind.record import LiveLog, LogOptions, OsDisk, RunStore
from tickmind.record.testing import MemoryDisk, RandomRun

DEFAULT = LogOptions()


@pytest.fixture(params=["os", "memory"])
def store(request, tmp_path: Path) -> RunStore:
    disk = OsDisk() if request.param == "os" else MemoryDisk()
    return RunStore(tmp_path, disk, clock=ManualClock())


@pytest.fixture
def memory() -> tuple[MemoryDisk, RunStore]:
    disk = MemoryDisk()
    return disk, RunStore(Path("/runs"), disk, clock=ManualClock())


@pytest.fixture
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
