"""How benchmarks measure: both sides by turns in one process, so that a busy machine slows both."""

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Result:
    """One line of the table. `ratio` says how many times better we are than the peer; `bar` is what it should be."""

    name: str
    ours: float
    unit: str
    peer_name: str
    peer: float
    ratio: float
    bar: float
    spread: tuple[float, float] = (0.0, 0.0)  # the ratio's 10th and 90th percentile

    @property
    def holds(self) -> bool:
        """Whether the bar is reached."""
        return self.ratio >= self.bar

    def as_json(self) -> dict[str, Any]:
        """The line as plain data."""
        return {**asdict(self), "holds": self.holds}


def seconds(work: Callable[[], object], times: int = 1) -> float:
    """CPU time of one call, the mean of some in a row; wall time would measure the machine's other work too."""
    began = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - began) / times


def compare(
    name: str,
    ours: Callable[[], object],
    peer: Callable[[], object],
    *,
    peer_name: str,
    bar: float,
    rounds: int = 15,
    unit: str = "ms",
    scale: float = 1e3,
    warm_up: int = 2,
) -> Result:
    """Time both by turns, three calls each, garbage collection and all; the figures are the medians of the rounds."""
    for _ in range(warm_up):
        ours()
        peer()
    gc.collect()
    pairs = []
    for turn in range(rounds):
        if turn % 2:
            mine, theirs = seconds(ours, 3), seconds(peer, 3)
        else:
            theirs, mine = seconds(peer, 3), seconds(ours, 3)
        pairs.append((mine, theirs))
    return paired(
        name,
        [mine * scale for mine, _ in pairs],
        [theirs * scale for _, theirs in pairs],
        unit=unit,
        peer_name=peer_name,
        bar=bar,
    )


def paired(name: str, ours: list[float], peer: list[float], *, unit: str, peer_name: str, bar: float) -> Result:
    """A result from figures of both sides, round by round, where less is better; the medians count."""
    ratios = sorted(theirs / mine for mine, theirs in zip(ours, peer, strict=True))
    tenth = len(ratios) // 10
    spread = (ratios[tenth], ratios[-1 - tenth])
    mine, theirs = statistics.median(ours), statistics.median(peer)
    return Result(name, mine, unit, peer_name, theirs, theirs / mine, bar, spread)


def against_limit(name: str, work: Callable[[], object], *, limit_s: float, rounds: int = 5) -> Result:
    """Time something that has to stay below a fixed time."""
    times = sorted(seconds(work) for _ in range(rounds))
    ratios = [limit_s / taken for taken in times]
    return Result(name, times[0], "s", "the limit", limit_s, ratios[0], 1.0, (ratios[-1], ratios[0]))
