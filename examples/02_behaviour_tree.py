"""A guard with a behaviour tree: it patrols, chases who comes near, and goes home when it is tired.

python examples/02_behaviour_tree.py
"""

import argparse
from dataclasses import dataclass

from tickmind.ai import (
    Action,
    AIManager,
    BehaviorTree,
    Condition,
    Cooldown,
    Selector,
    Sequence,
    Status,
    make_bt_system,
)
from tickmind.tick import Engine, TickContext, World


@dataclass
class Guard:
    """A guard on a road of 20 steps, and the thief it looks out for."""

    at: int = 0
    way: int = 1
    strength: int = 12
    thief_at: int = 15


def build() -> AIManager:
    """Say what a guard can see and do, and in which order it matters."""
    ai = AIManager()

    @ai.register_condition("sees_thief")
    def sees_thief(world: World, eid: int) -> bool:
        guard = world.get(eid, Guard)
        return abs(guard.thief_at - guard.at) <= 4

    @ai.register_condition("tired")
    def tired(world: World, eid: int) -> bool:
        return world.get(eid, Guard).strength <= 0

    @ai.register_action("shout")
    def shout(_world: World, _ctx: TickContext, eid: int) -> Status:
        print(f"guard {eid}: Halt!")
        return Status.SUCCESS

    @ai.register_action("chase")
    def chase(world: World, _ctx: TickContext, eid: int) -> Status:
        guard = world.get(eid, Guard)
        guard.at += 1 if guard.thief_at > guard.at else -1
        guard.strength -= 2
        if guard.at == guard.thief_at:
            guard.thief_at = (guard.thief_at + 13) % 20  # it slips away
            return Status.SUCCESS
        return Status.RUNNING

    @ai.register_action("go_home")
    def go_home(world: World, _ctx: TickContext, eid: int) -> Status:
        guard = world.get(eid, Guard)
        if guard.at == 0:
            guard.strength = 12
            return Status.SUCCESS
        guard.at -= 1
        return Status.RUNNING

    @ai.register_action("patrol")
    def patrol(world: World, _ctx: TickContext, eid: int) -> Status:
        guard = world.get(eid, Guard)
        if not 0 <= guard.at + guard.way <= 20:
            guard.way = -guard.way
        guard.at += guard.way
        guard.strength -= 1
        return Status.SUCCESS

    ai.define_tree(
        "guard",
        Selector(
            Sequence(Condition("tired"), Action("go_home"), label="rest"),
            Sequence(Condition("sees_thief"), Cooldown(Action("shout"), ticks=10), Action("chase"), label="hunt"),
            Action("patrol"),
        ),
    )
    return ai


def main() -> None:
    """Run it, drawing the road and the tree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ticks", type=int, default=30, help="how many ticks to run (default: 30)")
    options = parser.parse_args()

    ai = build()
    engine = Engine(tps=5, seed=1)
    eid = engine.world.spawn(Guard(), BehaviorTree("guard", traced=True))
    engine.add_system(make_bt_system(ai))

    def show(world: World, ctx: TickContext) -> None:
        guard = world.get(eid, Guard)
        road = "".join("G" if n == guard.at else "t" if n == guard.thief_at else "." for n in range(21))
        print(f"{ctx.tick_number:3} {road} strength {guard.strength}")

    engine.add_system(show)
    engine.run(options.ticks)
    print("\nThe tree after the last tick:")
    print(ai.draw(engine.world.get(eid, BehaviorTree)))
    print("\nThe same tree for Groot 2:")
    print(ai.save_xml("guard"))


if __name__ == "__main__":
    main()
