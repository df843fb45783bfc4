"""What hooks may do: fail without hiding errors or skipping other hooks, decorate, and be removed."""

from dataclasses import dataclass

import pytest

from tickmind.base import ConfigError
from tickmind.tick import BlueprintRegistry, Engine, SignalBus, SnapshotError, SystemFailedError, World


@dataclass
class Position:
    x: int = 0


@dataclass
class Velocity:
    dx: int = 1


def failing(text, error=ValueError):
    def fail(*_):
        raise error(text)

    return fail


def notes(error):
    return " | ".join(getattr(error, "__notes__", ()))


# Starting and stopping


def test_a_failing_stop_hook_does_not_hide_the_error_of_the_run_nor_skip_the_others():
    engine, stopped = Engine(), []
    engine.add_system(failing("no food", LookupError))
    engine.on_stop(failing("first hook"))
    engine.on_stop(failing("second hook"))
    engine.on_stop(lambda *_: stopped.append(True))
    with pytest.raises(SystemFailedError, match="LookupError: no food") as caught:
        engine.run(3)
    assert "ValueError: first hook" in notes(caught.value)
    assert "ValueError: second hook" in notes(caught.value)
    assert stopped == [True]


def test_the_first_failing_stop_hook_is_raised_if_the_run_went_well():
    engine, stopped = Engine(), []
    engine.on_stop(failing("first hook"))
    engine.on_stop(failing("second hook", KeyError))
    engine.on_stop(lambda *_: stopped.append(True))
    with pytest.raises(ValueError, match="first hook") as caught:
        engine.run(1)
    assert "KeyError: 'second hook'" in notes(caught.value)
    assert stopped == [True]


def test_a_failing_start_hook_is_raised_after_all_stop_hooks():
    engine, stopped = Engine(), []
    engine.on_start(failing("can't begin", OSError))
    engine.on_stop(failing("can't end"))
    engine.on_stop(lambda *_: stopped.append(True))
    with pytest.raises(OSError, match="can't begin") as caught:
        engine.run(1)
    assert "ValueError: can't end" in notes(caught.value)
    assert stopped == [True]
    assert engine.tick_number == 0


def test_ctrl_c_in_a_stop_hook_runs_the_other_hooks_and_is_raised():
    engine, stopped = Engine(), []
    engine.on_stop(failing("late"))
    engine.on_stop(failing("", KeyboardInterrupt))
    engine.on_stop(lambda *_: stopped.append(True))
    with pytest.raises(KeyboardInterrupt):
        engine.run(1)
    assert stopped == [True]


def test_a_stopped_engine_runs_again_also_after_an_error():
    engine, seen = Engine(), []
    engine.on_start(lambda _world, ctx: seen.append(f"start {ctx.tick_number}"))
    broken = engine.on_stop(failing("hook"))
    engine.on_stop(lambda _world, ctx: seen.append(f"stop {ctx.tick_number}"))
    with pytest.raises(ValueError, match="hook"):
        engine.run(2)
    engine.off_stop(broken)
    engine.run(2)
    assert seen == ["start 0", "stop 2", "start 2", "stop 4"]


def test_an_error_whose_text_can_not_be_shown_is_still_a_failed_system():
    class MuteError(Exception):
        def __str__(self):
            raise RuntimeError("no words")

    engine = Engine()
    engine.add_system(failing("", lambda _text: MuteError()))
    with pytest.raises(SystemFailedError, match="MuteError, whose text can't be shown"):
        engine.step()


# Attaching and detaching


def test_a_failing_detach_hook_skips_no_other_hook_of_a_despawn():
    world, seen = World(), []
    eid = world.spawn(Position(), Velocity())
    world.on_detach(Position, failing("first"))
    world.on_detach(Position, lambda *_: seen.append("position"))
    world.on_detach(Velocity, failing("second", KeyError))
    world.on_detach(Velocity, lambda *_: seen.append("velocity"))
    with pytest.raises(ValueError, match="first") as caught:
        world.despawn(eid)
    assert "KeyError" in notes(caught.value)
    assert seen == ["position", "velocity"]
    assert not world.alive(eid)


def test_a_failing_attach_hook_skips_no_other_hook():
    world, seen = World(), []
    eid = world.spawn()
    world.on_attach(Position, failing("first"))
    world.on_attach(Position, lambda *_: seen.append("second"))
    with pytest.raises(ValueError, match="first"):
        world.attach(eid, Position())
    assert seen == ["second"]
    assert world.has(eid, Position)


def test_a_failed_spawn_leaves_nothing():
    world, gone = World(), []
    world.on_attach(Velocity, failing("no room"))
    world.on_detach(Position, lambda _world, eid, _component: gone.append(eid))
    with pytest.raises(ValueError, match="no room"):
        world.spawn(Position(), Velocity())
    assert world.entities() == frozenset()
    assert (world.count(Position), world.count(Velocity)) == (0, 0)
    assert gone == [1]
    assert world.snapshot()["components"] == {}


def test_a_spawn_that_can_not_register_a_component_leaves_nothing_and_no_hook_has_run():
    @dataclass
    class Other:
        pass

    Other.__qualname__, Other.__module__ = "Velocity", "elsewhere"
    world, seen = World(), []
    world.register_component(Velocity)
    world.on_attach(Position, lambda *_: seen.append("attached"))
    with pytest.raises(ConfigError, match="two component types are called 'Velocity'"):
        world.spawn(Position(), Other())
    assert (world.entities(), seen) == (frozenset(), [])
    assert world.spawn() == 1


def test_a_blueprint_whose_component_refuses_its_values_is_named_and_spawns_nothing():
    @dataclass
    class Strict:
        hp: int

        def __post_init__(self):
            if self.hp < 0:
                raise ValueError("hp is below 0")

    world, blueprints = World(), BlueprintRegistry()
    world.register_component(Strict, name="Strict")
    blueprints.define("ghost", {"Strict": {"hp": -1}})
    with pytest.raises(ConfigError, match=r"blueprint 'ghost': Strict .*hp is below 0"):
        blueprints.spawn(world, "ghost")
    assert world.entities() == frozenset()


# Before a component goes


def test_on_removing_runs_while_the_component_is_still_there():
    world, seen = World(), []

    @world.on_removing(Position)
    def leaving(world, eid, component):
        seen.append((eid, component.x, world.get(eid, Position) is component, world.alive(eid)))

    first, second, third = world.spawn(Position(1)), world.spawn(Position(2)), world.spawn(Position(3))
    world.detach(first, Position)
    world.despawn(second)
    world.attach(third, Position(30))
    assert seen == [(1, 1, True, True), (2, 2, True, True), (3, 3, True, True)]
    world.attach(third, world.get(third, Position))  # the same object: nothing goes
    world.off_removing(Position, leaving)
    world.despawn(third)
    assert len(seen) == 3


def test_a_removing_hook_may_remove_the_entity_itself():
    world, seen = World(), []

    @world.on_removing(Position)
    def leaving(world, eid, _component):
        seen.append(eid)
        world.detach(eid, Position)
        world.despawn(eid)

    for remove in (world.despawn, lambda eid: world.detach(eid, Position)):
        eid = world.spawn(Position(), Velocity())
        remove(eid)
        assert not world.alive(eid)
    assert seen == [1, 2]


def test_a_failing_removing_hook_stops_no_removal_and_skips_no_hook():
    world, seen = World(), []
    world.on_removing(Position, failing("first"))
    world.on_removing(Position, lambda *_: seen.append("second"))
    world.on_detach(Position, lambda *_: seen.append("detached"))
    eid = world.spawn(Position())
    with pytest.raises(ValueError, match="first"):
        world.despawn(eid)
    assert not world.alive(eid)
    assert seen == ["second", "detached"]


# Restoring


def test_a_failed_restore_leaves_everything_as_it_was():
    engine = Engine(seed=4)
    eid = engine.world.spawn(Position(1))
    engine.run(3)
    saved = engine.snapshot()
    engine.run(2)
    engine.world.get(eid, Position).x = 7
    engine.world.spawn(Velocity())
    engine.random.random()
    before, kept = engine.snapshot(), engine.world.get(eid, Position)
    hooks_saw = []
    engine.world.on_restore(failing("not now"))
    engine.world.on_restore(lambda world: hooks_saw.append(world.get(eid, Position).x))
    with pytest.raises(ValueError, match="not now"):
        engine.restore(saved)
    assert engine.snapshot() == before
    assert engine.world.get(eid, Position) is kept
    assert [found for found, _ in engine.world.query(Velocity)] == [2]
    assert hooks_saw == [1, 7]  # the second time for the state that came back


def test_restore_hooks_see_the_tick_of_the_snapshot():
    engine = Engine(seed=4)
    engine.run(3)
    saved = engine.snapshot()
    engine.run(2)
    seen = []
    hook = engine.world.on_restore(lambda _world: seen.append(engine.tick_number))
    engine.restore(saved)
    engine.world.off_restore(hook)
    engine.restore(saved)
    assert seen == [3]


def test_a_failing_migration_is_named_and_changes_nothing():
    world = World()
    world.register_component(Position, migrate=failing("which field?", KeyError))
    world.spawn(Position(5))
    before = world.snapshot()
    old = {"format": 1, "next_id": 2, "entities": [1], "components": {"Position": {"fields": ["y"], "ids": [1]}}}
    old["components"]["Position"]["rows"] = [[1]]  # type: ignore[index]  # plain data
    with pytest.raises(SnapshotError, match="the migration of Position raised KeyError: 'which field\\?'"):
        world.restore(old)
    assert world.snapshot() == before


def test_a_snapshot_that_is_nested_too_deep_is_an_error_of_ours():
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    table = {"fields": ["x"], "ids": [1], "rows": [[deep]]}
    world = World()
    world.register_component(Position)
    with pytest.raises(SnapshotError, match="nested"):
        world.restore({"format": 1, "next_id": 2, "entities": [1], "components": {"Position": table}})


# Decorators, and taking off


def test_every_registration_of_engine_world_and_bus_works_as_a_decorator():
    engine, bus, seen = Engine(), SignalBus(), []
    world = engine.world

    @world.register_component
    @dataclass
    class Mark:
        pass

    @engine.add_system
    def system(_world, ctx):
        seen.append(f"tick {ctx.tick_number}")

    @engine.on_start
    def start(*_):
        seen.append("start")

    @engine.on_stop
    def stop(*_):
        seen.append("stop")

    @engine.on_overrun
    def overrun(*_):
        seen.append("late")

    @world.on_attach(Mark)
    def attached(*_):
        seen.append("attached")

    @world.on_detach(Mark)
    def detached(*_):
        seen.append("detached")

    @world.on_restore
    def restored(_world):
        seen.append("restored")

    @bus.subscribe("hit")
    def hit(*_):
        seen.append("hit")

    engine.run(1)
    world.despawn(world.spawn(Mark()))
    world.restore(world.snapshot())
    bus.publish("hit")
    bus.flush()
    assert seen == ["start", "tick 1", "stop", "attached", "detached", "restored", "hit"]
    assert world.component_type(Mark.__qualname__) is Mark

    engine.remove_system(system)
    engine.off_start(start)
    engine.off_stop(stop)
    engine.off_overrun(overrun)
    world.off_attach(Mark, attached)
    world.off_detach(Mark, detached)
    world.off_restore(restored)
    bus.unsubscribe("hit", hit)
    seen.clear()
    engine.run(1)
    world.despawn(world.spawn(Mark()))
    world.restore(world.snapshot())
    bus.publish("hit")
    bus.flush()
    assert seen == []


def test_a_removed_system_runs_no_more_from_the_next_tick_on():
    engine, seen = Engine(), []

    def once(_world, ctx):
        seen.append(("once", ctx.tick_number))
        engine.remove_system(once)
        engine.remove_system(later)
        engine.remove_system(print)

    def later(_world, ctx):
        seen.append(("later", ctx.tick_number))

    engine.add_system(once)
    engine.add_system(later)
    engine.run(2)
    assert seen == [("once", 1), ("later", 1)]


async def a_coroutine(*_):
    pass


class AClass:
    def __call__(self, *_):
        pass


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [(a_coroutine, "async def"), (AClass, "a class"), ("move", "can't be called"), (None, "can't be called")],
)
def test_what_can_not_run_as_a_system_or_hook_is_refused_when_added(wrong, problem):
    engine, bus = Engine(), SignalBus()
    adders = [engine.add_system, engine.on_start, engine.on_stop, engine.on_overrun, engine.world.on_restore]
    if wrong is not None:
        adders.append(lambda it: engine.world.on_attach(Position, it))
        adders.append(lambda it: bus.subscribe("hit", it))
    for add in adders:
        with pytest.raises(ConfigError, match=problem):
            add(wrong)


def test_the_types_in_public_signatures_are_exported():
    import tickmind.tick

    for name in ("ComponentHook", "EngineHook", "Filter", "Migration", "OverrunHook", "QueryTerm", "RestoreHook"):
        assert name in tickmind.tick.__all__
    assert "SignalHandler" in tickmind.tick.__all__
