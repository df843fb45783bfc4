"""Rules of the user's own: what they see, what they may do, and what becomes of their faults."""

import re
from pathlib import Path
from typing import Any

import pytest
from tests.unit.world.test_goals import YARD
from tests.unit.world.test_own_needs import COLD

from tickmind.protocol import ActorStatus, Direction, Effect, Interact, Move, ObjectDelta, RuleEvent, Say
from tickmind.record import RecordError, RunStore
from tickmind.record.replay.past_world import PastWorld
from tickmind.server.checkpoint import Checkpoint, resume
from tickmind.server.errors import ReplayError
from tickmind.world import OwnRuleError, ScenarioError, TileWorld, parse_scenario

OPENED = (ObjectDelta("gate:1", "work_remaining", 0), ObjectDelta("gate:1", "state", "open"))
FAIR = f"{YARD}own_rules: [fair]\n"


def world_of(*rules, text=FAIR):
    names = [rule.__name__ for rule in rules]
    scenario = parse_scenario(text.replace("[fair]", str(names)))
    return TileWorld.from_scenario(scenario, dict(zip(names, rules, strict=True)))


def test_a_rule_sees_the_tick_as_the_other_rules_left_it():
    seen: dict[str, object] = {}

    def fair(tick):
        seen.update(
            tick_id=tick.tick_id,
            time=str(tick.time),
            actors=tick.actor_ids,
            objects=tick.object_ids,
            kinds=[tick.type_of(actor_id) for actor_id in tick.actor_ids],
            mira=tick.position("mira"),
            zone=[tick.zone(actor_id) for actor_id in ("mira", "cat")],
            outside=tick.actors_in("outside"),
            items=tick.items("mira"),
            gate=tick.object_state("gate:1"),
            said=[said.text for said in tick.utterances],
            deltas=tick.object_deltas,
            results=[(result.actor_id, str(result.action_type), result.ok) for result in tick.results],
        )

    world = world_of(fair)
    mira, tomas, cat = map(world.row_of, ("mira", "tomas", "cat"))
    world.step({mira: Move(Direction.E), tomas: Interact("gate:1"), cat: Say("meow")})
    assert seen == {
        "tick_id": 1,
        "time": "day 1, 06:03",
        "actors": ("cat", "mira", "tomas"),
        "objects": ("gate:1",),
        "kinds": ["animal", "prisoner", "prisoner"],
        "mira": (2, 2),
        "zone": ["outside", ""],
        "outside": ("mira",),
        "items": {"bread": 1},
        "gate": "open",
        "said": ["meow"],
        "deltas": OPENED,
        "results": [("cat", "Say", True), ("mira", "Move", True), ("tomas", "Interact", True)],
    }


@pytest.mark.parametrize("day_ticks", [7, 480, 1600])
def test_a_time_comes_once_in_each_day(day_ticks):
    days = []

    def fair(tick):
        if tick.time_comes("18:00"):
            days.append(tick.time.day)
            assert tick.time.minute >= 18 * 60 or day_ticks == 7  # a tick may be longer than the rest of a day

    world = world_of(fair, text=FAIR.replace("day_ticks: 480", f"day_ticks: {day_ticks}"))
    faults = [event for _ in range(3 * day_ticks) for event in world.step({}).rule_events]
    assert faults == []
    assert days == [1, 2, 3]


def test_what_it_gives_and_takes_is_recorded():
    def fair(tick):
        if tick.tick_id == 1:
            assert tick.give_items("mira", "coin", 7) == 5  # there is room for 6, and one is taken
            assert tick.take_items("mira", "bread", 3) == 1
            assert tick.take_items("mira", "bread", 1) == 0

    world = world_of(fair)
    record = world.step({})
    assert record.rule_events == (
        RuleEvent("fair", ("mira",), own=True, effects=(Effect("inventory.coin", 5),)),
        RuleEvent("fair", ("mira",), own=True, effects=(Effect("inventory.bread", -1),)),
    )
    assert record.object_deltas == (ObjectDelta("ground:1,2", "coin", 2),)
    (seen,) = world.observe([world.row_of("mira")])
    assert [(stack.kind, stack.quantity) for stack in seen.me.inventory] == [("coin", 5)]


def test_an_object_changes_for_all_and_never_onto_an_actor():
    told = []

    def fair(tick):
        if tick.tick_id == 1:
            told.append(tick.set_object_state("gate:1", "open"))
        if tick.tick_id == 3:
            told.append(tick.set_object_state("gate:1", "locked"))

    world = world_of(fair)
    tomas = world.row_of("tomas")
    assert world.step({}).object_deltas == OPENED
    record = world.step({tomas: Move(Direction.W)})
    assert (record.actor_state.x[tomas], record.actor_state.y[tomas]) == (0, 3)  # through the open gate
    assert world.step({}).object_deltas == ()
    assert told == [True, False]


def test_scores_of_many_with_one_reason_are_one_event():
    def fair(tick):
        for actor_id in tick.actor_ids:
            tick.score(actor_id, 2, "was there")
        tick.score("cat", -1, "stole\nfish")
        tick.score(None, 9, "all came")
        tick.end("it is late")

    record = world_of(fair).step({})
    assert record.ends
    assert record.rule_events == (
        RuleEvent("fair", (), 9, own=True, text="all came"),
        RuleEvent("fair", ends=True, own=True, text="it is late"),
        RuleEvent("fair", ("cat", "mira", "tomas"), 2, own=True, text="was there"),
        RuleEvent("fair", ("cat",), -1, own=True, text="stole fish"),
    )


def test_rules_run_in_their_order_and_before_goals():
    order = []

    def second(tick):
        order.append("second")
        tick.give_items("mira", "bread", 3)

    def first(tick):
        order.append("first")

    text = FAIR + "goals: {bread: {who: {id: mira}, carry: {bread: 4}}}\n"
    record = world_of(second, first, text=text).step({})
    assert order == ["second", "first"]
    assert [event.name for event in record.rule_events] == ["second", "bread"]


def test_chance_comes_from_the_seed_and_differs_by_rule_and_tick():
    drawn = []

    def one(tick):
        drawn.append([tick.chance(1000) for _ in range(4)])

    def two(tick):
        one(tick)

    def draws():
        drawn.clear()
        world = world_of(one, two)
        world.step({})
        world.step({})
        return [numbers[:] for numbers in drawn]

    first = draws()
    assert first == draws()
    assert len({number for numbers in first for number in numbers}) > 12
    assert all(0 <= number < 1000 for numbers in first for number in numbers)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda tick: 1 / 0, "ZeroDivisionError: division by zero (test_own_rules.py, line "),
        (lambda tick: tick.position("nobody"), "OwnRuleError: there is no actor 'nobody' (test_own_rules.py, line "),
        (lambda tick: tick.object_state("gate:9"), "there is no object 'gate:9'"),
        (lambda tick: tick.actors_in("moon"), "there is no zone 'moon'"),
        (lambda tick: tick.give_items("mira", "cheese", 1), "there is no item 'cheese'"),
        (lambda tick: tick.give_items("mira", "bread", 0), "an amount of items must be from 1 to"),
        (lambda tick: tick.take_items("mira", "bread", -1), "an amount of items must be from 1 to"),
        (lambda tick: tick.set_object_state("gate:1", "ajar"), "gate:1 has no state 'ajar'; it has locked, open"),
        (lambda tick: tick.score("mira", 0, "nothing"), "points must be a whole number"),
        (lambda tick: tick.score("mira", 1, " "), "a reason must not be empty"),
        (lambda tick: tick.end(""), "a reason must not be empty"),
        (lambda tick: tick.chance(0), "chance() takes a number of at least 1"),
        (lambda tick: 7, "a rule is a plain function that returns nothing, not int"),
    ],
)
def test_a_rule_that_fails_is_switched_off_and_the_tick_goes_on(wrong, message):
    calls = []

    def fair(tick):
        calls.append(tick.tick_id)
        tick.score("mira", 1, "before")
        return wrong(tick)

    def other(tick):
        tick.score("cat", 1, "after")

    world = world_of(fair, other)
    mira = world.row_of("mira")
    record = world.step({mira: Move(Direction.E)})
    assert record.actor_state.x[mira] == 2
    scored, fault, went_on = record.rule_events
    assert scored == RuleEvent("fair", ("mira",), 1, own=True, text="before")
    assert (fault.name, fault.own, fault.actor_ids, fault.score) == ("fair", True, (), 0)
    assert fault.text.startswith("switched off after an error: ")
    assert message in fault.text
    assert went_on.name == "other"
    assert [event.name for event in world.step({}).rule_events] == ["other"]
    assert calls == [1]


@pytest.mark.parametrize(
    "act",
    [
        lambda tick: tick.give_items("mira", "coin", 1),
        lambda tick: tick.take_items("mira", "coin", 1),
        lambda tick: tick.score("mira", 1, "again"),
        lambda tick: tick.score(None, 1, "again"),
        lambda tick: tick.set_object_state("gate:1", "open"),
        lambda tick: tick.end("again"),
    ],
)
def test_a_rule_in_a_loop_is_stopped_before_the_record_is_full(act):
    def fair(tick):
        while True:
            act(tick)

    record = world_of(fair).step({})
    assert "too much in one tick" in record.rule_events[-1].text
    assert len(record.rule_events) < 5000


def test_the_rules_of_the_guide_work():
    guide = (Path(__file__).parents[3] / "docs" / "guides" / "scenario-rules.md").read_text()
    (code,) = re.findall(r"```python\n(from tickmind.world import RuleTick.*?)```", guide, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    text = YARD.replace("outside:", "square:").replace('"06:00"', '"17:58"') + "own_rules: [festival]\n"
    world = TileWorld.from_scenario(parse_scenario(text), {"festival": names["festival"]})
    tomas = world.row_of("tomas")
    assert tomas is not None
    assert world.step({tomas: Move(Direction.E)}).rule_events == (
        RuleEvent("festival", ("tomas",), own=True, effects=(Effect("inventory.bread", 1),)),
        RuleEvent("festival", ("tomas",), 5, own=True, text="won at the festival"),
    )
    assert [world.step({}).rule_events for _ in range(479)] == [()] * 479
    assert len(world.step({}).rule_events) == 2  # the next day


class MuteError(Exception):
    """An error that can't say what it is."""

    def __str__(self):
        raise RuntimeError("no words")


def test_an_error_without_a_text_is_an_error_like_others():
    def fair(tick):
        raise MuteError

    (fault,) = world_of(fair).step({}).rule_events
    assert "MuteError: its text can't be made (test_own_rules.py" in fault.text


def test_a_coroutine_is_no_rule():
    async def fair(tick):
        tick.end("never")

    with pytest.warns(RuntimeWarning, match="never awaited"):
        (fault,) = world_of(fair).step({}).rule_events
    assert "not coroutine" in fault.text


def test_a_tick_is_good_only_while_the_rule_is_called():
    kept = []

    def fair(tick):
        kept.append(tick)

    world_of(fair).step({})
    for late in (lambda tick: tick.end("late"), lambda tick: tick.position("mira"), lambda tick: tick.tick_id):
        with pytest.raises(OwnRuleError, match="this tick is over"):
            late(kept[0])


def lucky(tick):
    """Depends on chance and on the tick, and fails in tick 5."""
    if tick.chance(2):
        tick.give_items("mira", "coin", 1)
    if tick.tick_id == 5:
        raise ValueError("enough")


class History:
    """The recorded ticks."""

    def __init__(self, records):
        self._records = records
        self.last_tick_id = records[-1].tick_id

    def records(self, first):
        return [record for record in self._records if record.tick_id >= first]


@pytest.mark.parametrize("after", [0, 3, 6])
def test_a_world_that_is_resumed_calls_the_same_rules_again(after):
    world = world_of(lucky)
    records, snapshot = [], world.snapshot()
    for tick_id in range(1, 10):
        records.append(world.step({}))
        if tick_id == after:
            snapshot = world.snapshot()
    again = world_of(lucky)
    resume(again, Checkpoint(1, after + 1, snapshot), History(records))
    assert again.state_hash() == world.state_hash()
    assert again.step({}).rule_events == ()  # it stays switched off


def test_another_function_of_the_same_name_is_noticed():
    world = world_of(lucky)
    records = [world.step({}) for _ in range(9)]

    def other(tick):
        tick.give_items("tomas", "coin", 1)

    other.__name__ = "lucky"
    with pytest.raises(ReplayError, match="gives another state than recorded"):
        resume(world_of(other), None, History(records))


def test_a_world_without_its_rules_can_be_looked_at_but_not_stepped():
    world = TileWorld.from_scenario(parse_scenario(FAIR))
    assert world.info.name == "yard"
    before = world.state_hash()
    with pytest.raises(OwnRuleError, match=r"rules of its user's own \(fair\)"):
        world.step({})
    assert world.state_hash() == before
    with pytest.raises(OwnRuleError, match="not given: fair"):
        TileWorld.from_scenario(parse_scenario(FAIR), {"other": lucky})


def test_functions_that_the_scenario_does_not_name_are_not_called():
    world = TileWorld.from_scenario(parse_scenario(YARD), {"lucky": lucky})
    assert [world.step({}).rule_events for _ in range(6)] == [()] * 6


def test_a_reader_of_a_run_refuses_to_step_its_world(tmp_path):
    world = world_of(lucky, text=FAIR)
    store = RunStore(tmp_path)
    log = store.create(world.info, "fair")
    log.publish(world.step({}))
    log.close()
    with store.open("fair") as run, pytest.raises(RecordError, match=r"user's own \(lucky\).*can't be stepped"):
        PastWorld(run, parse_scenario(FAIR.replace("fair", "lucky")))


def test_names_of_rules_are_part_of_the_digest():
    texts = (YARD, FAIR, FAIR.replace("fair", "market"), FAIR.replace("[0, 0, 0, 0]", "[0, 0, 1, 0]"))
    assert len({parse_scenario(text).digest for text in texts}) == 4
    assert parse_scenario(f"{YARD}own_rules: []\n").digest == parse_scenario(YARD).digest
    assert "own_rule_off" not in dict(TileWorld.from_scenario(parse_scenario(YARD))._state.columns())


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ("own_rules: fair", "expected a list, found 'fair'"),
        ("own_rules: [fair, fair]", "the rule 'fair' is there twice"),
        ("own_rules: [{a: b}]", "expected a single value"),
        ("own_rules: [late]\ngoals: {late: {tick: 3}}", "'late' is also the name of a goal"),
        (f"own_rules: {[f'r{number}' for number in range(21)]}", "more than 20 rules"),
    ],
)
def test_mistakes_in_the_list_are_named(section, message):
    with pytest.raises(ScenarioError) as error:
        parse_scenario(f"{YARD}{section}\n")
    assert message in str(error.value)


@pytest.mark.parametrize(
    "error", [SystemExit("bye"), GeneratorExit(), ExceptionGroup("two", [ValueError(), TypeError()])]
)
def test_whatever_a_rule_raises_the_world_goes_on(error):
    def leaves(tick):
        tick.score(None, 3, "so far")
        raise error

    world = world_of(leaves)
    events = world.step({}).rule_events
    assert [event.score for event in events] == [3, 0]
    assert events[1].text.startswith(f"switched off after an error: {type(error).__name__}")
    assert not any(event.own for event in world.step({}).rule_events)


def test_a_rule_that_closes_its_tick_scores_once():
    def closes(tick):
        tick.score(None, 3, "won")
        tick.close()

    world = world_of(closes)
    assert [event.score for event in world.step({}).rule_events] == [3]


def test_a_rule_reads_and_changes_needs_and_it_is_on_record():
    seen: list[tuple[int, ...]] = []

    def fair(tick):
        seen.append((tick.need("ada", "warmth"), tick.need("bo", "hunger")))
        changes = tick.change_need("ada", "warmth", 50), tick.change_need("bo", "health", -1000)
        seen.append((*changes, tick.change_need("cy", "energy", 1000), tick.change_need("ada", "health", 9)))

    world = world_of(fair, text=f"{COLD}own_rules: [fair]\n")
    record: Any = world.step({})
    assert seen == [(793, 1), (50, -1000, 501, 0)]
    assert record.rule_events == (
        RuleEvent("fair", ("ada",), own=True, effects=(Effect("warmth", 50),)),
        RuleEvent("fair", ("bo",), own=True, effects=(Effect("health", -1000),)),
        RuleEvent("fair", ("cy",), own=True, effects=(Effect("energy", 501),)),
    )
    ada, bo, cy = world.observe([0, 1, 2])
    assert (ada.me.need("warmth"), cy.me.energy) == (843, 1000)
    assert bo.me.status == ActorStatus.INCAPACITATED  # from now on, not a tick later
    assert record.needs.own.tolist() == [[843, 1000], [287, 0], [793, 1000]]


@pytest.mark.parametrize(
    ("text", "need", "by", "says"),
    [
        (COLD, "joy", 1, "there is no need 'joy'"),
        (COLD, "warmth", 1001, "from -1000 to 1000"),
        (COLD, "warmth", 0.5, "from -1000 to 1000"),
        (YARD, "hunger", 1, "there is no need 'hunger'"),
    ],
)
def test_a_need_that_there_is_not_or_too_large_a_change_switches_a_rule_off(text, need, by, says):
    def fair(tick):
        tick.change_need(tick.actor_ids[0], need, by)

    (event,) = world_of(fair, text=f"{text}own_rules: [fair]\n").step({}).rule_events
    assert says in event.text
