"""Accounting of one attempt at a lane: its permit, cost and refund, and the limits in its reply."""

from collections.abc import Mapping

from tickmind.gateway.queue.fair import MIN_WEIGHT
from tickmind.gateway.queue.job import JobState, Outcome, Result
from tickmind.gateway.queue.lane import Lane
from tickmind.gateway.queue.limits.rate_limiter import DAY_S, MINUTE_S
from tickmind.gateway.queue.limits.ratelimit_headers import read_rate_limits
from tickmind.gateway.queue.ticket import Ticket
from tickmind.gateway.routing.plan import Target

DAILY_REQUESTS = frozenset({"groq"})  # providers whose limit on requests is per day, though their headers don't say so
_SENT = JobState.SENT


def begin(job: Ticket, lane: Lane, now: float, spare: bool) -> Target:
    """Take a permit, charge the cost, and return the target; `spare`: only capacity that no other owner would use."""
    queue = job.queue
    assert queue is not None, "a job has a queue before it is sent"
    lane.take(now, job.tokens, spare)
    session, ledger = job.session, lane.key.ledger
    account = ledger.account(session)
    cost = job.charged = lane.cost_s(job.tokens)
    ledger.charge(account, cost, session.weight or MIN_WEIGHT, now)
    job.account = account
    job.state = _SENT
    job.sent_s = lane.sent_s = now
    job.lane = lane
    job.place = None
    lane.key.running[job] = lane
    queue.under_way += 1
    target = job.target = queue.targets[lane]
    return target


def end(job: Ticket, lane: Lane, result: Result, status: int, now: float) -> None:
    """Return the permit, and record how the attempt ended."""
    queue = job.queue
    assert queue is not None, "a job that was sent has a queue"
    queue.under_way -= 1
    lane.release()
    del lane.key.running[job]
    job.lane = None
    job.note(result, status, now)


def settle(job: Ticket, lane: Lane, outcome: Outcome) -> None:
    """Correct the estimate when the real number of tokens is known."""
    prompt_tokens, completion_tokens = outcome.prompt_tokens, outcome.completion_tokens
    if prompt_tokens is None and completion_tokens is None:
        return
    actual = (prompt_tokens or 0) + (completion_tokens or 0)
    if actual == job.tokens:
        return
    lane.settle(job.sent_s, job.tokens, actual)
    change = lane.cost_s(actual) - job.charged
    if change:
        lane.key.ledger.correct(job.account, change)


def refund(job: Ticket, lane: Lane) -> None:
    """Refund all that the attempt was charged."""
    lane.settle(job.sent_s, job.tokens, 0)
    lane.key.ledger.correct(job.account, -job.charged)


def learn_limits(lane: Lane, headers: Mapping[str, str], now: float, wall_s: float) -> None:
    """Learn limits from a reply's headers, whose names are in lower case."""
    window_s = DAY_S if lane.key.provider.name in DAILY_REQUESTS else MINUTE_S
    limits = read_rate_limits(headers, now_wall_s=wall_s, requests_window_s=window_s)
    if limits is not None:
        lane.learn(limits, now)
