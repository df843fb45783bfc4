"""Which requests may wait for a slow lane, which are refused at once, and what their callers are told."""

import itertools

import pytest

from tickmind.gateway.queue.admission import Admission
from tickmind.gateway.queue.job import Outcome, Priority, Result
from tickmind.gateway.refusal import Code
from tickmind.gateway.settings.config import Limits


@pytest.fixture
def slow(desk, time):
    """One slot that takes 10 s, which is known; `slow(2)` has two slots."""

    def make(slots=1, **options):
        d = desk({"a": Limits(concurrency=slots)}, service_s=(10.0, 10.0), **options)
        for _ in range(3):
            d.submit("teacher", timeout_s=100)
            time.run_for(11)
        return d

    return make


def test_what_cannot_be_answered_in_time_is_refused_at_once_with_the_time_to_come_back(slow, time):
    d = slow()
    d.submit("s", timeout_s=30, agent="a")
    time.run_for(4)
    refused = d.submit("s", timeout_s=15, agent="b").refused
    assert refused.code is Code.OVERLOADED
    assert refused.status == 503
    # a slot gets free in 6 s, and a request with 15 s may wait for it a part of the 4.6 s that it does not need
    assert 3.0 < refused.retry_after_s < 6.0
    assert "about 10 s" in refused.message


def test_callers_are_told_different_times_as_far_apart_as_answers_take(slow, time):
    d = slow()
    d.submit("s", timeout_s=12, agent="first")
    waits = [d.submit("s", timeout_s=12, agent=f"a{number}").refused.retry_after_s for number in range(3)]
    gaps = [later - sooner for sooner, later in itertools.pairwise(waits)]
    assert gaps == pytest.approx([10.0] * 2, rel=0.05)


def test_what_is_told_is_never_more_than_three_quarters_of_a_minute(slow):
    d = slow()
    d.submit("s", timeout_s=12)
    waits = [d.submit("s", timeout_s=12, agent=f"a{number}").refused.retry_after_s for number in range(20)]
    assert max(waits) == 45.0


def test_free_slot_takes_even_what_it_is_too_slow_for(slow, time):
    d = slow()
    probe = d.submit("s", timeout_s=3)
    assert probe.sent
    assert d.submit("s", timeout_s=3).refused.code is Code.OVERLOADED


def test_waiting_ends_when_too_little_time_is_left_for_an_answer(slow, time):
    d = slow()
    d.submit("s", timeout_s=100)
    begun_s = time.monotonic()
    time.run_for(1)
    d.service_s = (30.0, 30.0)  # of those that are sent from now on
    waiting = d.submit("s", timeout_s=40)
    next_one = d.submit("s", timeout_s=40)
    time.run_until(begun_s + 10)
    assert waiting.sent
    time.run_for(29)
    assert next_one.refused.code is Code.OVERLOADED
    assert next_one.sent == []
    assert next_one.over_s < begun_s + 1 + 40 - 9.9
    assert next_one.refused.retry_after_s > 0


def test_job_is_not_started_when_the_lane_has_become_too_slow_for_it_meanwhile(slow, time):
    d = slow()
    d.service_s = (30.0, 30.0)
    running = d.submit("s", timeout_s=100)
    waiting = d.submit("s", timeout_s=35)  # 10 s are expected, 25 may be waited
    time.run_for(31)
    assert running.ended
    assert waiting.refused.code is Code.OVERLOADED
    assert waiting.sent == []


def test_newest_goes_first_once_one_has_waited_in_vain(slow, time):
    d = slow()
    d.service_s = (30.0, 30.0)
    d.submit("s", timeout_s=100)
    in_vain = d.submit("s", timeout_s=22)
    time.run_for(0.1)
    older = d.submit("s", timeout_s=200)
    newer = d.submit("s", timeout_s=200)
    time.run_for(35)
    assert in_vain.refused
    assert newer.sent
    assert not older.sent


def test_other_sessions_keep_their_order_when_one_waits_in_vain(slow, time):
    d = slow()
    d.service_s = (30.0, 30.0)
    d.submit("s", timeout_s=100)
    in_vain = d.submit("s", timeout_s=22)
    older = d.submit("t", timeout_s=200)
    newer = d.submit("t", timeout_s=200)
    time.run_for(35)
    assert in_vain.refused
    assert older.sent
    assert not newer.sent


def test_pressing_request_is_told_the_next_free_slot_whoever_was_told_before(slow):
    d = slow()
    d.submit("s", timeout_s=12, agent="first")
    for number in range(4):
        d.submit("s", timeout_s=12, agent=f"a{number}")
    pressing = d.submit("s", timeout_s=12, agent="pressed", priority=Priority.HIGH)
    assert pressing.refused.retry_after_s < 11.0


def test_pressing_request_waits_where_a_normal_one_is_refused(slow, time):
    d = slow()
    d.submit("s", timeout_s=100)
    time.run_for(5)
    d.submit("s", timeout_s=100)
    assert d.submit("s", timeout_s=18).refused
    assert not d.submit("s", timeout_s=18, priority=Priority.HIGH).refused


def test_caller_that_comes_back_too_early_is_held_and_keeps_its_place(slow, time):
    d = slow()
    d.submit("s", timeout_s=12, agent="first")
    told_s = d.submit("s", timeout_s=12, agent="b").refused.retry_after_s
    turn_s = time.monotonic() + told_s
    time.run_for(1)
    hasty = d.submit("s", timeout_s=5, agent="b")
    assert not hasty.over
    assert d.dispatcher.statistics().queued == 0
    time.run_for(5)
    assert hasty.over_s == pytest.approx(hasty.job.deadline_s)
    assert hasty.refused.code is Code.DEADLINE
    assert time.monotonic() + hasty.refused.retry_after_s == pytest.approx(turn_s, abs=1.5)


@pytest.fixture
def stand_by(slow, time):
    """A desk, what its slot works on, and a caller that came at its time with too little time to wait for the slot."""

    def make(slots=1, **options):
        d = slow(slots)
        first = [d.submit("s", timeout_s=100, agent=f"first-{number}") for number in range(slots)]
        told_s = d.submit("s", agent="b", **{"timeout_s": 10.2, **options}).refused.retry_after_s
        time.run_for(told_s)
        return d, first, d.submit("s", agent="b", **{"timeout_s": 10.2, **options})

    return make


def test_caller_that_comes_at_its_time_hears_of_the_free_slot_as_soon_as_there_is_one(stand_by, time):
    d, (first,), standing = stand_by()
    while not first.over:
        assert not standing.over
        time.run_for(0.01)
    assert standing.sent == []
    assert standing.refused.code is Code.OVERLOADED
    assert standing.refused.retry_after_s == 0.001
    time.run_for(0.001)
    assert d.submit("s", timeout_s=10.2, agent="b").sent


def test_no_more_callers_stand_by_than_there_are_slots(slow, time):
    d = slow()
    d.service_s = (60.0, 60.0)
    d.submit("s", timeout_s=100, agent="first")
    told_s = [d.submit(name, timeout_s=10.4, agent="a").refused.retry_after_s for name in ("b", "c")]
    time.run_for(told_s[0])
    standing = d.submit("b", timeout_s=10.4, agent="a")
    time.run_for(told_s[1] - told_s[0])
    assert not standing.over
    assert d.submit("c", timeout_s=10.4, agent="a").refused.code is Code.OVERLOADED


def test_caller_does_not_stand_by_longer_than_its_deadline(stand_by, time):
    d, (first,), _ = stand_by()
    d.service_s = (30.0, 30.0)
    while not first.over:
        time.run_for(0.01)
    d.submit("s", timeout_s=100, agent="slow")
    late = d.submit("s", timeout_s=10.2, agent="b")
    time.run_for(10.3)
    assert late.over_s <= late.job.deadline_s
    assert late.refused.retry_after_s > 0


def test_caller_that_stands_by_may_leave_or_hear_of_the_end(stand_by, time):
    for end in (lambda d, standing: d.cancel(standing), lambda d, _: d.dispatcher.shutdown()):
        d, (first,), standing = stand_by()
        time.run_for(0.1)
        assert not standing.over
        end(d, standing)
        time.run_for(100)
        assert first.ended
        assert standing.sent == []
        d.assert_clean()


def test_caller_that_came_too_early_is_not_called_up(slow, time):
    """It would not come at once, and the slot would wait for it."""
    d = slow()
    first = d.submit("s", timeout_s=100, agent="first")
    d.submit("s", timeout_s=10.2, agent="b")
    time.run_for(8)
    hasty = d.submit("s", timeout_s=10.2, agent="b")
    while not first.over:
        time.run_for(0.01)
    assert not hasty.over or hasty.over_s < first.over_s


def test_callers_whose_waits_end_together_are_told_different_times_though_a_slot_is_free(slow, time):
    d = slow()
    d.service_s = (60.0, 60.0)
    d.submit("s", timeout_s=100, agent="first")
    waiting = [d.submit("s", timeout_s=60, agent=f"a{number}") for number in range(4)]
    time.run_for(61)
    waits = [ticket.refused.retry_after_s for ticket in waiting]
    assert len(set(waits)) == 4, waits


def test_caller_that_is_held_may_leave_or_be_replaced_or_hear_of_the_end(slow, time):
    d = slow()
    d.submit("s", timeout_s=100, agent="first")
    time.run_for(0.5)
    for agent in ("leaves", "asks anew", "stays"):
        d.submit("s", timeout_s=5, agent=agent)
    held = {agent: d.submit("s", timeout_s=5, agent=agent) for agent in ("leaves", "asks anew", "stays")}
    assert not any(ticket.over for ticket in held.values())
    d.cancel(held["leaves"])
    newer = d.submit("s", timeout_s=5, agent="asks anew", replace_older=True)
    assert held["asks anew"].refused.code is Code.REPLACED
    d.dispatcher.shutdown()
    assert held["stays"].refused.code is newer.refused.code is Code.SHUTTING_DOWN
    time.run_for(100)
    d.assert_clean()


def test_newer_request_takes_the_place_of_the_agents_own_that_waits(slow, time):
    d = slow()
    d.submit("s", timeout_s=100)
    time.run_for(5)
    older = d.submit("s", timeout_s=18, agent="ash", replace_older=True)
    newer = d.submit("s", timeout_s=18, agent="ash", replace_older=True)
    assert older.refused.code is Code.REPLACED
    time.run_for(20)
    assert newer.ended


def test_request_that_is_refused_does_not_replace_the_one_that_waits(slow, time):
    d = slow()
    d.submit("s", timeout_s=100)
    time.run_for(5)
    waiting = d.submit("s", timeout_s=18, agent="ash")
    refused = d.submit("s", timeout_s=3, agent="ash", replace_older=True)
    assert refused.refused.code is Code.OVERLOADED
    time.run_for(20)
    assert waiting.ended


def test_expired_and_cut_off_requests_are_told_when_to_come_back(slow, time):
    d = slow()
    d.submit("s", timeout_s=100)
    expired = d.submit("s", timeout_s=100, drop_after_s=time.monotonic() + 9.5)
    assert expired.refused.code is Code.OVERLOADED  # it can't start before
    time.run_for(3)
    expired = d.submit("s", timeout_s=100, drop_after_s=time.monotonic() + 7.5)
    d.service_s = (50.0, 50.0)
    time.run_for(8)
    late = d.submit("s", timeout_s=100, drop_after_s=time.monotonic() - 1)
    assert late.refused.code is Code.EXPIRED
    assert late.refused.retry_after_s > 0
    assert expired.sent
    assert d.dispatcher.come_back_s(late.job) > 0


def test_forecast_says_when_the_slot_gets_free_and_what_waits_for_it(slow, time):
    d = slow()
    plan, session = d.plan("a"), d.session("s")
    assert d.dispatcher.forecast(session, plan, time.monotonic()) == time.monotonic()
    d.submit("s", timeout_s=1000)
    now = time.monotonic()
    assert d.dispatcher.forecast(session, plan, now) - now == pytest.approx(10.0, abs=0.5)
    for _ in range(3):
        d.submit("s", timeout_s=1000)
    assert d.dispatcher.forecast(session, plan, now) - now == pytest.approx(40.0, abs=2.0)


def test_lane_of_many_slots_is_forecast_by_its_pace(slow, time):
    d = slow(200)
    for _ in range(210):
        d.submit("s", timeout_s=1000)
    now = time.monotonic()
    wait_s = d.dispatcher.forecast(d.session("s"), d.plan("a"), now) - now
    assert wait_s == pytest.approx(11 * 10 / 200, abs=0.2)


def test_nothing_is_refused_for_lack_of_time_where_nothing_is_learnt(slow, time, tune):
    d = slow(config=tune(queue={"learn_service_times": False}))
    d.submit("s", timeout_s=100)
    waiting = d.submit("s", timeout_s=3)
    assert not waiting.over
    time.run_for(4)
    assert waiting.refused.code is Code.DEADLINE


def test_failures_are_not_taken_for_service_times(desk, time):
    quick = Outcome(Result.FAILED, 500)
    d = desk({"a": Limits(concurrency=1)}, script={"a": lambda _job, _now: quick}, service_s=(0.1, 0.1))
    for _ in range(3):
        d.submit()
        time.run_for(1)
    assert d.dispatcher.lanes()[0].service.estimate().attempts == 0


def test_lane_whose_answers_took_no_time_at_all_tells_a_wait_too(desk, time):
    d = desk({"a": Limits(concurrency=1)}, service_s=(0.0, 0.0))
    for _ in range(3):
        d.submit()
        time.run_for(1)
    lane = d.dispatcher.lanes()[0]
    assert (lane.service.estimate().attempts, lane.service.estimate().deviation_s) == (3, 0.0)
    late = d.submit(timeout_s=0.0)
    assert late.refused.code is Code.DEADLINE
    assert late.refused.retry_after_s > 0


def test_a_newcomer_waits_for_its_turn_and_not_for_the_backlog_of_another_session(slow, time):
    d = slow()
    for _ in range(6):
        d.submit("greedy", timeout_s=1000)
    now = time.monotonic()
    assert d.dispatcher.forecast(d.session("s"), d.plan("a"), now) - now == pytest.approx(20.0, abs=1.0)
    assert not d.submit("s", timeout_s=45).over


def test_a_long_queue_is_looked_through_now_and_then_only(desk, tune, time, monkeypatch):
    config = tune(queue={"capacity": 3000, "max_wait_s": 600.0})
    d = desk({"a": Limits(concurrency=1)}, service_s=(1000.0, 1000.0), config=config)
    d.submit("s", timeout_s=2000)
    asked = []
    is_late = Admission.is_late

    def counted(self, job, now):
        asked.append(job)
        return is_late(self, job, now)

    monkeypatch.setattr(Admission, "is_late", counted)
    now = time.monotonic()
    waiting = [
        d.submit(f"s{number % 50}", timeout_s=2000, drop_after_s=now + 10 + number / 100) for number in range(1000)
    ]
    assert d.dispatcher.statistics().queued == 1000
    time.run_for(25)
    assert all(one.refused is not None for one in waiting)
    assert all(one.over_s <= one.job.drop_after_s + 0.01 for one in waiting)  # as it expires, whoever looks
    assert len(asked) < 60 * len(waiting)  # each look went through all that waited: 500 on average
