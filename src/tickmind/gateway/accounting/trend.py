"""The recent trend: a chart point every other second, and the last minute for headlines and shares."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from tickmind.base import Clock
from tickmind.gateway.accounting.histogram import HistogramSnapshot
from tickmind.gateway.accounting.tally import TallySums

STEP_S = 2.0
MOST_POINTS = 150  # five minutes
LATELY_S = 60.0
TIMES_S = 10.0  # over which the times of a point are averaged, to smooth the chart

LaneName = tuple[str, str, str]  # (provider, key id, model)
_Name = TypeVar("_Name")


@dataclass(frozen=True, slots=True)
class Look:
    """A sample of the gateway: all sums so far, what is queued and in flight, and what each lane has sent."""

    pulse: TallySums
    queued: int = 0
    in_flight: int = 0
    sent: Mapping[LaneName, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Point:
    """What happened between two samples, and the state at the second.

    Times cover the last ten seconds; 0 if nothing was served in them.
    """

    span_s: float
    requests: int
    served: int
    refused: int
    fallbacks: int
    queued: int
    in_flight: int
    wait_p50_s: float
    wait_p99_s: float
    latency_p50_s: float
    latency_p99_s: float


@dataclass(frozen=True, slots=True)
class Lately:
    """What happened within the last minute, or since the start if that is shorter."""

    span_s: float
    requests: int
    served: int
    refused: int
    fallbacks: int
    cost_usd: float
    waits: HistogramSnapshot
    latencies: HistogramSnapshot
    served_by: Mapping[str, int]  # session's label -> requests; only those that were served
    cost_by: Mapping[str, float]  # session's label -> US dollars
    sent_by: Mapping[LaneName, int]


class Trend:
    """Keeps samples. Calling it more often than every other second costs only a comparison."""

    def __init__(self, clock: Clock, first: Look) -> None:
        self._clock = clock
        self._points: deque[Point] = deque(maxlen=MOST_POINTS)
        self._looks: deque[tuple[float, Look]] = deque([(clock.monotonic(), first)])  # (when, what), the oldest first

    @property
    def due(self) -> bool:
        """Whether it is time for another sample."""
        return self._clock.monotonic() - self._looks[-1][0] >= STEP_S

    def add(self, look: Look) -> None:
        """Make a point from what happened since the last sample."""
        now_s = self._clock.monotonic()
        then_s, last = self._looks[-1]
        calm = self._since(now_s - TIMES_S)[1].pulse
        waits = look.pulse.waits.since(calm.waits)
        latencies = look.pulse.latencies.since(calm.latencies)
        self._points.append(
            Point(
                span_s=now_s - then_s,
                requests=look.pulse.requests - last.pulse.requests,
                served=look.pulse.answered - last.pulse.answered,
                refused=look.pulse.refused - last.pulse.refused,
                fallbacks=look.pulse.fallbacks - last.pulse.fallbacks,
                queued=look.queued,
                in_flight=look.in_flight,
                wait_p50_s=waits.percentile_s(50) if waits.count else 0.0,
                wait_p99_s=waits.percentile_s(99) if waits.count else 0.0,
                latency_p50_s=latencies.percentile_s(50) if latencies.count else 0.0,
                latency_p99_s=latencies.percentile_s(99) if latencies.count else 0.0,
            )
        )
        self._looks.append((now_s, look))
        while len(self._looks) > 1 and self._looks[1][0] <= now_s - LATELY_S:
            self._looks.popleft()

    def points(self) -> tuple[Point, ...]:
        """Return the last five minutes, oldest first."""
        return tuple(self._points)

    def lately(self, look: Look) -> Lately:
        """Return what happened in the minute before this sample."""
        now_s = self._clock.monotonic()
        then_s, old = self._since(now_s - LATELY_S)
        new, past = look.pulse, old.pulse
        return Lately(
            span_s=now_s - then_s,
            requests=new.requests - past.requests,
            served=new.answered - past.answered,
            refused=new.refused - past.refused,
            fallbacks=new.fallbacks - past.fallbacks,
            cost_usd=new.cost_usd - past.cost_usd,
            waits=new.waits.since(past.waits),
            latencies=new.latencies.since(past.latencies),
            served_by=_growth(new.served, past.served),
            cost_by={name: usd - past.costs_usd.get(name, 0.0) for name, usd in new.costs_usd.items()},
            sent_by=_growth(look.sent, old.sent),
        )

    def _since(self, then_s: float) -> tuple[float, Look]:
        """Return the first sample from then on, or the last there is."""
        return next((item for item in self._looks if item[0] >= then_s), self._looks[-1])


def _growth(new: Mapping[_Name, int], old: Mapping[_Name, int]) -> dict[_Name, int]:
    """Return by how much each value has grown; an entry that was evicted and came back counts in full."""
    grown = {}
    for name, count in new.items():
        before = old.get(name, 0)
        if count != before:
            grown[name] = count - before if count > before else count
    return grown
