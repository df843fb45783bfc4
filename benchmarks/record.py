"""The record of a run beside JSON lines with gzip and pandas: keeping ticks, finishing them, and reading them again."""

import gzip
import json
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.harness import Result, paired
from tickmind.protocol import (
    ActorColumns,
    EntityInfo,
    FloorInfo,
    IntentColumns,
    ResultColumns,
    TickRecord,
    WorldInfo,
)
from tickmind.record import LogOptions, RunStore, SyncPolicy

ACTORS = 100_000
MOVING_SHARE = 0.6
LIVE_BAR = 50.0  # million actor-ticks/s
SYNC_LIMIT_MS = 5.0
SEAL_BAR = 7.0  # million actor-ticks/s
SIZE_LIMIT = 1.0  # bytes per actor and tick
STATE_LIMIT_MS = 50.0
SMALL_TICK_LIMIT_MS = 2.0
RESTART_LIMIT_S = 2.0
SEAL_ROUNDS = 3
SEALED_TICKS = 512  # two blocks, so that actors and events are written at the same time
_DX = np.array([0, 1, 1, 1, 0, -1, -1, -1], dtype=np.int32)
_DY = np.array([-1, -1, 0, 1, 1, 1, 0, -1], dtype=np.int32)


class Crowd:
    """Actors that walk at random; six in ten ask to move in each tick, and only the edge of the map stops them."""

    def __init__(self, actors: int, seed: int = 1) -> None:
        self._rng = np.random.default_rng(seed)
        self.side = max(8, round((actors * 10) ** 0.5))
        self.ids = tuple(f"entity:{row}" for row in range(actors))
        self._x, self._y = (self._rng.integers(0, self.side, actors).astype(np.int32) for _ in range(2))
        self._facing = self._rng.integers(0, 8, actors).astype(np.int8)
        self._status = np.zeros(actors, dtype=np.int32)
        self._tick_id = 0

    @property
    def info(self) -> WorldInfo:
        """The world in which they walk."""
        return WorldInfo(
            name="crowd",
            world_version="1.0.0",
            width=self.side,
            height=self.side,
            sight_radius=8,
            hearing_radius=8,
            tick_duration_ms=1000,
            intent_deadline_ms=500,
            floors=(FloorInfo("grass", True, False),),
            floor_codes=bytes(self.side**2),
            item_kinds=(),
            verbs=("",),
            kinds=(),
            objects=(),
            actors=tuple(EntityInfo(name, "walker") for name in self.ids),
        )

    def tick(self) -> TickRecord:
        """The next tick."""
        self._tick_id += 1
        rows = np.flatnonzero(self._rng.random(len(self.ids)) < MOVING_SHARE).astype(np.int32)
        ways = self._rng.integers(0, 8, len(rows)).astype(np.int8)
        x, y, facing = self._x.copy(), self._y.copy(), self._facing.copy()
        x[rows] = np.clip(x[rows] + _DX[ways], 0, self.side - 1)
        y[rows] = np.clip(y[rows] + _DY[ways], 0, self.side - 1)
        facing[rows] = ways
        self._x, self._y, self._facing = x, y, facing
        action = np.ones(len(rows), dtype=np.uint8)
        unused = np.full(len(rows), -1, dtype=np.int32)
        return TickRecord(
            tick_id=self._tick_id,
            sim_time_ms=self._tick_id * 1000,
            world_version="1.0.0",
            state_hash=self._rng.bytes(16),
            actor_ids=self.ids,
            actor_state=ActorColumns(x, y, self._status, facing),
            results=ResultColumns(rows, action, np.zeros(len(rows), dtype=np.uint8)),
            utterances=(),
            object_deltas=(),
            intents=IntentColumns(rows, action, ways, unused, unused, unused, texts={}),
            controlled=None,
        )


@contextmanager
def folder() -> Iterator[Path]:
    """A place on the disk that is measured, gone afterwards."""
    path = Path(tempfile.mkdtemp(prefix="tickmind-bench-"))
    try:
        yield path
    finally:
        shutil.rmtree(path)


def json_lines(record: TickRecord, path: Path) -> None:
    """The peer: one line of JSON for each actor, compressed, one file for each tick."""
    state = record.actor_state
    columns = (state.x.tolist(), state.y.tolist(), state.status_bits.tolist(), state.facing.tolist())
    with gzip.open(path, "wt", compresslevel=6) as file:
        for name, x, y, status, facing in zip(record.actor_ids, *columns, strict=True):
            row = {"tick_id": record.tick_id, "actor_id": name, "x": x, "y": y, "status_bits": status, "facing": facing}
            file.write(json.dumps(row) + "\n")


def with_pandas(records: list[TickRecord], path: Path) -> None:
    """The other peer: all rows in one frame, written with pandas' defaults."""
    frames = [
        pd.DataFrame(
            {
                "run_id": "r",
                "tick_id": record.tick_id,
                "actor_id": record.actor_ids,
                "x": record.actor_state.x,
                "y": record.actor_state.y,
                "status_bits": record.actor_state.status_bits,
                "facing": record.actor_state.facing,
            }
        )
        for record in records
    ]
    pd.concat(frames).to_parquet(path, index=False)


def _wall_s(work: object, *arguments: object) -> float:
    began = time.perf_counter()
    work(*arguments)  # type: ignore[operator]  # whichever of the functions here
    return time.perf_counter() - began


def _publish_ms(actors: int, ticks: int, sync: SyncPolicy) -> list[float]:
    crowd = Crowd(actors)
    with folder() as root:
        log = RunStore(root).create(crowd.info, "r", options=LogOptions(sync=sync))
        times = [_wall_s(log.publish, crowd.tick()) * 1e3 for _ in range(ticks)]
        log.close(seal=False)
    return times[5:]


def keeping() -> list[Result]:
    """Keeping a tick: flushed, synced, of 10,000 actors, and beside JSON lines with gzip."""
    flushed = [ACTORS / took / 1e3 for took in _publish_ms(ACTORS, 65, SyncPolicy.NEVER)]
    synced = _publish_ms(ACTORS, 65, SyncPolicy.EVERY_TICK)
    small = _publish_ms(10_000, 205, SyncPolicy.NEVER)
    record = Crowd(ACTORS).tick()
    with folder() as root:
        theirs = [ACTORS / _wall_s(json_lines, record, root / "tick.gz") / 1e6 for _ in range(3)]
    rate = statistics.median(flushed)
    return [
        paired(
            "record/live",
            flushed,
            [LIVE_BAR] * len(flushed),
            unit="M/s",
            peer_name="the bar",
            bar=1.0,
            more_is_better=True,
        ),
        paired(
            "record/live-json",
            [rate] * len(theirs),
            theirs,
            unit="M/s",
            peer_name="JSON + gzip",
            bar=10.0,
            more_is_better=True,
        ),
        paired("record/synced", synced, [SYNC_LIMIT_MS] * len(synced), unit="ms", peer_name="the limit", bar=1.0),
        paired("record/tick-10k", small, [SMALL_TICK_LIMIT_MS] * len(small), unit="ms", peer_name="the limit", bar=1.0),
    ]


def finishing() -> list[Result]:
    """Finishing a run of 100,000 actors, some times over, and what it then takes on disk, beside pandas' to_parquet."""
    crowd = Crowd(ACTORS)
    cells = ACTORS * SEALED_TICKS
    with folder() as root:
        store, options = RunStore(root), LogOptions(sync=SyncPolicy.NEVER, keep_log=True)
        log = store.create(crowd.info, "r", options=options)
        some: list[TickRecord] = []
        for _ in range(SEALED_TICKS):
            record = crowd.tick()
            log.publish(record)
            if len(some) < 10:
                some.append(replace(record))
        ours: list[float] = []
        theirs: list[float] = []
        for _ in range(SEAL_ROUNDS):
            ours.append(cells / _wall_s(log.close) / 1e6)
            theirs.append(ACTORS * len(some) / _wall_s(with_pandas, some, root / "p.parquet") / 1e6)
            size = (root / "r" / "actor_state.parquet").stat().st_size / cells
            log = store.resume("r", options=options)
            log.publish(crowd.tick())  # a run to which nothing is added stays finished
            cells += ACTORS
        log.close(seal=False)
        their_size = (root / "p.parquet").stat().st_size / (ACTORS * len(some))
    bars = [SEAL_BAR] * SEAL_ROUNDS
    return [
        paired("record/seal", ours, bars, unit="M/s", peer_name="the bar", bar=1.0, more_is_better=True),
        paired("record/seal-pandas", ours, theirs, unit="M/s", peer_name="pandas", bar=1.0, more_is_better=True),
        paired("record/size", [size], [SIZE_LIMIT], unit="B", peer_name="the limit", bar=1.0),
        paired("record/size-pandas", [size], [their_size], unit="B", peer_name="pandas", bar=4.0),
    ]


def reading() -> list[Result]:
    """The state at any tick of a run of 1,000 ticks and 10,000 actors, with nothing of it read before."""
    crowd = Crowd(10_000)
    with folder() as root:
        store = RunStore(root)
        with store.create(crowd.info, "r", options=LogOptions(sync=SyncPolicy.NEVER)) as log:
            for _ in range(1000):
                log.publish(crowd.tick())
        times = []
        for tick_id in (500, 3, 998, 250, 750, 111, 642):
            with store.open("r") as run:
                times.append(_wall_s(run.state_at, tick_id) * 1e3)
    return [paired("record/state", times, [STATE_LIMIT_MS] * len(times), unit="ms", peer_name="the limit", bar=1.0)]


def restarting() -> list[Result]:
    """Opening a log of 100,000 ticks to go on with it, with its last tick half written."""
    crowd = Crowd(10)
    with folder() as root:
        store = RunStore(root)
        log = store.create(crowd.info, "r", options=LogOptions(sync=SyncPolicy.NEVER))
        for _ in range(100_000):
            log.publish(crowd.tick())
        log.close(seal=False)
        last = max((root / "r" / "live").iterdir())
        times = []
        for _ in range(3):
            last.write_bytes(last.read_bytes()[:-40])
            began = time.perf_counter()
            again = store.resume("r")
            times.append(time.perf_counter() - began)
            again.close(seal=False)
    return [paired("record/restart", times, [RESTART_LIMIT_S] * 3, unit="s", peer_name="the limit", bar=1.0)]


BENCHMARKS = (keeping, finishing, reading, restarting)
