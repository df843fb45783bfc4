"""How benchmarks measure: both sides by turns in one run, so that a busy machine slows both."""

import gc
import multiprocessing
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import TypeAlias

Maker: TypeAlias = Callable[[], Callable[[], object]]


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


def seconds(work: Callable[[], object], times: int = 1) -> float:
    """CPU time of one call, the mean of some in a row; wall time would measure the machine's other work too."""
    began = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - began) / times


def compare(
    name: str,
    make_ours: Maker,
    make_peer: Maker,
    *,
    peer_name: str,
    bar: float,
    rounds: int = 15,
    unit: str = "ms",
    scale: float = 1e3,
    warm_up: int = 2,
) -> Result:
    """Time both by turns, each in a process of its own so that neither lives in the other's memory.

    A maker sets one side up and gives what is to be timed. Each turn is three calls, garbage collection and all.
    """
    context = multiprocessing.get_context("spawn")
    sides = []
    for maker in (make_ours, make_peer):
        here, there = context.Pipe()
        process = context.Process(target=_serve, args=(maker, there), daemon=True)
        process.start()
        sides.append((process, here))
    try:
        figures: tuple[list[float], list[float]] = ([], [])
        for turn in range(rounds + warm_up):
            for side in (0, 1) if turn % 2 else (1, 0):
                sides[side][1].send(3)
                taken = sides[side][1].recv() * scale
                if turn >= warm_up:
                    figures[side].append(taken)
    finally:
        for process, here in sides:
            here.send(0)
            process.join(10)
    return paired(name, *figures, unit=unit, peer_name=peer_name, bar=bar)


def _serve(maker: Maker, pipe: Connection) -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # both sides on one core: cores differ
    work = maker()
    gc.collect()
    while times := pipe.recv():
        pipe.send(seconds(work, times))


def paired(
    name: str,
    ours: list[float],
    peer: list[float],
    *,
    unit: str,
    peer_name: str,
    bar: float,
    more_is_better: bool = False,
) -> Result:
    """A result from figures of both sides, round by round, where less is better, or more; the medians count."""

    def ratio(mine: float, theirs: float) -> float:
        return mine / theirs if more_is_better else theirs / mine

    ratios = sorted(ratio(mine, theirs) for mine, theirs in zip(ours, peer, strict=True))
    tenth = len(ratios) // 10
    spread = (ratios[tenth], ratios[-1 - tenth])
    mine, theirs = statistics.median(ours), statistics.median(peer)
    return Result(name, mine, unit, peer_name, theirs, ratio(mine, theirs), bar, spread)


def against_limit(name: str, work: Callable[[], object], *, limit_s: float, rounds: int = 5) -> Result:
    """Time something that has to stay below a fixed time."""
    times = sorted(seconds(work) for _ in range(rounds))
    ratios = [limit_s / taken for taken in times]
    return Result(name, times[0], "s", "the limit", limit_s, ratios[0], 1.0, (ratios[-1], ratios[0]))
