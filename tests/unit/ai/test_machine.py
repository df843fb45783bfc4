import json

import pytest

from tickmind.ai import AIError, AIManager, State, StateMachine, Status, UnknownNameError, make_state_system
from tickmind.tick import Engine


class Door:
    """One entity with one machine; `log` has what ran as `tick action`, `true` the conditions that hold."""

    def __init__(self, states, initial="shut"):
        self.log: list[str] = []
        self.asked: list[str] = []
        self.true: set[str] = set()
        self.errors: list[tuple[int, str, str, int]] = []
        self.manager = AIManager()
        self.manager.on_error(lambda *error: self.errors.append(error))
        for name in ("push", "wait", "creak", "slam", "lock"):
            self.manager.register_action(name, self.action(name))
        for name in ("pushed", "windy", "keyed"):
            self.manager.register_condition(name, self.condition(name))
        self.manager.define_machine("door", initial=initial, states=states)
        self.engine = Engine(seed=1)
        self.engine.add_system(make_state_system(self.manager, on_transition=self.changed))
        self.eid = self.engine.world.spawn(StateMachine("door"))

    def action(self, name):
        def act(_world, ctx, _eid):
            self.log.append(f"{ctx.tick_number} {name}")
            return Status.SUCCESS

        return act

    def condition(self, name):
        def ask(_world, _eid):
            self.asked.append(name)
            return name in self.true

        return ask

    def changed(self, _world, ctx, _eid, old, new):
        self.log.append(f"{ctx.tick_number} {old}>{new} ({self.component.state})")

    @property
    def component(self):
        return self.engine.world.get(self.eid, StateMachine)

    def tick(self, *true):
        """One tick in which these conditions hold; returns what ran."""
        self.true = set(true)
        self.log.clear()
        self.asked.clear()
        self.engine.step()
        return self.log


SHUT = State(do="wait", exits=(("pushed", "open"), ("windy", "ajar")), enter="slam", leave="push")
OPEN = State(do="wait", exits=(("windy", "shut"),), enter="creak")
AJAR = State(exits=(("pushed", "open"), ("windy", "shut")))
DOOR = {"shut": SHUT, "open": OPEN, "ajar": AJAR}


def test_a_machine_starts_in_its_initial_state_in_the_first_tick():
    door = Door(DOOR)
    assert door.component.state == ""
    assert door.tick("pushed") == ["1 >shut (shut)", "1 slam", "1 wait"]
    assert door.asked == []  # no exit is tried in the tick of entering
    assert (door.component.state, door.component.entered_tick) == ("shut", 1)


def test_a_state_goes_on_while_no_exit_holds():
    door = Door(DOOR)
    door.tick()
    assert door.tick() == ["2 wait"]
    assert door.asked == ["pushed", "windy"]
    assert (door.component.state, door.component.entered_tick) == ("shut", 1)


def test_a_change_leaves_then_is_reported_then_enters_then_does():
    door = Door(DOOR)
    door.tick()
    assert door.tick("pushed") == ["2 push", "2 shut>open (open)", "2 creak", "2 wait"]
    assert (door.component.state, door.component.entered_tick) == ("open", 2)


def test_exits_are_tried_in_order_and_the_first_that_holds_is_taken():
    door = Door(DOOR)
    door.tick()
    door.tick("windy", "pushed")
    assert door.component.state == "open"
    assert door.asked == ["pushed"]


def test_at_most_one_exit_is_taken_per_tick():
    door = Door(DOOR)
    door.tick()
    door.tick("windy")
    assert door.component.state == "ajar"
    door.tick("windy")
    assert door.component.state == "shut"


def test_a_state_that_has_nothing_to_do_only_waits_for_its_exits():
    door = Door(DOOR, initial="ajar")
    assert door.tick() == ["1 >ajar (ajar)"]
    assert door.tick() == []


def test_a_state_may_lead_to_itself_which_enters_it_anew():
    door = Door({"shut": State(enter="slam", leave="lock", exits=(("pushed", "shut"),))})
    door.tick()
    assert door.tick("pushed") == ["2 lock", "2 shut>shut (shut)", "2 slam"]
    assert door.component.entered_tick == 2


def test_entities_share_the_definition_and_not_the_state():
    door = Door(DOOR)
    door.tick()
    other = door.engine.world.spawn(StateMachine("door"))
    door.tick("pushed")
    assert door.component.state == "open"
    assert door.engine.world.get(other, StateMachine) == StateMachine("door", "shut", 2)


def test_a_machine_resumes_from_a_snapshot_where_it_was():
    door = Door(DOOR)
    door.tick()
    door.tick("pushed")
    written = json.loads(json.dumps(door.engine.snapshot()))
    again = Door(DOOR)
    again.engine.restore(written)
    assert again.component == door.component
    assert again.tick() == door.tick() == ["3 wait"]
    assert again.tick("windy") == door.tick("windy") == ["4 open>shut (shut)", "4 slam", "4 wait"]


def test_a_state_that_is_no_longer_defined_starts_over():
    door = Door(DOOR)
    door.tick()
    door.tick("windy")
    door.manager.define_machine("door", initial="shut", states={"shut": State(do="wait")})
    assert door.tick() == ["3 ajar>shut (shut)", "3 wait"]


def test_a_machine_without_report_runs_too():
    door = Door(DOOR)
    engine = Engine(seed=1)
    engine.add_system(make_state_system(door.manager))
    eid = engine.world.spawn(StateMachine("door"))
    engine.step()
    assert engine.world.get(eid, StateMachine).state == "shut"


@pytest.mark.parametrize(
    ("initial", "states", "problem"),
    [
        ("open", {"shut": State()}, "the start leads to 'open', which is not a state; known: shut"),
        ("shut", {"shut": State(exits=(("pushed", "opn"),))}, "state 'shut' leads to 'opn', which is not a state"),
        ("", {}, "the start leads to ''"),
    ],
)
def test_a_target_that_does_not_exist_is_an_error_when_defined(initial, states, problem):
    with pytest.raises(AIError, match=problem):
        AIManager().define_machine("door", initial=initial, states=states)


@pytest.mark.parametrize(
    ("state", "problem"),
    [
        (State(do="wiat"), "no action 'wiat'; did you mean wait"),
        (State(enter="slma"), "no action 'slma'; did you mean slam"),
        (State(leave="lok", exits=(("pushed", "shut"),)), "no action 'lok'; did you mean lock"),
        (State(exits=(("pused", "shut"),)), "no condition 'pused'; did you mean pushed"),
    ],
)
def test_an_unknown_name_is_found_by_the_check_and_reported(state, problem):
    door = Door({"shut": state})
    with pytest.raises(UnknownNameError, match=problem):
        door.manager.check()
    door.true = {"pushed"}
    door.engine.run(2)
    eid, kind, text, _ = door.errors[0]
    assert (eid, kind) == (door.eid, "missing_definition")
    assert problem in text


def test_an_unknown_machine_is_an_error_with_the_nearest():
    door = Door(DOOR)
    with pytest.raises(UnknownNameError, match="no state machine 'dor'; did you mean door"):
        door.manager.machine("dor")
    door.engine.world.attach(door.eid, StateMachine("dor"))
    door.tick()
    assert "no state machine 'dor'" in door.errors[0][2]


def test_changing_the_callers_states_afterwards_changes_nothing():
    states = {"shut": State(do="wait")}
    door = Door(states)
    states.clear()
    assert door.tick() == ["1 >shut (shut)", "1 wait"]
