"""Deterministic time: a run of any length takes none, and each is alike."""

from typing import Any

import pytest

from tickmind.ai import Blackboard
from tickmind.base import ConfigError
from tickmind.llm.testing import ScriptedTransport
from tickmind.strategy import LLMAgent, LLMConfig, LLMManager, MockClient, make_llm_system
from tickmind.strategy.testing import SimulatedClock, make_simulated_system
from tickmind.tick import Engine

GOAL = '{"goal": "hunt"}'


class Run:
    def __init__(self, client, clock=None, agents=1, interval=3, **config):
        config = {"max_queries_per_tick": 100, "max_queries_per_second": None, **config}
        self.manager = m = LLMManager(LLMConfig(**config))
        m.define_role("wolf", "You are a wolf.")
        m.define_personality("sly", "You are sly.")
        m.define_context("plain", lambda _world, eid: f"You are {eid}.")
        m.register_client(client)
        self.log: list[tuple[Any, ...]] = []
        m.on_query(lambda eid, _size, tick: self.log.append(("asked", eid, tick)))
        m.on_response(lambda eid, latency, _size, tick: self.log.append(("answered", eid, tick, round(latency, 6))))
        m.on_error(lambda eid, kind, _message, tick: self.log.append((kind, eid, tick)))
        self.engine = Engine(tps=20, seed=1)
        self.system = make_simulated_system(m, clock)
        self.engine.add_system(self.system)
        self.engine.on_stop(self.system.shutdown)
        for _ in range(agents):
            self.engine.world.spawn(LLMAgent("wolf", "sly", "plain", query_interval=interval), Blackboard())

    def of(self, what):
        return [entry[1:] for entry in self.log if entry[0] == what]


def test_an_instant_mock_with_an_interval_of_three_is_asked_a_hundred_times_in_three_hundred_ticks():
    logs = []
    for _ in range(2):
        run = Run(MockClient(lambda *_: GOAL))
        run.engine.run(300)
        assert len(run.of("asked")) == 100
        assert run.of("answered")[:2] == [(1, 4, 0.0), (1, 7, 0.0)]
        logs.append(run.log)
    assert logs[0] == logs[1]


def test_latency_is_counted_in_ticks():
    clock = SimulatedClock()
    run = Run(MockClient(lambda *_: GOAL, latency=5, sleep=clock.sleep_ticks), clock, interval=10)
    run.engine.run(40)
    assert run.of("asked") == [(1, 10), (1, 20), (1, 30), (1, 40)]
    assert run.of("answered") == [(1, 15, 0.25), (1, 25, 0.25), (1, 35, 0.25)]


def test_chance_repeats_with_many_agents_a_small_pool_failures_and_timeouts():
    def logged():
        clock = SimulatedClock()
        client = MockClient(lambda *_: GOAL, latency=(1, 30), error_rate=0.2, seed=4, sleep=clock.sleep_ticks)
        run = Run(client, clock, agents=30, interval=20, thread_pool_size=5, query_timeout=1.0)
        run.engine.run(200)
        return run.log

    first = logged()
    assert {entry[0] for entry in first} == {"asked", "answered", "api_error", "timeout"}
    assert logged() == first


def test_no_more_calls_are_under_way_than_the_pool_has_threads():
    clock = SimulatedClock()
    run = Run(MockClient(latency=4, sleep=clock.sleep_ticks), clock, agents=4, interval=100, thread_pool_size=2)
    run.engine.run(99)
    run.engine.step()
    assert run.system.statistics().workers.waiting == 2
    run.engine.run(10)
    assert [(eid, tick) for eid, tick, _ in run.of("answered")] == [(1, 104), (2, 104), (3, 108), (4, 108)]


def test_a_limit_per_second_counts_simulated_seconds():
    run = Run(MockClient(), agents=10, interval=1, max_queries_per_second=5)
    run.engine.run(40)
    assert len(run.of("asked")) == 10


def test_an_async_client_is_waited_for(make_model):
    run = Run(make_model(ScriptedTransport(GOAL)))
    run.engine.run(30)
    assert len(run.of("asked")) == 10
    assert [tick for _, tick, _ in run.of("answered")] == list(range(4, 31, 3))


def test_restore_and_despawn_forget_what_is_under_way():
    clock = SimulatedClock()
    run = Run(MockClient(lambda *_: GOAL, latency=50, sleep=clock.sleep_ticks), clock, agents=6, thread_pool_size=2)
    saved = run.engine.snapshot()
    for _ in range(5):
        run.engine.step()
    run.engine.world.despawn(1)
    run.engine.restore(saved)
    assert run.system.statistics().workers.waiting == 0
    run.engine.run(10)
    assert len(run.of("asked")) == 12
    assert run.of("answered") == []


def test_time_outside_of_a_call_is_moved_by_sleeping():
    clock = SimulatedClock()
    clock.sleep(2.0)
    assert clock.monotonic() == 2.0


# The layer in real time


def test_settling_waits_for_what_is_under_way(stage):
    s = stage(MockClient(lambda *_: GOAL))
    eids = [s.spawn() for _ in range(10)]
    s.tick()
    s.system.settle()
    s.tick()
    assert all(s.data(eid) == {"goal": "hunt"} for eid in eids)


def test_settling_gives_up_on_a_client_that_does_not_answer(stage, hanging):
    s = stage(hanging)
    eid = s.spawn()
    s.tick()
    with pytest.raises(TimeoutError, match=f"entities that wait: {eid}"):
        s.system.settle(timeout_s=0.01)


def test_the_limit_per_second_can_be_switched_off():
    manager = LLMManager(LLMConfig(max_queries_per_second=None))
    manager.define_role("wolf", "")
    manager.define_personality("sly", "")
    manager.define_context("plain", lambda *_: "")
    manager.register_client(MockClient())
    engine = Engine(seed=1)
    with make_llm_system(manager) as system:
        engine.add_system(system)
        engine.world.spawn(LLMAgent("wolf", "sly", "plain", query_interval=3), Blackboard())
        for _ in range(300):
            engine.step()
            system.settle()
        assert system.statistics().asked == 100


@pytest.mark.parametrize("wrong", [{"max_queries_per_second": 0}, {"priority_aging_ticks": 0}])
def test_a_limit_is_at_least_one_or_none(wrong):
    with pytest.raises(ConfigError, match="at least 1, or None"):
        LLMConfig(**wrong)
