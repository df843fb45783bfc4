"""Thinking time in ticks: a reply takes effect exactly so many ticks after its question."""

import asyncio
import threading

import pytest

from tickmind.ai import Blackboard
from tickmind.base import ConfigError, ManualClock
from tickmind.protocol import Thought
from tickmind.strategy import LLMAgent, LLMConfig, LLMManager, make_llm_system
from tickmind.tick import Engine


class Model:
    """An async client whose answers wait until they are let go."""

    def __init__(self, *, held=False):
        self.asked = 0
        self._gate = threading.Event()
        if not held:
            self._gate.set()

    def let_go(self):
        self._gate.set()

    async def answer(self, question):
        self.asked += 1
        await asyncio.to_thread(self._gate.wait)
        return '{"goal": "hunt"}'


@pytest.fixture
def thinking():
    systems = []

    def make(client, clock=None, **options):
        manager = LLMManager(LLMConfig(max_queries_per_second=None, **options))
        manager.register_client(client)
        manager.define_role("r", "You are a wolf.")
        manager.define_personality("p", "Be quick.")
        manager.define_context("c", lambda _world, eid: f"I am {eid}.")
        engine = Engine(tps=10, seed=1)
        system = make_llm_system(manager, clock=clock)
        systems.append(system)
        engine.add_system(system)
        board = Blackboard()
        engine.world.spawn(board, LLMAgent("r", "p", "c", query_interval=100, last_query_tick=-100))
        return engine, system, board

    yield make
    for system in systems:
        system.shutdown()


def effect_tick(engine, board, most=20):
    for _ in range(most):
        engine.step()
        if "goal" in board.data:
            return engine.tick_number
    return None


@pytest.mark.parametrize("ticks", [0, 1, 3])
def test_in_lockstep_a_reply_takes_effect_exactly_so_many_ticks_after_its_question(thinking, ticks):
    engine, _, board = thinking(Model(), reply_ticks=ticks, lockstep=True)
    assert effect_tick(engine, board) == 1 + ticks


def test_a_reply_that_comes_early_waits_for_its_tick(thinking):
    engine, system, board = thinking(Model(), reply_ticks=3)
    engine.step()
    system.settle()
    assert effect_tick(engine, board) == 4


def test_without_lockstep_a_late_reply_takes_effect_when_it_arrives(thinking):
    model = Model(held=True)
    engine, system, board = thinking(model, reply_ticks=2)
    for _ in range(6):
        engine.step()
    assert board.data == {}
    model.let_go()
    system.settle()
    assert effect_tick(engine, board) == 7


def test_in_lockstep_a_reply_that_never_comes_is_given_up_at_its_deadline(thinking):
    errors = []
    model = Model(held=True)
    engine, system, board = thinking(model, reply_ticks=0, lockstep=True, query_timeout=0.01)
    system._manager.on_error(lambda *error: errors.append(error))
    for _ in range(3):
        engine.step()
    model.let_go()
    assert board.data == {}
    assert errors


def test_in_lockstep_no_limit_holds_a_question_back(thinking):
    model = Model()
    engine, _, _ = thinking(model, reply_ticks=1, lockstep=True, max_queries_per_tick=1, max_in_flight=1)
    for _ in range(9):
        engine.world.spawn(Blackboard(), LLMAgent("r", "p", "c", query_interval=100, last_query_tick=-100))
    engine.step()
    engine.step()
    assert model.asked == 10


@pytest.mark.parametrize(
    "options", [{"lockstep": True}, {"reply_ticks": -1}, {"reply_ticks": 1, "stream_fields": True}], ids=str
)
def test_settings_that_contradict_each_other_are_refused(options):
    with pytest.raises(ConfigError, match="reply_ticks"):
        LLMConfig(**options)


@pytest.mark.parametrize("lockstep", [False, True])
def test_a_reply_that_came_in_time_is_not_timed_out_while_it_waits_for_its_tick(thinking, lockstep):
    clock = ManualClock()
    engine, system, board = thinking(Model(), clock, reply_ticks=4, lockstep=lockstep, query_timeout=30.0)
    engine.step()
    system.settle()
    for _ in range(4):
        clock.advance(10.0)
        engine.step()
    assert board.data == {"goal": "hunt"}


class Blocking:
    """A blocking client for whose every call ten seconds pass."""

    def __init__(self, clock):
        self._clock = clock
        self._one_at_a_time = threading.Lock()

    def query(self, system_prompt, user_message):
        with self._one_at_a_time:
            self._clock.advance(10.0)
        return '{"goal": "hunt"}'


def test_in_lockstep_a_question_that_waits_for_a_thread_is_not_timed_out(thinking):
    """The last of 20 questions is answered after 200 s; each call is within its 60."""
    clock = ManualClock()
    client = Blocking(clock)
    engine, system, _ = thinking(client, clock, reply_ticks=0, lockstep=True, query_timeout=60.0, thread_pool_size=1)
    for _ in range(19):
        engine.world.spawn(Blackboard(), LLMAgent("r", "p", "c", query_interval=100, last_query_tick=-100))
    engine.step()
    assert system.statistics().answered == 20


def test_the_timing_may_change_while_a_reply_is_under_way(thinking):
    engine, system, board = thinking(Model(), reply_ticks=5)
    engine.step()
    system.settle()
    engine.step()
    system.change_timing(reply_ticks=None, lockstep=False)
    assert effect_tick(engine, board) == 3


def test_in_real_time_a_reply_that_takes_longer_is_recorded_as_late(thinking):
    thoughts: list[Thought] = []
    for ticks_until_answer in (1, 4):
        model = Model(held=True)
        engine, system, _ = thinking(model, reply_ticks=2)
        system._manager.record_thoughts(thoughts.append)
        for _ in range(ticks_until_answer):
            engine.step()
        model.let_go()
        system.settle()
        for _ in range(4):
            engine.step()
    assert [(thought.answered_tick - thought.asked_tick, thought.late) for thought in thoughts] == [
        (2, False),
        (4, True),
    ]
