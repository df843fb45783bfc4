"""Whoever goes while its query is in flight never waits for good, and what is said to it then is not heard."""

import json

import pytest

from tickmind.ai import Blackboard
from tickmind.strategy import LLMAgent, MockClient

GOAL = '{"goal": "hunt"}'


def asked(stage, hanging, **agent):
    """A stage with one entity that waits for its answer."""
    s = stage(hanging, thread_pool_size=1)
    eid = s.spawn(**{"query_interval": 5, "last_query_tick": -4, **agent})
    s.tick()
    hanging.wait_for_calls()
    assert s.agent(eid).pending
    return s, eid


def let_the_late_reply_come(s, hanging):
    hanging.released.set()
    s.tick()


def detach_board(s, eid):
    s.world.detach(eid, Blackboard)


def detach_agent(s, eid):
    s.world.detach(eid, LLMAgent)


def despawn(s, eid):
    s.world.despawn(eid)


def replace_agent(s, eid):
    s.world.attach(eid, LLMAgent("wolf", "sly", "plain", query_interval=1000))


def restore_world(s, eid):
    s.world.restore(json.loads(json.dumps(s.world.snapshot())))


def shut_down(s, eid):
    s.system.shutdown()


@pytest.mark.parametrize("leave", [detach_board, detach_agent, despawn, replace_agent, restore_world, shut_down])
def test_who_leaves_while_in_flight_is_not_pending_and_the_late_reply_is_discarded(stage, hanging, leave):
    s, eid = asked(stage, hanging)
    before = s.agent(eid)
    leave(s, eid)
    assert not before.pending
    now = s.world.find(eid, LLMAgent)
    assert now is None or not now.pending
    assert s.system.statistics().in_flight == 0
    assert s.system.thinking() == {}
    let_the_late_reply_come(s, hanging)
    board = s.world.find(eid, Blackboard)
    assert board is None or board.data == {}
    assert s.responses == []
    assert s.errors == []


@pytest.mark.parametrize("leave", [detach_board, detach_agent, restore_world, shut_down])
def test_who_comes_back_is_asked_again(stage, hanging, leave):
    s, eid = asked(stage, hanging)
    agent, board = s.agent(eid), s.world.get(eid, Blackboard)
    leave(s, eid)
    s.manager.register_client(MockClient(lambda *_: GOAL))
    if not s.world.has(eid, LLMAgent):
        s.world.attach(eid, agent)
    if not s.world.has(eid, Blackboard):
        s.world.attach(eid, board)
    s.step(6)
    assert s.data(eid) == {"goal": "hunt"}
    assert s.queries == [(eid, 1), (eid, 6)]


def test_a_new_blackboard_gets_the_answer_that_the_old_one_waited_for(stage, hanging):
    s, eid = asked(stage, hanging)
    s.world.attach(eid, Blackboard({"mood": "calm"}))
    assert s.agent(eid).pending
    hanging.released.set()
    s.settle()
    s.tick()
    assert s.data(eid) == {"mood": "calm", "goal": "late"}


def test_the_same_agent_attached_again_keeps_waiting(stage, hanging):
    s, eid = asked(stage, hanging)
    s.world.attach(eid, s.agent(eid))
    assert s.agent(eid).pending
    hanging.released.set()
    s.settle()
    s.tick()
    assert s.data(eid) == {"goal": "late"}


def test_an_id_that_lives_on_in_another_world_state_does_not_hear_the_old_answer(stage, hanging):
    s = stage(hanging)
    empty = s.world.snapshot()
    first = s.spawn()
    s.tick()
    hanging.wait_for_calls()
    s.world.restore(empty)
    again = s.spawn(query_interval=1000)
    assert again == first
    let_the_late_reply_come(s, hanging)
    s.tick(3)
    assert s.data(again) == {}
    assert not s.agent(again).pending


def test_a_snapshot_taken_in_flight_restores_to_an_agent_that_is_not_pending(stage, hanging):
    s, eid = asked(stage, hanging)
    saved = json.loads(json.dumps(s.engine.snapshot()))
    other = stage(MockClient(lambda *_: GOAL))
    other.spawn()
    other.tick()
    other.engine.restore(saved)
    assert not other.agent(eid).pending
    other.step(6)
    assert other.data(eid) == {"goal": "hunt"}
    assert other.queries[-1] == (eid, 6)


def test_a_fresh_process_that_restores_before_its_first_tick_asks_on(stage, hanging):
    s, eid = asked(stage, hanging)
    saved = json.loads(json.dumps(s.engine.snapshot()))
    other = stage(MockClient(lambda *_: GOAL))
    for kind in (LLMAgent, Blackboard):
        other.world.register_component(kind)
    other.engine.restore(saved)
    other.step(6)
    assert other.queries == [(eid, 6)]
    assert other.data(eid) == {"goal": "hunt"}


@pytest.mark.parametrize("stagger", [False, True])
def test_a_restore_to_an_earlier_tick_asks_by_the_clock_of_that_tick(stage, stagger):
    s = stage(MockClient(lambda *_: GOAL), stagger=stagger)
    eid = s.spawn(query_interval=4, last_query_tick=1)
    new = s.spawn(query_interval=4)
    s.step()
    saved = s.engine.snapshot()
    s.step(500)
    s.queries.clear()
    s.engine.restore(saved)
    s.step(5)
    assert (eid, 5) in s.queries
    assert new in {one for one, _ in s.queries}


def test_a_cooldown_survives_a_restore_to_an_earlier_tick(stage):
    s = stage(MockClient(error_rate=1.0))
    eid = s.spawn(max_retries=1, cooldown_ticks=10)
    s.step(2)
    assert s.agent(eid).cooldown_until == 12
    saved = s.engine.snapshot()
    s.step(100)
    s.queries.clear()
    s.engine.restore(saved)
    s.step(11)
    assert s.queries == [(eid, 12)]


def test_a_batch_goes_on_for_those_that_stay(stage, hanging):
    s = stage(hanging, batch_size=3)
    stays, goes, dies = (s.spawn() for _ in range(3))
    s.tick()
    hanging.wait_for_calls()
    s.world.detach(goes, Blackboard)
    s.world.despawn(dies)
    hanging.reply = json.dumps({str(eid): {"goal": f"g{eid}"} for eid in (stays, goes, dies)})
    hanging.released.set()
    s.settle()
    s.tick()
    assert s.data(stays) == {"goal": f"g{stays}"}
    assert not s.agent(goes).pending


def test_a_callback_may_end_the_very_entities_that_are_being_answered(stage):
    s = stage(MockClient(lambda *_: '{"1": {"goal": "a"}, "2": {"goal": "b"}}'), batch_size=2)
    first, second = s.spawn(), s.spawn()
    gone = s.agent(second)
    s.manager.on_response(lambda *_: s.world.despawn(second))
    s.step(2)
    assert s.data(first) == {"goal": "a"}
    assert not gone.pending
    s.step(2)
    assert s.system.statistics().agents == 1


def test_a_context_function_may_take_away_the_agent_that_it_is_asked_about(stage):
    s = stage(MockClient())
    eid = s.spawn()
    agent = s.agent(eid)

    def context(world, who):
        world.detach(who, LLMAgent)
        return "x"

    s.manager.define_context("plain", context)
    s.step(3)
    assert s.queries == []
    assert not agent.pending


def test_a_callback_may_restore_the_world(stage):
    s = stage(MockClient(lambda *_: GOAL))
    eid, other = s.spawn(), s.spawn()
    s.tick()
    saved = s.world.snapshot()
    s.settle()
    restored: list[bool] = []

    def restore(*_):
        if not restored:
            restored.append(True)
            s.world.restore(saved)

    s.manager.on_response(restore)
    s.step(3)
    assert s.data(eid) == s.data(other) == {"goal": "hunt"}


@pytest.mark.parametrize("leave", [detach_board, detach_agent, despawn, replace_agent, restore_world, shut_down])
def test_a_query_that_nobody_waits_for_any_more_is_no_client_that_does_not_return(stage, hanging, caplog, leave):
    s, eid = asked(stage, hanging)
    leave(s, eid)
    assert [record.message for record in caplog.records] == []
    assert s.system.statistics().workers.stuck == 0
    let_the_late_reply_come(s, hanging)


def test_a_client_that_is_too_late_is_told_of_in_the_log(stage, hanging, caplog):
    s, eid = asked(stage, hanging)
    s.clock.advance(s.manager.config.query_timeout)
    s.tick()
    assert s.errors == [(eid, "timeout", 2)]
    assert [record.message for record in caplog.records if "did not return" in record.message] != []
