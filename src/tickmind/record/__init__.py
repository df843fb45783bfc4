"""The record of a run: written as it happens, sealed as Parquet, readable in every state, repaired after a crash.

store = RunStore(Path("runs"))
log = store.create(world.info)          # a Sink and a ReportSink
log.publish(record)                     # when it returns, the tick is on disk
log.close()                             # writes the finished files

with store.open(run_id) as run:         # running, crashed or finished alike
    run.state_at(40)
    for record in run.records(1, 100): ...

store.resume(run_id)                    # continue after a crash
store.recover(run_id)                   # or finish it
"""

from tickmind.record.archive import Archive
from tickmind.record.checkpoints import CheckpointFolder, StoredCheckpoint
from tickmind.record.disk import Disk, DiskFile, DiskLock, OsDisk
from tickmind.record.errors import (
    DamagedRunError,
    DiskFaultError,
    NoSuchRunError,
    RecordError,
    RecordOrderError,
    RunBusyError,
    RunExistsError,
    RunFinishedError,
    RunIdError,
    SchemaVersionError,
)
from tickmind.record.events import EventKind, RunEvent, TileArea
from tickmind.record.live_log import LiveLog
from tickmind.record.log.log_writer import LogOptions
from tickmind.record.log.sync_policy import SyncPolicy
from tickmind.record.meta import RunChange, RunMeta, RunPace, RunParent, RunState
from tickmind.record.reader import ActorHistory, LlmCall, RunReader
from tickmind.record.store import RunStore
from tickmind.record.summary import RunSummary
from tickmind.record.tables.counts import TickCounts
from tickmind.record.tables.gifts import Gift
from tickmind.record.tables.inventories import ItemQuantity

__all__ = [
    "ActorHistory",
    "Archive",
    "CheckpointFolder",
    "DamagedRunError",
    "Disk",
    "DiskFaultError",
    "DiskFile",
    "DiskLock",
    "EventKind",
    "Gift",
    "ItemQuantity",
    "LiveLog",
    "LlmCall",
    "LogOptions",
    "NoSuchRunError",
    "OsDisk",
    "RecordError",
    "RecordOrderError",
    "RunBusyError",
    "RunChange",
    "RunEvent",
    "RunExistsError",
    "RunFinishedError",
    "RunIdError",
    "RunMeta",
    "RunPace",
    "RunParent",
    "RunReader",
    "RunState",
    "RunStore",
    "RunSummary",
    "SchemaVersionError",
    "StoredCheckpoint",
    "SyncPolicy",
    "TickCounts",
    "TileArea",
]
