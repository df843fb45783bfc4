"""`Mistakes`: logs errors in a character's code, the first of a kind with its traceback, then counts."""

import threading
import traceback
from pathlib import Path
from typing import Any

from tickmind.base import Limit, error_text, get_logger, redact

MAX_KINDS = Limit("number of kinds of errors that are distinguished", 100)
MAX_LINE_CHARS = 240
_PACKAGE = Path(__file__).parents[1]
_THEIRS = _PACKAGE / "characters"  # ready characters are written as users write theirs
_log = get_logger(__name__)


class Mistakes:
    """Log what user code raises so that a log stays readable: one traceback for each kind of error, then counts.

    Errors are of one kind if they have the same type and were raised at the same place. The count is logged when it
    doubles. Any thread may note one.
    """

    def __init__(self, *, max_kinds: Limit = MAX_KINDS) -> None:
        self._max_kinds = max_kinds
        self._lock = threading.Lock()
        self._counts: dict[tuple[object, ...], int] = {}  # kind of error -> how many there were

    def note(self, event: str, error: BaseException, **fields: Any) -> str:
        """Log an error and return it in one line, with where it is in the user's code. Call it where it is caught."""
        line = one_line(error)
        place = ((frame.f_code, number) for frame, number in traceback.walk_tb(error.__traceback__))
        key = (event, type(error), *place)
        times = self._count(key)
        if times == 1:
            _log.exception(event, **fields)
        elif times.bit_count() == 1:
            _log.warning(f"{event} again, as above", times=times, error=line, **fields)
        return line

    def note_text(self, event: str, problem: str, **fields: Any) -> str:
        """Log a mistake that raised nothing, and return it in one line."""
        times = self._count((event, problem))
        if times.bit_count() == 1:
            _log.error(event, problem=problem, times=times, **fields)
        return redact(f"{event}: {problem}")[:MAX_LINE_CHARS]

    def _count(self, key: tuple[object, ...]) -> int:
        with self._lock:
            if key not in self._counts and not self._max_kinds.allows(len(self._counts) + 1):
                key = ()  # one kind for all beyond the limit
            self._counts[key] = self._counts.get(key, 0) + 1
            return self._counts[key]


def one_line(error: BaseException) -> str:
    """Describe an error in one line: its type, its text, and the last line of the user's own code, secrets masked."""
    while error.__cause__ is not None and type(error).__module__.startswith("tickmind."):
        error = error.__cause__  # a tree wraps the error of an action
    where = ""
    for frame in traceback.extract_tb(error.__traceback__):
        if not frame.filename.startswith("<") and _is_theirs(Path(frame.filename)):
            where = f" ({Path(frame.filename).name}:{frame.lineno})"
    text = " ".join(redact(error_text(error)).split())
    room = MAX_LINE_CHARS - len(where)
    return f"{text if len(text) <= room else text[: room - 3] + '...'}{where}"


def _is_theirs(file: Path) -> bool:
    return not file.is_relative_to(_PACKAGE) or file.is_relative_to(_THEIRS)
