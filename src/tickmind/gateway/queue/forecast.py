"""Forecasts: when a queue's lanes can start a request, by their limits, the requests in flight and the backlog."""

import math
from collections.abc import Sequence

from tickmind.gateway.queue.job import Job
from tickmind.gateway.queue.lane import Lane

SURE = 0.25  # deviations: an end expected so close to the deadline counts as at the deadline
HALF_WIDTH = math.sqrt(3)  # deviations from the middle of a uniform range to its ends
MOST_SLOTS = 64  # that are looked at one by one; more are taken to get free at even intervals


def slots_of(lane: Lane) -> float:
    """Return how many requests a lane carries at once; infinite if nothing but its connections bounds it."""
    if lane.concurrency < math.inf:
        return min(lane.concurrency, lane.key.concurrency)
    return math.inf if lane.key.unbounded else lane.key.concurrency


def end_s(job: Job, lane: Lane, now: float, margin: float = 0.0) -> float:
    """Return when an attempt in flight should be over, plus `margin` deviations; `now` if that is unknown.

    Ends are taken to be spread evenly around the mean. For an attempt that could be over at any time, the middle of the
    remaining range is expected. No end is later than its deadline.
    """
    known = lane.service.estimate()
    if not known.attempts:
        return now
    deviation_s, age_s = known.deviation_s, now - job.sent_s
    expected_s = known.expected_s(job.prompt_tokens, job.tokens - job.prompt_tokens)
    half_s = HALF_WIDTH * deviation_s
    left_s = expected_s - age_s
    if left_s < half_s:
        left_s = (expected_s + half_s - age_s) / 2
        if left_s < deviation_s / 4:  # it lasts longer than all before
            left_s = deviation_s / 2
    over_s = now + left_s + margin * deviation_s
    if over_s + SURE * deviation_s > job.deadline_s:
        return max(now, job.deadline_s)
    return over_s


def free_slots_s(lane: Lane, now: float, margin: float = 0.0) -> list[float] | None:
    """Return when each slot of a lane gets free, in no order; None if it has more than can be looked at."""
    slots = slots_of(lane)
    if slots > MOST_SLOTS:
        return None
    key = lane.key
    running = [pair for pair in key.running.items() if key.concurrency <= slots or pair[1] is lane]
    ends = [end_s(job, its_lane, now, margin) for job, its_lane in running]
    return ends + [now] * (int(slots) - len(ends))


def start_s(lanes: Sequence[Lane], now: float, ahead: int, margin: float = 0.0) -> float:
    """Return when the lanes can start one more request after `ahead` others; `now` if nothing is in its way."""
    back_s = min(lane.back_s(now, 0) for lane in lanes)
    free: list[float] = []
    for lane in lanes:
        slots = free_slots_s(lane, now, margin)
        if slots is None:
            return back_s + (ahead / per_second(lanes, now) if ahead else 0.0)
        free += slots
    free.sort()
    rounds, place = divmod(ahead, len(free))
    started_s = free[place]
    if rounds:
        started_s += rounds * len(free) / per_second(lanes, now)
    return max(back_s, started_s)


def per_second(lanes: Sequence[Lane], now: float) -> float:
    """Return how many requests per second all lanes take in the long run; infinite if that is unknown."""
    return sum(lane.per_second(now) for lane in lanes)
