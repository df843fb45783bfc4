"""The live log of a run: stores each tick before it is shown."""

import threading
from collections.abc import Callable
from typing import Self

from tickmind.base import LimitExceededError, get_logger
from tickmind.protocol import NO_REPORTS, AgentStatus, Insight, ThoughtReport, TickRecord, TickReports
from tickmind.record.disk import DiskLock, disk_fault
from tickmind.record.errors import DiskFaultError, RecordOrderError
from tickmind.record.limits import MAX_PENDING_CHARS, MAX_PENDING_REPORTS
from tickmind.record.log.log_writer import LogWriter
from tickmind.record.meta import RunPace
from tickmind.record.tables.sealing import Progress, no_progress

_log = get_logger(__name__)
_TOO_LARGE = "reports of agents were left out of the record: they are too large for one tick"


class LiveLog:
    """Stores the ticks of a run (a `protocol.Sink`) and the reports of agents (a `ReportSink`).

    When `publish` returns, the tick is as durable as the `SyncPolicy` says. When it raises `DiskFaultError`, neither
    that tick nor any later one is stored. `thought`, `status` and `insight` never wait for the disk: they are written
    with the next tick. `publish` may run in another thread than these.
    """

    def __init__(
        self,
        run_id: str,
        writer: LogWriter,
        lock: DiskLock,
        *,
        actors: int,
        last_tick_id: int | None,
        seal: Callable[[Progress], None],
    ) -> None:
        self.pace: RunPace | None = None  # for `meta.json`; set it before the first tick
        self._run_id = run_id
        self._writer = writer
        self._lock = lock
        self._actors = actors
        self._last_tick_id = last_tick_id
        self._seal = seal
        self._fault: DiskFaultError | None = None
        self._closed = False
        self._guard = threading.Lock()  # for reports pending for the next tick
        self._thoughts: list[ThoughtReport] = []
        self._statuses: list[AgentStatus] = []
        self._insights: list[Insight] = []
        self._chars = 0
        self._left_out = 0

    @property
    def run_id(self) -> str:
        """The name of the run."""
        return self._run_id

    @property
    def last_tick_id(self) -> int | None:
        """The last stored tick, or None before the first."""
        return self._last_tick_id

    @property
    def fault(self) -> DiskFaultError | None:
        """Why nothing more can be stored, if so."""
        return self._fault

    def publish(self, record: TickRecord) -> None:
        """Store a tick, with all reports since the last one; raises `DiskFaultError` or `RecordOrderError`."""
        self._check(record)
        reports = self._take()
        try:
            self._write(record, reports)
        except OSError as error:
            self._fault = disk_fault(f"storing tick {record.tick_id} of run {self._run_id}", error)
            self._writer.abandon()
            raise self._fault from error
        self._last_tick_id = record.tick_id

    def _write(self, record: TickRecord, reports: TickReports) -> None:
        try:
            self._writer.write(record, reports)
        except LimitExceededError as error:
            if not reports:
                raise
            _log.warning(_TOO_LARGE, tick_id=record.tick_id, error=str(error))
            self._writer.write(record, TickReports(left_out=_number(reports)))

    def _check(self, record: TickRecord) -> None:
        if self._fault is not None:
            raise DiskFaultError(str(self._fault))
        if self._closed:
            raise RecordOrderError(f"the log of run {self._run_id} is closed; resume the run to add to it")
        if self._last_tick_id is not None and record.tick_id != self._last_tick_id + 1:
            raise RecordOrderError(f"tick {record.tick_id} can't follow tick {self._last_tick_id}")
        if len(record.actor_ids) != self._actors or len(record.actor_state.x) != self._actors:
            raise RecordOrderError(f"run {self._run_id} has {self._actors} actors, the tick {len(record.actor_ids)}")

    def thought(self, report: ThoughtReport) -> None:
        """Take a deliberation, to be written with the next tick."""
        chars = report.chars
        with self._guard:
            if self._has_room(chars):
                self._thoughts.append(report)
                self._chars += chars

    def status(self, status: AgentStatus) -> None:
        """Take an agent's status, to be written with the next tick."""
        with self._guard:
            if self._has_room(len(status.detail)):
                self._statuses.append(status)
                self._chars += len(status.detail)

    def insight(self, insight: Insight) -> None:
        """Take an insight into a mind, to be written with the next tick."""
        chars = insight.chars
        with self._guard:
            if self._has_room(chars):
                self._insights.append(insight)
                self._chars += chars

    def _has_room(self, chars: int) -> bool:
        count = len(self._thoughts) + len(self._statuses) + len(self._insights) + 1
        if MAX_PENDING_REPORTS.allows(count) and MAX_PENDING_CHARS.allows(self._chars + chars):
            return True
        self._left_out += 1
        return False

    def _take(self) -> TickReports:
        if not (self._thoughts or self._statuses or self._insights or self._left_out):
            return NO_REPORTS
        with self._guard:
            left_out, self._left_out = self._left_out, 0
            reports = TickReports(tuple(self._thoughts), tuple(self._statuses), tuple(self._insights), left_out)
            self._thoughts, self._statuses, self._insights, self._chars = [], [], [], 0
        if left_out:
            _log.warning("reports of agents were left out of the record: too many in one tick", count=left_out)
        return reports

    def close(self, *, seal: bool = True, progress: Progress = no_progress) -> None:
        """Close the log and write the finished files; with `seal=False` the run can be resumed or recovered later.

        After a disk fault it only closes, and the log stays unchanged.
        """
        if self._closed:
            return
        self._closed = True
        try:
            if self._fault is None:
                self._finish(progress if seal else None)
        finally:
            self._writer.abandon()
            self._lock.release()

    def abandon(self) -> None:
        """Close the log unchanged, so that the run can be resumed or recovered."""
        self._closed = True
        self._writer.abandon()
        self._lock.release()

    def _finish(self, progress: Progress | None) -> None:
        reports = self._take()
        try:
            if reports:
                self._write_reports(reports)
            self._writer.end_segment()
            if progress is not None:
                self._seal(progress)
        except OSError as error:
            self._fault = disk_fault(f"finishing run {self._run_id}", error)
            raise self._fault from error

    def _write_reports(self, reports: TickReports) -> None:
        try:
            self._writer.write_reports(reports)
        except LimitExceededError as error:
            _log.warning(_TOO_LARGE, tick_id=self._last_tick_id, error=str(error))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc_info: object) -> None:
        self.close()


def _number(reports: TickReports) -> int:
    """Return how many reports there were, with those that were left out before."""
    return len(reports.thoughts) + len(reports.statuses) + len(reports.insights) + reports.left_out
