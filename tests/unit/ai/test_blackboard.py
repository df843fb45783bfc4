import json
from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.ai import Access, AIError, Blackboard, BlackboardAccessError
from tickmind.tick import World


def test_an_empty_blackboard_is_truthy():
    assert Blackboard()
    assert len(Blackboard()) == 0


def test_the_methods_and_the_data_are_the_same_thing():
    board = Blackboard({"goal": "north"})
    board.set("speed", 2)
    board.data["mood"] = "calm"
    board.delete("goal")
    board.delete("never there")
    assert board.get("speed") == 2
    assert board.get("goal") is None
    assert board.get("goal", "south") == "south"
    assert list(board) == ["speed", "mood"]
    assert "mood" in board
    assert "goal" not in board
    assert len(board) == 2


def test_two_blackboards_share_nothing():
    first, second = Blackboard(), Blackboard()
    first.set("goal", 1)
    assert second.data == {}


# Views


def test_a_view_reads_and_writes_what_it_declared():
    board = Blackboard({"goal": "north", "pace": 1})
    view = board.view("walker", reads=["goal"], writes=["pace", "steps"])
    assert view.get("goal") == "north"
    assert view.get("pace") == 1  # what may be written may be read
    assert view.get("steps", 0) == 0
    view.set("steps", 3)
    view.delete("pace")
    assert board.data == {"goal": "north", "steps": 3}


@pytest.mark.parametrize(
    ("use", "problem"),
    [
        (lambda view: view.get("secret"), "walker reads 'secret' without having declared it; add it to reads="),
        (lambda view: view.get("secret", 1), "walker reads 'secret'"),
        (lambda view: view.set("goal", 1), "walker writes 'goal' without having declared it; add it to writes="),
        (lambda view: view.delete("goal"), "walker writes 'goal'"),
    ],
)
def test_a_view_refuses_what_was_not_declared_and_changes_nothing(use, problem):
    board = Blackboard({"goal": "north", "secret": 7})
    board.record_activity()
    with pytest.raises(BlackboardAccessError, match=problem) as caught:
        use(board.view("walker", reads=["goal"], writes=["pace"]))
    assert isinstance(caught.value, AIError)
    assert board.data == {"goal": "north", "secret": 7}
    assert board.activity == deque()


def test_a_view_that_declared_nothing_sees_nothing():
    view = Blackboard({"goal": 1}).view("stranger")
    with pytest.raises(BlackboardAccessError):
        view.get("goal")


@given(st.sets(st.sampled_from("abc")), st.sets(st.sampled_from("abc")), st.sampled_from("abc"))
def test_declarations_alone_decide_what_a_view_may_do(reads, writes, key):
    board = Blackboard({"a": 1})
    view = board.view("someone", reads=iter(reads), writes=iter(writes))
    for use, allowed in ((view.get, key in reads | writes), (view.delete, key in writes)):
        if allowed:
            use(key)
        else:
            with pytest.raises(BlackboardAccessError):
                use(key)


# The activity record


def test_nothing_is_recorded_until_it_is_switched_on():
    board = Blackboard()
    board.set("goal", 1)
    assert board.activity is None


def test_the_record_says_who_did_what_newest_last():
    board = Blackboard()
    board.record_activity()
    board.set("goal", 1, who="strategy")
    board.view("walker", reads=["goal"], writes=["pace"]).get("goal")
    board.view("walker", writes=["pace"]).set("pace", 2)
    board.delete("goal")
    assert list(board.activity or ()) == [
        Access("strategy", "write", "goal"),
        Access("walker", "read", "goal"),
        Access("walker", "write", "pace"),
        Access("", "delete", "goal"),
    ]


def test_the_record_keeps_the_newest_only():
    board = Blackboard()
    board.record_activity(3)
    for number in range(10):
        board.get(f"key{number}")
    assert [access.key for access in board.activity or ()] == ["key7", "key8", "key9"]
    board.record_activity(2)
    assert [access.key for access in board.activity or ()] == ["key8", "key9"]


def test_the_record_is_bounded_by_default():
    board = Blackboard()
    board.record_activity()
    for number in range(1000):
        board.set("goal", number)
    assert len(board.activity or ()) == 100


def test_switching_off_forgets_the_record_and_not_the_facts():
    board = Blackboard()
    board.record_activity()
    board.set("goal", 1)
    board.stop_recording()
    assert board.activity is None
    board.set("goal", 2)
    assert board == Blackboard({"goal": 2})


# Snapshots


@pytest.mark.parametrize("recorded", [True, False])
def test_a_blackboard_survives_a_snapshot_with_its_record(recorded):
    world = World()
    board = Blackboard({"goal": ("north", {1, 2}), "nested": {"a": [None, 1.5, True]}})
    if recorded:
        board.record_activity(5)
        board.get("goal", who="walker")
    eid = world.spawn(board)
    copy = World()
    copy.register_component(Blackboard)
    copy.restore(json.loads(json.dumps(world.snapshot())))
    again = copy.get(eid, Blackboard)
    assert again == board
    assert repr(again) == repr(board)  # a tuple is still a tuple, the record still bounded
    again.set("goal", "south", who="strategy")
    assert (again.activity is not None) == recorded
    assert board.data["goal"] == ("north", {1, 2})
