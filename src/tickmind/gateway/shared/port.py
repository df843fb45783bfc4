"""Where shared state touches the queue: how paces are made, and how lanes tell of their limits and hear of others'."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from tickmind.gateway.config import Limits
from tickmind.gateway.pace import Pace


class PaceMaker(Protocol):
    """Makes the pace of a key, or of a model at a key; `Pace` itself where nothing is shared."""

    def __call__(self, name: str, limits: Limits) -> Pace:
        """The pace of that name; gateways that use the same name share it."""
        ...


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


class NoLanes:
    """For a gateway whose lanes keep their limits to themselves."""

    def limits(self) -> Iterable[LaneLimit]:
        """None."""
        return ()

    def limit(self, limit: LaneLimit) -> None:
        """Nothing."""
