"""What the queue says to those whom it can't serve."""

from tickmind.gateway.queue.backlog import FairQueue
from tickmind.gateway.queue.job import Job
from tickmind.gateway.refusal import Code, Refusal

MIN_RETRY_AFTER_S = 1.0
MAX_RETRY_AFTER_S = 60.0  # for a full queue


def expiry_of(job: Job, now: float) -> Refusal:
    """Why a job does not wait any longer."""
    if job.deadline_s <= now:
        return Refusal(Code.DEADLINE, "the request's deadline passed while it waited; ask for more time")
    if job.drop_after_s is not None and job.drop_after_s <= now:
        return Refusal(Code.EXPIRED, "the request is of no use any more, by its own account")
    wait_s = now - job.queued_s
    return Refusal(Code.QUEUE_TIMEOUT, f"no provider had room within {wait_s:.3g} s; try later", MIN_RETRY_AFTER_S)


def unavailable(queue: FairQueue, wait_s: float, *, down: bool) -> Refusal:
    """No lane of the chain can take it in time; `down`: not because of a limit."""
    wait_s = max(wait_s, MIN_RETRY_AFTER_S)
    names = ", ".join(dict.fromkeys(lane.key.provider.name for lane in queue.lanes))
    if down:
        reasons = "; ".join(dict.fromkeys(lane.reason for lane in queue.lanes if lane.reason))
        return Refusal(Code.PROVIDER_DOWN, f"{names}: {reasons or 'not available'}", wait_s)
    return Refusal(Code.ALL_LIMITED, f"{names}: all are limited for {wait_s:.3g} s; try after that", wait_s)


def full(queue: FairQueue, now: float) -> Refusal:
    """There is no place in the queue; the wait is how long those who are in it will take."""
    rate = sum(lane.per_second(now) for lane in queue.lanes)
    back_s, _ = queue.outlook(now, 0)
    wait_s = min(max(back_s - now + queue.live / rate, MIN_RETRY_AFTER_S), MAX_RETRY_AFTER_S)
    return Refusal(Code.QUEUE_FULL, f"{queue.live} requests wait already; try again in {wait_s:.3g} s", wait_s)
