"""Faults that are planted on purpose, each a promise that the world no longer keeps. The simulator must find them."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeAlias
from unittest.mock import patch

import numpy as np
from tests.sim import machine

from tickmind.protocol import Reason, TickRecord, TickReports
from tickmind.record import Disk, DiskFaultError, LiveLog, LogOptions, SyncPolicy, checkpoints, store
from tickmind.record.log import mending
from tickmind.record.log.salvage import Loss
from tickmind.record.log.segment import Index, SegmentReader, foot_frame
from tickmind.server import Authority, Checkpoint, Leases, TickLoop, resume

Mutation: TypeAlias = Callable[[], AbstractContextManager[Any]]


def published_before_it_is_synced() -> AbstractContextManager[Any]:
    return patch.object(machine, "OPTIONS", LogOptions(sync=SyncPolicy.NEVER))


@contextmanager
def published_before_it_is_written() -> Iterator[None]:
    publish = LiveLog.publish
    waiting: dict[int, TickRecord] = {}

    def late(log: LiveLog, record: TickRecord) -> None:
        before = waiting.pop(id(log), None)
        waiting[id(log)] = record
        if before is not None:
            publish(log, before)

    with patch.object(LiveLog, "publish", late):
        yield


@contextmanager
def disk_fault_ignored() -> Iterator[None]:
    publish = LiveLog.publish

    def careless(log: LiveLog, record: TickRecord) -> None:
        with suppress(DiskFaultError):
            publish(log, record)

    with patch.object(LiveLog, "publish", careless):
        yield


def epoch_does_not_grow() -> AbstractContextManager[Any]:
    def same(world: Any, checkpoint: Checkpoint | None, history: Any) -> int:
        resume(world, checkpoint, history)
        return checkpoint.incarnation if checkpoint is not None else 1

    return patch.object(machine, "resume", same)


def start_not_counted_before_leases() -> AbstractContextManager[Any]:
    return patch.object(TickLoop, "save", lambda _loop: None)


def torn_tail_not_cut() -> AbstractContextManager[Any]:
    return patch.object(store, "mend_tail", lambda _disk, _folder: 0)


def tail_of_a_killed_process_not_synced() -> AbstractContextManager[Any]:
    def careless(disk: Disk, path: Path, index: Index) -> None:
        with disk.open(path) as file:
            data = file.read(index.end)
        beside = path.with_name("beside")
        disk.create(beside).write(data + foot_frame(index, index.end, index.end))
        disk.replace(beside, path)
        disk.sync_folder(path.parent)

    return patch.object(mending, "_write_anew", careless)


def segment_trusted_after_a_failed_sync() -> AbstractContextManager[Any]:
    def trusting(disk: Disk, path: Path, index: Index) -> None:
        disk.truncate(path, index.end)
        file = disk.append(path)
        file.write(foot_frame(index, index.end, index.end))
        file.sync()

    return patch.object(mending, "_write_anew", trusting)


def rename_without_folder_sync() -> AbstractContextManager[Any]:
    def careless(disk: Disk, path: Path, data: bytes) -> None:
        beside = path.with_name(f"{path.name}.new")
        file = disk.create(beside)
        file.write(data)
        file.sync()
        disk.replace(beside, path)

    return patch.object(checkpoints, "write_whole", careless)


def file_replaced_without_sync() -> AbstractContextManager[Any]:
    def careless(disk: Disk, path: Path, data: bytes) -> None:
        beside = path.with_name(f"{path.name}.new")
        disk.create(beside).write(data)
        disk.replace(beside, path)
        disk.sync_folder(path.parent)

    return patch.object(checkpoints, "write_whole", careless)


def session_without_a_tick_taken_for_damage() -> AbstractContextManager[Any]:
    def careless(disk: Disk, folder: Path, beside: Path) -> Loss:
        silent = False
        for name in disk.list(folder):
            segment = SegmentReader(disk, folder / name)
            segment.load()
            silent = silent or not segment.index.ticks
            if silent:
                disk.remove(folder / name)
        return mending.cut_damage(disk, folder, beside)

    return patch.object(store, "cut_damage", careless)


@contextmanager
def leases_expire_by_the_wall_clock() -> Iterator[None]:
    begin = Leases.__init__

    def by_the_wall(leases: Leases, *given: Any, clock: Any, **more: Any) -> None:
        begin(leases, *given, clock=SimpleNamespace(monotonic=clock.wall, wall=clock.wall), **more)

    with patch.object(Leases, "__init__", by_the_wall):
        yield


def old_leases_still_count() -> AbstractContextManager[Any]:
    return patch.object(Leases, "check", lambda _leases, _lease_id, _row: Reason.NONE)


def hosts_act_for_whom_they_do_not_hold() -> AbstractContextManager[Any]:
    return patch.object(Leases, "holds", lambda _leases, _grant, rows: np.ones(len(rows), dtype=np.bool_))


def leases_never_expire() -> AbstractContextManager[Any]:
    return patch.object(Leases, "expire", lambda _leases: None)


@contextmanager
def snapshot_of_a_tick_that_is_not_kept_yet() -> Iterator[None]:
    resolve = Authority.resolve

    def hasty(authority: Authority) -> TickRecord:
        record = resolve(authority)
        authority._view = None
        return record

    with patch.object(Authority, "resolve", hasty):
        yield


@contextmanager
def thought_shown_before_it_is_kept() -> Iterator[None]:
    publish = Authority.publish

    def hasty(authority: Authority, record: TickRecord) -> None:
        new, old = authority.reports.take(), authority._reported
        authority._reported = TickReports(old.thoughts + new.thoughts, old.statuses + new.statuses)
        publish(authority, record)

    with patch.object(Authority, "publish", hasty):
        yield


@contextmanager
def control_not_recorded() -> Iterator[None]:
    """The record forgets who was controlled, so a replay gives another world."""
    publish = LiveLog.publish

    def forgetful(log: LiveLog, record: TickRecord) -> None:
        object.__setattr__(record, "controlled", None)
        publish(log, record)

    with patch.object(LiveLog, "publish", forgetful):
        yield


MUTATIONS: tuple[Mutation, ...] = (
    published_before_it_is_synced,
    published_before_it_is_written,
    disk_fault_ignored,
    epoch_does_not_grow,
    start_not_counted_before_leases,
    torn_tail_not_cut,
    tail_of_a_killed_process_not_synced,
    segment_trusted_after_a_failed_sync,
    rename_without_folder_sync,
    file_replaced_without_sync,
    session_without_a_tick_taken_for_damage,
    leases_expire_by_the_wall_clock,
    old_leases_still_count,
    hosts_act_for_whom_they_do_not_hold,
    leases_never_expire,
    snapshot_of_a_tick_that_is_not_kept_yet,
    thought_shown_before_it_is_kept,
    control_not_recorded,
)
