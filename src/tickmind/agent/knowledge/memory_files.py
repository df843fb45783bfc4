"""`MemoryFiles`: the memories of characters in files, so that a killed process has them when it comes back."""

import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import orjson

from tickmind.base import Limit, get_logger
from tickmind.base.files import PRIVATE_MODE, open_file, replace_file
from tickmind.mind.memory import EntryKind, MemoryEntry
from tickmind.mind.memory.memory import MAX_ENTRIES, MAX_ENTRY_CHARS, MAX_EVIDENCE, MAX_SUBJECTS

MAX_FILE_BYTES = Limit("size of a file of memories", 2_000_000, "bytes")
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")
_log = get_logger(__name__)


class KeptMind(NamedTuple):
    """What was kept of a mind."""

    entries: list[MemoryEntry]
    more: dict[str, Any]


class MemoryFiles:
    """One file for each character, in the state folder of its process.

    A memory from another run of a world is ignored: the address and the name of the run identify it, and the tick
    where a world does not name its run.
    A file that can't be read is an empty memory and a warning.
    """

    def __init__(self, folder: Path, world_addr: str) -> None:
        self._folder = folder
        self._world_addr = world_addr

    def path(self, entity_id: str) -> Path:
        """Return the path of a character's memory."""
        digest = hashlib.blake2b(entity_id.encode(), digest_size=4).hexdigest()
        return self._folder / f"memory-{_UNSAFE.sub('_', entity_id)[:60]}-{digest}.json"

    def recall(self, entity_id: str, run_id: str, tick: int) -> KeptMind:
        """Return what a character remembers, if it is from this run of the world and before this tick."""
        path = self.path(entity_id)
        try:
            content = _read(path)
            owner = (content["world_addr"], content["run_id"], content["entity_id"])
            kept_tick, entries = _whole(content["tick"]), _entries(content["entries"])
            more = dict(content["more"])
        except FileNotFoundError:
            return KeptMind([], {})
        except (OSError, ValueError, KeyError, TypeError) as error:
            why = error.strerror if isinstance(error, OSError) else "its content is damaged"
            _log.warning("can't read a memory, so it is empty", entity_id=entity_id, path=str(path), why=why)
            return KeptMind([], {})
        if owner != (self._world_addr, run_id, entity_id) or kept_tick > tick:
            return KeptMind([], {})
        return KeptMind(entries, more)

    def keep(
        self,
        entity_id: str,
        run_id: str,
        tick: int,
        entries: Iterable[MemoryEntry],
        more: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        """Write what a character remembers. If that fails, the next crash costs what is new in it, and nothing else.

        `more` is what its mind has besides, as JSON can hold it.
        """
        content = {
            "world_addr": self._world_addr,
            "run_id": run_id,
            "entity_id": entity_id,
            "tick": tick,
            "entries": list(map(tuple, entries)),
            "more": dict(more),
        }
        try:
            data = orjson.dumps(content)
            if not MAX_FILE_BYTES.allows(len(data)):  # it could not be read again
                data = orjson.dumps({**content, "more": {}})
            replace_file(self.path(entity_id), data, mode=PRIVATE_MODE)
        except (OSError, TypeError) as error:  # a lone surrogate can't be written
            why = error.strerror if isinstance(error, OSError) else str(error)
            _log.warning("can't write a memory to its file; a crash would lose it", entity_id=entity_id, why=why)


def _read(path: Path) -> Any:
    """Read the file's JSON, whatever it holds."""
    with os.fdopen(open_file(path, os.O_RDONLY), "rb") as file:
        data = file.read(int(MAX_FILE_BYTES.maximum) + 1)
    if not MAX_FILE_BYTES.allows(len(data)):
        raise ValueError("it is too large")
    return orjson.loads(data)


def _entries(kept: object) -> list[MemoryEntry]:
    """Return the entries of a memory that was kept; what they follow from must be among them."""
    if not isinstance(kept, list) or not MAX_ENTRIES.allows(len(kept)):
        raise TypeError("a memory must be a list of entries, and not too many")
    entries = [_entry(*each) for each in kept]
    numbers = {entry.number for entry in entries}
    if len(numbers) < len(entries) or not all(numbers.issuperset(entry.evidence) for entry in entries):
        raise ValueError("the entries are not those of one memory")
    return entries


def _entry(  # one argument for each field
    number: object,
    kind: str,
    tick: object,
    text: object,
    importance: float,
    about: object,
    place: object,
    told_by: object,
    evidence: object,
    times: object,
    first_tick: object,
) -> MemoryEntry:
    if not 0 <= importance <= 1:
        raise ValueError("an importance is out of bounds")
    return MemoryEntry(
        _whole(number),
        EntryKind(kind),
        _whole(tick),
        _text(text),
        float(importance),
        tuple(map(_text, _few(about, MAX_SUBJECTS))),
        _text(place),
        _text(told_by),
        tuple(map(_whole, _few(evidence, MAX_EVIDENCE))),
        _whole(times),
        _whole(first_tick),
    )


def _few(values: object, limit: Limit) -> list[object]:
    if not isinstance(values, list) or not limit.allows(len(values)):
        raise TypeError("expected a short list")
    return values


def _text(text: object) -> str:
    if not isinstance(text, str) or not MAX_ENTRY_CHARS.allows(len(text)):
        raise TypeError("expected a short text")
    return text


def _whole(number: object) -> int:
    if type(number) is not int or not 0 <= number < 2**63:
        raise TypeError("a tick must be a whole number")
    return number
