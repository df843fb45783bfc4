import json
import re

import pytest

from tickmind.ai import (
    Action,
    AIManager,
    AlwaysFail,
    BehaviorTree,
    Blackboard,
    Condition,
    Cooldown,
    Inverter,
    Parallel,
    Repeater,
    Retry,
    Selector,
    Sequence,
    Status,
    SubTree,
    Succeeder,
    Timeout,
    TreeError,
    UnknownNameError,
    UtilitySelector,
    Wait,
    make_bt_system,
)
from tickmind.base import Limit, LimitExceededError
from tickmind.tick import Engine

S, F, R = Status.SUCCESS, Status.FAILURE, Status.RUNNING


class Stage:
    """One entity with one tree whose leaves follow scripts: letters S, F, R; the last one stays."""

    def __init__(self, root, **scripts):
        self.calls: list[str] = []
        self.halted: list[str] = []
        self.scripts = {name: list(script) for name, script in scripts.items()}
        self.errors: list[tuple[int, str, str, int]] = []
        self.manager = AIManager()
        self.manager.on_error(lambda *error: self.errors.append(error))
        for name in scripts:
            self.manager.register_action(name, self.leaf(name), on_halt=self.halt(name))
            self.manager.register_condition(name, self.ask(name))
        self.manager.define_tree("main", root)
        self.engine = Engine(seed=1)
        self.eid = self.engine.world.spawn(BehaviorTree("main"), Blackboard())
        self.engine.add_system(make_bt_system(self.manager))

    def next_letter(self, name):
        self.calls.append(name)
        script = self.scripts[name]
        return script.pop(0) if len(script) > 1 else script[0]

    def leaf(self, name):
        return lambda _world, _ctx, _eid: {"S": S, "F": F, "R": R}[self.next_letter(name)]

    def ask(self, name):
        return lambda _world, _eid: self.next_letter(name) == "S"

    def halt(self, name):
        return lambda _world, _ctx, _eid: self.halted.append(name)

    @property
    def component(self):
        return self.engine.world.get(self.eid, BehaviorTree)

    def tick(self, times=1):
        """The statuses of the next ticks, as letters."""
        letters = ""
        for _ in range(times):
            self.engine.step()
            letters += self.component.status.name[0]
        return letters


A, B, C = Action("a"), Action("b"), Action("c")


def test_a_sequence_stops_at_the_first_failure():
    stage = Stage(Sequence(A, B, C), a="S", b="F", c="S")
    assert stage.tick() == "F"
    assert stage.calls == ["a", "b"]


def test_a_selector_stops_at_the_first_that_does_not_fail():
    stage = Stage(Selector(A, B, C), a="F", b="S", c="S")
    assert stage.tick() == "S"
    assert stage.calls == ["a", "b"]


def test_a_sequence_with_memory_goes_on_where_it_was():
    stage = Stage(Sequence(A, B), a="S", b="RRS")
    assert stage.tick(4) == "RRSS"
    assert stage.calls == ["a", "b", "b", "b", "a", "b"]


def test_a_sequence_without_memory_asks_again_and_halts_what_ran():
    stage = Stage(Sequence(Condition("a"), B, memory=False), a="SSF", b="R")
    assert stage.tick(3) == "RRF"
    assert stage.calls == ["a", "b", "a", "b", "a"]
    assert stage.halted == ["b"]


def test_a_selector_with_memory_stays_with_what_it_chose():
    stage = Stage(Selector(A, B), a="FS", b="RRS")
    assert stage.tick(3) == "RRS"
    assert stage.calls == ["a", "b", "b", "b"]


def test_a_selector_without_memory_lets_the_more_urgent_take_over():
    stage = Stage(Selector(A, Sequence(B, C), memory=False), a="FFR", b="S", c="R")
    assert stage.tick(3) == "RRR"
    assert stage.calls == ["a", "b", "c", "a", "c", "a"]
    assert stage.halted == ["c"]
    assert set(stage.component.memory) == {1}  # only the running first child is remembered


def test_a_parallel_needs_all_to_succeed_by_default_and_fails_with_one():
    assert Stage(Parallel(A, B), a="S", b="RS").tick(2) == "RS"
    stage = Stage(Parallel(A, B), a="R", b="RF")
    assert stage.tick(2) == "RF"
    assert stage.halted == ["a"]


def test_a_child_of_a_parallel_that_ended_waits_for_the_others():
    stage = Stage(Parallel(A, B), a="S", b="RRS")
    assert stage.tick(3) == "RRS"
    assert stage.calls == ["a", "b", "b", "b"]
    assert stage.tick() == "S"
    assert stage.calls[4:] == ["a", "b"]


def test_a_parallel_ends_at_its_thresholds():
    two = Parallel(A, B, C, success_threshold=2, failure_threshold=2)
    stage = Stage(two, a="S", b="F", c="RS")
    assert stage.tick(2) == "RS"
    assert Stage(two, a="F", b="R", c="RF").tick(2) == "RF"
    unreachable = Parallel(A, B, success_threshold=2, failure_threshold=2)
    assert Stage(unreachable, a="R", b="F").tick() == "F"


def test_a_parallel_can_not_ask_for_more_than_it_has():
    with pytest.raises(TreeError, match="2 children can't have a success threshold of 3"):
        Parallel(A, B, success_threshold=3)


def test_the_decorators_change_how_things_end():
    assert Stage(Inverter(A), a="SFR").tick(3) == "FSR"
    assert Stage(Succeeder(A), a="SFR").tick(3) == "SSR"
    assert Stage(AlwaysFail(A), a="SFR").tick(3) == "FFR"
    assert Stage(Succeeder()).tick() == "S"
    assert Stage(AlwaysFail()).tick() == "F"


def test_a_repeater_runs_its_child_once_a_tick():
    assert Stage(Repeater(A, 3), a="S").tick(6) == "RRSRRS"
    assert Stage(Repeater(A, 3), a="SF").tick(2) == "RF"
    assert Stage(Repeater(A, 2, "restart"), a="FRF").tick(3) == "RRS"
    assert Stage(Repeater(A, None), a="S").tick(50) == "R" * 50
    assert Stage(Repeater(A, 2), a="RRSRS").tick(5) == "RRRRS"


def test_a_timeout_gives_its_child_so_many_ticks():
    stage = Stage(Timeout(A, 3), a="R")
    assert stage.tick(8) == "RRRFRRRF"
    assert stage.halted == ["a", "a"]
    assert Stage(Timeout(A, 3), a="RRS").tick(3) == "RRS"


def test_a_cooldown_fails_for_its_ticks_after_a_success():
    stage = Stage(Cooldown(A, 3), a="FRS")
    assert stage.tick(8) == "FRSFFFSF"
    assert stage.calls.count("a") == 4


def test_a_cooldown_outlives_a_halt():
    stage = Stage(Selector(Condition("b"), Cooldown(A, 5), memory=False), b="FSF", a="S")
    assert stage.tick(4) == "SSFF"


def test_a_utility_selector_runs_the_best_and_halts_what_it_leaves():
    stage = Stage(UtilitySelector(("first", A), ("second", B)), a="R", b="R")
    scores = {"x": 0.5, "y": 0.5}
    stage.manager.register_consideration("x", lambda _world, _eid: scores["x"])
    stage.manager.register_consideration("y", lambda _world, _eid: scores["y"])
    stage.manager.define_utility_action("first", ["x"])
    stage.manager.define_utility_action("second", ["y"])
    assert stage.tick() == "R"
    assert stage.calls == ["a"]  # a tie goes to the first
    scores["y"] = 0.9
    stage.tick()
    assert (stage.calls, stage.halted) == (["a", "b"], ["a"])
    scores.update(x=0.0, y=0.0)
    assert stage.tick() == "F"
    assert stage.halted == ["a", "b"]


def test_subtrees_stand_in_place_each_with_its_own_memory():
    stage = Stage(Parallel(SubTree("one"), SubTree("one")), a="S", b="R")
    stage.manager.define_tree("one", Sequence(A, B))
    assert stage.tick(2) == "RR"
    assert stage.calls == ["a", "b", "a", "b", "b", "b"]


def test_subtrees_that_contain_each_other_are_an_error():
    stage = Stage(SubTree("one"))
    stage.manager.define_tree("one", Sequence(SubTree("two")))
    stage.manager.define_tree("two", SubTree("one"))
    with pytest.raises(TreeError, match="main > one > two > one"):
        stage.manager.check()


@pytest.mark.parametrize(
    ("root", "message"),
    [
        (Action("aa"), r"no action \(in tree 'main'\) 'aa'; did you mean a\?"),
        (Condition("zzz"), r"no condition \(in tree 'main'\) 'zzz'; known: a"),
        (SubTree("nowhere"), "no tree 'nowhere'"),
        (UtilitySelector(("rest", A)), "no utility action 'rest'"),
    ],
)
def test_an_unknown_name_is_an_error_that_helps(root, message):
    stage = Stage(root, a="S")
    with pytest.raises(UnknownNameError, match=message):
        stage.manager.check()
    assert stage.tick() == "F"
    [(eid, kind, text, tick)] = stage.errors
    assert (eid, kind, tick) == (stage.eid, "missing_definition", 1)
    assert re.search(message, text)


def test_an_action_that_returns_no_status_is_named():
    stage = Stage(A, a="S")
    stage.manager.register_action("a", lambda *_: None)  # type: ignore[type-var]  # the mistake under test
    assert stage.tick() == "F"
    [(_, kind, text, _)] = stage.errors
    assert kind == "action_error"
    assert "action 'a' returned None; an action must return Status.SUCCESS" in text


def test_arguments_are_handed_over_and_braces_read_the_blackboard():
    stage = Stage(Sequence(Condition("near", {"to": "{goal}"}), Action("go", {"to": "{goal}", "speed": 2})))
    seen = []
    stage.manager.register_condition("near", lambda _world, _eid, to: to == "well")

    def go(_world, _ctx, _eid, to, speed):
        seen.append((to, speed))
        return S

    stage.manager.register_action("go", go)
    stage.engine.world.get(stage.eid, Blackboard).data["goal"] = "well"
    assert stage.tick() == "S"
    assert seen == [("well", 2)]
    stage.engine.world.get(stage.eid, Blackboard).data["goal"] = "hill"
    assert stage.tick() == "F"


def test_a_tree_goes_on_from_a_snapshot_where_it_was():
    def stage():
        return Stage(Sequence(A, Repeater(B, 3), Cooldown(C, 2)), a="S", b="S", c="S")

    first = stage()
    first.tick(2)
    saved = json.loads(json.dumps(first.engine.snapshot()))
    second = stage()
    second.engine.restore(saved)
    assert second.tick(8) == first.tick(8)


def test_a_tree_that_is_replaced_forgets_what_ran():
    stage = Stage(Sequence(A, B), a="S", b="R")
    stage.tick()
    stage.manager.define_tree("main", Sequence(C, A, B))
    stage.manager.register_action("c", lambda *_: F)
    assert stage.tick() == "F"
    assert stage.component.memory == {}


def test_a_tree_that_is_exchanged_halts_what_ran():
    stage = Stage(Sequence(A, Parallel(B, C)), a="S", b="R", c="R", d="R")
    stage.tick()
    stage.manager.define_tree("main", Sequence(A, B))
    assert stage.halted == []  # the world is told within a tick
    stage.tick()
    assert stage.halted == ["b", "c"]
    stage.manager.define_tree("other", Action("d"))
    stage.component.tree_name = "other"
    stage.tick(2)
    assert stage.halted == ["b", "c", "b"]
    stage.manager.define_tree("other", Selector(A, B))
    stage.manager.define_tree("other", Sequence(C, A, B))
    stage.tick(2)
    assert stage.halted == ["b", "c", "b", "d"]


def test_an_exchanged_tree_halts_nothing_that_had_ended():
    stage = Stage(Sequence(A, B), a="RS", b="S")
    stage.tick(2)
    stage.manager.define_tree("main", B)
    stage.tick()
    assert stage.halted == []


def test_an_action_that_is_registered_anew_is_halted_the_new_way():
    stage = Stage(A, a="R", b="S")
    stage.tick()
    stage.manager.register_action("a", stage.leaf("a"), on_halt=stage.halt("a, the new way"))
    stage.manager.define_tree("main", B)
    stage.tick()
    assert stage.halted == ["a, the new way"]


def test_a_halt_that_fails_is_not_called_again_and_the_others_follow():
    def fail(*_):
        raise ValueError("it is stuck")

    stage = Stage(Parallel(A, C), a="R", b="S", c="R")
    stage.manager.register_action("a", stage.leaf("a"), on_halt=fail)
    stage.tick()
    stage.manager.define_tree("main", B)
    assert stage.tick(2) == "SS"
    assert stage.halted == ["c"]
    [(_, kind, text, _)] = stage.errors
    assert kind == "halt_error"
    assert "on_halt of action 'a' raised ValueError: it is stuck" in text


@pytest.mark.parametrize("known", [True, False])
def test_a_restored_tree_that_is_exchanged_halts_what_ran_if_it_is_still_defined(known):
    first = Stage(Sequence(A, B), a="S", b="R")
    first.tick()
    saved = json.loads(json.dumps(first.engine.snapshot()))
    second = Stage(Sequence(A, B) if known else Sequence(B, A), a="S", b="R", c="S")
    second.manager.define_tree("not ready", Action("unknown"))
    second.manager.define_tree("other", C)
    second.engine.restore(saved)
    second.component.tree_name = "other"
    assert second.tick() == "S"
    assert second.halted == (["b"] if known else [])
    assert second.component.memory == {}


def test_trees_of_the_past_are_forgotten_at_their_limit():
    stage = Stage(A, a="R", b="R")
    stage.manager = AIManager(max_past_trees=Limit("past trees", 3))
    for name in "ab":
        stage.manager.register_action(name, stage.leaf(name), on_halt=stage.halt(name))
    stage.engine._systems[:] = [make_bt_system(stage.manager)]
    stage.manager.define_tree("main", A)
    stage.tick()
    for ticks in range(2, 10):
        stage.manager.define_tree("main", Timeout(B, ticks))
        stage.manager.check()
    stage.tick()
    assert stage.halted == []
    assert len(stage.manager._halting) == 3  # the trees that it knows


def test_on_status_hears_of_ends_only():
    stage = Stage(A, a="RSF")
    heard = []

    def hear(_world, ctx, eid, status):
        heard.append((ctx.tick_number, eid, status))

    stage.engine._systems[:] = [make_bt_system(stage.manager, on_status=hear)]
    stage.tick(3)
    assert heard == [(2, stage.eid, "success"), (3, stage.eid, "failure")]


def test_a_traced_tree_is_drawn_with_its_last_statuses():
    stage = Stage(Selector(Sequence(Condition("a"), B), SubTree("rest"), label="life"), a="F", b="S", c="R")
    stage.manager.define_tree("rest", Timeout(C, 9))
    assert stage.manager.draw("main").splitlines() == [
        "life: Selector",
        "├─ Sequence",
        "│  ├─ a?",
        "│  └─ b",
        "└─ SubTree rest",
        "   └─ Timeout (9 ticks)",
        "      └─ c",
    ]
    stage.component.traced = True
    stage.tick()
    assert stage.manager.draw(stage.component).splitlines() == [
        "… life: Selector",
        "├─ ✗ Sequence",
        "│  ├─ ✗ a?",
        "│  └─   b",
        "└─ … SubTree rest",
        "   └─ … Timeout (9 ticks)",
        "      └─ … c",
    ]


def test_trees_have_limits():
    deep = A
    for _ in range(200):
        deep = Inverter(deep)  # type: ignore[assignment]  # a chain of decorators over an action
    with pytest.raises(LimitExceededError, match="depth of a tree"):
        Stage(deep, a="S").manager.check()


@pytest.mark.parametrize(
    "make",
    [
        Sequence,
        Selector,
        Parallel,
        UtilitySelector,
        lambda: Action(""),
        lambda: Action("a", {"name": 1}),
        lambda: Repeater(A, 0),
        lambda: Repeater(A, 1, "maybe"),  # type: ignore[arg-type]  # the mistake under test
        lambda: Timeout(A, 0),
        lambda: Cooldown(A, 0),
        lambda: Retry(A, 0),
        lambda: Wait(0),
        lambda: SubTree(""),
        lambda: SubTree("a", {"name": 1}),
        lambda: UtilitySelector(("a;b", A)),
    ],
)
def test_nodes_that_can_not_be_are_refused(make):
    with pytest.raises(TreeError):
        make()
