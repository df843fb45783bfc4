"""Dropping what is under way starts nothing: at a shutdown, a restore, a mass despawn or a timeout."""

import threading

import pytest

from tickmind.strategy import LLMAgent
from tickmind.strategy.clients.workers import WorkerStatistics

AGENTS, POOL = 60, 4


@pytest.fixture
def crowd(stage, hanging):
    """A pool of four, each in a call that blocks, and everybody else in the queue."""
    s = stage(hanging, thread_pool_size=POOL, max_in_flight=1000, query_timeout=30.0)
    s.eids = [s.spawn(query_interval=1000, last_query_tick=-999) for _ in range(AGENTS)]
    s.saved = s.engine.snapshot()
    s.tick()
    hanging.wait_for_calls(POOL)
    assert s.system.statistics().workers == WorkerStatistics(POOL, 0, AGENTS - POOL)
    return s


def no_more_calls(hanging):
    return not hanging.entered.acquire(timeout=0.05) and hanging.calls == POOL


def restore(s):
    s.engine.restore(s.saved)


def shut_down(s):
    s.system.shutdown()


def despawn_all(s):
    for eid in s.eids:
        s.world.despawn(eid)


def detach_all_in_reverse(s):
    for eid in reversed(s.eids):
        s.world.detach(eid, LLMAgent)


def time_out(s):
    s.clock.advance(30.0)
    s.tick()


@pytest.mark.parametrize("drop", [restore, shut_down, despawn_all, detach_all_in_reverse, time_out])
def test_dropping_everything_starts_no_call(crowd, hanging, drop):
    drop(crowd)
    assert crowd.system.statistics().workers.waiting == 0
    assert no_more_calls(hanging)


@pytest.mark.parametrize("drop", [restore, shut_down, despawn_all])
def test_a_call_that_was_dropped_in_time_is_not_stuck(crowd, hanging, drop, until):
    drop(crowd)
    assert crowd.system.statistics().workers.stuck == 0
    hanging.released.set()
    crowd.tick()
    crowd.spawn()
    crowd.step(2)
    assert crowd.system.statistics().answered > 0
    assert crowd.system.statistics().workers.stuck == 0


def test_a_restore_does_not_stall_the_layer(crowd, hanging):
    restore(crowd)
    hanging.released.set()
    crowd.step(2)
    assert crowd.system.statistics().answered == AGENTS


def test_dropped_calls_hold_nobody_up_and_are_stuck_from_their_deadline_on(crowd, hanging, until):
    despawn_all(crowd)
    crowd.clock.advance(29.9)
    late = crowd.spawn()
    crowd.tick()
    until(lambda: hanging.calls == POOL + 1)
    assert crowd.system.statistics().workers.stuck == 0
    crowd.clock.advance(0.1)
    crowd.tick()
    assert crowd.system.statistics().workers.stuck == POOL
    hanging.released.set()
    until(lambda: crowd.system.statistics().workers.stuck == 0)
    crowd.settle()
    crowd.tick()
    assert crowd.data(late) == {"goal": "late"}


def test_only_so_many_dropped_calls_are_replaced(crowd, hanging, until):
    for _ in range(5):
        restore(crowd)
        crowd.tick()
    until(lambda: hanging.calls == 2 * POOL)
    assert not hanging.entered.acquire(timeout=0) or hanging.calls == 2 * POOL
    assert crowd.system.statistics().workers == WorkerStatistics(POOL, 0, AGENTS)
    hanging.released.set()
    crowd.settle()
    crowd.tick()
    assert crowd.system.statistics().answered == AGENTS
    until(lambda: crowd.system._workers._left == 0)
    assert crowd.system.statistics().workers.threads == POOL


def test_who_waits_for_a_thread_gets_the_place_of_one_that_left(crowd, hanging, until):
    crowd.world.despawn(crowd.eids[0])
    assert no_more_calls(hanging)
    crowd.tick()
    until(lambda: hanging.calls == POOL + 1)
    assert crowd.system.statistics().workers.waiting == AGENTS - POOL - 1


def test_calls_of_an_earlier_shift_that_hang_take_no_thread_from_the_new_one(crowd, hanging, until):
    shut_down(crowd)
    for _ in range(AGENTS):
        crowd.spawn()
    crowd.tick()
    until(lambda: hanging.calls == 2 * POOL)
    assert crowd.system.statistics().workers == WorkerStatistics(POOL, 0, AGENTS - POOL)
    crowd.clock.advance(29.0)
    crowd.tick()
    crowd.clock.advance(1.0)
    crowd.tick()
    assert crowd.system.statistics().workers.threads == POOL


def test_deadlines_of_dropped_calls_are_forgotten_when_these_are_over(crowd, hanging, until):
    despawn_all(crowd)
    hanging.released.set()
    until(lambda: crowd.system._workers._idle == POOL)
    crowd.clock.advance(30.0)
    crowd.tick()
    assert len(crowd.system._flights._deadlines) == 0
    assert crowd.system.statistics().workers.stuck == 0


def test_latency_starts_when_a_thread_takes_the_question(stage):
    first = threading.Event()
    entered = threading.Event()

    class Slow:
        def query(self, _system, _user):
            entered.set()
            first.wait(60)
            return "{}"

    s = stage(Slow(), thread_pool_size=1)
    s.manager.record_thoughts(s.thoughts.append)
    for _ in range(2):
        s.spawn(query_interval=1000, last_query_tick=-999)
    s.tick()
    assert entered.wait(60)
    s.clock.advance(7.0)
    first.set()
    s.settle()
    s.tick()
    assert s.latencies == [7.0, 0.0]
    assert [thought.latency_s for thought in s.thoughts] == [7.0, 0.0]


def test_a_question_that_no_thread_took_says_so_at_its_timeout(stage, hanging):
    s = stage(hanging, thread_pool_size=1, query_timeout=5.0)
    for _ in range(2):
        s.spawn(query_interval=1000, last_query_tick=-999)
    s.tick()
    hanging.wait_for_calls()
    s.clock.advance(5.0)
    s.tick()
    assert s.messages[0] == "no answer within 5 s"
    assert "no thread was free" in s.messages[1]


def test_answers_of_one_tick_are_taken_in_the_order_of_the_questions(stage):
    gates = {eid: threading.Event() for eid in range(1, 5)}

    class Gated:
        def query(self, _system, user):
            eid = int(user.removeprefix("You are ").removesuffix("."))
            gates[eid].wait(60)
            if eid > 1:
                gates[eid - 1].set()
            return "{}"

    s = stage(Gated())
    for _ in range(4):
        s.spawn(query_interval=1000, last_query_tick=-999)
    s.tick()
    gates[4].set()  # the last answers first
    s.settle()
    s.tick()
    assert [eid for eid, _ in s.responses] == [1, 2, 3, 4]
