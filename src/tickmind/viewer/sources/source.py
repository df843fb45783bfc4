"""The port of a source of frames: a live world or a record."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from tickmind.base import Limit

if TYPE_CHECKING:
    from tickmind.viewer.sources.watchers import Watchers

WINDOW_BYTES = 1 << 20  # about what the steps of one window of ticks come to
MAX_WINDOW_TICKS = Limit("number of ticks in one window", 1024)
MAX_THOUGHTS = Limit("number of thoughts in one answer", 200)
LATE_TICKS = 16  # how many ticks after its own a thought or a state may arrive
_SHORTEST, _LONGEST = 16, 256


@dataclass(frozen=True, slots=True)
class Span:
    """Which ticks can be shown, and whether more may come."""

    first_tick_id: int  # the first whose changes can be shown, starting from the state before it
    last_tick_id: int
    growing: bool
    connected: bool = True
    run_id: str = ""  # their run; empty while unknown

    def shown(self) -> dict[str, Any]:
        """Return the form that the page reads."""
        return {
            "run_id": self.run_id,
            "first": self.first_tick_id,
            "last": self.last_tick_id,
            "growing": self.growing,
            "connected": self.connected,
        }


class FrameSource(Protocol):
    """What the viewer's server needs of a live world or a recorded run."""

    @property
    def watchers(self) -> "Watchers | None":
        """The watchers of new ticks; None where there is no live stream."""
        ...

    def hello(self) -> bytes:
        """Return the first frame."""
        ...

    def span(self) -> Span:
        """Return which ticks there are now."""
        ...

    async def window(self, first: int, last: int) -> bytes:
        """Return the keyframe before tick `first`, and all frames up to `last`, or as many as there are."""
        ...

    async def state(self, tick_id: int) -> bytes:
        """Return the frames that show a tick soonest; its window brings what led to it."""
        ...

    def digest(self) -> dict[str, Any]:
        """Return the numbers for timeline and charts."""
        ...

    async def thoughts(self, actor: int, last_tick: int, count: int) -> list[dict[str, Any]]:
        """Return the newest whole thoughts of an actor up to a tick, newest first."""
        ...

    async def mind(self, actor: int, last_tick: int) -> dict[str, Any]:
        """Return what is known of an actor's tree, Blackboard, memories and needs at a tick."""
        ...

    async def whole_mind(self, actor: int, tick_id: int) -> dict[str, Any]:
        """Return an actor's mind after a tick, lived again; raises `NoWholeMindError` where that can't be done."""
        ...

    async def story(self) -> dict[str, Any]:
        """Return the run as a chronicle; raises `NoStoryError` where there is no record to make it from."""
        ...


def window_ticks(actors: int) -> int:
    """Return how many ticks one window should have, a power of two: many for few actors, few for many."""
    wanted = WINDOW_BYTES // max(actors, 1)
    return min(_LONGEST, max(_SHORTEST, 1 << max(wanted, 1).bit_length() - 1))
