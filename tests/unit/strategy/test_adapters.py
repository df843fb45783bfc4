"""Shared clients: their cooldowns in ticks, refusals that are nobody's fault, deferrals, and what a game sees."""

import json
import math
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.llm import (
    GatewayClient,
    LLMCooldownError,
    LLMDroppedError,
    LLMRateLimitError,
    ModelClient,
    ModelConfig,
    SessionCooldown,
    load_gateway_config,
)
from tickmind.llm.testing import ScriptedTransport
from tickmind.strategy import AsyncLLMClient, GatewayAdapter, MockClient, SharedClient
from tickmind.strategy.clients.client import Deliberation
from tickmind.strategy.queries.due_queue import DueQueue, QueryTurn
from tickmind.tools import ToolAgent

GOAL = '{"goal": "hunt"}'
SHARE = SessionCooldown(4.0, active_games=4, requests_per_minute=30, effective_rpm=7.5)


class Shared:
    """A shared client in the test's hand: what comes next, how long it has to wait, and who was deferred."""

    def __init__(self, *outcomes):
        self.outcomes = list(outcomes)
        self.wait_s: object = 0.0
        self.questions = []
        self.deferred = []
        self.told = threading.Event()

    async def answer(self, question):
        self.questions.append(question)
        outcome = self.outcomes.pop(0) if self.outcomes else Deliberation(GOAL)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def ready_in_s(self):
        if isinstance(self.wait_s, Exception):
            raise self.wait_s
        return self.wait_s

    def cooldown(self):
        return SHARE

    async def defer(self, entity_id, duration_s):
        self.deferred.append((entity_id, duration_s))
        self.told.set()


def deferrals(s):
    heard = []
    s.manager.on_deferred(lambda eid, reason, until, tick: heard.append((eid, reason, until, tick)))
    return heard


# Replies


def test_a_replys_cooldown_becomes_ticks_rounded_up(stage):
    s = stage(Shared(Deliberation(GOAL, wait_s=0.42)))  # 8.4 ticks of 50 ms
    eid = s.spawn(query_interval=1)
    s.step(30)
    assert [tick for _, tick in s.queries[:3]] == [1, 11, 12]  # harvested in tick 2, and 9 later it may ask again
    assert s.agent(eid).consecutive_errors == 0


def test_a_cooldown_counts_from_the_reply_and_not_from_the_tick_that_takes_it_in(stage):
    s = stage(Shared(Deliberation(GOAL, wait_s=1.0)))
    eid = s.spawn(query_interval=1)
    s.step()
    s.clock.advance(0.6)  # a slow tick
    s.tick()
    assert s.agent(eid).cooldown_until == 2 + 8


def test_a_reply_without_a_cooldown_changes_nothing(stage):
    s = stage(Shared())
    s.spawn(query_interval=2)
    s.step(7)
    assert [tick for _, tick in s.queries] == [2, 4, 6]


@pytest.mark.parametrize("wait_s", [math.nan, -1.0, None, "soon"])
def test_a_wait_that_is_no_time_is_none(stage, wait_s):
    s = stage(Shared(Deliberation(GOAL, wait_s=wait_s)))
    s.spawn()
    s.step(3)
    assert len(s.queries) == 3
    assert s.errors == []


def test_an_endless_wait_is_believed_for_a_day(stage):
    s = stage(Shared(Deliberation(GOAL, wait_s=math.inf)))
    eid = s.spawn()
    s.step(2)
    assert s.agent(eid).cooldown_until == 2 + 86_400 * 20


# Refusals


def test_a_refusal_with_a_cooldown_is_no_error_and_the_agent_is_asked_again_when_it_may(stage):
    refusal = LLMCooldownError("wait", retry_after_s=0.5, code="RATE_LIMIT_COOLDOWN")
    s = stage(Shared(refusal, refusal))
    heard = deferrals(s)
    eid = s.spawn(query_interval=1000, last_query_tick=-999, max_retries=1)
    s.step(40)
    assert s.errors == []
    assert s.agent(eid).consecutive_errors == 0
    assert [tick for _, tick in s.queries] == [1, 12, 23]  # not after its interval
    assert heard == [(eid, "RATE_LIMIT_COOLDOWN", 12, 2), (eid, "RATE_LIMIT_COOLDOWN", 23, 13)]
    assert s.data(eid) == {"goal": "hunt"}
    counted = s.system.statistics()
    assert (counted.refused, counted.failed, counted.answered) == (2, 0, 1)


def test_a_refusal_that_does_not_say_how_long_waits_at_least_a_tick(stage):
    s = stage(Shared(LLMCooldownError("full", code="QUEUE_FULL")))
    s.spawn()
    s.step(5)
    assert [tick for _, tick in s.queries[:2]] == [1, 3]


def test_what_was_dropped_is_no_error_and_the_next_question_comes_by_itself(stage):
    s = stage(Shared(LLMDroppedError("newer", code="REPLACED")))
    heard = deferrals(s)
    eid = s.spawn(query_interval=6)
    s.step(13)
    assert s.errors == []
    assert [tick for _, tick in s.queries] == [6, 12]
    assert heard == [(eid, "REPLACED", 7, 7)]


def test_a_plain_rate_limit_is_an_error_and_is_waited_out(stage):
    s = stage(Shared(LLMRateLimitError("slow down", retry_after_s=1.0)))
    eid = s.spawn()
    s.step(30)
    assert s.errors == [(eid, "api_error", 2)]
    assert [tick for _, tick in s.queries[:2]] == [1, 22]


def test_a_blocking_client_may_ask_to_wait_too(stage):
    s = stage(
        MockClient(error_rate=1.0, error_exception=LLMCooldownError("wait", retry_after_s=0.2, code="QUEUE_FULL"))
    )
    s.spawn()
    s.step(6)
    assert s.errors == []
    assert [tick for _, tick in s.queries] == [1, 6]


def test_a_client_that_refuses_before_it_begins_is_no_error_either(stage):
    class Refusing:
        def answer(self, question):
            raise LLMCooldownError("wait", retry_after_s=0.1, code="QUEUE_FULL")

    s = stage(Refusing())
    eid = s.spawn()
    s.tick(3)
    assert (s.errors, s.agent(eid).pending, s.agent(eid).consecutive_errors) == ([], False, 0)


def test_all_of_a_batch_wait_and_none_has_failed(stage):
    s = stage(Shared(LLMCooldownError("wait", retry_after_s=0.5, code="QUEUE_FULL")), batch_size=3)
    eids = [s.spawn() for _ in range(3)]
    s.step(2)
    assert s.errors == []
    assert {s.agent(eid).cooldown_until for eid in eids} == {12}


def test_a_failure_cooldown_is_not_cut_short_by_a_shorter_wait(stage):
    s = stage(Shared(LLMRateLimitError("no", retry_after_s=0.1)))
    eid = s.spawn(max_retries=1, cooldown_ticks=50)
    s.step(2)
    assert s.agent(eid).cooldown_until == 52


def test_a_tool_agents_refusal_asks_to_wait_as_well(stage):
    refusal = LLMCooldownError("wait", retry_after_s=0.5, code="QUEUE_FULL")
    plain = LLMRateLimitError("slow down", retry_after_s=0.5)
    double = ScriptedTransport([refusal, plain, GOAL])
    client = ModelClient(ModelConfig(base_url="http://127.0.0.1:9/v1", model="double"), double)
    s = stage(ToolAgent(client, []))
    heard = deferrals(s)
    eid = s.spawn()
    s.step(24)
    assert [(one, reason) for one, reason, _, _ in heard] == [(eid, "QUEUE_FULL")]
    assert s.errors == [(eid, "api_error", 13)]
    assert [tick for _, tick in s.queries[:3]] == [1, 12, 23]


# Known beforehand


def test_no_prompt_is_made_while_the_client_has_to_wait(stage):
    client = Shared()
    s = stage(client)
    made: list[int] = []

    def context(_world, eid):
        made.append(eid)
        return "now"

    s.manager.define_context("plain", context)
    client.wait_s = 10.0
    eids = [s.spawn() for _ in range(3)]
    s.tick(20)
    assert (made, s.queries, s.errors) == ([], [], [])
    assert s.system.statistics().pending == 3
    client.wait_s = 0.0
    s.step(1)
    assert made == eids
    assert s.system.statistics().pending == 0
    assert s.system.statistics().average_wait_s > 0


def test_others_clients_go_on_while_one_has_to_wait(stage):
    busy = Shared()
    s = stage(Shared())
    s.manager.register_client(busy, "busy")
    busy.wait_s = 0.25
    waits = [s.spawn(client="busy") for _ in range(3)]
    goes = s.spawn()
    s.step(3)
    assert {eid for eid, _ in s.queries} == {goes}
    counted = s.system.statistics()
    assert (counted.held, counted.ready) == (3, 0)
    busy.wait_s = 0.0
    s.step(4)
    assert {eid for eid, _ in s.queries} == {goes, *waits}
    assert s.system.statistics().held == 0


def test_those_who_were_held_keep_their_age_so_nobody_starves(stage):
    client = Shared()
    s = stage(Shared(), max_queries_per_tick=1)
    s.manager.register_client(client, "busy")
    eids = [s.spawn(client="busy", query_interval=2) for _ in range(6)]
    for _ in range(30):
        client.wait_s = 0.1
        s.step(2)
        client.wait_s = 0.0
        s.step()
    counts = [sum(asked == eid for asked, _ in s.queries) for eid in eids]
    assert max(counts) - min(counts) <= 1, counts


def test_a_client_whose_waiting_time_raises_is_told_and_asked(stage):
    client = Shared()
    client.wait_s = RuntimeError("broken")
    s = stage(client)
    s.spawn()
    s.step()
    assert s.queries
    assert (0, "api_error", 1) in s.errors
    assert "ready_in_s" in s.messages[0]


def test_a_client_that_takes_anothers_place_is_no_longer_waited_for(stage):
    client = Shared()
    client.wait_s = 1000.0
    s = stage(client)
    s.spawn()
    s.tick(2)
    s.manager.register_client(MockClient())
    s.step()
    assert s.queries


# Deferrals


def test_a_deferral_is_told_to_those_who_share_and_shown(stage):
    client = Shared()
    s = stage(client)
    heard = deferrals(s)
    one, other = s.spawn(), s.spawn()
    s.manager.defer(one, 40)
    s.step()
    assert client.told.wait(60)
    assert client.deferred == [(one, 2.0)]
    assert heard == [(one, "deferred", 41, 1)]
    assert s.system.statistics().deferred == 1
    s.step(3)
    assert {eid for eid, _ in s.queries} == {other}
    s.step(40)
    assert s.system.statistics().deferred == 0
    assert one in {eid for eid, _ in s.queries}


def test_a_deferral_is_kept_by_a_snapshot(stage):
    s = stage(Shared())
    eid = s.spawn()
    s.manager.defer(eid, 40)
    s.tick()
    s.engine.restore(json.loads(json.dumps(s.engine.snapshot())))
    s.tick(10)
    assert s.queries == []
    assert s.agent(eid).deferred_until == 41
    assert s.system.statistics().deferred == 1


def test_a_cooldown_is_kept_by_a_snapshot(stage):
    s = stage(Shared(Deliberation(GOAL, wait_s=5.0)))
    eid = s.spawn()
    s.step(2)
    s.engine.restore(json.loads(json.dumps(s.engine.snapshot())))
    s.step(20)
    assert s.agent(eid).cooldown_until == 102
    assert len(s.queries) == 1


def test_a_deferral_that_can_not_be_told_ends_no_tick(stage):
    class Broken(Shared):
        def defer(self, entity_id, duration_s):
            raise RuntimeError("no")

    s = stage(Broken())
    eid = s.spawn()
    s.manager.defer(eid, 5)
    s.manager.defer(999, 5)
    s.tick()
    assert s.errors == [(eid, "api_error", 1)]
    s.world.despawn(eid)
    assert s.system.statistics().deferred == 0


def test_callbacks_of_deferrals_that_raise_are_told(stage):
    s = stage(Shared())
    s.manager.on_deferred(lambda *_: 1 / 0)
    s.manager.defer(s.spawn(), 5)
    s.tick()
    assert s.errors == [(0, "callback_error", 1)]


# What a game sees


def test_statistics_show_the_share_and_the_gateways_queue(stage):
    client = Shared(Deliberation(GOAL, queued_s=2.0))
    s = stage(client)
    s.spawn()
    s.step(2)
    client.wait_s = 1.5
    counted = s.system.statistics()
    assert counted.clients[""].ready_in_s == 1.5
    assert counted.clients[""].cooldown == SHARE
    assert 0 < counted.average_queue_s <= 2.0


def test_a_thought_says_who_answered(stage):
    s = stage(Shared(Deliberation(GOAL, provider="cerebras", attempts=2, queued_s=0.5)))
    s.manager.record_thoughts(s.thoughts.append)
    s.spawn()
    s.step(2)
    thought = s.thoughts[0]
    assert (thought.provider, thought.attempts, thought.queued_s) == ("cerebras", 2, 0.5)


def test_a_question_carries_the_agents_priority(stage):
    client = Shared()
    s = stage(client)
    s.spawn(priority=3)
    s.step()
    assert client.questions[0].priority == 3


# Adapters


def test_a_gateways_client_is_adapted_and_knows_its_turn():
    client = GatewayAdapter(GatewayClient(load_gateway_config(url="http://127.0.0.1:9", model="m", env={})))
    assert isinstance(client, AsyncLLMClient)
    assert isinstance(client, SharedClient)
    assert (client.ready_in_s(), client.cooldown()) == (0.0, None)
    assert not isinstance(MockClient(), SharedClient)


def test_model_clients_are_closed_with_the_system(stage):
    double = ScriptedTransport(lambda _request: GOAL)
    s = stage(double)
    s.spawn()
    s.step(2)
    assert not double.closed
    s.system.shutdown()
    assert double.closed


def test_a_client_that_can_not_be_closed_holds_up_no_other(stage):
    class Stubborn:
        async def answer(self, question):
            return GOAL

        async def aclose(self):
            raise RuntimeError("never")

    double = ScriptedTransport(lambda _request: GOAL)
    s = stage(double)
    s.manager.register_client(Stubborn(), "a")
    s.spawn()
    s.spawn(client="a")
    s.step(2)
    s.system.shutdown()
    assert double.closed


# The schedule


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 20), st.integers(1, 20)), max_size=60))
def test_a_held_turn_comes_up_when_its_hold_is_over_and_not_before(steps):
    schedule = DueQueue()
    until: dict[int, int] = {}  # entity -> until when it is held
    for tick, (entity, due, length) in enumerate(steps, start=1):
        if entity not in until:
            schedule.put(entity, due, 0)
        schedule.advance(tick)
        taken: list[QueryTurn] = []
        while (turn := schedule.take()) is not None:
            taken.append(turn)
        for turn in taken:
            assert until.get(turn.entity_id, 0) <= tick
            schedule.hold(turn, tick + length)
            until[turn.entity_id] = tick + length
        schedule._clean_up_waiting()
        assert schedule.held + schedule.ready <= len(schedule)
    schedule.advance(10_000)
    assert schedule.held == 0
    assert schedule.ready == len(schedule)
