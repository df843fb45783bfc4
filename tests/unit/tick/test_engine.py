import json
from dataclasses import dataclass

import pytest

from tickmind.base import ConfigError, ManualClock
from tickmind.tick import Engine, SnapshotError, SystemFailedError, TickError


@dataclass
class Count:
    n: int = 0


def counting(world, _ctx):
    for _, (count,) in world.query(Count):
        count.n += 1


def test_the_first_tick_is_one_and_time_follows_it():
    seen = []
    engine = Engine(tps=10, seed=1)
    engine.add_system(lambda _world, ctx: seen.append((ctx.tick_number, ctx.dt, ctx.elapsed)))
    engine.run(2)
    assert seen == [(1, 0.1, 0.1), (2, 0.1, 0.2)]
    assert engine.tick_number == 2


def test_systems_run_in_the_order_of_adding():
    seen = []
    engine = Engine()
    engine.add_system(lambda *_: seen.append("first"))
    engine.add_system(lambda *_: seen.append("second"))
    engine.step()
    assert seen == ["first", "second"]


def test_a_system_added_in_a_tick_runs_from_the_next_one():
    seen = []
    engine = Engine()

    @engine.add_system
    def grow(_world, ctx):
        engine.add_system(lambda *_: seen.append(ctx.tick_number))

    engine.step()
    assert seen == []
    engine.step()
    assert seen == [1]


def test_a_stop_takes_effect_after_the_whole_tick():
    seen = []
    engine = Engine()
    engine.add_system(lambda _world, ctx: ctx.request_stop() if ctx.tick_number == 3 else None)
    engine.add_system(lambda _world, ctx: seen.append(ctx.tick_number))
    engine.run(10)
    assert seen == [1, 2, 3]
    engine.run(1)
    assert seen == [1, 2, 3, 4]


def test_hooks_frame_a_run_but_not_a_step():
    seen = []
    engine = Engine()
    engine.on_start(lambda _world, ctx: seen.append(("start", ctx.tick_number)))
    engine.on_stop(lambda _world, ctx: seen.append(("stop", ctx.tick_number)))
    engine.step()
    assert seen == []
    engine.run(2)
    assert seen == [("start", 1), ("stop", 3)]


def test_a_start_hook_may_stop_the_run_before_its_first_tick():
    engine = Engine()
    engine.on_start(lambda _world, ctx: ctx.request_stop())
    engine.run(5)
    assert engine.tick_number == 0


def test_a_failing_system_is_named_with_its_tick_and_the_next_tick_goes_on():
    engine = Engine()
    stopped = []

    def hunt(_world, ctx):
        if ctx.tick_number == 2:
            raise ZeroDivisionError("nothing to divide")

    engine.world.spawn(Count())
    engine.add_system(counting)
    engine.add_system(hunt)
    engine.on_stop(lambda *_: stopped.append(True))
    with pytest.raises(SystemFailedError, match="tick 2: system hunt raised ZeroDivisionError: nothing") as caught:
        engine.run(5)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert (caught.value.tick_number, caught.value.system) == (2, "hunt")
    assert stopped == [True]
    engine.step()
    assert engine.tick_number == 3
    assert engine.world.get(1, Count).n == 3


def test_a_system_that_fails_in_a_loop_leaves_queries_usable():
    engine = Engine()
    engine.world.spawn(Count())

    def explode(world, _ctx):
        for eid, _ in world.query(Count):
            world.spawn(Count())
            world.despawn(eid)
            raise RuntimeError("in the middle")

    engine.add_system(explode)
    with pytest.raises(SystemFailedError):
        engine.step()
    assert [eid for eid, _ in engine.world.query(Count)] == [2]


def test_a_system_may_not_step_its_own_engine():
    engine = Engine()
    engine.add_system(lambda *_: engine.step())
    with pytest.raises(SystemFailedError, match="must not step the engine") as caught:
        engine.step()
    assert isinstance(caught.value.__cause__, TickError)


def test_run_forever_keeps_time_without_drift():
    clock = ManualClock()
    starts = []
    engine = Engine(tps=20, clock=clock)

    def work(_world, ctx):
        starts.append(round(clock.monotonic(), 9))
        clock.advance(0.013)
        if ctx.tick_number == 100:
            ctx.request_stop()

    engine.add_system(work)
    engine.run_forever()
    assert starts == [round(0.05 * n, 9) for n in range(100)]
    assert engine.statistics().overruns == 0


def test_an_overrun_is_reported_and_caught_up_with():
    clock = ManualClock()
    starts, reports = [], []
    engine = Engine(tps=10, clock=clock)

    def work(_world, ctx):
        starts.append(round(clock.monotonic(), 9))
        clock.advance(0.25 if ctx.tick_number == 2 else 0.01)
        if ctx.tick_number == 6:
            ctx.request_stop()

    engine.add_system(work)
    engine.on_overrun(lambda tick, late: reports.append((tick, round(late, 9))))
    engine.run_forever()
    assert starts == [0.0, 0.1, 0.35, 0.36, 0.4, 0.5]
    assert reports == [(2, 0.15), (3, 0.06)]
    assert engine.statistics().overruns == 2
    assert round(engine.statistics().worst_overrun_s, 9) == 0.15


def test_a_long_stall_slips_instead_of_causing_a_storm_of_ticks():
    clock = ManualClock()
    starts = []
    engine = Engine(tps=10, clock=clock, max_catch_up_ticks=2)

    def work(_world, ctx):
        starts.append(round(clock.monotonic(), 9))
        if ctx.tick_number == 1:
            clock.advance(60)
        if ctx.tick_number == 5:
            ctx.request_stop()

    engine.add_system(work)
    engine.run_forever()
    assert starts == [0.0, 60.0, 60.0, 60.0, 60.1]
    assert round(engine.statistics().slipped_s, 9) == 59.7


def test_the_same_seed_gives_the_same_run():
    def draws(seed):
        engine, seen = Engine(seed=seed), []
        engine.add_system(lambda _world, ctx: seen.append(ctx.random.random()))
        engine.run(5)
        return seen

    assert draws(7) == draws(7) != draws(8)


def test_a_restored_engine_goes_on_as_the_first_one_does():
    def fresh():
        engine = Engine(seed=3)
        engine.world.register_component(Count)

        def chance(world, ctx):
            for _, (count,) in world.query(Count):
                count.n += ctx.random.randrange(1000)

        engine.add_system(chance)
        return engine

    first = fresh()
    first.world.spawn(Count())
    first.run(10)
    saved = json.loads(json.dumps(first.snapshot()))
    first.run(10)
    second = fresh()
    second.restore(saved)
    second.run(10)
    assert second.snapshot() == first.snapshot()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 99}, "format 1, not 99"),
        ({"tps": 30}, "made at 30 ticks per second"),
        ({"random": [3, [1, 2], None]}, "damaged"),
        ({"world": {"format": 1}}, "damaged"),
        ({"world": None}, "format 1, not 'NoneType'"),
    ],
)
def test_a_bad_snapshot_changes_nothing(change, message):
    engine = Engine(seed=1)
    engine.world.spawn(Count(5))
    engine.run(3)
    before = engine.snapshot()
    with pytest.raises(SnapshotError, match=message):
        engine.restore({**before, **change})
    assert engine.snapshot() == before


def test_tps_must_make_sense():
    with pytest.raises(ConfigError, match="ticks per second"):
        Engine(tps=0)
