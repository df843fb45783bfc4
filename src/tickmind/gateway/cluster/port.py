"""Where shared state touches the queue: how lanes tell of their limits and hear of others'.

The other place is how paces are made: `SharedState.pace` is a `PaceMaker`, which `Lanes` takes.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class LaneLimit:
    """Until when a lane is limited, by the local monotonic clock; `lane` is `provider/key id` or that and `/model`."""

    lane: str
    until_s: float
    reason: str


class LimitedLanes(Protocol):
    """The lanes of a dispatcher, as far as shared state concerns them."""

    def limits(self) -> Iterable[LaneLimit]:
        """Those that are limited now."""
        ...

    def limit(self, limit: LaneLimit) -> None:
        """Another gateway has met a limit: hold the lane until then, if there is such a lane; never shorten it."""
        ...

    def resize(self, gateways: int) -> None:
        """So many gateways share what may be in flight at once."""
        ...


class NoLanes:
    """For a gateway whose lanes keep their limits to themselves."""

    def limits(self) -> Iterable[LaneLimit]:
        """None."""
        return ()

    def limit(self, limit: LaneLimit) -> None:
        """Nothing."""

    def resize(self, gateways: int) -> None:
        """Nothing."""
