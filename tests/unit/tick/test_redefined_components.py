"""Component classes that are defined anew, as when a cell of a notebook runs again."""

import json
from dataclasses import dataclass, make_dataclass
from typing import Any

import pytest

from tickmind.base import ConfigError
from tickmind.tick import AnyOf, Engine, Not, World


class Notebook:
    """Runs cells in one namespace."""

    def __init__(self):
        self.names: dict[str, Any] = {"__name__": "a_notebook"}
        self.run("from dataclasses import dataclass, field\nfrom enum import Enum")

    def run(self, cell):
        exec(cell, self.names)

    def __getattr__(self, name):
        return self.names[name]


POSITION = "@dataclass\nclass Position:\n    x: int = 0\n"
WIDER = POSITION + "    y: int = 5\n"
VELOCITY = "@dataclass\nclass Velocity:\n    dx: int = 1\n"


def notebook():
    book, world = Notebook(), World()
    book.run(POSITION + VELOCITY)
    return book, world


def test_a_class_that_is_defined_anew_replaces_the_old_one():
    book, world = notebook()
    old = book.Position
    first = world.spawn(book.Position(1))
    book.run(WIDER)
    second = world.spawn(book.Position(2, 3))
    assert [(eid, position) for eid, (position,) in world.query(book.Position)] == [
        (first, book.Position(1, 5)),
        (second, book.Position(2, 3)),
    ]
    assert [eid for eid, _ in world.query(old)] == [first, second]
    assert world.get(first, old) is world.get(first, book.Position)
    assert world.component_type("Position") is book.Position


def test_the_new_class_is_found_before_anything_is_attached():
    for ask in (
        lambda world, kind: [eid for eid, _ in world.query(kind)],
        lambda world, kind: [eid for eid, _ in world.query(AnyOf(kind))],
        lambda world, kind: [1] if world.get(1, kind).y == 5 else [],
        lambda world, kind: [1] if world.has(1, kind) else [],
        lambda world, kind: [1] * world.count(kind),
    ):
        book, world = notebook()
        world.spawn(book.Position(1))
        book.run(WIDER)
        assert ask(world, book.Position) == [1]


def test_queries_that_were_asked_before_follow():
    book, world = notebook()
    old = book.Position
    eid = world.spawn(book.Position(1), book.Velocity())
    assert world.count(old, book.Velocity) == 1
    assert world.count(Not(old)) == 0
    book.run(WIDER)
    world.attach(eid, book.Position(9))
    [(_, (position, _))] = list(world.query(old, book.Velocity))
    assert position == book.Position(9, 5)
    world.detach(eid, book.Position)
    assert (world.count(old, book.Velocity), world.count(Not(old)), world.count(Not(book.Position))) == (0, 1, 1)


def test_hooks_of_the_old_class_run_for_the_new_one_and_the_other_way_round():
    book, world = notebook()
    old = book.Position
    seen: list[tuple[Any, ...]] = []
    world.on_attach(old, lambda _world, eid, component: seen.append(("on", eid, component)))
    world.on_detach(old, lambda _world, eid, component: seen.append(("off", eid, component)))
    eid = world.spawn(book.Position(1))
    book.run(WIDER)
    late = world.on_attach(book.Position, lambda _world, eid, _component: seen.append(("late", eid)))
    world.attach(eid, book.Position(2))
    world.off_attach(old, late)
    world.despawn(eid)
    new = book.Position
    assert seen == [("on", 1, old(1)), ("on", 1, new(2, 5)), ("late", 1), ("off", 1, new(2, 5))]


def test_an_instance_of_the_old_class_becomes_a_new_one_when_it_is_attached():
    book, world = notebook()
    kept = book.Position(4)
    world.spawn(book.Position(1))
    book.run(WIDER)
    world.spawn(book.Position())
    eid = world.spawn(kept)
    assert world.get(eid, book.Position) == book.Position(4, 5)


def test_many_runs_of_a_cell_leave_one_class():
    book, world = notebook()
    classes = [book.Position]
    world.spawn(book.Position(1))
    for place in range(5):
        book.run(POSITION + f"    more{place}: int = {place}\n")
        classes.append(book.Position)
        world.spawn(book.Position(place))
    assert {world.count(kind) for kind in classes} == {6}
    world.attach(1, classes[1](3))
    assert world.get(1, book.Position) == book.Position(3, 4)


def test_snapshots_go_by_the_newest_class():
    book = Notebook()
    book.run(POSITION + VELOCITY)
    engine = Engine(seed=1)
    eid = engine.world.spawn(book.Position(1), book.Velocity())
    early = json.loads(json.dumps(engine.snapshot()))
    book.run(WIDER)
    engine.world.spawn(book.Position(2, 9))
    late = json.loads(json.dumps(engine.snapshot()))
    assert late["world"]["components"]["Position"]["rows"] == [[1, 5], [2, 9]]
    engine.restore(early)
    assert engine.world.get(eid, book.Position) == book.Position(1, 5)
    engine.restore(late)
    assert engine.world.count(book.Position) == 2


NESTED = """
class Mood(Enum):
    CALM = 1
    ANGRY = 2

@dataclass
class Vec:
    x: int = 0

@dataclass
class Body:
    at: Vec = field(default_factory=Vec)
    mood: Mood = Mood.ANGRY
"""


def test_dataclasses_and_enums_in_fields_are_replaced_too():
    book, world = Notebook(), World()
    book.run(NESTED)
    eid = world.spawn(book.Body(book.Vec(3)))
    book.run(NESTED.replace("x: int = 0", "x: int = 0\n    y: int = 7"))
    world.spawn(book.Body())
    copy = json.loads(json.dumps(world.snapshot()))  # the first body still holds a Vec and a Mood of the old cell
    world.restore(copy)
    assert world.get(eid, book.Body) == book.Body(book.Vec(3, 7), book.Mood.ANGRY)


def test_a_field_that_is_gone_is_dropped_and_a_migration_decides_if_there_is_one():
    book, world = notebook()
    world.spawn(book.Position(4))
    book.run(POSITION.replace("x", "z"))
    assert world.get(1, book.Position) == book.Position(0)
    book.run(POSITION.replace("x", "w"))
    world.register_component(book.Position, migrate=lambda fields: {"w": fields["z"] + 10})
    assert world.get(1, book.Position) == book.Position(10)


def test_a_new_field_without_default_is_refused_and_changes_nothing():
    book, world = notebook()
    old = book.Position
    world.spawn(book.Position(1))
    before = world.snapshot()
    book.run("@dataclass\nclass Position:\n    name: str\n")
    for attempt in (lambda: world.spawn(book.Position("a")), lambda: world.query(book.Position)):
        with pytest.raises(ConfigError, match=r"Position was redefined, .* default"):
            attempt()
        assert world.snapshot() == before
    assert world.component_type("Position") is old
    world.despawn(1)
    assert world.get(world.spawn(book.Position("a")), book.Position).name == "a"


def test_a_plain_class_that_is_defined_anew_keeps_its_attributes():
    book, world = Notebook(), World()
    cell = "class Tag:\n    def words(self):\n        return '{}'\n"
    book.run(cell.format("old"))
    tag = book.Tag()
    tag.colour = "red"
    eid = world.spawn(tag)
    book.run(cell.format("new"))
    found = world.get(eid, book.Tag)
    assert (found.colour, found.words()) == ("red", "new")


def test_a_name_given_to_the_old_class_is_that_of_the_new_one():
    book, world = notebook()
    world.register_component(book.Position, name="Place")
    world.spawn(book.Position(1))
    book.run(WIDER)
    world.spawn(book.Position(2))
    assert list(world.snapshot()["components"]) == ["Place"]
    assert world.component_type("Place") is book.Position


def test_different_classes_of_one_name_are_still_refused():
    def made(default):
        @dataclass
        class Local:
            n: int = default

        return Local

    world = World()
    world.spawn(made(1)())
    with pytest.raises(ConfigError, match="two component types are called"):
        world.spawn(made(2)())
    world.spawn(make_dataclass("Made", [("n", int)])(1))
    with pytest.raises(ConfigError, match="two component types are called 'Made'"):
        world.spawn(make_dataclass("Made", [("n", int)])(1))
    book, other = notebook()
    elsewhere = Notebook()
    elsewhere.names["__name__"] = "another_notebook"
    elsewhere.run(POSITION)
    other.spawn(book.Position())
    with pytest.raises(ConfigError, match="a_notebook and another_notebook"):
        other.spawn(elsewhere.Position())
