"""Wait and Retry, keys that read into nested data, and what subtrees share."""

from dataclasses import dataclass

import pytest

from tickmind.ai import (
    Action,
    AIManager,
    BehaviorTree,
    Blackboard,
    Condition,
    Inverter,
    Parallel,
    Retry,
    Selector,
    Sequence,
    Status,
    SubTree,
    TreeError,
    Wait,
    make_bt_system,
    read_trees,
    write_trees,
)
from tickmind.tick import Engine

S, F, R = Status.SUCCESS, Status.FAILURE, Status.RUNNING


class Mind:
    """One entity; `given` has the arguments that its action `act` got, `letters` say how `a` ends."""

    def __init__(self, root, data=None, letters="S", **trees):
        self.given: list[object] = []
        self.errors: list[str] = []
        self.letters = list(letters)
        self.manager = AIManager()
        self.manager.on_error(lambda _eid, _kind, text, _tick: self.errors.append(text))

        @self.manager.register_action("a")
        def act(_world, _ctx, _eid, **given):
            self.given.append(given.get("x", "nothing"))
            letter = self.letters.pop(0) if len(self.letters) > 1 else self.letters[0]
            return {"S": S, "F": F, "R": R}[letter]

        self.manager.register_condition("is", lambda _world, _eid, x, y: x == y)
        self.manager.define_tree("main", root)
        for name, tree in trees.items():
            self.manager.define_tree(name, tree)
        self.engine = Engine(seed=1)
        self.eid = self.engine.world.spawn(BehaviorTree("main"), Blackboard(data or {}))
        self.engine.add_system(make_bt_system(self.manager))

    def tick(self, times=1):
        letters = ""
        for _ in range(times):
            self.engine.step()
            letters += str(self.engine.world.get(self.eid, BehaviorTree).status)[0].upper()
        return letters


A = Action("a")


def test_wait_runs_for_its_ticks_and_then_succeeds():
    assert Mind(Wait(3)).tick(8) == "RRRSRRRS"
    mind = Mind(Sequence(Wait(2), A))
    assert mind.tick(6) == "RRSRRS"
    assert len(mind.given) == 2


def test_a_halted_wait_starts_over():
    mind = Mind(Selector(Condition("is", {"x": "{stop}", "y": True}), Wait(3), memory=False))
    data = mind.engine.world.get(mind.eid, Blackboard).data
    assert mind.tick(2) == "RR"
    data["stop"] = True
    assert mind.tick() == "S"
    data["stop"] = False
    assert mind.tick(4) == "RRRS"


def test_retry_tries_again_until_success():
    assert Mind(Retry(A, 3), letters="FFS").tick(3) == "RRS"
    assert Mind(Retry(A, 3), letters="F").tick(6) == "RRFRRF"
    assert Mind(Retry(A, 3), letters="FRFRF").tick(5) == "RRRRF"
    assert Mind(Retry(A, None), letters="F").tick(50) == "R" * 50


def test_wait_and_retry_are_drawn_written_and_go_on_from_a_snapshot():
    root = Sequence(Retry(A, 3), Retry(Inverter(A), None), Wait(5))
    mind = Mind(root, letters="FSFFFS")
    assert mind.manager.draw("main").splitlines()[1::2] == [
        "├─ Retry (3 attempts)",
        "├─ Retry (for ever)",
        "│     └─ a",
    ]
    assert mind.manager.draw("main").splitlines()[-1] == "└─ Wait (5 ticks)"
    assert read_trees(write_trees({"main": root})) == {"main": root}
    text = write_trees({"main": root})
    assert '<RetryUntilSuccessful num_attempts="3">' in text
    assert '<WaitTicks ticks="5"/>' in text
    mind.tick(4)
    saved = mind.engine.snapshot()
    first = mind.tick(3)
    mind.engine.restore(saved)
    assert mind.tick(3) == first == "RRS"


# Keys


@dataclass
class Plan:
    goal: str = "dataclass"


@pytest.mark.parametrize(
    ("data", "key", "value"),
    [
        ({"strategy": {"goal": "hunt"}}, "strategy.goal", "hunt"),
        ({"strategy": {"plan": {"steps": ["go", "eat"]}}}, "strategy.plan.steps.1", "eat"),
        ({"strategy": ("a", "b")}, "strategy.0", "a"),
        ({"strategy": Plan()}, "strategy.goal", "dataclass"),
        ({"strategy": Plan()}, "strategy.__class__", None),
        ({"strategy": {"goal": "hunt"}, "strategy.goal": "literal"}, "strategy.goal", "literal"),
        ({"strategy": {}}, "strategy.goal", None),
        ({"strategy": "text"}, "strategy.goal", None),
        ({"strategy": ["a"]}, "strategy.7", None),
        ({"strategy": ["a"]}, "strategy.-1", None),
        ({}, "strategy.goal", None),
    ],
)
def test_a_key_with_dots_reads_into_nested_data(data, key, value):
    mind = Mind(Action("a", {"x": f"{{{key}}}"}), data)
    mind.tick()
    assert (mind.given, mind.errors) == ([value], [])


def test_a_missing_blackboard_is_an_error_that_names_the_action():
    mind = Mind(Action("a", {"x": "{goal}"}))
    mind.engine.world.detach(mind.eid, Blackboard)
    assert mind.tick() == "F"
    assert mind.errors == ["action 'a' raised MissingComponentError: entity 1 has no Blackboard (entity 1)"]


# Subtrees

READS = Action("a", {"x": "{goal}"})


def test_a_subtree_shares_all_keys_with_autoremap():
    mind = Mind(SubTree("sub"), {"goal": "well"}, sub=READS)
    mind.tick()
    assert mind.given == ["well"]


def test_a_subtree_without_autoremap_shares_nothing():
    mind = Mind(SubTree("sub", autoremap=False), {"goal": "well"}, sub=READS)
    with pytest.raises(TreeError, match=r"the subtree 'sub' reads \{goal\}, which is not among its ports"):
        mind.manager.check()
    assert mind.tick() == "F"
    assert mind.given == []
    assert "autoremap" in mind.errors[0]


@pytest.mark.parametrize(
    ("ports", "autoremap", "given"),
    [
        ({"goal": "{target}"}, False, "hill"),
        ({"goal": "{target}"}, True, "hill"),
        ({"goal": "{goal}"}, False, "well"),
        ({"goal": "{strategy.goal}"}, False, "hunt"),
        ({"goal": "home"}, False, "home"),
        ({"goal": 0}, False, 0),
        ({"other": "{target}"}, True, "well"),
    ],
)
def test_a_port_hands_a_key_or_a_value_over(ports, autoremap, given):
    data = {"goal": "well", "target": "hill", "strategy": {"goal": "hunt"}}
    mind = Mind(SubTree("sub", ports, autoremap=autoremap), data, sub=READS)
    mind.tick()
    assert (mind.given, mind.errors) == ([given], [])


def test_ports_lead_through_subtrees_of_subtrees():
    deep = Action("a", {"x": "{plan.goal}"})
    mind = Mind(
        Parallel(
            SubTree("outer", {"mine": "{strategy}"}, autoremap=False),
            SubTree("outer", {"mine": "{other}"}, autoremap=False),
        ),
        {"strategy": {"goal": "hunt"}, "other": {"goal": "rest"}},
        outer=SubTree("inner", {"plan": "{mine}"}, autoremap=False),
        inner=Sequence(SubTree("innermost")),
        innermost=deep,
    )
    mind.tick()
    assert mind.given == ["hunt", "rest"]


def test_a_constant_port_has_nothing_inside():
    mind = Mind(SubTree("sub", {"plan": "eat"}, autoremap=False), sub=Action("a", {"x": "{plan.goal}"}))
    with pytest.raises(TreeError, match=r"reads \{plan.goal\}, but the port 'plan' is 'eat'"):
        mind.manager.check()


def test_a_subtree_of_a_groot_file_shares_only_its_ports():
    file = """<root BTCPP_format="4" main_tree_to_execute="main">
      <BehaviorTree ID="main"><Sequence>
        <SubTree ID="sub" goal="{target}"/>
        <SubTree ID="sub" _autoremap="true"/>
        <SubTree ID="sub" goal="{=}"/>
      </Sequence></BehaviorTree>
      <BehaviorTree ID="sub"><a x="{goal}"/></BehaviorTree>
    </root>"""
    mind = Mind(A, {"goal": "well", "target": "hill"})
    mind.manager.load_xml(file)
    mind.tick()
    assert mind.given == ["hill", "well", "well"]
    again = read_trees(write_trees(mind.manager.trees()))
    assert again == mind.manager.trees()
    mind.manager.load_xml(file.replace(' goal="{=}"', ""))
    with pytest.raises(TreeError, match="which is not among its ports"):
        mind.manager.check()


def test_a_subtree_is_drawn_with_what_it_shares():
    mind = Mind(SubTree("sub", {"goal": "{target}"}, autoremap=False), sub=READS)
    assert mind.manager.draw("main").splitlines()[0] == "SubTree sub(goal={target}) (shares nothing)"
