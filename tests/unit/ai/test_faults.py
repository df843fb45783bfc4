"""Supplied functions that fail, and entities that go while their tree runs: nothing leaves the tick."""

import asyncio
import gc
import json
import logging
import math
import weakref
from fractions import Fraction

import pytest

from tickmind.ai import (
    Action,
    ActionError,
    AIManager,
    BehaviorTree,
    Blackboard,
    Condition,
    Consideration,
    ConsiderationError,
    Cooldown,
    Parallel,
    Selector,
    Sequence,
    State,
    StateMachine,
    Status,
    UtilityAgent,
    UtilitySelector,
    curves,
    make_bt_system,
    make_state_system,
    make_utility_system,
)
from tickmind.base import ConfigError
from tickmind.tick import Engine, World

S, F, R = Status.SUCCESS, Status.FAILURE, Status.RUNNING
A, B, C = Action("a"), Action("b"), Action("c")


class Land:
    """Entities with trees; what ran is in `calls`, what was halted in `halted`, errors in `errors`."""

    def __init__(self, root, entities=1, **answers):
        self.calls: list[tuple[str, int]] = []
        self.halted: list[tuple[str, int]] = []
        self.errors: list[tuple[int, str, str, int]] = []
        self.ends: list[tuple[int, Status]] = []
        self.answers = answers
        self.manager = AIManager()
        self.manager.on_error(lambda *error: self.errors.append(error))
        for name in answers:
            self.manager.register_action(name, self.action(name), on_halt=self.halt(name))
        self.manager.define_tree("main", root)
        self.engine = Engine(seed=1)
        self.world = self.engine.world
        self.eids = [self.world.spawn(BehaviorTree("main"), Blackboard()) for _ in range(entities)]
        self.engine.add_system(
            make_bt_system(self.manager, on_status=lambda _w, _c, eid, status: self.ends.append((eid, status)))
        )

    def action(self, name):
        def act(world, ctx, eid):
            self.calls.append((name, eid))
            answer = self.answers[name]
            return answer(world, ctx, eid) if callable(answer) else answer

        return act

    def halt(self, name):
        def halted(world, _ctx, eid):
            assert world.has(eid, BehaviorTree)  # all is still there
            self.halted.append((name, eid))

        return halted

    def tree(self, eid=1):
        return self.world.get(eid, BehaviorTree)


def raiser(error):
    def fail(*_args, **_kwargs):
        raise error

    return fail


class HostileError(Exception):
    def __str__(self):
        raise RuntimeError("no words")


# One entity's mistake is nobody else's


@pytest.mark.parametrize("error", [ValueError("oh"), HostileError(), asyncio.CancelledError(), RecursionError("deep")])
def test_an_action_that_raises_is_reported_and_the_others_go_on(error):
    land = Land(A, entities=3, a=lambda _w, _c, eid: raiser(error)() if eid == 2 else S)
    land.engine.run(2)
    assert land.calls == [("a", 1), ("a", 2), ("a", 3)] * 2
    assert [(eid, kind, tick) for eid, kind, _, tick in land.errors] == [(2, "action_error", 1), (2, "action_error", 2)]
    assert f"action 'a' raised {type(error).__name__}" in land.errors[0][2]
    assert [land.tree(eid).status for eid in land.eids] == [S, F, S]
    assert land.ends[:3] == [(1, S), (2, F), (3, S)]


def test_a_condition_that_raises_is_reported_and_does_not_count_as_false():
    land = Land(Selector(Condition("ask"), A), entities=2, a=S)
    land.manager.register_condition("ask", lambda _world, eid: raiser(LookupError("lost"))() if eid == 1 else False)
    land.engine.step()
    assert land.calls == [("a", 2)]
    assert [(eid, kind) for eid, kind, _, _ in land.errors] == [(1, "condition_error")]


def test_a_condition_whose_answer_has_no_truth_is_reported():
    class Vague:
        def __bool__(self):
            raise ValueError("ambiguous")

    land = Land(Condition("ask"))
    land.manager.register_condition("ask", lambda *_: Vague())  # type: ignore[type-var]  # the mistake under test
    land.engine.step()
    assert land.errors[0][1] == "condition_error"


@pytest.mark.parametrize("value", ["0.5", "much", None, b"1", [], 1j, object()])
@pytest.mark.parametrize("place", ["system", "tree"])
def test_a_consideration_that_gives_no_number_is_named_and_the_others_go_on(value, place):
    land = Land(UtilitySelector(("eat", A)), entities=2, a=S)
    manager, world = land.manager, land.world
    manager.register_consideration("hunger", lambda _world, eid: value if eid % 2 else 0.5)
    manager.define_utility_action("eat", ["hunger"])
    manager.define_utility_selector("mind", ["eat"])
    if place == "system":
        for eid in land.eids:
            world.detach(eid, BehaviorTree)
            world.attach(eid, UtilityAgent("mind", "eat", 0.9))
        land.engine.add_system(make_utility_system(manager))
    land.engine.step()
    [(eid, kind, text, tick)] = land.errors
    assert (eid, kind, tick) == (1, "consideration_error", 1)
    assert text.startswith("consideration 'hunger' returned ")
    if place == "system":
        assert [world.get(eid, UtilityAgent).selected_action for eid in land.eids] == ["", "eat"]
    else:
        assert land.calls == [("a", 2)]


@pytest.mark.parametrize("curve", [lambda _x: "high", lambda _x: None, raiser(ZeroDivisionError("0"))])
def test_a_curve_that_fails_is_an_error_of_its_consideration(curve):
    manager = AIManager()
    manager.register_consideration("hunger", lambda *_: 0.5)
    manager.define_utility_action("eat", [Consideration("hunger", curve)])
    with pytest.raises(ConsiderationError, match="consideration 'hunger'"):
        manager.score_action("eat", World(), 1)


def test_numbers_of_other_kinds_count():
    manager = AIManager()
    manager.define_utility_action("eat", ["hunger"])
    for value in (True, 1, Fraction(1, 1)):
        manager.register_consideration("hunger", lambda *_, value=value: value)
        assert manager.score_action("eat", World(), 1) == 1.0


@pytest.mark.parametrize("weight", [math.nan, math.inf, -1.0, "2", None])
def test_a_weight_that_is_no_number_of_0_or_more_is_refused(weight):
    manager = AIManager()
    with pytest.raises(ConfigError, match="the weight of utility action 'eat' is"):
        manager.define_utility_action("eat", ["hunger"], weight=weight)


@pytest.mark.parametrize(
    "make",
    [
        lambda: curves.linear(math.nan),
        lambda: curves.linear(1, math.inf),
        lambda: curves.logistic(math.nan),
        lambda: curves.logistic(1, math.nan),
        lambda: curves.step(math.nan),
    ],
)
def test_a_curve_of_nan_is_refused(make):
    with pytest.raises(ConfigError, match="of a curve must be a finite number"):
        make()


def test_callbacks_that_raise_are_reported_and_the_others_go_on():
    land = Land(A, entities=2, a=S)
    manager = land.manager
    manager.register_consideration("c", lambda *_: 1.0)
    manager.define_utility_action("eat", ["c"])
    manager.define_utility_selector("mind", ["eat"])
    manager.define_machine("m", initial="x", states={"x": State(do="a")})
    for eid in land.eids:
        land.world.attach(eid, UtilityAgent("mind"))
        land.world.attach(eid, StateMachine("m"))
    for system in (
        make_bt_system(manager, on_status=raiser(ValueError("1"))),
        make_utility_system(manager, on_select=raiser(ValueError("2"))),
        make_state_system(manager, on_transition=raiser(ValueError("3"))),
    ):
        land.engine.add_system(system)
    land.engine.step()
    assert [(eid, kind) for eid, kind, _, _ in land.errors] == [(1, "callback_error"), (2, "callback_error")] * 3
    assert [text.split(" raised")[0] for _, _, text, _ in land.errors[::2]] == [
        "callback 'on_status'",
        "callback 'on_select'",
        "callback 'on_transition'",
    ]


def test_actions_and_conditions_of_a_state_machine_are_reported():
    land = Land(A, entities=2, a=S, b=lambda _w, _c, eid: raiser(ValueError("no"))() if eid == 1 else S)
    manager, world = land.manager, land.world
    manager.register_condition("ask", lambda _world, eid: raiser(KeyError("what"))() if eid == 2 else True)
    manager.define_machine("m", initial="x", states={"x": State(do="b", exits=(("ask", "x"),))})
    for eid in land.eids:
        world.detach(eid, BehaviorTree)
        world.attach(eid, StateMachine("m"))
    land.engine.add_system(make_state_system(manager))
    land.engine.run(2)
    assert [(eid, kind, tick) for eid, kind, _, tick in land.errors] == [
        (1, "action_error", 1),
        (1, "action_error", 2),
        (2, "condition_error", 2),
    ]


def test_a_component_with_impossible_values_is_reported():
    land = Land(Sequence(A, B), entities=3, a=S, b=R)
    land.tree(1).memory = None
    land.tree(2).tree_name = []
    land.engine.run(2)
    assert {(eid, kind) for eid, kind, _, _ in land.errors} == {(1, "tree_error"), (2, "tree_error")}
    assert land.tree(3).status is R
    assert land.tree(1).status is R  # it started over with an empty memory


def test_ctrl_c_ends_the_tick():
    land = Land(A, a=raiser(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        land.engine.step()


def test_an_on_error_callback_that_raises_ends_nothing():
    land = Land(A, entities=2, a=raiser(ValueError("oh")))
    land.manager.on_error(raiser(RuntimeError("mine too")))
    land.engine.step()
    assert len(land.errors) == 2


def test_without_a_callback_an_error_is_logged_once(caplog):
    land = Land(A, entities=3, a=raiser(ValueError("oh")))
    land.manager = AIManager()
    land.manager.register_action("a", land.action("a"))
    land.manager.define_tree("main", A)
    land.engine._systems[:] = [make_bt_system(land.manager)]
    with caplog.at_level(logging.ERROR, "tickmind.ai"):
        land.engine.run(3)
    [record] = caplog.records
    assert "tick 1, entity 1: action 'a' raised ValueError: oh" in record.message
    assert record.exc_info


def test_on_error_is_a_decorator_and_can_be_undone():
    land = Land(A, a=raiser(ValueError("oh")))
    seen = []

    @land.manager.on_error
    def heard(eid, error_type, message, tick):
        seen.append((eid, error_type, message, tick))

    land.engine.step()
    land.manager.off_error(heard)
    land.engine.step()
    assert seen == [(1, "action_error", "action 'a' raised ValueError: oh (entity 1)", 1)]


@pytest.mark.parametrize("register", ["register_action", "register_condition", "register_consideration"])
def test_what_a_tick_can_not_call_is_refused_when_registered(register):
    async def later(*_):
        pass

    for wrong, problem in ((later, "async def"), ("walk", "can't be called"), (dict, "a class")):
        with pytest.raises(ConfigError, match=problem):
            getattr(AIManager(), register)("walk", wrong)
        with pytest.raises(ConfigError, match=problem):
            AIManager().on_error(wrong)  # type: ignore[type-var]  # the mistake under test


def test_a_run_that_fails_halts_what_ran_keeps_cooldowns_and_starts_over():
    land = Land(Sequence(Cooldown(A, 9), Parallel(B, C)), a=S, b=R, c=R)
    land.engine.step()
    land.answers["c"] = raiser(ValueError("oh"))
    land.engine.step()
    assert land.halted == [("b", 1), ("c", 1)]
    assert (land.tree().status, list(land.tree().memory)) == (F, [-2])
    land.calls.clear()
    land.engine.step()
    assert land.calls == []  # cooling down
    assert land.tree().status is F


def test_evaluate_raises_and_halts_what_ran():
    land = Land(Parallel(A, B), a=R, b=R)
    land.engine.step()
    land.answers["b"] = raiser(ValueError("oh"))
    contexts = []
    land.engine._systems[:] = [lambda _world, ctx: contexts.append(ctx)]
    land.engine.step()
    with pytest.raises(ActionError, match="action 'b' raised ValueError: oh"):
        land.manager.evaluate(land.world, contexts[0], 1, land.tree())
    assert land.halted == [("a", 1), ("b", 1)]
    assert land.errors == []


# Going while running


def gone(world, _ctx, eid):
    world.despawn(eid)
    return S


def detached(world, _ctx, eid):
    world.detach(eid, BehaviorTree)
    return S


@pytest.mark.parametrize("leave", [gone, detached])
@pytest.mark.parametrize(
    "root",
    [
        Sequence(A, B),
        Sequence(A, B, memory=False),
        Parallel(A, B),
        Selector(Sequence(A, B), B),
        Sequence(Sequence(A), B),
    ],
)
@pytest.mark.parametrize("traced", [True, False])
def test_after_an_action_took_its_own_entity_or_tree_nothing_more_runs(root, leave, traced):
    land = Land(root, entities=2, a=lambda w, c, eid: leave(w, c, eid) if eid == 1 else S, b=S)
    land.tree().traced = traced
    land.engine.step()
    assert land.calls == [("a", 1), ("a", 2), ("b", 2)]
    assert (land.ends, land.errors) == ([(2, S)], [])


def test_after_a_condition_or_consideration_despawned_its_own_entity_nothing_more_runs():
    land = Land(Selector(Condition("ask"), A), a=S)
    land.manager.register_condition("ask", lambda world, eid: world.despawn(eid))
    land.engine.step()
    other = Land(UtilitySelector(("eat", A)), a=S)
    other.manager.register_consideration("c", lambda world, eid: world.despawn(eid) or 1.0)
    other.manager.define_utility_action("eat", ["c"])
    other.engine.step()
    assert (land.calls, other.calls, land.errors, other.errors) == ([], [], [], [])


def test_after_an_on_halt_despawned_its_entity_nothing_more_runs():
    land = Land(Sequence(Selector(A, B, memory=False), C), a=F, b=R, c=S)
    land.manager.register_action("b", land.action("b"), on_halt=lambda world, _ctx, eid: world.despawn(eid))
    land.engine.step()
    land.answers["a"] = S
    land.engine.step()
    assert [name for name, _ in land.calls] == ["a", "b", "a"]
    assert (land.world.alive(1), land.errors) == (False, [])


def test_after_an_action_of_a_state_machine_despawned_its_entity_nothing_more_runs():
    for part in ("leave", "enter"):
        land = Land(A, a=gone, b=S)
        states = {"x": State(leave="a" if part == "leave" else "", exits=(("ask", "y"),)), "y": State(do="b")}
        states["y"] = State(do="b", enter="a" if part == "enter" else "b")
        land.manager.register_condition("ask", lambda *_: True)
        land.manager.define_machine("m", initial="x", states=states)
        land.world.detach(1, BehaviorTree)
        land.world.attach(1, StateMachine("m"))
        land.engine.add_system(make_state_system(land.manager))
        land.engine.run(3)
        assert (land.calls, land.errors) == ([("a", 1)], [])


def detach(land):
    land.world.detach(1, BehaviorTree)


def despawn(land):
    land.world.despawn(1)


def replace(land):
    land.world.attach(1, BehaviorTree("main"))


@pytest.mark.parametrize("remove", [detach, despawn, replace])
@pytest.mark.parametrize("when", ["between ticks", "in a tick"])
def test_on_halt_is_called_on_detach_despawn_and_replacement(remove, when):
    land = Land(Sequence(A, Parallel(B, C)), a=S, b=R, c=R)
    land.engine.step()
    if when == "in a tick":
        land.engine._systems.insert(0, lambda *_: remove(land) if land.engine.tick_number == 2 else None)
        land.engine.step()
    else:
        remove(land)
    assert land.halted == [("b", 1), ("c", 1)]
    assert land.errors == []
    if remove is despawn:
        land.engine.run(2)
        assert land.halted == [("b", 1), ("c", 1)]


def test_on_halt_is_called_when_another_entity_takes_the_tree():
    land = Land(A, entities=2, a=lambda world, _ctx, eid: world.despawn(1) or R if eid == 2 else R)
    land.engine.step()
    assert land.halted == [("a", 1)]


def test_an_action_that_runs_and_despawns_itself_is_halted_once():
    land = Land(Parallel(A, B), a=R, b=R)
    land.engine.step()
    land.answers["a"] = gone
    land.engine.step()
    assert land.halted == [("a", 1), ("b", 1)]
    assert land.calls == [("a", 1), ("b", 1), ("a", 1)]


def test_a_tree_that_is_detached_and_attached_again_starts_over_with_its_cooldowns():
    land = Land(Selector(Cooldown(A, 9), Sequence(B, C)), a=S, b=S, c=R)
    land.engine.run(2)
    tree = land.tree()
    land.world.detach(1, BehaviorTree)
    land.world.attach(1, tree)
    land.calls.clear()
    land.engine.step()
    assert land.calls == [("b", 1), ("c", 1)]
    assert json.loads(json.dumps(land.engine.snapshot()))


def test_attaching_the_same_tree_halts_nothing():
    land = Land(A, a=R)
    land.engine.step()
    land.world.attach(1, land.tree())
    assert land.halted == []


def test_one_manager_serves_several_worlds_and_keeps_none_alive():
    land = Land(A, a=R)
    other = Engine(seed=1)
    eid = other.world.spawn(BehaviorTree("main"))
    other.add_system(make_bt_system(land.manager))
    for _ in range(3):
        land.engine.step()
        other.step()
    other.world.despawn(eid)
    assert land.halted == [("a", eid)]
    assert len(land.world._removing_hooks[BehaviorTree]) == 1
    there = weakref.ref(other.world)
    del other
    gc.collect()
    assert there() is None
