"""`Blackboard`: what one entity knows, read and written by the layers of its mind."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from tickmind.ai.errors import BlackboardAccessError

DEFAULT_ACTIVITY_LENGTH = 100


@dataclass(frozen=True, slots=True)
class Access:
    """One use of a Blackboard."""

    who: str
    what: Literal["read", "write", "delete"]
    key: str


@dataclass
class Blackboard:
    """A private store of facts, one per entity. Strategy writes here, tactics read.

        >>> board = Blackboard({"goal": "rest"})
        >>> board.get("goal", who="tree")
        'rest'

    `data` may be used directly. The methods and views do the same and are noted in the activity record, if it is
    switched on.
    """

    data: dict[str, Any] = field(default_factory=dict)
    activity: deque[Access] | None = None  # newest last

    def record_activity(self, length: int = DEFAULT_ACTIVITY_LENGTH) -> None:
        """Switch the activity record on; it keeps the newest entries."""
        self.activity = deque(self.activity or (), maxlen=length)

    def stop_recording(self) -> None:
        """Switch the activity record off and forget it."""
        self.activity = None

    def get(self, key: str, default: Any = None, *, who: str = "") -> Any:
        """Return the value of a key, or the default."""
        if self.activity is not None:
            self.activity.append(Access(who, "read", key))
        return self.data.get(key, default)

    def set(self, key: str, value: Any, *, who: str = "") -> None:
        """Give a key a value."""
        if self.activity is not None:
            self.activity.append(Access(who, "write", key))
        self.data[key] = value

    def delete(self, key: str, *, who: str = "") -> None:
        """Forget a key, if it is there."""
        if self.activity is not None:
            self.activity.append(Access(who, "delete", key))
        self.data.pop(key, None)

    def __contains__(self, key: str) -> bool:
        return key in self.data

    def __iter__(self) -> Iterator[str]:
        return iter(self.data)

    def __len__(self) -> int:
        return len(self.data)

    def __bool__(self) -> bool:  # an empty Blackboard is still one
        return True

    def view(self, who: str, *, reads: Iterable[str] = (), writes: Iterable[str] = ()) -> "BlackboardView":
        """Return a view of some keys only, for one user that declares what it needs."""
        return BlackboardView(self, who, frozenset(reads), frozenset(writes))


@dataclass(frozen=True, slots=True)
class BlackboardView:
    """A Blackboard restricted to the keys that one user declared. Keys that may be written may be read too."""

    board: Blackboard
    who: str
    reads: frozenset[str]
    writes: frozenset[str]

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value of a declared key, or the default."""
        self._check_read(key)
        return self.board.get(key, default, who=self.who)

    def __contains__(self, key: str) -> bool:
        self._check_read(key)
        return key in self.board

    def set(self, key: str, value: Any) -> None:
        """Give a declared key a value."""
        self._check_write(key)
        self.board.set(key, value, who=self.who)

    def delete(self, key: str) -> None:
        """Forget a declared key."""
        self._check_write(key)
        self.board.delete(key, who=self.who)

    def _check_read(self, key: str) -> None:
        if key not in self.reads and key not in self.writes:
            raise BlackboardAccessError(f"{self.who} reads {key!r} without having declared it; add it to reads=")

    def _check_write(self, key: str) -> None:
        if key not in self.writes:
            raise BlackboardAccessError(f"{self.who} writes {key!r} without having declared it; add it to writes=")
