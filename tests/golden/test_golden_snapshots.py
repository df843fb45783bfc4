"""Snapshots that were written by earlier versions still load, mean the same, and the engine goes on from them."""

import importlib.util
import json
import sys
from collections import deque
from pathlib import Path

import pytest

from tickmind.ai import Access, BehaviorTree, Blackboard, StateMachine, Status, UtilityAgent
from tickmind.tick import Engine

FOLDER = Path(__file__).parent


def load_maker():
    """The script beside this file, which has the types and definitions of the snapshot."""
    name = "make_engine_snapshot"
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


maker = load_maker()
Vec, Mood = maker.Vec, maker.Mood


def written(number):
    return json.loads((FOLDER / f"engine_snapshot_{number}.json").read_text(encoding="utf-8"))


@pytest.fixture
def engine() -> Engine:
    engine: Engine = maker.make_engine()
    engine.restore(written(1))
    return engine


def test_every_golden_file_is_tested_here():
    assert [file.name for file in sorted(FOLDER.glob("*.json"))] == ["engine_snapshot_1.json"]


def test_snapshot_1_restores_the_engine(engine):
    assert (engine.tick_number, engine.seed, engine.tps) == (10, 42, 10)
    assert engine.world.entities() == {1, 2, 4}
    assert engine.world.spawn() == 5


def test_snapshot_1_restores_dataclasses_enums_and_collections(engine):
    bag = engine.world.get(4, maker.Bag)
    assert bag == maker.Bag(
        rank=maker.Rank.HIGH,
        tags={"a", "b"},
        pairs=((1, "one"), (2, "two")),
        kinds=frozenset({Mood.ANGRY}),
        seen={Vec(0.5, -0.5): 3},
        last=deque([1, 2, 3]),
        raw=b"\x00\xff",
        anything={"mood": Mood.ANGRY, "far": float("inf"), "$odd": {1: "int key"}, "text": "é漢🦊", "none": None},
    )
    assert type(bag.rank) is maker.Rank
    assert bag.last.maxlen == 3
    body = engine.world.get(1, maker.Body)
    assert (body.at, body.mood, body.path[0], len(body.path)) == (Vec(4.0, 0.0), Mood.CALM, Vec(-2.0, 0.0), 10)
    assert engine.world.get(2, maker.Needs) == maker.Needs(hunger=0.5, ticks=10)


def test_snapshot_1_restores_the_tactical_layer(engine):
    tree = engine.world.get(1, BehaviorTree)
    assert (tree.tree_name, tree.status, tree.traced) == ("guard", Status.RUNNING, True)
    assert tree.memory == {-10: 13, 7: 0, 5: 0, 11: 1, 4: 0, 0: 1}
    assert tree.trace == dict.fromkeys([0, 4, 5, 6, 7, 8, 11, 12], Status.RUNNING)
    board = engine.world.get(1, Blackboard)
    assert board.data == {"goal": 6.0, "plan": ("north", {"by": [Vec(1.0, 2.0), None]}), "shouts": 1}
    assert board.activity is not None
    assert (board.activity[-1], board.activity.maxlen) == (Access("shout", "write", "goal"), 4)
    assert engine.world.get(2, Blackboard) == Blackboard({"shouts": 1, "goal": 3.0})
    assert engine.world.get(2, StateMachine) == StateMachine("day", "asleep", 6)
    assert engine.world.get(2, UtilityAgent) == UtilityAgent("animal", "roam", 0.5625)


def test_the_engine_goes_on_from_snapshot_1(engine):
    world = engine.world
    tree, body, board = world.get(1, BehaviorTree), world.get(1, maker.Body), world.get(1, Blackboard)
    statuses, places, states, choices = "", [], "", []
    for _ in range(8):
        engine.step()
        statuses += tree.status.name[0]
        places.append(body.at.x)
        states += world.get(2, StateMachine).state[:2] + " "
        choices.append(world.get(2, UtilityAgent).selected_action)
    assert statuses == "RRFRRRRR"  # the Timeout of 12 ticks began in tick 1, long before the snapshot
    assert places == [4.5, 5.0, 5.5, 6.0, 6.5, 7.0, 8.0, 8.5]  # chance goes on where it was
    assert board.data["shouts"] == 2  # the Cooldown of 4 ticks was over in tick 14
    assert states == "aw aw aw aw aw as as as "
    assert choices == ["eat", "roam", "roam", "roam", "eat", "roam", "roam", "roam"]


def test_an_engine_that_went_on_from_snapshot_1_is_the_same_as_one_that_never_stopped(engine):
    other = maker.make_engine()
    maker.make_world(other)
    assert other.snapshot() == engine.snapshot()
    engine.run(50)
    other.run(50)
    assert other.snapshot() == engine.snapshot()


def test_snapshot_1_is_written_again_as_it_was_until_the_format_changes(engine):
    if written(1)["format"] == engine.snapshot()["format"]:
        assert json.loads(json.dumps(engine.snapshot(), allow_nan=False)) == written(1)


def test_the_script_never_overwrites_a_golden_file(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["make_engine_snapshot.py", "1"])
    with pytest.raises(SystemExit, match="must not change"):
        maker.main()
