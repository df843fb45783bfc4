"""The lanes of a dispatcher as the shared state sees them."""

from collections.abc import Iterable

from tickmind.base import Clock, Limit
from tickmind.gateway.cluster.lane_limits import LaneLimit
from tickmind.gateway.queue.lane import Lane
from tickmind.gateway.queue.lanes import Lanes
from tickmind.gateway.queue.limits.rate_limiter import tightest

MAX_HEARD = Limit("limits of lanes that are not here yet", 1_000)


class SharedLanes:
    """Publishes limits that lanes have met, and applies limits from other gateways, also to lanes made later.

    The number of requests in flight is divided by the number of gateways, at least one for each.
    """

    def __init__(self, lanes: Lanes, clock: Clock) -> None:
        self._lanes = lanes
        self._clock = clock
        self._heard: dict[str, LaneLimit] = {}  # name of a lane that is not here -> its limit
        lanes.on_made = self._made

    def limits(self) -> Iterable[LaneLimit]:
        """Return the lanes that are limited now."""
        now_s = self._clock.monotonic()
        return [
            LaneLimit(name_of(lane), lane.limited_until_s, lane.reason)
            for lane in self._lanes.lanes.values()
            if lane.limited_until_s > now_s
        ]

    def limit(self, limit: LaneLimit) -> None:
        """Hold the lane of that name; a lane that does not exist yet is held when it is made."""
        now_s = self._clock.monotonic()
        lanes = [lane for lane in self._lanes.lanes.values() if name_of(lane) == limit.lane]
        for lane in lanes:
            if limit.until_s > lane.limited_until_s:
                lane.limit_until(now_s, limit.until_s, limit.reason)
        if not lanes:
            self._remember(limit, now_s)

    def resize(self, gateways: int) -> None:
        """Divide the number of requests in flight among the gateways."""
        for key in self._lanes.keys.values():
            whole = tightest(key.provider.limits, key.key.limits).concurrency
            if whole is not None:
                key.concurrency = min(key.most, max(1, whole // gateways))
            for lane in key.lanes:
                limits = key.provider.model_limits.get(lane.model)
                if limits is not None and limits.concurrency is not None and not lane.adaptive:
                    lane.concurrency = float(max(1, limits.concurrency // gateways))

    def _remember(self, limit: LaneLimit, now_s: float) -> None:
        known = self._heard.get(limit.lane)
        if known is not None and known.until_s >= limit.until_s:
            return
        if known is None and not MAX_HEARD.allows(len(self._heard) + 1):
            self._heard = {name: one for name, one in self._heard.items() if one.until_s > now_s}
        if known is not None or MAX_HEARD.allows(len(self._heard) + 1):
            self._heard[limit.lane] = limit

    def _made(self, lane: Lane) -> None:
        limit = self._heard.pop(name_of(lane), None)
        now_s = self._clock.monotonic()
        if limit is not None and limit.until_s > now_s:
            lane.limit_until(now_s, limit.until_s, limit.reason)


def name_of(lane: Lane) -> str:
    """Return the name of a lane among gateways; its pace has the same name."""
    key = f"{lane.key.provider.name}/{lane.key.key.id}"
    return f"{key}/{lane.model}" if lane.model else key
