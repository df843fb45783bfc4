"""Where a job goes after a 429, how long it waits when all are limited, and when it is told at once."""

import math
from email.utils import formatdate
from typing import Any

import pytest

from tickmind.gateway.http.outcomes import outcome_of_error
from tickmind.gateway.queue.job import Outcome, Result
from tickmind.gateway.queue.limits.circuit import CircuitState
from tickmind.gateway.queue.reporting.statistics import QueueEventKind
from tickmind.gateway.refusal import Code
from tickmind.gateway.settings.config import GatewayConfig, Limits, Route

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
    d = desk({"groq": Limits(concurrency=3)}, script={"groq": lambda job, now: waits.pop(0) if waits else None})
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


def test_retry_after_that_is_no_number_waits_the_default_and_does_not_hammer(desk, time, limited):
    for wait in (float("nan"), float("inf"), -5.0, 0.0, None):
        d = desk({"groq": Limits()}, script={"groq": always(limited(wait))})
        for _ in range(50):
            d.submit(f"s{wait}")
        begin = time.monotonic()
        time.run_for(1.0)
        calls = [at for at in d.upstream["groq"].calls if at > begin + 0.31]
        assert calls == []
        d.dispatcher.shutdown()


def test_retry_after_as_a_date_is_waited_for_with_one_call_before_it(desk, time):
    date = formatdate(time.wall() + 20, usegmt=True)
    answer = outcome_of_error(429, {"retry-after": date}, b"", now_wall_s=time.wall())
    d = desk({"groq": Limits(concurrency=1)}, script={"groq": lambda job, now: answer if now < 19 else None})
    tickets = [d.submit() for _ in range(5)]
    time.run_for(60)
    assert sum(at < 20 for at in d.upstream["groq"].calls) == 1
    assert all(ticket.ended.result is Result.OK for ticket in tickets)


def test_tiny_retry_after_does_not_hammer(desk, time, limited):
    d = desk({"groq": Limits(concurrency=4)}, script={"groq": always(limited(1e-6))}, service_s=(0.001, 0.001))
    for _ in range(60):
        d.submit()
    time.run_for(10.0)
    assert len(d.upstream["groq"].calls) <= 4 + 10 + 60


def test_reset_before_the_deadline_is_waited_for_and_never_called_before(desk, time, limited):
    d = desk({"groq": Limits()}, script={"groq": once(limited(20.0))}, service_s=(0.1, 0.1))
    ticket = d.submit(timeout_s=30)
    time.run_for(30)
    assert ticket.ended.result is Result.OK
    assert ticket.sent[1][0] >= 20.1


def test_three_rounds_of_waiting_at_most(desk, time, limited, tune):
    d = desk({"groq": Limits()}, script={"groq": always(limited(1.0))}, config=tune(retry={"reserve": 100.0}))
    ticket = d.submit(timeout_s=1000)
    time.run_for(1000)
    assert ticket.refused.code is Code.ALL_LIMITED
    assert len(ticket.sent) == 4
    assert ticket.over_s < 20


def test_errors_do_not_fall_back_where_the_operator_says_so(desk, time):
    for result, status in ((Result.FAILED, 500), (Result.BROKEN, 0), (Result.ACCOUNT, 401), (Result.DECLINED, 413)):
        d = desk(
            {"groq": Limits(), "cerebras": Limits()},
            script={"groq": once(Outcome(result, status))},
            provider_options={"fall_back_on_errors": False},
        )
        ticket = d.submit()
        time.run_for(1)
        assert ticket.ended.result is result
        assert len(ticket.sent) == 1
        d.assert_clean()


def test_errors_fall_back_by_default_and_to_each_provider_once(desk, time):
    for result, status in ((Result.FAILED, 500), (Result.BROKEN, 0), (Result.ACCOUNT, 401), (Result.DECLINED, 413)):
        names = ("a", "b", "c")
        d = desk(
            dict.fromkeys(names, Limits()),
            script={"a": always(Outcome(result, status)), "b": always(Outcome(result, status))},
        )
        ticket = d.submit()
        time.run_for(5)
        assert [name for _, name in ticket.sent] == ["a", "b", "c"]
        assert ticket.ended.result is Result.OK
        d.assert_clean()


def test_an_error_falls_back_to_an_earlier_provider_that_was_only_busy(desk, time):
    d = desk({"a": Limits(concurrency=1), "b": Limits()}, script={"b": always(FAILED)}, service_s=(1.0, 1.0))
    first, second = d.submit(), d.submit()
    assert (first.sent[0][1], second.sent[0][1]) == ("a", "b")
    time.run_for(10)
    assert [name for _, name in second.sent] == ["b", "a"]
    assert second.ended.result is Result.OK
    d.assert_clean()


def test_rejected_request_never_falls_back(desk, time):
    rejected = Outcome(Result.REJECTED, 400)
    d = desk({"a": Limits(), "b": Limits()}, script={"a": once(rejected)})
    ticket = d.submit()
    time.run_for(1)
    assert ticket.ended is rejected
    assert d.upstream["b"].calls == []


def test_reply_that_has_begun_is_not_tried_again(desk, time):
    for result in (Result.RATE_LIMITED, Result.BROKEN):
        begun = Outcome(result, 429, begun=True)
        d = desk({"a": Limits(), "b": Limits()}, script={"a": once(begun)})
        ticket = d.submit()
        time.run_for(1)
        assert ticket.ended is begun
        assert d.upstream["b"].calls == []


@pytest.mark.parametrize("begun", [True, False])
def test_a_provider_that_is_slower_than_its_callers_wait_opens_no_circuit(desk, time, begun):
    overdue = Outcome(Result.DEADLINE, 200 if begun else 0, begun=begun)
    d = desk({"a": Limits()}, script={"a": lambda _job, _now: overdue}, service_s=(60.0, 60.0))
    for _ in range(20):
        d.submit(timeout_s=60.0)
        time.run_for(61)
    assert [lane.circuit.state for lane in d.dispatcher.lanes()] == [CircuitState.CLOSED]
    assert len(d.upstream["a"].calls) == 20
    d.assert_clean()


def test_lane_that_did_not_answer_in_time_is_passed_over_while_another_has_room(desk, time):
    overdue = Outcome(Result.DEADLINE)
    d = desk(
        {"a": Limits(), "b": Limits()},
        script={"a": lambda _job, now: overdue if now < 50 else None},
        service_s=(20.0, 20.0),
    )
    first = d.submit(timeout_s=20.0)
    time.run_for(21)
    elsewhere = d.submit(timeout_s=20.0)
    patient = d.submit(timeout_s=30.0)
    time.run_for(40)
    probe = d.submit(timeout_s=20.0)  # nothing went by it for half a minute
    time.run_for(21)
    again = d.submit(timeout_s=20.0)
    time.run_for(21)
    assert [ticket.sent[0][1] for ticket in (first, elsewhere, patient, probe, again)] == ["a", "b", "a", "a", "a"]


def test_banned_account_is_no_rate_limit_and_pauses_every_lane_of_the_key(desk, time):
    banned = Outcome(Result.ACCOUNT, 403, message="banned")
    models = {"small": Limits(), "large": Limits()}
    d = desk({"a": Limits()}, script={"a": once(banned)}, provider_options={"model_limits": models})
    d.submit("s", ("a/large",))
    small = d.submit("s", ("a/small",))
    time.run_for(1)
    assert small.ended is not None
    for chain in (("a/small",), ("a/large",)):
        ticket = d.submit("s", chain)
        assert ticket.refused.code is Code.PROVIDER_DOWN
        assert "account" in ticket.refused.message
        assert ticket.refused.retry_after_s > 290
    assert all(lane.limited == 0 for lane in d.dispatcher.lanes())
    time.run_for(300)
    assert d.submit("s", ("a/small",)).sent
    time.run_for(1)
    d.assert_clean()


@pytest.mark.parametrize("status", [402, 413])
def test_a_request_that_is_too_large_takes_the_lane_away_from_nobody(desk, time, status):
    d = desk(
        {"a": Limits()}, script={"a": lambda job, _now: Outcome(Result.DECLINED, status) if job.tokens > 1000 else None}
    )
    for _ in range(10):
        large = d.submit("greedy", tokens=50_000)
        time.run_for(1)
        assert large.ended.status == status
    small = d.submit("modest", tokens=100)
    assert small.sent
    time.run_for(1)
    assert small.ended.result is Result.OK
    (lane,) = d.dispatcher.statistics().lanes
    assert (lane.circuit, lane.blocked_until_s, lane.reason) == (CircuitState.CLOSED, -math.inf, "")
    d.assert_clean()


def test_requests_with_short_deadlines_of_their_own_open_no_circuit(desk, time):
    overdue = Outcome(Result.DEADLINE, 0)
    d = desk({"a": Limits()}, script={"a": lambda job, _now: overdue if job.agent else None}, service_s=(5.0, 5.0))
    for _ in range(10):
        d.submit("hasty", agent="ada", timeout_s=5.0)
        time.run_for(6)
    patient = d.submit("patient", timeout_s=60.0)
    time.run_for(6)
    assert patient.ended.result is Result.OK


def test_events_of_a_circuit_are_reported_and_logged(desk, time, caplog):
    d = desk({"a": Limits(concurrency=9)}, script={"a": lambda _job, now: FAILED if now < 5 else None})
    for _ in range(5):
        d.submit()
    time.run_for(20)
    d.submit()
    time.run_for(1)
    assert [event.kind for event in d.events] == [QueueEventKind.CIRCUIT_OPENED, QueueEventKind.CIRCUIT_CLOSED]
    assert "circuit opened" in caplog.text
    assert "5 failures in a row" in caplog.text
    assert "circuit closed" in caplog.text


def test_retries_are_counted_wherever_they_go(desk, time, limited):
    d = desk({"a": Limits(), "b": Limits()}, script={"a": once(limited(1.0)), "b": once(limited(1.0))})
    d.submit()
    time.run_for(10)
    figures = d.dispatcher.statistics()
    assert (figures.fallbacks, figures.retries) == (2, 2)
    d = desk({"a": Limits()}, script={"a": once(limited(1.0))})
    d.submit()
    time.run_for(10)
    figures = d.dispatcher.statistics()
    assert (figures.fallbacks, figures.retries) == (0, 1)


def test_a_refused_account_is_not_asked_for_a_model_that_is_new(desk, time):
    banned = Outcome(Result.ACCOUNT, 401, message="banned")
    d = desk({"a": Limits()}, script={"a": once(banned)}, provider_options={"model_limits": {"new": Limits()}})
    d.submit("s", ("a/old",))
    time.run_for(1)
    ticket = d.submit("s", ("a/new",))
    assert ticket.sent == []
    assert ticket.refused.code is Code.PROVIDER_DOWN


def test_a_limit_that_one_chain_has_met_holds_in_another_that_goes_by_another_model_too(desk, time, limited):
    route = Route((("a", "large"), ("a", "small")))
    config = GatewayConfig(exact={"m": route})
    d = desk({"a": Limits()}, script={"a": once(limited(60.0))}, config=config)
    alone = d.submit("s", ("a/large",), timeout_s=10)
    time.run_for(1)
    assert alone.refused.code is Code.ALL_LIMITED
    chain = d.submit("s", ("a/large", "a/small"), timeout_s=10)
    time.run_for(1)
    assert [attempt.model for attempt in chain.job.attempts] == ["small"]
    assert len(d.upstream["a"].calls) == 2


def test_cross_model_fallback_at_one_provider(desk, time, limited):
    d = desk({"groq": Limits()}, script={"groq": once(limited(30.0))})
    ticket = d.submit("s", ("groq/large", "groq/small"))
    time.run_for(2)
    assert [(attempt.model, attempt.result) for attempt in ticket.job.attempts] == [
        ("large", Result.RATE_LIMITED),
        ("small", Result.OK),
    ]


def test_chain_order_is_kept_where_both_have_room(desk, time):
    d = desk({"a": Limits(requests_per_second=5), "b": Limits(requests_per_second=5)})
    served: list[Any] = []
    d.worker("s", 30.0, served)
    time.run_for(31)
    names = [ticket.sent[0][1] for ticket in served]
    assert names.count("a") > 1.2 * names.count("b")
    assert len(served) > 100


@pytest.mark.slow
@pytest.mark.parametrize("mix", ["429", "5xx", "both"])
@pytest.mark.parametrize("requests_per_second", [0.5, 20.0])
def test_ten_minutes_of_nothing_but_trouble_are_not_multiplied(desk, time, limited, mix, requests_per_second):
    after = {"a": 5.0, "b": 3.0}
    not_before = dict.fromkeys(after, 0.0)
    early = []

    def trouble(name):
        def script(job, now):
            if now < not_before[name] - 1e-9:
                early.append((name, now))
            if mix == "5xx" or (mix == "both" and int(now) % 2):
                return FAILED
            return limited(after[name])

        return script

    d = desk(
        {"a": Limits(), "b": Limits()},
        script={name: trouble(name) for name in after},
    )
    heard = d._end

    def end(ticket, outcome):
        name = ticket.sent[-1][1]
        if outcome.result is Result.RATE_LIMITED:
            not_before[name] = max(not_before[name], time.monotonic() + outcome.retry_after_s)
        heard(ticket, outcome)

    d._end = end
    requests = 0
    while time.monotonic() < 600.0:
        d.submit(f"s{requests % 7}", timeout_s=60)
        requests += 1
        time.run_for(1 / requests_per_second)
    time.run_for(100)
    hits = sum(len(provider.calls) for provider in d.upstream.values())
    assert hits <= 1.1 * requests
    assert early == []
    d.assert_clean()


def test_thousand_waiters_at_a_reset_ramp_up_with_no_burst(desk, time, limited, tune):
    config = tune(queue={"capacity": 2000, "max_wait_s": 500.0})
    limits = {"a": Limits(requests_per_minute=6000, burst=50)}
    d = desk(limits, script={"a": lambda job, now: limited(10.0) if now < 0.5 else None}, config=config)
    for number in range(1000):
        d.submit(f"s{number % 10}", timeout_s=500)
    time.run_for(9.0)
    first = len(d.upstream["a"].calls)
    assert first <= 85
    time.run_for(60)
    d.upstream["a"].calls = d.upstream["a"].calls[first:]
    assert min(d.upstream["a"].calls) >= 10.0
    assert d.upstream["a"].busiest(0.1) <= 20
    assert d.upstream["a"].busiest(1.0) <= 101
    calls = d.upstream["a"].calls
    begin = calls[0]
    assert sum(at < begin + 2 for at in calls) < 100  # of 200
    assert sum(ticket.ended is not None for ticket in d.tickets.values()) >= 990
    d.assert_clean()


def test_thousand_waiters_at_a_reset_of_an_unknown_limit_do_not_come_at_once(desk, time, limited, tune):
    config = tune(queue={"capacity": 2000, "max_wait_s": 500.0})
    d = desk(
        {"a": Limits(concurrency=64)},
        script={"a": lambda job, now: limited(10.0) if now < 0.5 else None},
        config=config,
    )
    for number in range(1000):
        d.submit(f"s{number % 10}", timeout_s=500)
    time.run_for(9.0)
    first = len(d.upstream["a"].calls)
    time.run_for(60)
    d.upstream["a"].calls = d.upstream["a"].calls[first:]
    assert d.upstream["a"].busiest(0.1) <= 2


def test_the_same_trouble_of_a_lane_is_logged_once_an_hour(desk, time, caplog):
    refused = Outcome(Result.ACCOUNT, 401, message="no such key")
    d = desk({"a": Limits()}, script={"a": lambda _job, _now: refused})
    for _ in range(4):
        d.submit()
        time.run_for(800)
    kinds = [event.kind for event in d.events]
    assert kinds.count(QueueEventKind.ACCOUNT_REFUSED) > 1
    assert caplog.text.count("account refused") == 1
