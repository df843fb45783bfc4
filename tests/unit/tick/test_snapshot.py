import json
import math
from collections import deque
from dataclasses import dataclass, field
from enum import Enum, IntEnum, StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.tick import SnapshotError, World


class Mood(Enum):
    CALM = "calm"
    ANGRY = ("very", 3)


class Level(IntEnum):
    LOW = 1


class Team(StrEnum):
    RED = "red"


@dataclass(frozen=True)
class Vec:
    x: float
    y: float


@dataclass
class Body:
    at: Vec
    mood: Mood = Mood.CALM
    path: list[Vec] = field(default_factory=list)
    best: Vec | None = None


@dataclass(slots=True)
class Bag:
    items: dict[str, Any]


@dataclass(kw_only=True)
class Named:
    name: str
    length: int = field(init=False, default=0)

    def __post_init__(self):
        self.length = len(self.name)


@dataclass
class Tag:
    pass


KINDS = (Body, Bag, Named, Tag)

vecs = st.builds(Vec, st.floats(allow_nan=False), st.floats(allow_nan=False))
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(max_size=8)
    | st.sampled_from([*Mood, *Level, *Team])
    | vecs
)
hashables = st.integers() | st.text() | st.tuples(st.integers(), st.text()) | st.sampled_from(Mood) | vecs
values: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(), inner, max_size=4)
        | st.dictionaries(hashables, inner, max_size=4)
        | st.lists(inner, max_size=3).map(tuple)
        | st.frozensets(hashables, max_size=3)
        | st.sets(hashables, max_size=3)
        | st.builds(deque, st.lists(inner, max_size=3), maxlen=st.none() | st.integers(3, 9))
    ),
    max_leaves=12,
)
named = st.builds(Named, name=st.text(max_size=5))
bodies = st.builds(Body, vecs, st.sampled_from(Mood), st.lists(vecs, max_size=3), st.none() | vecs)
components = st.lists(
    bodies | st.builds(Bag, st.dictionaries(st.text(), values, max_size=4)) | named | st.just(Tag()), max_size=4
)


def world_of(kinds=(*KINDS, Level, Team, Mood, Vec)):
    world = World()
    for kind in kinds:
        world.register_component(kind)
    return world


def exact(value):
    """The value with all its types, because 1 == True and two deques of different lengths can be equal."""
    match value:
        case dict():
            return "dict", [(exact(key), exact(item)) for key, item in value.items()]
        case set() | frozenset():
            return type(value).__name__, sorted(repr(exact(item)) for item in value)
        case list() | tuple() | deque():
            return type(value).__name__, getattr(value, "maxlen", None), [exact(item) for item in value]
        case Body() | Bag() | Named() | Tag():
            return type(value).__name__, [exact(getattr(value, name)) for name in value.__dataclass_fields__]
    return type(value).__name__, repr(value)


def through_json(data):
    return json.loads(json.dumps(data, allow_nan=False))


@given(st.lists(components, max_size=6), st.sets(st.integers(1, 6)))
@pytest.mark.slow
def test_restore_undoes_snapshot_for_any_world(entities, gone):
    world = world_of()
    for parts in entities:
        world.spawn(*parts)
    for eid in gone:
        world.despawn(eid)
    copy = world_of()
    copy.restore(through_json(world.snapshot()))
    assert copy.entities() == world.entities()
    for kind in KINDS:
        theirs, ours = list(copy.query(kind)), list(world.query(kind))
        assert theirs == ours
        assert exact(theirs) == exact(ours)
    assert copy.snapshot() == world.snapshot()
    assert copy.spawn() == world.spawn()


def test_numbers_that_json_lacks_survive():
    world = world_of()
    eid = world.spawn(Bag({"nan": math.nan, "inf": math.inf, "low": -math.inf, "zero": -0.0}))
    copy = world_of()
    copy.restore(through_json(world.snapshot()))
    items = copy.get(eid, Bag).items
    assert math.isnan(items["nan"])
    assert (items["inf"], items["low"], math.copysign(1, items["zero"])) == (math.inf, -math.inf, -1)


def test_keys_that_look_like_our_own_marks_survive():
    world = world_of()
    eid = world.spawn(Bag({"$type": ["Vec", {}], "$tuple": [1]}))
    copy = world_of()
    copy.restore(through_json(world.snapshot()))
    assert copy.get(eid, Bag).items == {"$type": ["Vec", {}], "$tuple": [1]}


def test_registering_a_component_registers_what_its_fields_are_made_of():
    world = world_of((Body,))
    eid = world.spawn(Body(Vec(1, 2), Mood.ANGRY, [Vec(3, 4)]))
    copy = world_of((Body,))
    copy.restore(through_json(world.snapshot()))
    assert copy.get(eid, Body) == Body(Vec(1, 2), Mood.ANGRY, [Vec(3, 4)])


def test_post_init_does_not_run_again():
    world = world_of((Named,))
    eid = world.spawn(Named(name="abc"))
    world.get(eid, Named).length = 77
    copy = world_of((Named,))
    copy.restore(world.snapshot())
    assert copy.get(eid, Named).length == 77


def test_an_unregistered_type_is_named_with_its_place():
    world = World()
    world.spawn(Bag({"target": [Vec(1, 2)]}))
    with pytest.raises(
        SnapshotError, match=r"Bag.items of entity 1\['target'\]: Vec is not registered; call register_component\(Vec\)"
    ):
        world.snapshot()


def test_what_is_no_data_is_named_with_its_place():
    world = World()
    world.spawn(Bag({"f": open}))
    with pytest.raises(
        SnapshotError, match=r"Bag.items of entity 1\['f'\]: builtin_function_or_method can't be written"
    ):
        world.snapshot()
    world = World()
    world.spawn(object())
    with pytest.raises(SnapshotError, match="entity 1: object can't be written to a snapshot"):
        world.snapshot()


def test_a_value_that_holds_itself_is_an_error():
    loop: dict[str, Any] = {}
    loop["self"] = loop
    world = World()
    world.spawn(Bag(loop))
    with pytest.raises(SnapshotError, match="part of itself"):
        world.snapshot()


def test_restoring_an_unknown_type_names_it_and_changes_nothing():
    world = world_of()
    world.spawn(Tag())
    saved = world.snapshot()
    other = World()
    other.spawn(Bag({}))
    before = other.snapshot()
    with pytest.raises(SnapshotError, match="'Tag', which is not registered"):
        other.restore(saved)
    assert other.snapshot() == before


@given(st.data())
def test_a_damaged_snapshot_is_an_error_and_changes_nothing(data):
    world = world_of()
    world.spawn(Body(Vec(1, 2)), Tag())
    world.spawn(Named(name="x"))
    saved = through_json(world.snapshot())
    node, key = saved, data.draw(st.sampled_from(["next_id", "entities", "components"]))
    while isinstance(node[key], (dict, list)) and node[key] and data.draw(st.booleans()):
        node = node[key]
        key = data.draw(st.sampled_from(sorted(node) if isinstance(node, dict) else range(len(node))))
    node[key] = data.draw(
        st.none() | st.booleans() | st.integers(-1, 3) | st.text(max_size=2) | st.just([]) | st.just({})
    )
    before = world.snapshot()
    try:
        world.restore(saved)
    except SnapshotError:
        assert world.snapshot() == before


def test_an_older_snapshot_gets_defaults_for_new_fields():
    world = world_of()
    world.restore(
        {
            "format": 1,
            "next_id": 5,
            "entities": [4],
            "components": {
                "Body": {"fields": ["at"], "ids": [4], "rows": [[{"$type": ["Vec", {"x": 1.0, "y": 2.0}]}]]}
            },
        }
    )
    assert world.get(4, Body) == Body(Vec(1.0, 2.0))


def old(fields, row):
    table = {"fields": fields, "ids": [1], "rows": [row]}
    return {"format": 1, "next_id": 2, "entities": [1], "components": {"Named": table}}


def test_a_field_without_default_or_a_field_that_is_gone_needs_a_migration():
    world = world_of()
    with pytest.raises(SnapshotError, match=r"Named.name is not in the snapshot.*migrate="):
        world.restore(old(["length"], [3]))
    with pytest.raises(SnapshotError, match=r"Named no longer has the field 'nick'.*migrate="):
        world.restore(old(["name", "nick"], ["a", "b"]))


def test_a_migration_turns_old_fields_into_todays():
    world = World()
    world.register_component(Named, migrate=lambda fields: {"name": fields["nick"], "length": 9})
    world.restore(old(["nick"], ["zed"]))
    assert (world.get(1, Named).name, world.get(1, Named).length) == ("zed", 9)


def test_restoring_ends_running_loops_and_tells_whoever_asked():
    world = world_of()
    world.spawn(Tag())
    world.spawn(Tag())
    told: list[World] = []
    world.on_restore(told.append)
    seen = []
    for eid, _ in world.query(Tag):
        seen.append(eid)
        world.restore(world.snapshot())
    assert seen == [1]
    assert told == [world]
    assert [eid for eid, _ in world.query(Tag)] == [1, 2]
