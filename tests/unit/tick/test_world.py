from dataclasses import dataclass

import pytest

from tickmind.tick import AnyOf, DeadEntityError, MissingComponentError, Not, World


@dataclass
class Position:
    x: int = 0


@dataclass
class Velocity:
    dx: int = 1


@dataclass
class Frozen:
    pass


def ids(found):
    return [entity_id for entity_id, _ in found]


def test_ids_start_at_one_and_are_never_used_twice():
    world = World()
    first = world.spawn()
    world.despawn(first)
    assert (first, world.spawn()) == (1, 2)


def test_a_component_is_found_until_it_is_detached():
    world = World()
    eid = world.spawn(Position(3))
    assert world.get(eid, Position).x == 3
    world.detach(eid, Position)
    assert not world.has(eid, Position)
    assert world.find(eid, Position) is None
    with pytest.raises(MissingComponentError, match="entity 1 has no Position"):
        world.get(eid, Position)


def test_a_dead_entity_takes_no_component():
    world = World()
    eid = world.spawn()
    world.despawn(eid)
    world.despawn(eid)
    with pytest.raises(DeadEntityError, match=r"entity 1 is not alive, so Position can't be attached"):
        world.attach(eid, Position())
    with pytest.raises(KeyError):
        world.get(eid, Position)


def test_detaching_what_is_not_there_changes_nothing():
    world = World()
    eid = world.spawn(Position())
    world.detach(eid, Velocity)
    world.detach(99, Position)
    assert world.has(eid, Position)


def test_queries_yield_in_ascending_id_whatever_the_order_of_attaching():
    world = World()
    eids = [world.spawn() for _ in range(5)]
    for eid in (eids[3], eids[0], eids[4]):
        world.attach(eid, Position())
    assert ids(world.query(Position)) == [eids[0], eids[3], eids[4]]
    world.attach(eids[1], Position())
    assert ids(world.query(Position)) == [eids[0], eids[1], eids[3], eids[4]]


def test_not_and_any_of_narrow_a_query():
    world = World()
    a = world.spawn(Position())
    b = world.spawn(Position(), Velocity())
    c = world.spawn(Frozen())
    d = world.spawn()
    assert ids(world.query(Position, Not(Velocity))) == [a]
    assert ids(world.query(AnyOf(Velocity, Frozen))) == [b, c]
    assert list(world.query(Not(Position))) == [(c, ()), (d, ())]
    world.attach(a, Velocity())
    world.detach(b, Velocity)
    assert ids(world.query(Position, Not(Velocity))) == [b]
    e = world.spawn()
    assert ids(world.query(Not(Position))) == [c, d, e]


def test_count_agrees_with_the_query():
    world = World()
    for _ in range(3):
        world.spawn(Position())
    assert world.count(Position) == 3
    world.despawn(2)
    assert world.count(Position) == len(list(world.query(Position))) == 2


def test_a_query_needs_terms_that_are_types_or_filters():
    with pytest.raises(TypeError, match=r"entities\(\)"):
        World().query()
    with pytest.raises(TypeError, match="not 'Position'"):
        World().query("Position")  # type: ignore[call-overload]  # the mistake under test
    with pytest.raises(ValueError, match="AnyOf needs"):
        AnyOf()


def test_what_is_despawned_in_a_loop_is_not_visited_any_more():
    world = World()
    eids = [world.spawn(Position()) for _ in range(5)]
    seen = []
    for eid, _ in world.query(Position):
        seen.append(eid)
        world.despawn(eids[3])
        world.despawn(eids[0])
    assert seen == [eids[0], eids[1], eids[2], eids[4]]


def test_what_is_spawned_or_attached_in_a_loop_waits_for_the_next():
    world = World()
    bare = world.spawn()
    eids = [world.spawn(Position()) for _ in range(2)]
    seen, born = [], []
    for eid, _ in world.query(Position):
        seen.append(eid)
        born.append(world.spawn(Position()))
        world.attach(bare, Position())
    assert seen == eids
    assert ids(world.query(Position)) == sorted([bare, *eids, *born])


def test_what_is_detached_and_attached_again_in_a_loop_waits_for_the_next():
    world = World()
    eids = [world.spawn(Position()) for _ in range(3)]
    seen = []
    for eid, _ in world.query(Position):
        seen.append(eid)
        if eid == eids[0]:
            world.detach(eids[2], Position)
            world.attach(eids[2], Position())
    assert seen == eids[:2]
    assert ids(world.query(Position)) == eids


def test_a_component_replaced_in_a_loop_is_seen_as_it_is_now():
    world = World()
    first, second = world.spawn(Position(1)), world.spawn(Position(2))
    seen = []
    for eid, (position,) in world.query(Position):
        seen.append(position.x)
        if eid == first:
            world.attach(second, Position(20))
    assert seen == [1, 20]


def test_an_inner_loop_sees_what_the_outer_one_added_and_both_skip_the_dead():
    world = World()
    eids = [world.spawn(Position()) for _ in range(4)]
    outer, inner = [], []
    for eid, _ in world.query(Position):
        outer.append(eid)
        if eid == eids[0]:
            born = world.spawn(Position())
            for other, _ in world.query(Position):
                inner.append(other)
                if other == eids[0]:
                    world.despawn(eids[2])
    assert outer == [eids[0], eids[1], eids[3]]
    assert inner == [eids[0], eids[1], eids[3], born]


def test_a_query_that_is_asked_before_a_change_and_read_after_it_skips_the_dead():
    world = World()
    eids = [world.spawn(Position()) for _ in range(3)]
    found = world.query(Position)
    world.despawn(eids[1])
    born = world.spawn(Position())
    assert ids(found) == [eids[0], eids[2]]
    assert ids(world.query(Position)) == [eids[0], eids[2], born]


def test_a_loop_that_is_left_early_is_forgotten():
    world = World()
    for _ in range(3):
        world.spawn(Position())
    for _ in world.query(Position):
        break
    born = world.spawn(Position())
    query = next(iter(world._queries.values()))
    assert not query._rows.being_read()
    assert ids(world.query(Position))[-1] == born


def test_hooks_run_after_the_change_and_for_despawning_too():
    world = World()
    calls = []
    world.on_attach(Position, lambda w, eid, c: calls.append(("attach", eid, c.x, w.has(eid, Position))))
    world.on_detach(Position, lambda w, eid, c: calls.append(("detach", eid, c.x, w.has(eid, Position))))
    eid = world.spawn(Position(1))
    world.attach(eid, Position(2))
    world.despawn(eid)
    assert calls == [("attach", 1, 1, True), ("attach", 1, 2, True), ("detach", 1, 2, False)]


def test_hooks_can_be_taken_off():
    world = World()
    calls = []

    def hook(_world, eid, _component):
        calls.append(eid)

    world.on_attach(Position, hook)
    world.on_detach(Position, hook)
    world.off_attach(Position, hook)
    world.off_detach(Position, hook)
    world.off_detach(Velocity, hook)
    world.despawn(world.spawn(Position()))
    assert calls == []


def test_a_hook_that_raises_leaves_the_world_consistent():
    world = World()

    def hook(_world, _eid, _component):
        raise RuntimeError("no")

    assert ids(world.query(Position)) == []
    world.on_attach(Position, hook)
    with pytest.raises(RuntimeError):
        world.spawn(Position())
    assert ids(world.query(Position)) == []
    assert world.spawn() == 2


def test_two_types_of_one_name_need_another_name():
    @dataclass
    class Other:
        pass

    Other.__qualname__, Other.__module__ = "Position", "elsewhere"
    world = World()
    world.spawn(Position())
    with pytest.raises(ValueError, match=r"two component types are called 'Position'.*name=\.\.\."):
        world.spawn(Other())
    world.register_component(Other, name="OtherPosition")
    assert world.has(world.spawn(Other()), Other)
