"""The store: a folder of runs, to create, resume, read and recover them."""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tickmind.base import Clock, IdMaker, SystemClock, TickmindError
from tickmind.base.files import runs_option
from tickmind.protocol import WorldInfo
from tickmind.record.archive import Archive
from tickmind.record.checkpoints import CHECKPOINTS, CheckpointFolder
from tickmind.record.disk import Disk, DiskLock, OsDisk, disk_fault, reading, reading_fault, remove_folder, take_lock
from tickmind.record.errors import DamagedRunError, NoSuchRunError, RunBusyError, RunExistsError, RunFinishedError
from tickmind.record.live_log import LiveLog
from tickmind.record.live_source import LiveLogSource
from tickmind.record.log.log_writer import LogOptions, LogWriter
from tickmind.record.log.mending import cut_damage, mend_tail
from tickmind.record.log.salvage import Loss
from tickmind.record.meta import META, RunMeta, RunPace, RunParent, RunState, read_meta, write_meta
from tickmind.record.parquet.file import TableFile, native_file
from tickmind.record.parquet.schemas import FINISHED, TableSpec
from tickmind.record.parquet.targets import SEALING, ArchiveTarget, FileTarget, FolderTarget
from tickmind.record.reader import FIRST, LAST, RunReader, TickSource
from tickmind.record.run_id import check_run_id
from tickmind.record.summary import RunSummary
from tickmind.record.tables.sealed_source import SealedSource
from tickmind.record.tables.sealing import Progress, no_progress, seal
from tickmind.record.tables.world_files import WORLD_TABLES, check_sizes, read_world, world_document, write_world

LIVE = "live"
DISCARDED = "discarded"  # the log, while it is being removed
DAMAGED = "damaged"  # segments of a log with unreadable parts between whole ticks
LOCK = "lock"
DEFAULT_OPTIONS = LogOptions()


class RunStore:
    """Runs as folders in one folder. Processes may share it; each run has one writer at a time.

    store = RunStore(Path("runs"))
    with store.open("demo-1") as run:
        print(run.last_tick_id)
    """

    def __init__(
        self,
        root: Path,
        disk: Disk | None = None,
        *,
        clock: Clock | None = None,
        make_id: IdMaker | None = None,
        archive: Archive | None = None,
    ) -> None:
        self._root = root
        self._disk: Disk = disk or OsDisk()
        self._clock = clock or SystemClock()
        self._make_id = make_id or IdMaker(clock=self._clock)
        self._archive = archive

    def folder(self, run_id: str) -> Path:
        """Return the folder of a run; other programs may add files of their own."""
        return self._root / check_run_id(run_id)

    def checkpoints(self, run_id: str) -> CheckpointFolder:
        """Return the checkpoints of a run: all of them, the nearest one at or before a tick, and a place for more."""
        return CheckpointFolder(self.folder(run_id) / CHECKPOINTS, self._disk)

    def create(
        self,
        info: WorldInfo,
        run_id: str | None = None,
        *,
        options: LogOptions = DEFAULT_OPTIONS,
        parent: RunParent | None = None,
    ) -> LiveLog:
        """Create a run, perhaps as a branch of another; raises `RunExistsError` if there is one of that id."""
        run_id = check_run_id(run_id or self._make_id("run"))
        folder = self._root / run_id
        if META in self._disk.list(folder):
            raise RunExistsError(f"there is a run {run_id} in {self._root} already; resume it, or choose another id")
        self._refuse_links(run_id)
        try:
            self._disk.make_folder(folder / LIVE)
        except OSError as error:
            raise disk_fault(f"creating run {run_id} in {self._root}", error) from error
        with self._locked(run_id, f"creating run {run_id} in {self._root}") as lock:
            self._write_world(folder, info, run_id)
            world = world_document(info)
            meta = RunMeta(run_id, self._now(), info.world_version, parent=parent)
            write_meta(self._disk, folder, meta, world)
            self._disk.sync_folder(self._root)
            return self._log(meta, world, info, None, lock, options)

    def _begin(self, meta: RunMeta, world: Mapping[str, Any], pace: RunPace | None) -> None:
        """State in `meta.json` that ticks are being added, unless it says so already."""
        begun = replace(meta.as_begun(), begun_at=meta.begun_at or self._now(), pace=pace or meta.pace)
        if begun != meta:
            write_meta(self._disk, self._root / meta.run_id, begun, world)

    def _write_world(self, folder: Path, info: WorldInfo, run_id: str) -> None:
        for name, data in write_world(info, run_id):
            file = self._disk.create(folder / name)
            try:
                file.write(data)
                file.sync()
            finally:
                file.close()

    def _log(
        self,
        meta: RunMeta,
        world: Mapping[str, Any],
        info: WorldInfo,
        source: LiveLogSource | None,
        lock: DiskLock,
        options: LogOptions,
    ) -> LiveLog:
        run_id = meta.run_id
        writer = LogWriter(
            self._disk,
            self._root / run_id / LIVE,
            run_id,
            clock=self._clock,
            options=options,
            next_number=1 if source is None else source.next_number,
            before_first=lambda: self._begin(meta, world, log.pace),
        )
        log = LiveLog(
            run_id,
            writer,
            lock,
            actors=len(info.actors),
            last_tick_id=None if source is None else source.last_tick_id,
            seal=lambda progress: self._seal(run_id, progress, keep_log=options.keep_log),
        )
        return log

    def _seal(
        self,
        run_id: str,
        progress: Progress,
        *,
        keep_log: bool = False,
        recovered: bool = False,
        cut_bytes: int = 0,
    ) -> None:
        """Write the finished files from a log without a writer, and remove the log when they are in place."""
        meta, world = self._meta(run_id)
        if not meta.finished:  # else nothing was added since
            self._write_finished(run_id, meta, world, progress, recovered=recovered, cut_bytes=cut_bytes)
        self._clear(self._root / run_id, keep_log=keep_log)

    def _write_finished(
        self,
        run_id: str,
        meta: RunMeta,
        world: Mapping[str, Any],
        progress: Progress,
        *,
        recovered: bool,
        cut_bytes: int,
    ) -> None:
        ended_at = "" if recovered else self._now()
        folder = self._root / run_id
        info = self._info(folder, world)
        target = self._target(run_id)
        source = LiveLogSource(self._disk, folder / LIVE, [actor.entity_id for actor in info.actors])
        try:
            first, last = source.first_tick_id, source.last_tick_id
            count = 0 if first is None or last is None else last - first + 1
            sealed = seal(
                target,
                run_id,
                info,
                source.all_of(FIRST, LAST),
                source.loose_reports(),
                ticks=count,
                progress=progress,
            )
        finally:
            source.close()
        finished = meta.as_finished(
            ended_at=ended_at,
            finished_at=self._now(),
            recovered=recovered,
            cut_bytes=cut_bytes,
            first_tick_id=first,
            last_tick_id=last,
            block_ticks=sealed.blocks.ticks,
            block_actors=sealed.blocks.actors,
            absences=sealed.absences,
            tables=sealed.tables,
            stored_at="" if self._archive is None else self._archive.path(run_id),
        )
        target.commit([spec.file_name for spec in FINISHED.values()], finished, world)

    def _target(self, run_id: str) -> FileTarget:
        folder = self._root / run_id
        if self._archive is None:
            return FolderTarget(self._disk, folder)
        target = ArchiveTarget(self._archive.filesystem, self._archive.path(run_id), self._disk, folder)
        for spec in WORLD_TABLES.values():
            with target.open(spec.file_name) as file, self._disk.open(folder / spec.file_name) as source:
                shutil.copyfileobj(source, file)
        return target

    def _clear(self, folder: Path, *, keep_log: bool = False) -> None:
        """Remove the log, unless it is kept, and leftovers of sealing; the finished files are in place.

        The log is renamed first: at no moment there is an incomplete log.
        """
        remove_folder(self._disk, folder / SEALING)
        remove_folder(self._disk, folder / DISCARDED)
        if not keep_log and LIVE in self._disk.list(folder):
            self._disk.replace(folder / LIVE, folder / DISCARDED)
            self._disk.sync_folder(folder)
            remove_folder(self._disk, folder / DISCARDED)

    def _now(self) -> str:
        return datetime.fromtimestamp(self._clock.wall(), UTC).isoformat(timespec="milliseconds")

    def resume(self, run_id: str, *, options: LogOptions = DEFAULT_OPTIONS) -> LiveLog:
        """Continue a run after its last whole tick; a half-written tick after it is cut.

        A finished run continues only if its log was kept; its finished files are rewritten when it ends again. Until
        a tick is added, it stays finished.
        """
        self._meta(run_id)
        folder = self._root / run_id
        with self._locked(run_id, f"resuming run {run_id}") as lock:
            meta, world = self._meta(run_id)  # read under the lock
            info = self._info(folder, world)
            actor_ids = [actor.entity_id for actor in info.actors]
            if meta.finished:
                remove_folder(self._disk, folder / DISCARDED)
                self._check_kept(meta, actor_ids)
            for path in (folder, self._root):  # a visible name may not be on disk yet
                self._disk.sync_folder(path)
            mend_tail(self._disk, folder / LIVE)
            source = LiveLogSource(self._disk, folder / LIVE, actor_ids)
            source.close()
            source.check()
            return self._log(meta, world, info, source, lock, options)

    def _check_kept(self, meta: RunMeta, actor_ids: Sequence[str]) -> None:
        """Raise `RunFinishedError` unless a finished run still has a log of all its ticks."""
        folder = self._root / meta.run_id / LIVE
        why = "its log is gone"
        if self._disk.list(folder):
            try:
                with closing(LiveLogSource(self._disk, folder, actor_ids)) as source:
                    source.check()
                    span = source.first_tick_id, source.last_tick_id
                if span == (meta.first_tick_id, meta.last_tick_id):
                    return
                why = "its log lacks some of its ticks"
            except DamagedRunError:
                why = "its log is damaged"
        raise RunFinishedError(
            f"run {meta.run_id} is finished and {why}, so nothing can be added to it; create a new run"
        )

    @contextmanager
    def _locked(self, run_id: str, what: str) -> Iterator[DiskLock]:
        """Hold the lock of a run, and release it after an error."""
        lock: DiskLock | None = None
        self._refuse_links(run_id)
        try:
            lock = take_lock(self._disk, self._root / run_id / LOCK, run_id)
            yield lock
        except BaseException as error:
            if lock is not None:
                lock.release()
            if isinstance(error, OSError):
                raise disk_fault(what, error) from error
            raise

    def _refuse_links(self, run_id: str) -> None:
        """Raise `DamagedRunError` if a folder of a run is a link: its target may be no run."""
        folder = self._root / run_id
        if self._disk.is_link(folder):
            raise DamagedRunError(
                f"run {run_id} in {self._root} is a link, and runs are not written through links; "
                "give the folder of its target with --runs"
            )
        for name in (LIVE, SEALING, DISCARDED, DAMAGED, CHECKPOINTS):
            if self._disk.is_link(folder / name):
                raise DamagedRunError(f"{name} of run {run_id} is a link where a folder belongs; remove the link")

    def recover(self, run_id: str, *, drop_log: bool = False, progress: Progress = no_progress) -> RunSummary:
        """Finish a run that a crash left unfinished, with all whole ticks before the first damage.

        Whole ticks after that are kept in a folder beside the run; the summary's `loss` says so. A finished run is not
        changed; `drop_log` removes the log of such a run, which can't be resumed then.
        """
        folder = self._root / run_id
        meta, _ = self._meta(run_id)
        left = {SEALING, DISCARDED, LIVE} if drop_log else {SEALING, DISCARDED}
        if meta.finished and left.isdisjoint(self._disk.list(folder)):
            return self.summary(run_id)
        with self._locked(run_id, f"recovering run {run_id}") as lock:
            meta, _ = self._meta(run_id)  # read under the lock
            loss = Loss() if meta.finished else cut_damage(self._disk, folder / LIVE, folder / DAMAGED)
            keep_log = meta.finished and not drop_log
            self._seal(run_id, progress, keep_log=keep_log, recovered=True, cut_bytes=loss.cut_bytes)
            lock.release()
        return replace(self.summary(run_id), loss=loss.in_words(folder / DAMAGED))

    def discard_empty(self, run_id: str) -> bool:
        """Remove a run without ticks, and return whether it did.

        A run with any tick, or with a writer, is not changed.
        """
        folder = self.folder(run_id)
        if LIVE not in self._disk.list(folder):
            return False
        try:
            with self._locked(run_id, f"removing run {run_id}") as lock:
                is_empty = not self._disk.list(folder / LIVE)  # the first tick creates the first file
                if is_empty:
                    for name in (LIVE, SEALING, DISCARDED, CHECKPOINTS):
                        remove_folder(self._disk, folder / name)
                    for name in self._disk.list(folder):
                        self._disk.remove(folder / name)
                    self._disk.remove(folder)
                lock.release()
        except RunBusyError:
            return False
        return is_empty

    def open(self, run_id: str, *, from_log: bool = False) -> RunReader:
        """Open a run for reading, in any state; `from_log` reads the log of a finished run, if it was kept."""
        with reading(f"run {run_id}"):
            return self._open(run_id, from_log=from_log)

    def _open(self, run_id: str, *, from_log: bool) -> RunReader:
        meta, world = self._meta(run_id)
        info = self._info(self._root / run_id, world)
        actor_ids, own_needs = tuple(actor.entity_id for actor in info.actors), info.own_needs
        if from_log:
            return RunReader(meta, info, LiveLogSource(self._disk, self._root / run_id / LIVE, actor_ids))

        def reload() -> tuple[RunMeta, TickSource] | None:
            meta, _ = self._meta(run_id)
            return (meta, self._source(run_id, meta, actor_ids, own_needs)) if meta.finished else None

        return RunReader(meta, info, self._source(run_id, meta, actor_ids, own_needs), reload)

    def _source(self, run_id: str, meta: RunMeta, actor_ids: Sequence[str], own_needs: Sequence[str]) -> TickSource:
        folder = self._root / run_id
        if not meta.finished:
            return LiveLogSource(self._disk, folder / LIVE, actor_ids)
        if meta.stored_at:
            if self._archive is None or self._archive.path(run_id) != meta.stored_at:
                raise NoSuchRunError(f"the finished files of run {run_id} are at {meta.stored_at}; open them there")
            return SealedSource(meta, actor_ids, self._archive.tables(run_id), own_needs)
        return SealedSource(meta, actor_ids, self._tables(folder), own_needs)

    def runs(self) -> list[RunSummary]:
        """List all runs in the order of their ids, which is that of their creation, including damaged ones."""
        with reading(f"the runs in {self._root}"):
            names = self._disk.list(self._root)
        summaries = []
        for name in names:
            try:
                with reading(f"run {name}"):
                    if META not in self._disk.list(self._root / name):
                        continue
                summaries.append(self.summary(name))
            except TickmindError as error:
                summaries.append(RunSummary(name, RunState.DAMAGED, problem=str(error)))
        return summaries

    def summary(self, run_id: str) -> RunSummary:
        """Return the summary of a run. Reads no more than it needs, and writes nothing."""
        with reading(f"run {run_id}"):
            return self._summary(run_id)

    def _summary(self, run_id: str) -> RunSummary:
        meta, world = self._meta(run_id)
        folder = self._root / run_id
        first, last = meta.first_tick_id, meta.last_tick_id
        if not meta.finished:
            source = LiveLogSource(self._disk, folder / LIVE, ())
            first, last = source.first_tick_id, source.last_tick_id
            source.close()
        check_sizes(world)
        return RunSummary(
            run_id=run_id,
            state=self._state(meta, folder),
            first_tick_id=first,
            last_tick_id=last,
            actors=world["actors"],
            size_bytes=self._size(folder) + meta.elsewhere_bytes,
            world=str(world.get("name", "")),
            created_at=meta.created_at,
            recovered=meta.recovered,
            parent=meta.parent.run_id if meta.parent is not None else "",
        )

    def _state(self, meta: RunMeta, folder: Path) -> RunState:
        if meta.finished and LIVE not in self._disk.list(folder):
            return RunState.CLEAN
        if self._disk.is_locked(folder / LOCK):
            return RunState.RUNNING
        return RunState.CLEAN if meta.finished else RunState.CRASHED

    def _size(self, folder: Path) -> int:
        """Return the size on disk, without files that are just being removed."""
        folders = (LIVE, DISCARDED, SEALING, DAMAGED, CHECKPOINTS)
        paths = [folder / name for name in self._disk.list(folder) if name not in folders]
        paths += [folder / name / one for name in folders for one in self._disk.list(folder / name)]
        total = 0
        for path in paths:
            with suppress(FileNotFoundError):
                total += self._disk.size(path)
        return total

    def _meta(self, run_id: str) -> tuple[RunMeta, Mapping[str, Any]]:
        folder = self.folder(run_id)
        try:
            return read_meta(self._disk, folder)
        except (FileNotFoundError, NotADirectoryError):
            raise NoSuchRunError(
                f"no run {run_id} in {self._root}; `tickmind runs{runs_option(self._root)}` lists the runs"
            ) from None
        except OSError as error:
            raise reading_fault(f"run {run_id}", error) from error

    def _info(self, folder: Path, world: Mapping[str, Any]) -> WorldInfo:
        return read_world(world, self._tables(folder))

    def _tables(self, folder: Path) -> Callable[[TableSpec], TableFile]:
        def open_table(spec: TableSpec) -> TableFile:
            try:
                file = self._disk.open(folder / spec.file_name)
            except FileNotFoundError as error:
                raise DamagedRunError(
                    f"{spec.file_name} of run {folder.name} can't be opened: it is missing"
                ) from error
            except OSError as error:
                raise reading_fault(f"{spec.file_name} of run {folder.name}", error) from error
            return TableFile(native_file(file), spec)

        return open_table
