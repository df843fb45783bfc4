"""`meta.json`: the description of a run, the format of its files, and whether they are complete."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from tickmind.record.disk import Disk, write_whole
from tickmind.record.errors import DamagedRunError, RunIdError, SchemaVersionError
from tickmind.record.limits import MAX_CHANGES, MAX_META_BYTES
from tickmind.record.run_id import check_run_id, is_run_id

META = "meta.json"
LOG_SCHEMA_VERSION = "1.1.0"
API_VERSION = "v1"
_FORMAT = "tickmind run"
# 1.0.0 had none of these
_ADDED: Mapping[str, Any] = {"parent": None, "begun_at": "", "ended_at": "", "pace": None, "absences": False}


class RunState(StrEnum):
    """The states of a run."""

    RUNNING = "running"  # a process writes to it
    CLEAN = "clean"  # finished; all files are in place
    CRASHED = "crashed"  # no process writes to it, and it was not finished
    DAMAGED = "damaged"  # it can't be read


@dataclass(frozen=True, slots=True)
class TableMeta:
    """A finished table."""

    rows: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class RunChange:
    """A change at which a branch leaves its parent after a tick: its kind, whom or what it concerns, and to what.

    `lab` knows the kinds, such as `remember`.
    """

    tick_id: int
    kind: str
    who: str = ""  # id of an actor or of an object
    what: str = ""
    value: str = ""


@dataclass(frozen=True, slots=True)
class RunParent:
    """The run that a run branched off, after which of its ticks (0 is its beginning), and what was changed there.

    The changes of a parent that is a branch itself, in the past that both share, come first.
    """

    run_id: str
    tick_id: int
    changes: tuple[RunChange, ...] = ()


@dataclass(frozen=True, slots=True)
class RunPace:
    """The pace of a run: in lockstep, or so many ticks per second of wall time."""

    lockstep: bool
    tps: float | None  # None in lockstep


@dataclass(frozen=True, slots=True)
class RunMeta:
    """The content of `meta.json`, apart from the world's description."""

    run_id: str
    created_at: str
    world_version: str
    finished: bool = False
    finished_at: str = ""
    recovered: bool = False  # finished after a crash
    cut_bytes: int = 0  # half-written or damaged bytes that were cut
    first_tick_id: int | None = None
    last_tick_id: int | None = None
    block_ticks: int = 0  # ticks in one block of actor_state
    block_actors: int = 0  # actors in one row group of actor_state
    tables: Mapping[str, TableMeta] = field(default_factory=dict)
    stored_at: str = ""  # where the finished files are, if not beside this one
    parent: RunParent | None = None
    begun_at: str = ""  # wall time of the first tick
    ended_at: str = ""  # wall time after the last tick; empty while it runs, and if a crash ended it
    pace: RunPace | None = None  # of the last start
    absences: bool = False  # whether actors were away in some tick; known when it is finished
    log_schema_version: str = LOG_SCHEMA_VERSION
    api_version: str = API_VERSION

    @property
    def elsewhere_bytes(self) -> int:
        """The size of the finished files that are not beside `meta.json`."""
        return sum(table.size_bytes for table in self.tables.values()) if self.stored_at else 0

    def as_finished(self, **changes: Any) -> "RunMeta":
        """Return the run with all files in place, in the form of this version."""
        return replace(self, finished=True, log_schema_version=LOG_SCHEMA_VERSION, **changes)

    def as_begun(self) -> "RunMeta":
        """Return the run as if it had not been finished."""
        begun = RunMeta(self.run_id, self.created_at, self.world_version)
        return replace(begun, parent=self.parent, begun_at=self.begun_at, pace=self.pace)


def encode_meta(meta: RunMeta, world: Mapping[str, Any]) -> bytes:
    """Return the file's content."""
    document = {"format": _FORMAT, **asdict(meta), "world": world}
    return json.dumps(document, indent=1, ensure_ascii=False).encode() + b"\n"


def decode_meta(data: bytes) -> tuple[RunMeta, Mapping[str, Any]]:
    """Parse the content; return also the description of the world."""
    MAX_META_BYTES.check(len(data))
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise DamagedRunError(f"{META} is no JSON; the run can't be read without it") from error
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise DamagedRunError(f"{META} is not a run's")
    version = str(document.get("log_schema_version", ""))
    if version.partition(".")[0] != LOG_SCHEMA_VERSION.partition(".")[0]:
        raise SchemaVersionError(
            f"the run has log schema version {version[:20]}, this tickmind reads {LOG_SCHEMA_VERSION}; use a later one"
        )
    try:
        document = {**_ADDED, **document}
        known = {one.name: _typed(one.name, one.type, document[one.name]) for one in fields(RunMeta)}
        world = document["world"]
    except (KeyError, TypeError, ValueError, RunIdError) as error:
        raise DamagedRunError(f"{META} lacks a required field, or has it in another form") from error
    if not isinstance(world, dict) or not is_run_id(known["run_id"]):
        raise DamagedRunError(f"{META} does not describe the world of a run")
    return RunMeta(**known), world


def _typed(name: str, kind: Any, value: Any) -> Any:
    if name == "tables":
        return {
            str(table): TableMeta(_typed("", int, one["rows"]), _typed("", int, one["size_bytes"]))
            for table, one in value.items()
        }
    if name == "parent":
        return None if value is None else _parent(value)
    if name == "pace":
        return None if value is None else _pace(value["lockstep"], value["tps"])
    if kind == int | None:
        kind = type(None) if value is None else int
    if type(value) is not kind:
        raise TypeError(f"{name} has a wrong type")
    return value


def _parent(value: Any) -> RunParent:
    if not isinstance(value, dict):
        raise TypeError("parent has a wrong type")
    changes = value.get("changes", ())
    if not isinstance(changes, list | tuple):
        raise TypeError("changes has a wrong type")
    MAX_CHANGES.check(len(changes))
    read = tuple(
        RunChange(*(_typed("", int if one.name == "tick_id" else str, each[one.name]) for one in fields(RunChange)))
        for each in changes
    )
    return RunParent(check_run_id(value["run_id"]), _typed("", int, value["tick_id"]), read)


def _pace(lockstep: Any, tps: Any) -> RunPace:
    if type(lockstep) is not bool or not (tps is None or type(tps) in (int, float)):
        raise TypeError("pace has a wrong type")
    return RunPace(lockstep, tps)


def read_meta(disk: Disk, folder: Path) -> tuple[RunMeta, Mapping[str, Any]]:
    """Read the `meta.json` of a run."""
    return decode_meta(disk.read_bytes(folder / META, MAX_META_BYTES))


def write_meta(disk: Disk, folder: Path, meta: RunMeta, world: Mapping[str, Any]) -> None:
    """Write it atomically, and wait until it is on disk."""
    write_whole(disk, folder / META, encode_meta(meta, world))
