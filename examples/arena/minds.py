"""The tactical layer of the arena: what predators and prey do each tick, by behaviour trees."""

import math
from collections.abc import Callable

from arena.land import HEIGHT, PREDATOR, PREY, WIDTH, Body, Land, distance, in_water, spawn, step_towards
from tickmind.ai import (
    Action,
    AIManager,
    BehaviorTree,
    Blackboard,
    Condition,
    Cooldown,
    Selector,
    Sequence,
    Status,
    Timeout,
)
from tickmind.tick import SignalBus, TickContext, World

SIGHT = {PREDATOR: 12.0, PREY: 6.0}
SPEED = {PREDATOR: 0.62, PREY: 0.55}
MOST = {PREDATOR: 9, PREY: 70}


def nearest(world: World, eid: int, kind: str) -> tuple[int, Body] | None:
    """The closest creature of a kind that this one can see."""
    me = world.get(eid, Body)
    seen = [(distance(me, other), other_id, other) for other_id, (other,) in world.query(Body) if other.kind == kind]
    close = [found for found in seen if found[0] <= SIGHT[me.kind] and found[1] != eid]
    if not close:
        return None
    _, other_id, other = min(close, key=lambda found: found[:2])
    return other_id, other


def nearest_threat(world: World, eid: int) -> tuple[int, Body] | None:
    """The closest predator that this one should run from; one that rests, drinks or lurks is let be unless near."""
    found = nearest(world, eid, PREDATOR)
    if found and found[1].doing in ("rests", "drinks", "lurks") and distance(world.get(eid, Body), found[1]) > 2.0:
        return None
    return found


def chase(land: Land, bus: SignalBus, world: World, eid: int, prey_id: int) -> Status:
    """A step after some prey, or the bite."""
    me, prey = world.get(eid, Body), world.get(prey_id, Body)
    if distance(me, prey) < 0.9:
        world.despawn(prey_id)
        me.energy = min(100.0, me.energy + 45)
        bus.publish("eaten", who=prey_id, by=eid)
        return Status.SUCCESS
    step_towards(land, me, prey.x, prey.y, SPEED[PREDATOR])
    me.energy -= 0.04
    return Status.RUNNING


def minds(land: Land, bus: SignalBus, add_young: Callable[[World, str, float, float], int] | None = None) -> AIManager:
    """Everything that creatures can see and do, and the trees that choose; `add_young` makes a newborn."""
    add_young = add_young or add
    ai = AIManager()
    ai.register_condition("thirsty", lambda world, eid: world.get(eid, Body).water < 35)
    ai.register_condition("hungry", lambda world, eid: world.get(eid, Body).energy < 70)
    ai.register_condition("ready_to_breed", lambda world, eid: _can_breed(world, world.get(eid, Body)))
    ai.register_condition("sees_prey", lambda world, eid: nearest(world, eid, PREY) is not None)
    ai.register_condition("threatened", lambda world, eid: nearest_threat(world, eid) is not None)

    @ai.register_action("flee")
    def flee(world: World, _ctx: TickContext, eid: int) -> Status:
        me, found = world.get(eid, Body), nearest_threat(world, eid)
        me.doing = "flees"
        if found is None:
            return Status.SUCCESS
        away = math.atan2(me.y - found[1].y, me.x - found[1].x)
        step_towards(land, me, me.x + 5 * math.cos(away), me.y + 5 * math.sin(away), SPEED[PREY])
        me.energy -= 0.05
        return Status.RUNNING

    @ai.register_action("drink")
    def drink(world: World, _ctx: TickContext, eid: int) -> Status:
        me = world.get(eid, Body)
        me.doing = "drinks"
        if in_water(land, me.x, me.y, margin=1.5):
            me.water = min(100.0, me.water + 6)
            return Status.SUCCESS if me.water >= 95 else Status.RUNNING
        x, y, _ = min(land.ponds, key=lambda pond: math.hypot(me.x - pond[0], me.y - pond[1]))
        step_towards(land, me, x, y, SPEED[me.kind])
        return Status.RUNNING

    @ai.register_action("hunt")
    def hunt(world: World, _ctx: TickContext, eid: int) -> Status:
        me, found = world.get(eid, Body), nearest(world, eid, PREY)
        me.doing = "hunts"
        if found is None:
            return Status.FAILURE
        return chase(land, bus, world, eid, found[0])

    @ai.register_action("graze")
    def graze(world: World, _ctx: TickContext, eid: int) -> Status:
        me = world.get(eid, Body)
        me.doing = "grazes"
        row, column = round(me.y), round(me.x)
        bite = min(0.25, land.grass[row][column])
        if bite < 0.1 or me.energy >= 98:
            return Status.FAILURE
        land.grass[row][column] -= bite
        me.energy = min(100.0, me.energy + 5 * bite)
        return Status.RUNNING

    @ai.register_action("breed")
    def breed(world: World, ctx: TickContext, eid: int) -> Status:
        me = world.get(eid, Body)
        me.energy -= 35
        x, y = me.x + ctx.random.uniform(-1, 1), me.y + ctx.random.uniform(-1, 1)
        young = add_young(world, me.kind, min(max(x, 0), WIDTH - 1), min(max(y, 0), HEIGHT - 1))
        bus.publish("born", who=young, kind=me.kind)
        return Status.SUCCESS

    @ai.register_action("rest")
    def rest(world: World, _ctx: TickContext, eid: int) -> Status:
        me = world.get(eid, Body)
        me.doing = "rests"
        me.energy = min(100.0, me.energy + 0.09)
        return Status.RUNNING

    @ai.register_action("wander")
    def wander(world: World, ctx: TickContext, eid: int) -> Status:
        me = world.get(eid, Body)
        me.doing = "wanders"
        if step_towards(land, me, me.goal_x, me.goal_y, SPEED[me.kind] * 0.6) or ctx.random.random() < 0.02:
            me.goal_x, me.goal_y = ctx.random.uniform(0, WIDTH - 1), ctx.random.uniform(0, HEIGHT - 1)
        return Status.SUCCESS

    ai.define_tree(
        "prey",
        Selector(
            Sequence(Condition("threatened"), Action("flee"), label="stay alive", memory=False),
            Sequence(Condition("thirsty"), Action("drink"), label="water"),
            Sequence(Condition("ready_to_breed"), Cooldown(Action("breed"), ticks=150), label="young"),
            Action("graze"),
            Action("wander"),
            memory=False,
        ),
    )
    ai.define_tree(
        "predator",
        Selector(
            Sequence(Condition("thirsty"), Action("drink"), label="water"),
            Sequence(Condition("ready_to_breed"), Cooldown(Action("breed"), ticks=400), label="young"),
            Sequence(Condition("hungry"), Condition("sees_prey"), Timeout(Action("hunt"), ticks=60), label="hunt"),
            Sequence(Condition("hungry"), Action("wander"), label="search", memory=False),
            Action("rest"),
            memory=False,
        ),
    )
    return ai


def _can_breed(world: World, body: Body) -> bool:
    number = sum(1 for _, (other,) in world.query(Body) if other.kind == body.kind)
    return body.energy > 85 and body.age > 120 and number < MOST[body.kind]


def add(world: World, kind: str, x: float, y: float) -> int:
    """A creature with its mind."""
    return spawn(world, kind, x, y, BehaviorTree(kind, traced=kind == PREDATOR), Blackboard())
