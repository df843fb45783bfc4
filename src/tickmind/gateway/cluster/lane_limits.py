"""Ports between the shared state and the queue: how lanes publish their limits and receive those of others.

The other port is `SharedState.pace`, a `PaceMaker`, which `Lanes` takes.
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
    """The lanes of a dispatcher, as far as the shared state needs them."""

    def limits(self) -> Iterable[LaneLimit]:
        """Return the lanes that are limited now."""
        ...

    def limit(self, limit: LaneLimit) -> None:
        """Hold the lane until then, as another gateway met its limit; ignore unknown lanes, never shorten a hold."""
        ...

    def resize(self, gateways: int) -> None:
        """Divide the requests in flight by the number of gateways."""
        ...


class NoLanes:
    """Lanes of a gateway that shares no limits."""

    def limits(self) -> Iterable[LaneLimit]:
        """Return no limits."""
        return ()

    def limit(self, limit: LaneLimit) -> None:
        """Do nothing."""

    def resize(self, gateways: int) -> None:
        """Do nothing."""
