"""Where a job goes after a 429, how long it waits when all are limited, and when it is told at once."""

from typing import Any

import pytest

from tickmind.gateway.queue.job import Outcome, Result
from tickmind.gateway.refusal import Code
from tickmind.gateway.settings.config import Limits

FAILED = Outcome(Result.FAILED, 500)


def once(outcome):
    """A script that answers the first call so, and all others well."""
    outcomes = [outcome]
    return lambda job, now: outcomes.pop() if outcomes else None


def always(outcome):
    return lambda job, now: outcome


def test_first_429_falls_back_to_the_next_provider_at_once(desk, time, limited):
    d = desk({"groq": Limits(), "cerebras": Limits()}, script={"groq": once(limited())})
    ticket = d.submit()
    time.run_for(1)
    assert [name for _, name in ticket.sent] == ["groq", "cerebras"]
    assert ticket.ended.result is Result.OK
    assert ticket.sent[1][0] - ticket.sent[0][0] < 0.31
    assert [attempt.result for attempt in ticket.job.attempts] == [Result.RATE_LIMITED, Result.OK]
    assert d.dispatcher.statistics().fallbacks == 1
    d.assert_clean()


def test_six_seconds_of_429s_still_fall_back(desk, time, limited):
    d = desk({"groq": Limits(), "cerebras": Limits()}, script={"groq": always(limited(1.0))})
    served: list[Any] = []
    d.worker("a", 6.0, served)
    time.run_for(20)
    assert len(served) > 15
    assert {ticket.sent[-1][1] for ticket in served} == {"cerebras"}
    assert len(d.upstream["groq"].calls) <= 7
    d.assert_clean()


def test_when_all_are_limited_the_job_waits_a_second_and_is_served(desk, time, limited):
    d = desk(
        {"groq": Limits(), "cerebras": Limits()},
        script={"groq": once(limited()), "cerebras": once(limited())},
        service_s=(0.01, 0.01),
    )
    ticket = d.submit()
    time.run_for(5)
    assert [name for _, name in ticket.sent][:2] == ["groq", "cerebras"]
    assert ticket.ended.result is Result.OK
    assert 1.0 <= ticket.sent[2][0] - ticket.sent[0][0] <= 3.1
    assert ticket.job.rounds == 1
    d.assert_clean()


def test_hours_long_reset_fails_at_once_for_the_job_and_for_all_who_wait(desk, time, limited):
    d = desk({"groq": Limits(concurrency=1)}, script={"groq": always(limited(3 * 3600.0))}, service_s=(1.0, 1.0))
    tickets = [d.submit() for _ in range(10)]
    time.run_for(1.0)
    assert all(ticket.refused.code is Code.ALL_LIMITED for ticket in tickets)
    assert {ticket.over_s for ticket in tickets} == {1.0}
    assert tickets[0].refused.retry_after_s == pytest.approx(3600.0)  # capped by max_wait_s
    later = d.submit()
    assert later.refused.code is Code.ALL_LIMITED
    assert len(d.upstream["groq"].calls) == 1
    d.assert_clean()


def test_second_429_extends_the_limit_and_never_shortens_it(desk, time, limited):
    waits = [limited(30.0), limited(2.0), limited(50.0)]
    d = desk({"groq": Limits()}, script={"groq": lambda job, now: waits.pop(0) if waits else None})
    for _ in range(3):
        d.submit(timeout_s=300)
    time.run_for(0.5)
    (lane,) = d.dispatcher.lanes()
    until_s = lane.limited_until_s
    assert 50.0 <= until_s <= 50.5
    time.run_for(100)
    assert min(at for at in d.upstream["groq"].calls[3:]) >= until_s
    assert all(ticket.ended is not None for ticket in d.tickets.values())
    d.assert_clean()
