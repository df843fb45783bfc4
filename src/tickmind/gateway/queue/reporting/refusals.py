"""The queue's refusals."""

from typing import Any

from tickmind.gateway.queue.fair_queue import FairQueue
from tickmind.gateway.queue.job import Job
from tickmind.gateway.refusal import Code, Refusal
from tickmind.llm.gateway_contract import DROP_AFTER_HEADER

MIN_RETRY_AFTER_S = 1.0
MAX_RETRY_AFTER_S = 60.0  # for a full queue


def expired(job: Job, queue: FairQueue[Any], now: float, wait_s: float, max_wait_s: float) -> Refusal:
    """Return why a job does not wait any longer, and after how long to retry."""
    if job.deadline_s <= now:
        words = f"the request's deadline passed while it waited; retry in {wait_s:.3g} s, or with a longer deadline"
        return Refusal(Code.DEADLINE, words, wait_s)
    if job.drop_after_s is not None and job.drop_after_s <= now:
        return Refusal(Code.EXPIRED, f"expired: {DROP_AFTER_HEADER} passed; retry in {wait_s:.3g} s", wait_s)
    waited_s = now - job.queued_s
    if waited_s < max_wait_s:
        return overloaded(job, queue, now, wait_s)
    words = f"no provider had room within {waited_s:.3g} s; retry in {wait_s:.3g} s"
    return Refusal(Code.QUEUE_TIMEOUT, words, wait_s)


def overloaded(job: Job, queue: FairQueue[Any], now: float, wait_s: float) -> Refusal:
    """Return the refusal of a request that can't be answered before its deadline."""
    left_s = job.deadline_s - now
    mean_s = max(lane.service.estimate().mean_s for lane in queue.lanes)
    return Refusal(
        Code.OVERLOADED,
        f"a reply takes about {mean_s:.3g} s and {queue.live} wait, so none can come within the {left_s:.3g} s "
        f"that this request has left; retry in {wait_s:.3g} s",
        wait_s,
    )


def unavailable(queue: FairQueue[Any], wait_s: float, *, down: bool) -> Refusal:
    """Return the refusal if no lane of the chain can take the request in time; `down`: not because of a limit."""
    wait_s = max(wait_s, MIN_RETRY_AFTER_S)
    names = ", ".join(dict.fromkeys(lane.key.provider.name for lane in queue.lanes))
    if down:
        reasons = "; ".join(dict.fromkeys(lane.reason for lane in queue.lanes if lane.reason))
        return Refusal(Code.PROVIDER_DOWN, f"{names}: {reasons or 'not available'}", wait_s)
    return Refusal(Code.ALL_LIMITED, f"{names}: all are rate limited; retry in {wait_s:.3g} s", wait_s)


def full(queue: FairQueue[Any], now: float) -> Refusal:
    """Return the refusal of a full queue; the wait is how long its jobs will take."""
    rate = sum(lane.per_second(now) for lane in queue.lanes)
    back_s, _ = queue.outlook(now, 0)
    wait_s = min(max(back_s - now + queue.live / rate, MIN_RETRY_AFTER_S), MAX_RETRY_AFTER_S)
    return Refusal(Code.QUEUE_FULL, f"the queue is full ({queue.live} requests wait); retry in {wait_s:.3g} s", wait_s)
