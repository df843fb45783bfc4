"""The tick engine and the tactical layer beside esper, tcod-ecs and py_trees."""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field

import esper
import py_trees
import tcod.ecs

from benchmarks.harness import Result, against_limit, compare
from tickmind.ai import Action, AIManager, BehaviorTree, Condition, Inverter, Selector, Sequence, Status, make_bt_system
from tickmind.tick import Engine, World

ENTITIES = 100_000
CHANGES = ENTITIES // 100
TREES = 1_000


@dataclass
class Position:
    """Where something is."""

    x: float = 0.0
    y: float = 0.0


@dataclass
class Velocity:
    """How fast it moves."""

    x: float = 1.0
    y: float = 1.0


@dataclass
class Needs:
    """What it lacks."""

    hunger: float = 0.2
    tags: list[str] = field(default_factory=list)


def _our_world(*kinds: type) -> World:
    world = World()
    for _ in range(ENTITIES):
        world.spawn(*(kind() for kind in kinds))
    return world


def _update_ours(world: World) -> Callable[[], None]:
    def update() -> None:
        for _, (position, velocity) in world.query(Position, Velocity):
            position.x += velocity.x
            position.y += velocity.y

    return update


def _update_esper() -> None:
    for _, (position, velocity) in esper.get_components(Position, Velocity):
        position.x += velocity.x
        position.y += velocity.y


def our_query() -> Callable[[], None]:
    """Our world, and the loop over it."""
    return _update_ours(_our_world(Position, Velocity))


def esper_query() -> Callable[[], None]:
    """The same in esper."""
    for _ in range(ENTITIES):
        esper.create_entity(Position(), Velocity())
    return _update_esper


def tcod_query() -> Callable[[], None]:
    """The same in tcod-ecs."""
    registry = tcod.ecs.Registry()
    for _ in range(ENTITIES):
        entity = registry.new_entity()
        entity.components[Position] = Position()
        entity.components[Velocity] = Velocity()

    def update() -> None:
        for position, velocity in registry.Q[Position, Velocity]:
            position.x += velocity.x
            position.y += velocity.y

    return update


def query_warm() -> list[Result]:
    """Iterate over two components of 100,000 entities and update both."""
    return [
        compare(
            "engine/query-warm", our_query, esper_query, peer_name="esper, cache warm", bar=1.0, rounds=31, warm_up=12
        ),
        compare("engine/query-warm-tcod", our_query, tcod_query, peer_name="tcod-ecs", bar=1.0, rounds=7),
    ]


def our_churn() -> Callable[[], None]:
    """Our world, some changes and the loop."""
    world = _our_world(Position, Velocity)
    update = _update_ours(world)
    chance = random.Random(1)

    def work() -> None:
        for entity in chance.sample(range(1, ENTITIES + 1), CHANGES // 2):
            world.detach(entity, Velocity)
        for entity in chance.sample(range(1, ENTITIES + 1), CHANGES // 2):
            world.attach(entity, Velocity())
        update()

    return work


def esper_churn() -> Callable[[], None]:
    """The same in esper."""
    ids = [esper.create_entity(Position(), Velocity()) for _ in range(ENTITIES)]
    chance = random.Random(1)

    def work() -> None:
        for entity in chance.sample(ids, CHANGES // 2):
            if esper.has_component(entity, Velocity):
                esper.remove_component(entity, Velocity)
        for entity in chance.sample(ids, CHANGES // 2):
            esper.add_component(entity, Velocity())
        _update_esper()

    return work


def query_churn() -> list[Result]:
    """The same with 1 % of the entities detached or attached between iterations."""
    return [compare("engine/query-churn", our_churn, esper_churn, peer_name="esper", bar=10.0, rounds=7, warm_up=1)]


@dataclass
class Mind:
    """What the leaves of the tree look at."""

    threatened: bool = False
    hungry: bool = True
    food_near: bool = False
    tired: bool = True
    home_near: bool = True
    slept: int = 0


def our_trees() -> Callable[[], None]:
    """Our trees, and a tick of all."""
    return _our_trees().step


def their_trees() -> Callable[[], None]:
    """The same in py_trees, one tree of objects for each."""
    roots = [_their_tree(Mind()) for _ in range(TREES)]

    def tick() -> None:
        for root in roots:
            root.tick_once()

    tick()
    nodes = list(roots[0].iterate())
    visited = [node for node in nodes if node.status is not py_trees.common.Status.INVALID]
    assert (len(nodes), len(visited)) == (14, 10)
    return tick


def trees() -> list[Result]:
    """1,000 entities, each with a tree of 14 nodes of which 10 are visited."""
    return [compare("engine/trees", our_trees, their_trees, peer_name="py_trees", bar=10.0, rounds=11)]


def _our_trees() -> Engine:
    manager = AIManager()
    for name in ("threatened", "hungry", "food_near", "tired", "home_near"):
        manager.register_condition(name, lambda world, eid, name=name: getattr(world.get(eid, Mind), name))

    @manager.register_action("sleep")
    def sleep(world: World, _ctx: object, eid: int) -> Status:
        world.get(eid, Mind).slept += 1
        return Status.SUCCESS

    for name in ("flee", "eat", "wander"):
        manager.register_action(name, sleep)
    manager.define_tree(
        "life",
        Selector(
            Sequence(Condition("threatened"), Action("flee"), memory=False),
            Sequence(Condition("hungry"), Condition("food_near"), Action("eat"), memory=False),
            Sequence(Condition("tired"), Condition("home_near"), Action("sleep"), memory=False),
            Inverter(Action("wander")),
            memory=False,
        ),
    )
    engine = Engine(seed=1)
    for _ in range(TREES):
        engine.world.spawn(BehaviorTree("life"), Mind())
    engine.add_system(make_bt_system(manager))
    return engine


class _Leaf(py_trees.behaviour.Behaviour):  # type: ignore[misc]  # py_trees is not typed
    def __init__(self, name: str, mind: Mind) -> None:
        super().__init__(name)
        self.mind = mind


class _Asks(_Leaf):
    def update(self) -> py_trees.common.Status:
        return py_trees.common.Status.SUCCESS if getattr(self.mind, self.name) else py_trees.common.Status.FAILURE


class _Does(_Leaf):
    def update(self) -> py_trees.common.Status:
        self.mind.slept += 1
        return py_trees.common.Status.SUCCESS


def _their_tree(mind: Mind) -> py_trees.behaviour.Behaviour:
    def sequence(*leaves: _Leaf) -> py_trees.composites.Sequence:
        return py_trees.composites.Sequence("all", memory=False, children=list(leaves))

    return py_trees.composites.Selector(
        "life",
        memory=False,
        children=[
            sequence(_Asks("threatened", mind), _Does("flee", mind)),
            sequence(_Asks("hungry", mind), _Asks("food_near", mind), _Does("eat", mind)),
            sequence(_Asks("tired", mind), _Asks("home_near", mind), _Does("sleep", mind)),
            py_trees.decorators.Inverter("not", _Does("wander", mind)),
        ],
    )


def snapshots() -> list[Result]:
    """A snapshot of 100,000 entities with 3 components, and its restoration."""
    world = _our_world(Position, Velocity, Needs)
    data = json.loads(json.dumps(world.snapshot()))
    other = World()
    for kind in (Position, Velocity, Needs):
        other.register_component(kind)
    return [
        against_limit("engine/snapshot", world.snapshot, limit_s=2.0),
        against_limit("engine/restore", lambda: other.restore(data), limit_s=2.0),
    ]


BENCHMARKS = (query_warm, query_churn, trees, snapshots)
