"""The folder of all runs: begin one, go on with one, read one, mend one."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from tickmind.base import Clock, IdMaker, SystemClock
from tickmind.protocol import WorldInfo
from tickmind.record.disk import Disk, DiskLock, OsDisk, disk_fault, take_lock
from tickmind.record.errors import NoSuchRunError, RunExistsError, RunFinishedError
from tickmind.record.live_log import LiveLog
from tickmind.record.live_source import LiveSource, mend_tail
from tickmind.record.log_writer import LogOptions, LogWriter
from tickmind.record.meta import META, RunMeta, RunState, read_meta, write_meta
from tickmind.record.parquet_file import open_parquet, open_writer, read_whole
from tickmind.record.reader import RunReader
from tickmind.record.run_id import check_run_id
from tickmind.record.world_files import read_world, world_document, world_tables

LIVE = "live"
LOCK = "lock"
DEFAULT_OPTIONS = LogOptions()


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run in one line."""

    run_id: str
    state: RunState
    first_tick_id: int | None
    last_tick_id: int | None
    actors: int
    size_bytes: int
    world: str
    created_at: str

    @property
    def ticks(self) -> int:
        """How many ticks there are."""
        if self.first_tick_id is None or self.last_tick_id is None:
            return 0
        return self.last_tick_id - self.first_tick_id + 1


class RunStore:
    """Runs as folders in one folder. Processes may share it; each run has one writer at a time."""

    def __init__(
        self,
        root: Path,
        disk: Disk | None = None,
        *,
        clock: Clock | None = None,
        make_id: IdMaker | None = None,
    ) -> None:
        self._root = root
        self._disk: Disk = disk or OsDisk()
        self._clock = clock or SystemClock()
        self._make_id = make_id or IdMaker(clock=self._clock)

    def folder(self, run_id: str) -> Path:
        """Where a run is kept; others may put files of their own there."""
        return self._root / check_run_id(run_id)

    def create(
        self, info: WorldInfo, run_id: str | None = None, *, options: LogOptions = DEFAULT_OPTIONS
    ) -> LiveLog:
        """Begin a run."""
        run_id = check_run_id(run_id or self._make_id("run"))
        folder = self._root / run_id
        lock: DiskLock | None = None
        try:
            if META in self._disk.list(folder):
                raise RunExistsError(f"there is a run {run_id} in {self._root} already; resume it, or choose another id")
            self._disk.make_folder(folder / LIVE)
            lock = take_lock(self._disk, folder / LOCK, run_id)
            self._write_world(folder, info, run_id)
            created_at = datetime.fromtimestamp(self._clock.wall(), UTC).isoformat(timespec="milliseconds")
            write_meta(self._disk, folder, RunMeta(run_id, created_at, info.world_version), world_document(info))
            self._disk.sync_folder(self._root)
        except OSError as error:
            if lock is not None:
                lock.release()
            raise disk_fault(f"beginning run {run_id} in {self._root}", error) from error
        except BaseException:
            if lock is not None:
                lock.release()
            raise
        return self._log(run_id, len(info.actors), None, 1, lock, options)

    def _write_world(self, folder: Path, info: WorldInfo, run_id: str) -> None:
        for name, table in world_tables(info, run_id).items():
            sink = pa.BufferOutputStream()
            with open_writer(sink, table.schema, dictionary=["run_id"]) as writer:
                writer.write_table(table)
            file = self._disk.create(folder / f"{name}.parquet")
            try:
                file.write(sink.getvalue().to_pybytes())
                file.sync()
            finally:
                file.close()

    def _log(
        self, run_id: str, actors: int, last_tick_id: int | None, number: int, lock: DiskLock, options: LogOptions
    ) -> LiveLog:
        folder = self._root / run_id
        writer = LogWriter(
            self._disk, folder / LIVE, run_id, clock=self._clock, options=options, next_number=number
        )
        return LiveLog(run_id, writer, lock, actors=actors, last_tick_id=last_tick_id, seal=lambda: None)

    def resume(self, run_id: str, *, options: LogOptions = DEFAULT_OPTIONS) -> LiveLog:
        """Go on with a run after its last whole tick; what a crash left half written is cut."""
        meta, world = self._meta(run_id)
        if meta.finished:
            raise RunFinishedError(f"run {run_id} is finished, so nothing can be added to it; begin a new one")
        folder = self._root / run_id
        lock = take_lock(self._disk, folder / LOCK, run_id)
        try:
            mend_tail(self._disk, folder / LIVE)
            info = self._info(folder, world)
            source = LiveSource(self._disk, folder / LIVE, [one.entity_id for one in info.actors])
            try:
                source.check()
                last, number = source.last_tick_id, source.next_number
            finally:
                source.close()
        except OSError as error:
            lock.release()
            raise disk_fault(f"resuming run {run_id}", error) from error
        except BaseException:
            lock.release()
            raise
        return self._log(run_id, len(info.actors), last, number, lock, options)

    def open(self, run_id: str) -> RunReader:
        """Read a run, in whichever state it is."""
        meta, world = self._meta(run_id)
        folder = self._root / run_id
        info = self._info(folder, world)
        return RunReader(meta, info, LiveSource(self._disk, folder / LIVE, [one.entity_id for one in info.actors]))

    def runs(self) -> list[RunSummary]:
        """All runs, in the order of their ids, which is that of their beginnings."""
        found = []
        for name in self._disk.list(self._root):
            if META in self._disk.list(self._root / name):
                found.append(self.summary(name))
        return found

    def summary(self, run_id: str) -> RunSummary:
        """A run in one line."""
        meta, world = self._meta(run_id)
        folder = self._root / run_id
        with self.open(run_id) as reader:
            return RunSummary(
                run_id=run_id,
                state=self._state(meta, folder),
                first_tick_id=reader.first_tick_id,
                last_tick_id=reader.last_tick_id,
                actors=int(world.get("actors", 0)),
                size_bytes=self._size(folder),
                world=str(world.get("name", "")),
                created_at=meta.created_at,
            )

    def recover(self, run_id: str) -> RunSummary:
        """Finish a run that a crash has left."""
        self.resume(run_id).close()
        return self.summary(run_id)

    def _state(self, meta: RunMeta, folder: Path) -> RunState:
        if meta.finished:
            return RunState.CLEAN
        try:
            self._disk.lock(folder / LOCK).release()
        except BlockingIOError:
            return RunState.RUNNING
        return RunState.CRASHED

    def _size(self, folder: Path) -> int:
        total = 0
        for name in self._disk.list(folder):
            inner = self._disk.list(folder / name)
            total += sum(self._disk.size(folder / name / one) for one in inner)
            if not inner and name != LIVE:
                total += self._disk.size(folder / name)
        return total

    def _meta(self, run_id: str) -> tuple[RunMeta, Mapping[str, Any]]:
        folder = self.folder(run_id)
        try:
            return read_meta(self._disk, folder)
        except (FileNotFoundError, NotADirectoryError):
            raise NoSuchRunError(f"there is no run {run_id} in {self._root}; `tickmind runs` lists what there is") from None
        except OSError as error:
            raise disk_fault(f"reading run {run_id}", error) from error

    def _info(self, folder: Path, world: Mapping[str, Any]) -> WorldInfo:
        def read_table(name: str, schema: pa.Schema) -> pa.Table:
            source = pa.PythonFile(self._disk.open(folder / f"{name}.parquet"), mode="r")
            with source, open_parquet(source, f"{name}.parquet", schema) as file:
                return read_whole(file, f"{name}.parquet", schema)

        return read_world(world, read_table)
