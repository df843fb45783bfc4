"""`RunLab`: the port of what can be done with recorded runs beside showing one: branch, compare, ask.

The viewer only passes requests on. Who implements it starts processes for them, so that no agent's program runs in the
viewer's own.
"""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from tickmind.base import Limit
from tickmind.viewer.errors import RunLabError

if TYPE_CHECKING:
    from tickmind.viewer.sources.source import FrameSource

MAX_ORDER_CHANGES = Limit("number of changes in a request for a branch", 20)
MAX_ORDER_CHARS = Limit("length of a text in a request", 1000, "characters")
MAX_ORDER_TICKS = Limit("number of ticks that a branch goes on", 100_000)


@dataclass(frozen=True, slots=True)
class OrderedChange:
    """One change of a branch, as its record will name it."""

    kind: str
    who: str = ""  # id of an actor or of an object
    what: str = ""
    value: str = ""


@dataclass(frozen=True, slots=True)
class BranchOrder:
    """A branch to begin: after which tick, what is changed there, and how it goes on."""

    tick_id: int
    changes: tuple[OrderedChange, ...] = ()
    ticks: int | None = None  # as many as the run has left
    keeps_replies: bool = False

    @classmethod
    def read(cls, said: Any) -> "BranchOrder":
        """Return the order that a request makes; raises `RunLabError` with what is wrong."""
        try:
            tick_id, ticks = _whole(said["tick"], "tick"), said.get("ticks")
            listed = said.get("changes", [])
            if not isinstance(listed, list):
                raise RunLabError("changes must be a list")
            MAX_ORDER_CHANGES.check(len(listed))
            changes = tuple(
                OrderedChange(*(line_of(one.get(name, ""), name) for name in ("kind", "who", "what", "value")))
                for one in listed
            )
            keeps = said.get("replies", "anew") == "keep"
        except (AttributeError, KeyError, TypeError) as error:
            raise RunLabError("a branch needs its tick, and a list of changes") from error
        if ticks is not None:
            MAX_ORDER_TICKS.check(_whole(ticks, "ticks", least=1))
        return cls(tick_id, changes, ticks, keeps)


class RunLab(Protocol):
    """Recorded runs of one folder, and what can be done with them."""

    async def source(self, run_id: str) -> "FrameSource":
        """Return the frames of a run; raises `RunLabError` if there is no such run."""
        ...

    async def runs(self, run_id: str) -> list[dict[str, Any]]:
        """Return all runs as a tree, each behind its parent, seen from one of them."""
        ...

    async def divergence(self, run_id: str, other_id: str) -> dict[str, Any]:
        """Return where two runs differ."""
        ...

    async def begin_branch(self, run_id: str, order: BranchOrder) -> dict[str, Any]:
        """Begin a branch and return its state; raises `RunLabError` if that can't be done."""
        ...

    async def branch_state(self) -> dict[str, Any]:
        """Return how far the last branch is."""
        ...

    def interview(
        self, run_id: str, entity_id: str, tick_id: int, question: str
    ) -> AsyncGenerator[dict[str, Any], None]:
        """Ask a character as it was after a tick, and iterate over what happens until it has answered."""
        ...

    async def close(self) -> None:
        """End all processes, and close the sources."""
        ...


def _whole(value: Any, name: str, least: int = 0) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise RunLabError(f"{name} must be a whole number from {least} on")
    return value


def line_of(value: Any, name: str) -> str:
    """Return a text of a request; raises `RunLabError` for one that no argument of a command can be."""
    if not isinstance(value, str) or not value.isprintable():
        raise RunLabError(f"{name} must be a text on one line")
    MAX_ORDER_CHARS.check(len(value))
    return value
