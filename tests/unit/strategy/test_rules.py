"""The strategic layer beside a small model of its rules, under anything that can happen in any order.

Who is asked in a tick: those whose interval, cooldown and deferral are over and who are not waiting, by priority, then
by how long they have been due, then by id, as far as the limits go. A failure counts; too many bring a cooldown, and
its end gives all tries again. Who leaves no longer waits.
"""

import copy
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.long import short_or_long

from tickmind.ai import Blackboard
from tickmind.base import ManualClock
from tickmind.strategy import LLMAgent, LLMConfig, LLMManager, make_llm_system, system
from tickmind.strategy.clients.workers import WorkerStatistics, WorkItem
from tickmind.tick import Engine

PER_TICK, PER_SECOND, TIMEOUT_S = 2, 4, 1.0
MOST_ENTITIES = 8


class Bench:
    """Stands in for `Workers`: jobs are complete when the test says so."""

    def __init__(self, *, threads, max_stuck, clock):
        self.clock = clock
        self.done: list[WorkItem[Any]] = []

    def submit(self, work):
        return WorkItem(work)

    def finished(self):
        found, self.done = [job for job in self.done if not job.abandoned], []
        return found

    def abandon(self, jobs, *, overdue=False):
        for job in jobs:
            job.abandoned = True

    def complete(self, job, *, value=None, error=None):
        job.value, job.error, job.done_at_s = value, error, self.clock.monotonic()
        self.done.append(job)

    def statistics(self):
        return WorkerStatistics(0, 0, 0)

    def close(self, farewells=()):
        pass


class Client:
    def query(self, system_prompt, user_message):
        raise AssertionError("the bench answers")


@dataclass
class Mind:
    """An entity by the rules."""

    has_agent: bool
    has_board: bool
    interval: int
    priority: int
    max_retries: int
    cooldown_ticks: int
    last: int = 0
    errors: int = 0
    cooldown_until: int = 0
    deferred_until: int = 0
    goal: int | None = None
    asked_s: float | None = None  # waiting for an answer since
    answer: tuple[str, float] | None = field(default=None)  # what came, and when

    @property
    def due(self) -> int:
        return max(self.last + self.interval, self.cooldown_until, self.deferred_until)

    def settle_cooldown(self, tick):
        if self.errors >= self.max_retries and self.cooldown_until <= tick:
            self.errors = 0

    def fail(self, tick):
        self.asked_s = self.answer = None
        self.errors += 1
        if self.errors >= self.max_retries:
            self.cooldown_until = tick + self.cooldown_ticks

    def leave(self):
        self.asked_s = self.answer = None


AGENTS = {
    "query_interval": st.integers(0, 6),
    "priority": st.integers(0, 2),
    "max_retries": st.integers(1, 3),
    "cooldown_ticks": st.integers(0, 8),
}
HOW = st.sampled_from(["good", "bad", "error"])
PICK = st.integers(0, MOST_ENTITIES - 1)


class Rules(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.clock = ManualClock()
        manager = LLMManager(
            LLMConfig(
                max_queries_per_tick=PER_TICK,
                max_queries_per_second=PER_SECOND,
                query_timeout=TIMEOUT_S,
                priority_aging_ticks=None,
            )
        )
        manager.define_role("r", "x")
        manager.define_personality("p", "x")
        manager.define_context("c", lambda _world, eid: str(eid))
        manager.register_client(Client())
        manager.on_query(lambda eid, _size, _tick: self.asked.append(eid))
        manager.on_error(lambda eid, kind, _message, _tick: self.failed.append((eid, kind)))
        self.manager = manager
        with mock.patch.object(system, "Workers", Bench):
            self.system = make_llm_system(manager, clock=self.clock)
        self.bench: Any = self.system._workers
        self.engine = Engine(seed=1)
        self.engine.add_system(self.system)
        self.world = self.engine.world
        for kind in (LLMAgent, Blackboard):
            self.world.register_component(kind)
        self.asked: list[int] = []
        self.failed: list[tuple[int, str]] = []
        self.minds: dict[int, Mind] = {}
        self.wishes: list[tuple[int, int]] = []
        self.recent: list[float] = []
        self.saved: tuple[Any, dict[int, Mind]] | None = None
        self.gone: list[WorkItem[Any]] = []  # jobs that nobody waits for
        self.count = 0

    # The world changes

    @initialize()
    def begin(self):
        for _ in range(3):
            self.spawn(True, True, {"query_interval": 2, "priority": 0, "max_retries": 2, "cooldown_ticks": 4})

    @precondition(lambda self: len(self.minds) < MOST_ENTITIES)
    @rule(agent=st.booleans(), board=st.booleans(), given=st.fixed_dictionaries(AGENTS))
    def spawn(self, agent, board, given):
        parts: list[Any] = [LLMAgent("r", "p", "c", **given)] if agent else []
        parts += [Blackboard()] if board else []
        eid = self.world.spawn(*parts)
        self.minds[eid] = Mind(
            agent, board, given["query_interval"], given["priority"], given["max_retries"], given["cooldown_ticks"]
        )

    def one(self, pick):
        eids = sorted(self.minds)
        return eids[pick % len(eids)]

    @precondition(lambda self: self.minds)
    @rule(pick=PICK, how=st.sampled_from(["despawn", "detach_agent", "detach_board"]))
    def leave(self, pick, how):
        getattr(self, how)(self.one(pick))

    @precondition(lambda self: self.minds)
    @rule(pick=PICK, how=st.sampled_from(["attach_board", "attach_the_same_agent"]))
    def come(self, pick, how):
        getattr(self, how)(self.one(pick))

    def despawn(self, eid):
        agent = self.world.find(eid, LLMAgent)
        self.forget_job(eid)
        self.world.despawn(eid)
        assert agent is None or not agent.pending
        del self.minds[eid]

    def detach_agent(self, eid):
        agent = self.world.find(eid, LLMAgent)
        self.forget_job(eid)
        self.world.detach(eid, LLMAgent)
        assert agent is None or not agent.pending
        self.minds[eid].leave()
        self.minds[eid].has_agent = False

    @precondition(lambda self: self.minds)
    @rule(pick=PICK, given=st.fixed_dictionaries(AGENTS))
    def attach_agent(self, pick, given):
        eid = self.one(pick)
        old = self.world.find(eid, LLMAgent)
        self.forget_job(eid)
        self.world.attach(eid, LLMAgent("r", "p", "c", **given))
        assert old is None or not old.pending
        mind = self.minds[eid]
        self.minds[eid] = Mind(
            True,
            mind.has_board,
            given["query_interval"],
            given["priority"],
            given["max_retries"],
            given["cooldown_ticks"],
            goal=mind.goal,
        )

    def attach_the_same_agent(self, eid):
        agent = self.world.find(eid, LLMAgent)
        if agent is not None:
            self.world.attach(eid, agent)

    def detach_board(self, eid):
        self.forget_job(eid)
        self.world.detach(eid, Blackboard)
        self.minds[eid].leave()
        self.minds[eid].has_board = False
        self.minds[eid].goal = None

    def attach_board(self, eid):
        self.world.attach(eid, Blackboard())
        self.minds[eid].has_board = True
        self.minds[eid].goal = None

    @precondition(lambda self: self.minds)
    @rule(pick=PICK, interval=st.integers(0, 6), priority=st.integers(0, 2))
    def change_by_hand(self, pick, interval, priority):
        eid = self.one(pick)
        agent = self.world.find(eid, LLMAgent)
        if agent is not None:
            agent.query_interval = self.minds[eid].interval = interval
            agent.priority = self.minds[eid].priority = priority

    @precondition(lambda self: self.minds)
    @rule(pick=PICK, ticks=st.integers(0, 6))
    def defer(self, pick, ticks):
        self.manager.defer(self.one(pick), ticks)
        self.wishes.append((self.one(pick), ticks))

    @rule()
    def save(self):
        self.saved = (self.engine.snapshot(), copy.deepcopy(self.minds))

    @rule(how=st.sampled_from(["restore", "shut_down"]))
    def interrupt(self, how):
        getattr(self, how)()

    def restore(self):
        if self.saved is None:
            return
        for eid in self.minds:
            self.forget_job(eid)
        self.engine.restore(self.saved[0])
        self.minds = copy.deepcopy(self.saved[1])
        for mind in self.minds.values():
            mind.leave()

    def shut_down(self):
        for eid, mind in self.minds.items():
            self.forget_job(eid)
            mind.leave()
        self.system.shutdown()

    # Answers come

    def job(self, eid):
        flight = self.system._flights.of_entity(eid)
        return None if flight is None else flight.job

    def forget_job(self, eid):
        job = self.job(eid)
        if job is not None:
            self.gone.append(job)

    @precondition(lambda self: self.minds)
    @rule(pick=PICK, how=HOW)
    def answer_one(self, pick, how):
        self.answer(self.one(pick), how)

    @precondition(lambda self: self.minds)
    @rule(pick=PICK, how=HOW, quarters=st.integers(3, 6))
    def answer_one_late(self, pick, how, quarters):
        self.clock.advance(quarters / 4)
        self.answer(self.one(pick), how)

    @rule(hows=st.lists(st.one_of(HOW, st.just("silence")), min_size=2, max_size=8), quarters=st.integers(0, 2))
    def live(self, hows, quarters):
        """Some ticks in a row, everybody answered alike in each."""
        for how in hows:
            self.step(quarters)
            for eid in self.minds if how != "silence" else ():
                self.answer(eid, how)

    def answer(self, eid, how):
        job, mind = self.job(eid), self.minds[eid]
        if job is None or mind.answer is not None:
            return
        self.count += 1
        value = f'{{"goal": {self.count}}}' if how == "good" else "no json"
        self.bench.complete(job, value=value, error=ConnectionError("x") if how == "error" else None)
        mind.answer = (how if how != "good" else str(self.count), self.clock.monotonic())

    @precondition(lambda self: self.gone)
    @rule(pick=PICK)
    def answer_nobody(self, pick):
        job = self.gone.pop(pick % len(self.gone))
        if job.done_at_s is None:
            self.bench.complete(job, value='{"goal": -1}')

    # Time passes

    @rule(quarters=st.integers(0, 5))
    def wait(self, quarters):
        self.clock.advance(quarters / 4)

    @rule(quarters=st.integers(0, 2))
    def step(self, quarters):
        self.clock.advance(quarters / 4)
        self.asked, self.failed = [], []
        flights = {eid: self.job(eid) for eid in self.minds}
        self.engine.step()
        tick, now_s = self.engine.tick_number, self.clock.monotonic()
        failed = self.expect_answers(tick, now_s)
        assert sorted(self.failed) == sorted(failed)
        assert self.asked == self.expect_questions(tick, now_s)
        self.gone += [job for eid, job in flights.items() if job is not None and (eid, "timeout") in failed]

    def expect_answers(self, tick, now_s):
        failed = []
        for eid, ticks in self.wishes:
            if eid in self.minds and self.minds[eid].has_agent:
                self.minds[eid].deferred_until = tick + ticks
        self.wishes.clear()
        for eid, mind in self.minds.items():
            if mind.asked_s is None:
                continue
            deadline_s = mind.asked_s + TIMEOUT_S
            if mind.answer is not None and mind.answer[1] <= deadline_s:
                how = mind.answer[0]
                if how in ("bad", "error"):
                    failed.append((eid, "parse_error" if how == "bad" else "network_error"))
                    mind.fail(tick)
                else:
                    mind.goal, mind.errors = int(how), 0
                    mind.leave()
            elif now_s >= deadline_s:
                failed.append((eid, "timeout"))
                mind.fail(tick)
        return failed

    def expect_questions(self, tick, now_s):
        self.recent = [at_s for at_s in self.recent if now_s - at_s < 1.0]
        room = max(0, min(PER_TICK, PER_SECOND - len(self.recent)))
        eligible = [
            (-mind.priority, mind.due, eid)
            for eid, mind in self.minds.items()
            if mind.has_agent and mind.has_board and mind.asked_s is None and mind.due <= tick
        ]
        chosen = [eid for _, _, eid in sorted(eligible)[:room]]
        for eid in chosen:
            self.minds[eid].settle_cooldown(tick)
            self.minds[eid].last, self.minds[eid].asked_s = tick, now_s
            self.recent.append(now_s)
        return chosen

    # What always holds

    @invariant()
    def both_agree(self):
        tick = self.engine.tick_number
        waiting = self.system.thinking()
        for eid, mind in self.minds.items():
            agent, board = self.world.find(eid, LLMAgent), self.world.find(eid, Blackboard)
            assert (agent is not None, board is not None) == (mind.has_agent, mind.has_board)
            assert (eid in waiting) == (mind.asked_s is not None)
            if board is not None:
                assert board.data.get("goal") == mind.goal
            if agent is not None:
                assert agent.pending == (mind.asked_s is not None)
                assert (agent.last_query_tick, agent.cooldown_until) == (mind.last, mind.cooldown_until)
                assert self.errors_of(agent, tick) == self.errors_of(mind, tick)
        assert set(waiting) <= set(self.minds)

    @staticmethod
    def errors_of(one, tick):
        """The count that matters: one that a cooldown has ended is void, whether or not it was wiped out yet."""
        errors = one.consecutive_errors if isinstance(one, LLMAgent) else one.errors
        return 0 if errors >= one.max_retries and one.cooldown_until <= tick else errors


TestRules = pytest.mark.slow(Rules.TestCase)
TestRules.settings = settings(max_examples=short_or_long(40, 80), stateful_step_count=60)
