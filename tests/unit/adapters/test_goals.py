"""What calls at a desk come to: answered in the character's thread, replaced, cancelled, ended."""

import asyncio
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from tickmind.adapters.mcp import character_tools
from tickmind.adapters.mcp.character_tools import CharacterTools
from tickmind.adapters.mcp.goals import CharacterGoneError, DeskRequest, Goal, GoalDesk, GoalStatus, Watch
from tickmind.ai import Status
from tickmind.base import Limit, LimitExceededError


def at(tick):
    return SimpleNamespace(tick=tick)


def make_desk(**limits: Any) -> GoalDesk[Any]:
    return GoalDesk(**limits)


def goal(what="walk"):
    return Goal(what, lambda _me: Status.RUNNING)


def outcome_of(_me, outcome):
    return outcome


def test_a_call_ends_when_its_ticks_are_over_and_the_goal_goes_on():
    desk, walk = make_desk(), goal()
    done = desk.post(Watch(walk, 3, outcome_of))
    desk.attend(at(10), lockstep=False)
    desk.attend(at(12), lockstep=False)
    assert not done.done()
    desk.attend(at(13), lockstep=False)
    assert (done.result().status, done.result().why, done.result().ticks) == (
        GoalStatus.GOING_ON,
        "3 ticks are over",
        3,
    )
    assert desk.goal is walk


def test_the_answer_to_a_call_whose_goal_is_reached_names_no_goal_any_more():
    desk, walk = make_desk(), goal()
    done = desk.post(Watch(walk, 3, lambda _me, _outcome: desk.goal))
    desk.attend(at(10), lockstep=False)
    walk.end(GoalStatus.DONE, "done")
    desk.attend(at(11), lockstep=False)
    assert done.result() is None


def test_calls_under_way_count_as_waiting():
    desk = make_desk(max_waiting=Limit("number of calls", 2))
    for tick in (1, 2):
        desk.post(Watch(None, 9, outcome_of))
        desk.attend(at(tick), lockstep=False)
    with pytest.raises(LimitExceededError):
        desk.post(Watch(None, 9, outcome_of))
    desk.attend(at(10), lockstep=False)
    desk.post(Watch(None, 9, outcome_of))


@pytest.mark.asyncio
async def test_where_ticks_are_long_a_call_ends_before_its_ticks_and_its_goal_goes_on(monkeypatch):
    monkeypatch.setattr(character_tools, "report", outcome_of)
    desk, tick = make_desk(), 1
    call = asyncio.create_task(CharacterTools(desk, call_s=0.01).go_to("the well", ticks=600))
    while not call.done():
        desk.attend(SimpleNamespace(tick=tick, spoken_to_since=lambda _tick: ""), lockstep=False)
        tick = 2
        await asyncio.sleep(0.001)
    assert (await call).why.endswith("ticks are over")
    assert desk.goal is not None


def test_the_next_goal_replaces_the_one_before():
    desk = make_desk()
    first = desk.post(Watch(goal(), 9, outcome_of))
    desk.attend(at(1), lockstep=False)
    desk.post(Watch(goal("speak"), 9, outcome_of))
    desk.attend(at(2), lockstep=False)
    assert (first.result().status, first.result().why) == (GoalStatus.REPLACED, "the next goal is to speak")
    assert desk.goal is not None
    assert desk.goal.what == "speak"


def test_a_cancelled_call_takes_its_goal_with_it():
    desk = make_desk()
    done = desk.post(Watch(goal(), 9, outcome_of))
    desk.attend(at(1), lockstep=False)
    done.cancel()
    desk.attend(at(2), lockstep=False)
    assert desk.goal is None


def test_an_error_of_a_request_reaches_its_caller_and_no_one_else():
    desk = make_desk()
    wrong, right = desk.post(DeskRequest(lambda me: me.nothing)), desk.post(DeskRequest(lambda me: me.tick))
    desk.attend(at(7), lockstep=False)
    assert isinstance(wrong.exception(), AttributeError)
    assert right.result() == 7


def test_a_lost_character_ends_all_calls_with_the_reason():
    desk = make_desk()
    under_way = desk.post(Watch(goal(), 9, outcome_of))
    desk.attend(at(1), lockstep=False)
    waiting = desk.post(DeskRequest(lambda me: me.tick))
    desk.abandon("another process has taken control")
    for done in (under_way, waiting):
        assert isinstance(done.exception(), CharacterGoneError)


def test_too_many_calls_are_refused():
    desk = make_desk(max_waiting=Limit("calls", 1))
    desk.post(DeskRequest(lambda me: me.tick))
    with pytest.raises(LimitExceededError):
        desk.post(DeskRequest(lambda me: me.tick))


def test_in_lockstep_the_world_waits_for_the_next_call():
    desk, attended = make_desk(), threading.Event()

    def live():
        desk.attend(at(1), lockstep=True)
        attended.set()

    thread = threading.Thread(target=live)
    thread.start()
    answered = desk.post(DeskRequest(lambda me: me.tick))
    assert answered.result(60) == 1  # a question is answered, and the world still waits
    assert not attended.is_set()
    desk.post(Watch(goal(), 9, outcome_of))
    thread.join(60)
    assert attended.is_set()


def test_a_closed_desk_lets_the_world_go_on():
    desk = make_desk()
    desk.close()
    desk.attend(at(1), lockstep=True)
