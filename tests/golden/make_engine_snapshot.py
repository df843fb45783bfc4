"""Writes `engine_snapshot_N.json`, a world in mid-run: `python tests/golden/make_engine_snapshot.py N`.

A file that was written once is never written again: it stands for the snapshots that users have. When the format of
snapshots changes, write the next number and keep the tests of the earlier ones.
"""

import json
import sys
from collections import deque
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from pathlib import Path
from typing import Any

from tickmind.ai import (
    Action,
    AIManager,
    BehaviorTree,
    Blackboard,
    Condition,
    Consideration,
    Cooldown,
    Parallel,
    Repeater,
    Selector,
    Sequence,
    State,
    StateMachine,
    Status,
    SubTree,
    Timeout,
    UtilityAgent,
    curves,
    make_bt_system,
    make_state_system,
    make_utility_system,
)
from tickmind.tick import Engine, TickContext, World

FOLDER = Path(__file__).parent
TICKS_BEFORE = 10


class Mood(Enum):
    """How somebody feels."""

    CALM = "calm"
    ANGRY = ("very", 3)


class Rank(IntEnum):
    """Who goes first."""

    LOW = 1
    HIGH = 2


@dataclass(frozen=True)
class Vec:
    """A place."""

    x: float
    y: float


@dataclass
class Body:
    """Where somebody is and was."""

    at: Vec
    mood: Mood = Mood.CALM
    path: list[Vec] = field(default_factory=list)


@dataclass
class Bag:
    """One of each kind of value."""

    rank: Rank
    tags: set[str]
    pairs: tuple[tuple[int, str], ...]
    kinds: frozenset[Mood]
    seen: dict[Vec, int]
    last: deque[int]
    raw: bytes
    anything: dict[str, Any]


@dataclass(kw_only=True)
class Needs:
    """What drives the choices."""

    hunger: float
    ticks: int = 0


def make_manager() -> AIManager:
    """The definitions that the components of the snapshot refer to."""
    manager = AIManager()

    @manager.register_action("walk")
    def walk(world: World, ctx: TickContext, entity_id: int, to: float) -> Status:
        body = world.get(entity_id, Body)
        body.path.append(body.at)
        body.at = Vec(body.at.x + ctx.random.choice([0.5, 1.0]), body.at.y)
        return Status.SUCCESS if body.at.x >= to else Status.RUNNING

    @manager.register_action("shout")
    def shout(world: World, _ctx: TickContext, entity_id: int) -> Status:
        board = world.get(entity_id, Blackboard)
        board.set("shouts", board.get("shouts", 0) + 1, who="shout")
        board.set("goal", board.get("goal", 0.0) + 3.0, who="shout")
        return Status.SUCCESS

    @manager.register_action("wait")
    def wait(world: World, _ctx: TickContext, entity_id: int) -> Status:
        world.get(entity_id, Needs).ticks += 1
        return Status.RUNNING

    manager.register_condition("angry", lambda world, eid: world.get(eid, Body).mood is Mood.ANGRY)
    manager.register_condition("night", lambda world, eid: world.get(eid, Needs).ticks % 10 >= 5)
    manager.register_condition("day", lambda world, eid: world.get(eid, Needs).ticks % 10 < 5)
    manager.register_consideration("hunger", lambda world, eid: world.get(eid, Needs).hunger)
    manager.define_utility_action("eat", ["hunger"])
    manager.define_utility_action("roam", [Consideration("hunger", curves.inverse())], weight=0.9)
    manager.define_utility_selector("animal", ["eat", "roam"])
    manager.define_machine(
        "day",
        initial="awake",
        states={
            "awake": State(do="wait", exits=(("night", "asleep"),)),
            "asleep": State(do="wait", exits=(("day", "awake"),), enter="shout"),
        },
    )
    manager.define_tree("round", Sequence(Action("walk", {"to": "{goal}"}), Cooldown(Action("shout"), 4)))
    manager.define_tree(
        "guard",
        Selector(
            Sequence(Condition("angry"), Action("shout"), memory=False),
            Parallel(
                Repeater(SubTree("round"), None, "restart"),
                Timeout(Action("wait"), 12),
                success_threshold=1,
                failure_threshold=1,
            ),
        ),
    )
    return manager


def make_engine() -> Engine:
    """An engine without entities, ready to restore the snapshot."""
    manager = make_manager()
    engine = Engine(tps=10, seed=42)
    for kind in (BehaviorTree, Blackboard, StateMachine, UtilityAgent, Body, Bag, Needs):
        engine.world.register_component(kind)
    engine.add_system(make_bt_system(manager))
    engine.add_system(make_utility_system(manager, on_select=get_hungry))
    engine.add_system(make_state_system(manager))
    return engine


def get_hungry(world: World, _ctx: TickContext, entity_id: int, action: str, _score: float) -> None:
    """Eating sates, roaming makes hungry."""
    needs = world.get(entity_id, Needs)
    needs.hunger = 0.125 if action == "eat" else needs.hunger + 0.125


def make_world(engine: Engine) -> None:
    """The entities of the snapshot; the third is gone again, so that its number stays unused."""
    board = Blackboard({"goal": 3.0, "plan": ("north", {"by": [Vec(1.0, 2.0), None]})})
    board.record_activity(4)
    engine.world.spawn(BehaviorTree("guard", traced=True), board, Body(Vec(-2.0, 0.0)), Needs(hunger=0.0))
    engine.world.spawn(UtilityAgent("animal"), StateMachine("day"), Needs(hunger=0.25), Blackboard())
    engine.world.despawn(engine.world.spawn(Needs(hunger=1.0)))
    engine.world.spawn(
        Bag(
            rank=Rank.HIGH,
            tags={"b", "a"},
            pairs=((1, "one"), (2, "two")),
            kinds=frozenset({Mood.ANGRY}),
            seen={Vec(0.5, -0.5): 3},
            last=deque([1, 2, 3], maxlen=3),
            raw=b"\x00\xff",
            anything={"mood": Mood.ANGRY, "far": float("inf"), "$odd": {1: "int key"}, "text": "é漢🦊", "none": None},
        )
    )
    engine.run(TICKS_BEFORE)


def main() -> None:
    """Write the next file."""
    file = FOLDER / f"engine_snapshot_{int(sys.argv[1])}.json"
    if file.exists():
        raise SystemExit(f"{file} was written before and must not change")
    engine = make_engine()
    make_world(engine)
    file.write_text(json.dumps(engine.snapshot(), allow_nan=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
