"""When agents ask apart from their interval: spread, pressed, wished for, deferred, or not at all."""

import threading
from collections import Counter

import pytest

from tickmind.ai import Blackboard
from tickmind.base import ConfigError
from tickmind.strategy import MockClient

GOAL = '{"goal": "hunt"}'


def hunting():
    return MockClient(lambda *_: GOAL)


def ticks(s, eid):
    return [tick for who, tick in s.queries if who == eid]


# Stagger


@pytest.mark.parametrize("begin", [1, 300])
def test_agents_spawned_together_ask_spread_over_their_interval(stage, begin):
    s = stage(hunting(), stagger=True)
    s.tick(begin)
    for _ in range(100):
        s.spawn(query_interval=50)
    s.step(50)
    first = Counter(tick for _, tick in s.queries)
    assert sum(first.values()) == 100
    assert set(first.values()) == {2}
    s.queries.clear()
    s.step(50)
    assert sorted(Counter(tick for _, tick in s.queries).values()) == [2] * 50


def test_without_stagger_they_ask_together(stage):
    s = stage(hunting())
    for _ in range(10):
        s.spawn(query_interval=5)
    s.step(5)
    assert [tick for _, tick in s.queries] == [5] * 10


def test_only_the_first_question_is_staggered(stage):
    s = stage(hunting(), stagger=True)
    eid = s.spawn(query_interval=10, last_query_tick=-2)
    s.step(8)
    assert s.queries == [(eid, 8)]


# Triggers


def pressed(stage, condition, *, gap=5, **agent):
    s = stage(hunting(), trigger_gap=gap)
    s.manager.define_trigger("panic", condition)
    return s, s.spawn(**{"trigger": "panic", "query_interval": 100, **agent})


def test_a_trigger_asks_before_the_interval_is_over(stage):
    now: list[bool] = []
    s, eid = pressed(stage, lambda _world, _eid: bool(now))
    s.step(10)
    assert s.queries == []
    now.append(True)
    s.step()
    assert s.queries == [(eid, 11)]


def test_a_trigger_that_goes_on_asks_no_more_often_than_the_gap(stage):
    s, eid = pressed(stage, lambda *_: True)
    s.step(17)
    assert ticks(s, eid) == [1, 6, 11, 16]


def test_a_trigger_is_not_even_looked_at_within_the_gap_or_while_an_answer_is_awaited(stage):
    looked = []

    def look(_world, _eid):
        looked.append(s.engine.tick_number)
        return True

    s, _ = pressed(stage, look)
    s.step(12)
    assert looked == [1, 6, 11]


def test_a_trigger_respects_a_cooldown_and_a_deferral(stage):
    s, eid = pressed(stage, lambda *_: True, gap=0)
    s.agent(eid).cooldown_until = 4
    s.step(5)
    assert ticks(s, eid)[0] == 4
    s.manager.defer(eid, 10)
    s.step(10)
    assert [tick for tick in ticks(s, eid) if 6 <= tick < 16] == []


def test_a_trigger_presses_only_its_own_agents(stage):
    s, first = pressed(stage, lambda _world, eid: eid == 1)
    second = s.spawn(trigger="panic", query_interval=100)
    s.step(5)
    assert ticks(s, first)
    assert not ticks(s, second)


def test_a_trigger_given_by_hand_is_noticed_and_one_taken_away_is_not_looked_at(stage):
    looked = []
    s, _ = pressed(stage, lambda _world, eid: looked.append(eid), trigger="")
    s.step(3)
    assert looked == []
    s.agent(1).trigger = "panic"
    s.step(3)
    assert looked
    s.agent(1).trigger = ""
    s.step()
    looked.clear()
    s.step(3)
    assert looked == []


def test_a_pressed_agent_that_limits_hold_back_is_asked_as_soon_as_they_allow(stage):
    s = stage(hunting(), max_queries_per_tick=1, batch_size=1)
    s.manager.define_trigger("panic", lambda *_: True)
    eids = [s.spawn(trigger="panic", query_interval=1000) for _ in range(3)]
    s.step(3)
    assert s.queries == [(eids[0], 1), (eids[1], 2), (eids[2], 3)]


# Wishes


def test_ask_soon_asks_in_the_next_tick(stage):
    s = stage(hunting())
    eid = s.spawn(query_interval=100)
    s.step(3)
    s.manager.ask_soon(eid)
    s.step(3)
    assert s.queries == [(eid, 4)]


def test_ask_soon_while_an_answer_is_awaited_asks_again_when_it_is_there(stage, hanging):
    s = stage(hanging)
    eid = s.spawn(query_interval=100, last_query_tick=-99)
    s.tick()
    hanging.wait_for_calls()
    s.manager.ask_soon(eid)
    s.tick(3)
    assert s.queries == [(eid, 1)]
    hanging.released.set()
    s.settle()
    s.step()
    assert s.queries == [(eid, 1), (eid, 5)]
    s.step(5)
    assert len(s.queries) == 2


def test_ask_soon_does_not_cost_an_agent_its_age(stage):
    s = stage(hunting(), max_queries_per_tick=1)
    eids = [s.spawn(query_interval=100, last_query_tick=-99) for _ in range(4)]
    s.step()
    s.manager.ask_soon(eids[1])
    s.step(3)
    assert [eid for eid, _ in s.queries] == eids


def test_ask_soon_waits_for_a_cooldown_and_a_deferral(stage):
    s = stage(hunting())
    cooling, deferred = s.spawn(query_interval=100, cooldown_until=5), s.spawn(query_interval=100)
    s.manager.defer(deferred, 8)
    for eid in (cooling, deferred):
        s.manager.ask_soon(eid)
    s.step(12)
    assert s.queries == [(cooling, 5), (deferred, 9)]


def test_ask_soon_tries_again_what_could_not_be_asked(stage):
    s = stage(hunting())
    eid = s.spawn(role="bear", query_interval=50, last_query_tick=-49)
    s.step(2)
    s.manager.define_role("bear", "You are a bear.")
    s.manager.ask_soon(eid)
    s.step()
    assert s.queries == [(eid, 3)]


def test_defer_lets_the_next_question_wait(stage):
    s = stage(hunting())
    eid = s.spawn(query_interval=3)
    s.manager.defer(eid, 10)
    s.step(15)
    assert ticks(s, eid) == [11, 14]


def test_defer_while_an_answer_is_awaited_holds_for_the_next_question(stage, hanging):
    s = stage(hanging)
    eid = s.spawn()
    s.tick()
    hanging.wait_for_calls()
    s.manager.defer(eid, 10)
    s.tick()
    hanging.released.set()
    s.settle()
    s.step(15)
    assert ticks(s, eid)[:2] == [1, 12]


def test_a_deferral_survives_a_snapshot(stage):
    s = stage(hunting())
    eid = s.spawn(query_interval=3)
    s.manager.defer(eid, 10)
    s.step(2)
    s.engine.restore(s.engine.snapshot())
    s.step(12)
    assert ticks(s, eid) == [11, 14]


def test_wishes_for_nobody_are_forgotten(stage):
    s = stage(hunting())
    s.manager.ask_soon(99)
    s.manager.defer(99, 5)
    s.step()
    assert s.errors == []
    with pytest.raises(ConfigError, match="-1"):
        s.manager.defer(1, -1)


def test_wishes_may_come_from_other_threads(stage):
    s = stage(hunting())
    eids = [s.spawn(query_interval=100_000) for _ in range(200)]
    threads = [
        threading.Thread(target=lambda part=part: [s.manager.ask_soon(eid) for eid in part])
        for part in (eids[:100], eids[100:])
    ]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        s.step()
    s.step(3)
    assert sorted(eid for eid, _ in s.queries) == eids


# Order and limits


def test_held_back_agents_keep_their_order_of_priority_and_age(stage):
    s = stage(hunting(), max_queries_per_tick=1)
    young = {"query_interval": 1000, "last_query_tick": -997}
    old = {"query_interval": 1000, "last_query_tick": -999}
    low_young, low_old = s.spawn(**young), s.spawn(**old)
    high_young, high_old = s.spawn(priority=1, **young), s.spawn(priority=1, **old)
    hold = [s.spawn(priority=9, query_interval=1000, last_query_tick=-999) for _ in range(3)]
    s.step(7)
    assert [eid for eid, _ in s.queries] == [*hold, high_old, high_young, low_old, low_young]


def test_a_priority_raised_by_hand_counts_for_one_that_already_waits(stage):
    s = stage(hunting(), max_queries_per_tick=1)
    eids = [s.spawn(query_interval=1000, last_query_tick=-999) for _ in range(4)]
    s.step()
    s.agent(eids[3]).priority = 5
    s.step(3)
    assert [eid for eid, _ in s.queries] == [eids[0], eids[3], eids[1], eids[2]]


def test_any_second_is_a_sliding_one(stage):
    s = stage(hunting(), max_queries_per_second=2)
    for _ in range(6):
        s.spawn(query_interval=1000, last_query_tick=-999)
    asked_at = []
    s.manager.on_query(lambda *_: asked_at.append(round(s.clock.monotonic(), 1)))
    for _ in range(20):
        s.step()
        s.clock.advance(0.125)
    assert asked_at == [0.0, 0.0, 1.0, 1.0, 2.0, 2.0]


def test_a_crowd_that_is_due_at_once_is_asked_bit_by_bit_and_nobody_is_lost(stage):
    s = stage(hunting(), max_queries_per_tick=300)
    eids = [s.spawn(query_interval=100_000, last_query_tick=-99_999) for _ in range(1500)]
    s.step(6)
    assert sorted(eid for eid, _ in s.queries) == eids
    assert max(Counter(tick for _, tick in s.queries).values()) == 300


def test_a_crowd_that_can_not_be_asked_is_gone_through_over_several_ticks(stage):
    s = stage(hunting())
    for _ in range(600):
        s.spawn(role="nobody", query_interval=1000, last_query_tick=-999)
    fine = s.spawn(query_interval=1000, last_query_tick=-999)
    s.step()
    assert len(s.errors) == 256
    s.step(2)
    assert len(s.errors) == 600
    assert s.queries == [(fine, 3)]


# Unchanged prompts


def test_an_unchanged_prompt_is_not_asked_again(stage):
    s = stage(hunting(), skip_unchanged=True)
    mood = ["calm"]
    s.manager.define_context("plain", lambda *_: mood[0])
    eid = s.spawn(query_interval=2)
    s.step(8)
    assert ticks(s, eid) == [2]
    assert s.system.statistics().skipped == 3
    mood[0] = "wild"
    s.step(2)
    assert ticks(s, eid) == [2, 10]


def test_a_prompt_whose_answer_could_not_be_used_is_asked_again(stage):
    s = stage(MockClient(lambda *_: "no json"), skip_unchanged=True)
    eid = s.spawn()
    s.step(2)
    assert ticks(s, eid) == [1, 2]


def test_by_default_an_unchanged_prompt_is_asked_again(stage):
    s = stage(hunting())
    eid = s.spawn()
    s.step(3)
    assert ticks(s, eid) == [1, 2, 3]


def test_wishes_do_not_ask_for_an_unchanged_prompt_over_and_over(stage):
    s = stage(hunting(), skip_unchanged=True)
    eid = s.spawn(query_interval=100, last_query_tick=-99)
    s.step(2)
    s.manager.ask_soon(eid)
    s.step(5)
    assert s.system.statistics().skipped == 1


# The schedule stays small


def test_agents_that_come_and_go_leave_nothing_behind(stage):
    s = stage(hunting())
    keep = s.spawn(query_interval=100_000)
    eid = s.spawn(query_interval=100_000, trigger="")
    for _ in range(500):
        agent = s.agent(eid)
        s.world.detach(eid, type(agent))
        s.world.attach(eid, agent)
        s.manager.defer(keep, 5)
        s.tick()
    assert len(s.system._roster._known) == 2
    assert len(s.system._roster.schedule._waiting) < 100
    s.world.despawn(eid)
    s.world.despawn(keep)
    assert s.system.statistics().agents == 0
    assert len(s.system._roster.schedule) == 0


def test_a_blackboard_that_comes_and_goes_leaves_nothing_behind(stage):
    s = stage(hunting(), max_queries_per_tick=1)
    eids = [s.spawn(query_interval=1000, last_query_tick=-999) for _ in range(5)]
    for _ in range(300):
        s.world.detach(eids[4], Blackboard)
        s.world.attach(eids[4], Blackboard())
    s.step(5)
    assert [eid for eid, _ in s.queries] == eids
    assert len(s.system._roster.schedule._ready) < 100
