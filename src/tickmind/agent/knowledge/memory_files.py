"""`MemoryFiles`: the memories of characters in files, so that a killed process has them when it comes back."""

import hashlib
import math
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson

from tickmind.agent.knowledge import Memory, Note
from tickmind.agent.knowledge.memory import MAX_NOTE_CHARS, MAX_NOTES
from tickmind.base import Limit, get_logger
from tickmind.base.files import PRIVATE_MODE, open_file, replace_file

MAX_FILE_BYTES = Limit("size of a file of memories", 2_000_000, "bytes")
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")
_log = get_logger(__name__)


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

    def recall(self, entity_id: str, run_id: str, tick: int) -> list[Note]:
        """Return a character's notes, if they are from this run of the world and before this tick."""
        path = self.path(entity_id)
        try:
            content = _read(path)
            owner = (content["world_addr"], content["run_id"], content["entity_id"])
            kept_tick, notes = _whole(content["tick"]), [_note(*each) for each in content["notes"]]
        except FileNotFoundError:
            return []
        except (OSError, ValueError, KeyError, TypeError) as error:
            why = error.strerror if isinstance(error, OSError) else "its content is damaged"
            _log.warning("can't read a memory, so it is empty", entity_id=entity_id, path=str(path), why=why)
            return []
        if owner != (self._world_addr, run_id, entity_id) or kept_tick > tick:
            return []
        return notes[-int(MAX_NOTES.maximum) :]

    def keep(self, entity_id: str, run_id: str, tick: int, notes: Iterable[Note]) -> None:
        """Write a character's notes. If that fails, the next crash costs what it learnt since, and nothing else."""
        content = {
            "world_addr": self._world_addr,
            "run_id": run_id,
            "entity_id": entity_id,
            "tick": tick,
            "notes": [(note.tick, note.text, note.importance, note.about) for note in notes],
        }
        try:
            replace_file(self.path(entity_id), orjson.dumps(content), mode=PRIVATE_MODE)
        except (OSError, TypeError) as error:  # a lone surrogate can't be written
            why = error.strerror if isinstance(error, OSError) else str(error)
            _log.warning("can't write a memory to its file; a crash would lose it", entity_id=entity_id, why=why)


def restore(memory: Memory, notes: Iterable[Note]) -> None:
    """Put recalled notes into a memory."""
    for note in notes:
        memory.note(note.tick, note.text, importance=note.importance, about=note.about)


def _read(path: Path) -> Any:
    """Read the file's JSON, whatever it holds."""
    with os.fdopen(open_file(path, os.O_RDONLY), "rb") as file:
        data = file.read(int(MAX_FILE_BYTES.maximum) + 1)
    if not MAX_FILE_BYTES.allows(len(data)):
        raise ValueError("it is too large")
    return orjson.loads(data)


def _note(tick: object, text: object, importance: object, about: object) -> Note:
    if not isinstance(text, str) or not isinstance(about, str) or not isinstance(importance, int | float):
        raise TypeError("a note must be a tick, a text, a number and a subject")
    if not MAX_NOTE_CHARS.allows(len(text)) or not MAX_NOTE_CHARS.allows(len(about)) or not math.isfinite(importance):
        raise ValueError("a note is out of bounds")
    return Note(_whole(tick), text, float(importance), about)


def _whole(number: object) -> int:
    if type(number) is not int or not 0 <= number < 2**63:
        raise TypeError("a tick must be a whole number")
    return number
