"""The compiled tree against an obviously right one: nodes as objects that keep and forget their own state."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.long import short_or_long

from tickmind.ai import (
    Action,
    AIManager,
    AlwaysFail,
    BehaviorTree,
    Cooldown,
    Inverter,
    Parallel,
    Repeater,
    Retry,
    Selector,
    Sequence,
    Status,
    Succeeder,
    Timeout,
    Wait,
    make_bt_system,
)
from tickmind.tick import Engine

S, F, R = Status.SUCCESS, Status.FAILURE, Status.RUNNING
FLIP = {S: F, F: S, R: R}

leaves = st.integers(0, 3).map(lambda n: Action(f"leaf{n}")) | st.integers(1, 3).map(Wait)


def grown(inner):
    few = st.lists(inner, min_size=1, max_size=3)
    memory = st.booleans()
    ticks = st.integers(1, 3)
    return (
        st.builds(lambda c, m: Sequence(*c, memory=m), few, memory)
        | st.builds(lambda c, m: Selector(*c, memory=m), few, memory)
        | few.flatmap(
            lambda c: st.builds(
                lambda good, bad: Parallel(*c, success_threshold=good, failure_threshold=bad),
                st.none() | st.integers(1, len(c)),
                st.integers(1, len(c)),
            )
        )
        | inner.map(Inverter)
        | inner.map(Succeeder)
        | inner.map(AlwaysFail)
        | st.builds(Repeater, inner, st.none() | ticks, st.sampled_from(["fail", "restart"]))
        | st.builds(Retry, inner, st.none() | ticks)
        | st.builds(Timeout, inner, ticks)
        | st.builds(Cooldown, inner, ticks)
    )


trees = st.recursive(leaves, grown, max_leaves=7)


class Reference:
    """One node of the obvious interpreter."""

    def __init__(self, node, log):
        self.node, self.log = node, log
        inner = getattr(node, "children", None) or ([node.child] if getattr(node, "child", None) else [])
        self.children = [Reference(child, log) for child in inner]
        self.ready_at = 0
        self.reset()

    def reset(self):
        self.place = 0
        self.done: dict[int, Status] = {}
        self.rounds = 0
        self.began: int | None = None
        self.running = False

    def halt(self):
        if isinstance(self.node, Action) and self.running:
            self.log.append(("halt", self.node.name))
        self.reset()
        for child in self.children:
            child.halt()

    def tick(self, now, answers):
        status = self.work(now, answers)
        if status is not R:
            self.reset()
        return status

    def work(self, now, answers):
        node = self.node
        if isinstance(node, Action):
            self.log.append(("run", node.name))
            status = answers[node.name]
            self.running = status is R
            return status
        if isinstance(node, Wait):
            self.began = now if self.began is None else self.began
            return S if now - self.began >= node.ticks else R
        if isinstance(node, Sequence | Selector):
            go_on = S if isinstance(node, Sequence) else F
            for place in range(self.place if node.memory else 0, len(self.children)):
                status = self.children[place].tick(now, answers)
                if status is not go_on:
                    self.place = place
                    if not node.memory:
                        for later in self.children[place + 1 :]:
                            later.halt()
                    return status
            return go_on
        if isinstance(node, Parallel):
            for place, child in enumerate(self.children):
                if place not in self.done and (status := child.tick(now, answers)) is not R:
                    self.done[place] = status
            good = sum(status is S for status in self.done.values())
            bad = len(self.done) - good
            wanted = node.success_threshold or len(self.children)
            if good >= wanted:
                status = S
            elif bad >= node.failure_threshold or len(self.children) - bad < wanted:
                status = F
            else:
                return R
            for child in self.children:
                child.halt()
            return status
        [child] = self.children
        if isinstance(node, Timeout):
            self.began = now if self.began is None else self.began
            if now - self.began >= node.ticks:
                child.halt()
                return F
            return child.tick(now, answers)
        if isinstance(node, Cooldown):
            if now <= self.ready_at:
                return F
            status = child.tick(now, answers)
            if status is S:
                self.ready_at = now + node.ticks
            return status
        status = child.tick(now, answers)
        if isinstance(node, Inverter):
            return FLIP[status]
        if isinstance(node, Succeeder):
            return R if status is R else S
        if isinstance(node, AlwaysFail):
            return R if status is R else F
        if isinstance(node, Retry):
            self.rounds += status is F
            return S if status is S else F if self.rounds == node.attempts else R
        if status is F and node.fail_policy == "fail":
            return F
        if status is not R:
            self.rounds += 1
            if self.rounds == node.times:
                return S
        return R


answer_lists = st.lists(
    st.fixed_dictionaries({f"leaf{n}": st.sampled_from([S, F, R]) for n in range(4)}), min_size=1, max_size=12
)


@settings(max_examples=short_or_long(200, 400))
@given(trees, answer_lists, st.booleans())
@pytest.mark.slow
def test_a_compiled_tree_does_what_the_obvious_one_does(root, answers, traced):
    log: list[tuple[str, str]] = []
    now: dict[str, Status] = {}
    manager = AIManager()

    def register(name):
        def act(_world, _ctx, _eid):
            log.append(("run", name))
            return now[name]

        manager.register_action(name, act, on_halt=lambda _world, _ctx, _eid: log.append(("halt", name)))

    for n in range(4):
        register(f"leaf{n}")
    manager.define_tree("main", root)
    engine = Engine(seed=0)
    eid = engine.world.spawn(BehaviorTree("main", traced=traced))
    engine.add_system(make_bt_system(manager))

    expected_log: list[tuple[str, str]] = []
    reference = Reference(root, expected_log)
    for tick, answer in enumerate(answers, start=1):
        now.update(answer)
        log.clear()
        expected_log.clear()
        engine.step()
        wanted = reference.tick(tick, answer)
        component = engine.world.get(eid, BehaviorTree)
        assert component.status is wanted
        assert sorted(log) == sorted(expected_log)
        assert [entry for entry in log if entry[0] == "run"] == [e for e in expected_log if e[0] == "run"]
        if wanted is not R:
            assert all(key < 0 for key in component.memory)
        if traced:
            assert component.trace[0] is wanted
