"""Time and threads: what hangs costs itself only, what is late is a timeout, latency is the answer's own time."""

import asyncio
import gc
import threading
import time
import weakref
from functools import partial

from tickmind.base import ManualClock
from tickmind.llm.testing import FaultyTransport, ScriptedTransport
from tickmind.strategy import MockClient
from tickmind.strategy.clients import workers
from tickmind.strategy.clients.workers import Workers

GOAL = '{"goal": "hunt"}'


def test_a_query_that_takes_too_long_is_a_timeout(stage, hanging):
    s = stage(hanging, query_timeout=5.0)
    eid = s.spawn(query_interval=100, last_query_tick=-99)
    s.tick()
    s.clock.advance(4.9)
    s.tick()
    assert s.agent(eid).pending
    s.clock.advance(0.1)
    s.tick()
    assert not s.agent(eid).pending
    assert s.errors == [(eid, "timeout", 3)]
    assert s.messages == ["no answer within 5 s"]
    assert s.agent(eid).consecutive_errors == 1


def test_with_a_pool_of_one_the_query_after_a_hung_one_is_answered(stage, hanging_once):
    s = stage(hanging_once, thread_pool_size=1, query_timeout=5.0)
    eid = s.spawn()
    s.tick()
    hanging_once.wait_for_calls()
    s.clock.advance(5)
    s.step(2)
    assert s.errors == [(eid, "timeout", 2)]
    assert s.data(eid) == {"goal": "hunt"}
    assert s.system.statistics().workers.stuck == 1


def test_threads_that_hang_are_bounded_and_counted_and_their_return_is_noticed(stage, hanging, caplog, until):
    s = stage(hanging, thread_pool_size=2, max_stuck_threads=3, query_timeout=1.0)
    for _ in range(4):
        s.spawn(max_retries=1000)
    for _ in range(20):
        s.tick()
        until(lambda: s.system.statistics().workers.waiting in (0, 2, 4) or hanging.calls >= 5)
        s.clock.advance(1.0)
    until(lambda: hanging.calls == 5)
    at_most = s.system.statistics().workers
    assert at_most.threads + at_most.stuck == 5
    assert at_most.waiting <= 4
    assert any("are stuck in clients" in record.message for record in caplog.records)
    assert len(caplog.records) < 10
    hanging.released.set()
    until(lambda: s.system.statistics().workers.stuck == 0)
    s.tick()
    s.settle()
    s.tick()
    assert {eid for eid, _ in s.responses} == {1, 2, 3, 4}
    assert s.system.statistics().workers.threads == 2


def test_a_query_that_no_thread_has_taken_is_forgotten_at_its_timeout(stage, hanging):
    s = stage(hanging, thread_pool_size=1, max_stuck_threads=0, query_timeout=1.0)
    for _ in range(3):
        s.spawn(query_interval=100, last_query_tick=-99)
    s.tick()
    hanging.wait_for_calls()
    assert s.system.statistics().workers.waiting == 2
    s.clock.advance(1)
    s.tick()
    assert [kind for _, kind, _ in s.errors] == ["timeout"] * 3
    assert s.system.statistics().workers == workers.WorkerStatistics(threads=0, stuck=1, waiting=0)


def test_a_system_that_gives_no_more_threads_costs_timeouts_and_no_more(stage, monkeypatch):
    s = stage(MockClient(lambda *_: GOAL), query_timeout=1.0)
    eid = s.spawn()

    def refuse(self):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        s.tick()
        s.clock.advance(1)
        s.tick()
    assert s.errors == [(eid, "timeout", 2)]
    s.clock.advance(1)
    s.tick()
    s.step()
    assert s.data(eid) == {"goal": "hunt"}


def test_a_reply_that_was_complete_after_its_deadline_is_a_timeout_even_if_it_is_harvested_first(stage, hanging):
    s = stage(hanging, query_timeout=5.0)
    eid = s.spawn(query_interval=100, last_query_tick=-99)
    s.tick()
    hanging.wait_for_calls()
    s.clock.advance(5.5)
    hanging.released.set()
    s.settle()
    s.tick()
    assert s.errors == [(eid, "timeout", 2)]
    assert s.data(eid) == {}
    assert s.responses == []


def test_a_reply_that_was_complete_in_time_counts_however_late_it_is_harvested(stage):
    s = stage(MockClient(lambda *_: GOAL), query_timeout=5.0)
    eid = s.spawn(query_interval=100, last_query_tick=-99)
    s.step()
    s.clock.advance(1000)
    s.tick()
    assert s.data(eid) == {"goal": "hunt"}
    assert s.errors == []


def test_latency_is_measured_to_completion_and_not_to_the_harvest(stage, hanging):
    s = stage(hanging)
    s.manager.record_thoughts(s.thoughts.append)
    s.spawn()
    s.tick()
    hanging.wait_for_calls()
    s.clock.advance(2.5)
    hanging.released.set()
    s.settle()
    s.clock.advance(20)
    s.tick()
    assert s.latencies == [2.5]
    assert s.thoughts[0].latency_s == 2.5


def test_an_async_client_is_really_cancelled_on_timeout(stage, until):
    ended = []

    async def never(_request):
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    s = stage(ScriptedTransport(never), query_timeout=5.0)
    eid = s.spawn(query_interval=100, last_query_tick=-99)
    s.tick()
    s.clock.advance(5)
    s.tick()
    until(lambda: ended)
    assert s.errors == [(eid, "timeout", 2)]
    assert s.system.statistics().workers.stuck == 0
    s.tick(3)
    assert s.errors == [(eid, "timeout", 2)]


def test_hung_async_calls_cost_nothing_but_themselves(stage, until):
    transport = FaultyTransport(ScriptedTransport(GOAL), plan=["hang"] * 50)
    s = stage(transport, query_timeout=5.0, thread_pool_size=1)
    eids = [s.spawn(query_interval=2, last_query_tick=-1, max_retries=99) for _ in range(50)]
    s.tick()
    until(lambda: transport.statistics().calls == 50)
    s.clock.advance(5)
    s.tick()
    assert [kind for _, kind, _ in s.errors] == ["timeout"] * 50
    s.step(3)
    assert all(s.data(eid) == {"goal": "hunt"} for eid in eids)


def test_an_async_client_that_blocks_the_loop_costs_that_loop_and_nothing_else(stage, blocking, until):
    s = stage(blocking, query_timeout=1.0)
    eid = s.spawn(max_retries=100)
    s.tick()
    assert blocking.entered.wait(60)
    s.clock.advance(1)
    s.tick()
    s.clock.advance(workers.LOOP_PATIENCE_S)
    s.tick()
    s.step(2)
    assert s.data(eid) == {"goal": "hunt"}
    assert s.system.statistics().workers.stuck == 1
    blocking.released.set()
    until(lambda: s.system.statistics().workers.stuck == 0)


def test_an_async_client_that_will_not_be_cancelled_does_not_hold_up_the_end(stage, monkeypatch):
    monkeypatch.setattr(workers, "CLOSING_S", 0.01)
    released, entered = threading.Event(), threading.Event()

    class Stubborn:
        async def answer(self, question):
            entered.set()
            while not released.is_set():
                try:
                    await asyncio.sleep(0.001)
                except asyncio.CancelledError:
                    continue
            return GOAL

    s = stage(Stubborn())
    eid = s.spawn()
    s.tick()
    assert entered.wait(60)
    s.system.shutdown()
    assert not s.agent(eid).pending
    released.set()


def test_a_slow_client_delays_no_tick(stage, hanging):
    s = stage(hanging, thread_pool_size=2)
    for _ in range(10):
        s.spawn()
    began = time.perf_counter()
    s.tick(200)
    assert time.perf_counter() - began < 60  # 10 queries, each of which would have taken 300 s
    assert len(s.system.thinking()) == 10


def test_no_more_threads_work_at_once_than_the_pool_has(stage):
    here, most, lock = 0, 0, threading.Lock()
    together = threading.Barrier(2)

    def reply(_system, _user):
        nonlocal here, most
        with lock:
            here += 1
            most = max(most, here)
        together.wait(60)
        with lock:
            here -= 1
        return "{}"

    s = stage(MockClient(reply), thread_pool_size=2)
    for _ in range(10):
        s.spawn(query_interval=100, last_query_tick=-99)
    s.step()
    assert most == 2


def test_no_more_queries_are_in_flight_than_the_limit(stage, hanging):
    s = stage(hanging, max_in_flight=3)
    for _ in range(10):
        s.spawn()
    s.tick(5)
    assert len(s.queries) == 3
    assert s.system.statistics().ready == 7


def test_an_idle_thread_holds_on_to_no_prompt(until):
    class Prompt:
        pass

    prompt = Prompt()
    seen = weakref.ref(prompt)
    pool = Workers(threads=1, max_stuck=0, clock=ManualClock())
    pool.submit(partial(isinstance, prompt, Prompt))
    until(lambda: pool._done)
    assert [job.value for job in pool.finished()] == [True]
    del prompt

    def gone():
        gc.collect()
        return seen() is None

    until(gone)
    pool.close()


def test_deadlines_of_queries_that_are_over_are_not_kept(stage):
    s = stage(MockClient())
    s.spawn(query_interval=0)
    s.step(300)
    assert len(s.system._flights._deadlines) < 100


def test_a_loop_that_is_blocked_for_a_moment_is_not_given_up(stage, blocking):
    s = stage(blocking, query_timeout=1.0)
    s.spawn(max_retries=100)
    s.tick()
    assert blocking.entered.wait(60)
    s.clock.advance(1)
    s.tick()
    s.tick()
    assert len(s.errors) == 1
    assert s.system.statistics().workers.stuck == 0
    blocking.released.set()
