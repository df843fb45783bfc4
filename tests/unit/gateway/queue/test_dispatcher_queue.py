"""Who waits, how long, in which order, and that nothing of anybody stays behind."""

import gc
import random
from dataclasses import replace

import pytest
from tests.long import short_or_long

from tickmind.gateway.queue.job import JobState, Outcome, Priority, Result
from tickmind.gateway.queue.ticket import Ticket
from tickmind.gateway.refusal import Code
from tickmind.gateway.routing.plan import Plan, Target
from tickmind.gateway.settings.config import Limits


def test_two_permits_and_ten_requests_all_finish(desk, time):
    d = desk({"a": Limits(concurrency=2)}, service_s=(1.0, 1.0))
    tickets = [d.submit() for _ in range(10)]
    most = 0
    while not all(ticket.over for ticket in tickets):
        assert time.monotonic() < 6
        time.run_for(0.1)
        most = max(most, d.dispatcher.lanes()[0].in_flight)
    assert most == 2
    assert [ticket.ended.result for ticket in tickets] == [Result.OK] * 10
    d.assert_clean()


def test_free_lane_is_sent_to_straight_from_submit(desk, time):
    d = desk({"a": Limits(concurrency=1)})
    assert d.submit().sent == [(0.0, "a")]
    assert time.pending == 1  # the reply; no timer of the queue's


def test_second_provider_is_used_as_soon_as_the_first_has_no_room(desk, time):
    d = desk({"a": Limits(requests_per_minute=120), "b": Limits(requests_per_minute=240)})
    tickets = [d.submit() for _ in range(2)]
    assert [ticket.sent[0] for ticket in tickets] == [(0.0, "a"), (0.0, "b")]


def test_full_queue_refuses_at_once_and_says_when_to_come_back(desk, time, tune):
    d = desk({"a": Limits(requests_per_minute=60)}, config=tune(queue={"capacity": 20}))
    tickets = [d.submit() for _ in range(25)]
    refused = [ticket for ticket in tickets if ticket.refused]
    assert [tickets.index(ticket) for ticket in refused] == [21, 22, 23, 24]
    assert all(ticket.refused.code is Code.QUEUE_FULL for ticket in refused)
    assert refused[0].refused.retry_after_s == pytest.approx(21.2, rel=0.1)
    assert refused[0].refused.status == 503


def test_full_queue_makes_room_for_who_has_less_in_it(desk, time, tune):
    d = desk({"a": Limits(requests_per_minute=60)}, config=tune(queue={"capacity": 20}))
    greedy = [d.submit("greedy") for _ in range(30)]
    polite = [d.submit("polite") for _ in range(3)]
    assert not any(ticket.refused for ticket in polite)
    assert sum(ticket.refused is None for ticket in greedy) == 21 - 3
    assert greedy[20].refused.code is Code.QUEUE_FULL  # the newest of those who waited
    time.run_for(1.1)
    assert polite[0].sent
    time.run_for(120)
    d.assert_clean()


def test_waiting_ends_on_time_for_each_reason(desk, time, tune):
    d = desk({"a": Limits(concurrency=1)}, service_s=(500.0, 500.0), config=tune(queue={"max_wait_s": 30.0}))
    d.submit(timeout_s=1000)
    timeout = d.submit(timeout_s=1000)
    deadline = d.submit(timeout_s=5.0)
    useless = d.submit(timeout_s=1000, drop_after_s=7.0)
    time.run_for(100)
    assert (timeout.refused.code, timeout.over_s) == (Code.QUEUE_TIMEOUT, 30.0)
    assert (deadline.refused.code, deadline.over_s) == (Code.DEADLINE, 5.0)
    assert (useless.refused.code, useless.over_s) == (Code.EXPIRED, 7.0)
    assert d.dispatcher.statistics().queued == 0


def test_what_comes_too_late_is_refused_at_once(desk, time):
    d = desk({"a": Limits()})
    time.run_for(10)
    assert d.submit(timeout_s=0.0).refused.code is Code.DEADLINE
    assert d.submit(drop_after_s=9.0).refused.code is Code.EXPIRED
    assert d.upstream["a"].calls == []


def test_newer_request_of_an_agent_replaces_its_older_one_whatever_the_model(desk, time):
    d = desk({"a": Limits(concurrency=1)}, service_s=(1.0, 1.0))
    d.submit("s")
    chains = (("a/x",), ("a/y",))
    older = d.submit("s", chains[0], agent="bob")
    other = d.submit("s", chains[0], agent="eve")
    elsewhere = d.submit("t", chains[0], agent="bob")
    newer = d.submit("s", chains[1], agent="bob", replace_older=True)
    assert older.refused.code is Code.REPLACED
    time.run_for(10)
    assert all(ticket.ended for ticket in (other, elsewhere, newer))
    d.assert_clean()


def test_request_that_is_under_way_is_not_replaced(desk, time):
    d = desk({"a": Limits()})
    first = d.submit(agent="bob")
    second = d.submit(agent="bob", replace_older=True)
    time.run_for(1)
    assert first.ended
    assert second.ended


def test_high_priority_goes_first_within_a_session_only(desk, time):
    d = desk({"a": Limits(requests_per_second=1)})
    d.submit("a")
    low = d.submit("a", priority=Priority.LOW)
    normal = d.submit("a")
    high = d.submit("a", priority=Priority.HIGH)
    other = d.submit("b", priority=Priority.LOW)
    time.run_for(10)
    sent = {name: ticket.sent[0][0] for name, ticket in (("low", low), ("normal", normal), ("high", high))}
    assert sent["high"] < sent["normal"] < sent["low"]
    assert other.sent[0][0] < sent["normal"]


def test_low_priority_does_not_starve(desk, time):
    d = desk({"a": Limits(requests_per_second=2)})
    low = d.submit("s", priority=Priority.LOW)
    low2 = d.submit("s", priority=Priority.LOW)

    def high():
        if time.monotonic() < 60:
            d.submit("s", priority=Priority.HIGH)
            time.after(0.4, high)

    high()
    time.run_for(60)
    assert low.sent
    assert 15 < low2.sent[0][0] < 35  # two steps of ten seconds, and what came before


def test_order_within_session_and_priority_is_first_come_first_served_even_after_429s(desk, time, limited):
    d = desk(
        {"a": Limits(concurrency=3)},
        script={"a": lambda job, now: limited(2.0) if now < 1 else None},
        service_s=(0.1, 0.5),
    )
    tickets = [d.submit() for _ in range(12)]
    time.run_for(100)
    last = [ticket.sent[-1][0] for ticket in tickets]
    assert last == sorted(last)
    assert all(ticket.ended.result is Result.OK for ticket in tickets)
    d.assert_clean()


def test_429_returns_to_the_front_uncharged(desk, time, limited):
    d = desk({"a": Limits(requests_per_second=2)}, script={"a": lambda job, now: limited(1.0) if now < 0.1 else None})
    first = d.submit("x")
    second = d.submit("x")
    time.run_for(0.4)
    (lane,) = d.dispatcher.lanes()
    account = lane.key.ledger.account(d.session("x"))
    assert account.tag == pytest.approx(0.0)
    time.run_for(20)
    assert first.sent[-1][0] < second.sent[0][0]


@pytest.mark.slow
def test_thousands_leave_queued_and_in_flight_and_nothing_stays(desk, time, tune):
    d = desk(
        {"a": Limits(concurrency=40), "b": Limits(requests_per_second=50, concurrency=20)},
        config=tune(queue={"capacity": 500}),
        service_s=(1.0, 5.0),
    )
    d.keep = True
    chance = random.Random(1)
    alive = []
    gone = 0
    while gone < short_or_long(3000, 10_000):
        alive.append(d.submit(f"s{chance.randrange(50)}", agent=f"a{chance.randrange(9)}"))
        if len(alive) > 300:
            ticket = alive.pop(chance.randrange(len(alive)))
            if not ticket.over:
                d.cancel(ticket)
                d.dispatcher.cancel(ticket.job)  # again is harmless
                gone += 1
        if chance.random() < 0.1:
            time.run_for(0.01)
    for ticket in alive:
        if not ticket.over:
            d.cancel(ticket)
    figures = d.dispatcher.statistics()
    assert figures.queued == figures.in_flight == 0
    d.assert_clean()
    dispatcher = d.dispatcher
    assert dispatcher._waiting._agents == {}
    assert len(dispatcher._wakeups) < 2000
    for queue in dispatcher._lanes.queues.values():
        assert queue.live == 0
        assert queue.backlogs == {}
        assert queue._counts == {}
    assert all(len(lane.turns) < 200 for lane in dispatcher.lanes())


@pytest.mark.slow
def test_jobs_that_are_over_are_not_kept_alive(desk, time, tune):
    def jobs():
        gc.collect()
        return sum(isinstance(thing, Ticket) for thing in gc.get_objects())

    before = jobs()
    patient = tune(queue={"learn_service_times": False})  # else they are refused at once
    d = desk({"a": Limits(concurrency=1)}, service_s=(50.0, 50.0), config=patient)
    d.keep = False
    d.submit(timeout_s=1000)
    for number in range(1500):
        ticket = d.submit(f"s{number}", timeout_s=30)
        if number % 2:
            d.cancel(ticket)
            del d.tickets[ticket.job]
        time.run_for(0.3)
    assert jobs() - before < 500  # of 3,000; 50 wait


@pytest.mark.slow
def test_ever_new_keys_do_not_fill_the_memory(desk, time):
    d = desk({"a": Limits(concurrency=1)})
    provider = d.providers["a"]
    for number in range(1500):
        key = replace(provider.keys[0], id=f"key{number}")
        d.plans["own",] = Plan((Target(provider, key, "m", custom=True),), "m")
        d.submit("s", ("own",))
        time.run_for(1)
    assert len(d.dispatcher.lanes()) < 1000


def test_shutdown_refuses_all_who_wait_and_come_and_lets_the_rest_end(desk, time):
    d = desk({"a": Limits(concurrency=1)}, service_s=(1.0, 1.0))
    sent, *waiting = [d.submit() for _ in range(5)]
    d.dispatcher.shutdown()
    assert [ticket.refused.code for ticket in waiting] == [Code.SHUTTING_DOWN] * 4
    assert d.submit().refused.code is Code.SHUTTING_DOWN
    time.run_for(2)
    assert sent.ended
    d.assert_clean()
    assert time.pending == 0


def test_carrier_that_fails_leaks_no_permit(desk, time):
    d = desk({"a": Limits(concurrency=1)})
    real = d.send

    def send(job, target):
        if job.agent == "bad":
            raise RuntimeError("no")
        real(job, target)

    d.send = send
    d.submit()
    bad = [d.submit(agent="bad") for _ in range(3)]
    good = d.submit()
    time.run_for(5)
    assert [ticket.refused.code for ticket in bad] == [Code.PROVIDER_ERROR] * 3
    assert good.ended.result is Result.OK
    d.assert_clean()


def test_carrier_may_end_a_job_from_within_send(desk, time, limited):
    d = desk({"a": Limits(concurrency=1), "b": Limits(concurrency=1)})

    def send(job, target):
        ticket = d.tickets[job]
        ticket.sent.append((time.monotonic(), target.provider.name))
        d._end(
            ticket, limited(1.0) if target.provider.name == "a" and time.monotonic() < 1 else Outcome(Result.OK, 200)
        )

    d.send = send
    tickets = [d.submit() for _ in range(20)]
    time.run_for(30)
    assert all(ticket.ended.result is Result.OK for ticket in tickets)
    d.assert_clean()


def test_ended_after_cancel_changes_nothing(desk, time):
    d = desk({"a": Limits(concurrency=1)})
    ticket = d.submit()
    d.cancel(ticket)
    assert d.dispatcher.ended(ticket.job, Outcome(Result.OK, 200)) is True
    assert ticket.job.state is JobState.DONE
    d.assert_clean()


def test_statistics_show_depths_waits_and_refusals(desk, time, tune):
    d = desk({"a": Limits(requests_per_second=1)}, config=tune(queue={"capacity": 3}))
    for _ in range(3):
        d.submit("x")
    d.submit("y")
    d.submit("y")
    time.run_for(1.02)
    figures = d.dispatcher.statistics()
    assert figures.queued == 2
    (chain,) = figures.chains
    assert chain.depth == 2
    assert dict(chain.waiting) in ({"x": 1, "y": 1}, {"x": 2}, {"y": 2})
    assert dict(figures.refusals)[Code.QUEUE_FULL] == 1
    assert figures.waits.count == 2
    assert 0 < figures.waits.max_s < 1.1
    assert figures.submitted == 5
    assert figures.lanes[0].waiting == 2


@pytest.mark.parametrize("chain", [("a/made-up-{}",), ("a/made-up-{}", "a/small")])
def test_names_of_models_that_callers_make_up_are_forgotten_though_their_provider_is_busy(desk, time, chain):
    d = desk({"a": Limits(requests_per_second=1000, burst=1000)}, service_s=(100.0, 100.0))
    busy = [d.submit("s", ("a/large",)), d.submit("s", ("a/large", "a/small"))]
    d.service_s = (0.001, 0.001)
    for number in range(1500):
        d.submit("s", tuple(name.format(number) for name in chain))
        time.run_for(0.002)
    lanes = d.dispatcher._lanes
    assert max(len(lanes.queues), len(lanes.lanes)) < 600
    assert len(lanes.keys) == 1
    assert d.dispatcher.statistics().in_flight == 2
    time.run_for(200)
    assert all(ticket.ended is not None for ticket in busy)
    d.assert_clean()


def test_a_limit_is_remembered_while_the_queues_of_its_lane_are_forgotten(desk, time, limited):
    outcomes = [limited(500.0)]
    d = desk(
        {"a": Limits(requests_per_second=1000, burst=1000), "b": Limits()},
        script={"a": lambda _job, _now: outcomes.pop() if outcomes else None},
    )
    first = d.submit("s", ("a/large", "a/small"))
    time.run_for(1)
    assert first.ended is not None
    for number in range(1000):
        d.submit("s", (f"a/made-up-{number}",))
        time.run_for(0.01)
    assert d.submit("s", ("a/large", "a/small"), timeout_s=30).sent[0][1] == "a"
    time.run_for(1)
    (large,) = [lane for lane in d.dispatcher.lanes() if lane.model == "large"]
    assert large.limited_until_s > 400
    assert (large.sent, large.limited) == (1, 1)


def test_a_job_whose_queue_was_about_to_be_forgotten_is_served_after_a_429(desk, time, limited):
    outcomes = [limited(2.0)]
    limits = Limits(requests_per_second=1000, burst=1000)
    d = desk({"a": limits, "b": limits}, script={"a": lambda _job, _now: outcomes.pop() if outcomes else None})
    d.service_s = (5.0, 5.0)
    ticket = d.submit("s", ("a/large",))
    d.service_s = (0.001, 0.001)
    for number in range(1000):
        d.submit("s", (f"b/made-up-{number}",))
        time.run_for(0.002)
    time.run_for(10)
    assert [name for _, name in ticket.sent] == ["a", "a"]
    assert ticket.ended.result is Result.OK
    d.assert_clean()
