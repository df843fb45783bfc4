"""Interventions: what a scenario changes from outside in a tick."""

import pytest
from tests.unit.world.test_goals import YARD

from tickmind.protocol import Direction, Move, ObjectDelta, Say
from tickmind.world import ScenarioError, TileWorld, parse_scenario
from tickmind.world.scenario.scenario_reader import with_interventions

GIVES = "{tick: 2, actor: mira, item: bread, amount: 3}"
OPENS = '{tick: 2, object: "gate:1", state: open}'
SHUTS = '{tick: 3, object: "gate:1", state: locked}'


def yard(*interventions):
    section = f"interventions: [{', '.join(interventions)}]\n" if interventions else ""
    return parse_scenario(YARD + section)


def stepped(scenario, ticks, intents=None):
    world = TileWorld.from_scenario(scenario)
    return world, [world.step((intents or {}).get(tick, {})) for tick in range(1, ticks + 1)]


def test_an_actor_has_so_many_items_after_the_tick_and_not_before():
    world, records = stepped(yard(GIVES, "{tick: 3, actor: mira, item: bread, amount: 0}"), 3)
    effects = [
        [(event.name, effect.name, effect.value) for event in one.rule_events for effect in event.effects]
        for one in records
    ]
    given, taken = ("intervention", "inventory.bread", 2), ("intervention", "inventory.bread", -3)
    assert effects == [[], [given], [taken]]
    assert not world.observe([world.row_of("mira")])[0].me.inventory


def test_an_object_is_in_the_state_after_the_tick():
    _, records = stepped(yard(OPENS), 3)
    assert [ObjectDelta("gate:1", "state", "open") in one.object_deltas for one in records] == [False, True, False]


def test_a_rule_is_another_from_the_tick_on_and_the_digest_says_so():
    row = TileWorld.from_scenario(yard()).row_of("mira")
    short = "{tick: 2, rule: text_limit_chars, value: 3}"
    speech = {tick: {row: Say("Hello.")} for tick in (1, 2)}
    _, records = stepped(yard(short), 2, speech)
    assert [[one.text for one in record.utterances] for record in records] == [["Hello."], []]
    assert [event.text for event in records[1].rule_events] == ["text_limit_chars is 3 now"]
    assert len({yard().digest, yard(short).digest, yard(short.replace("3", "4")).digest}) == 3
    assert parse_scenario(with_interventions(YARD, yard(short).interventions)) == yard(short)


def test_what_is_not_possible_is_recorded_in_words():
    """An actor stands where the gate would shut."""
    scenario = yard(OPENS, '{tick: 5, object: "gate:1", state: locked}')
    row = TileWorld.from_scenario(scenario).row_of("tomas")
    _, records = stepped(scenario, 5, {3: {row: Move(Direction.W)}})
    (event,) = records[4].rule_events
    assert event.text == "gate:1 can't be locked now: it is not there, or an actor stands in its way"


def test_the_same_interventions_give_the_same_world_and_a_world_without_them_keeps_its_digest():
    states = [[one.state_hash for one in stepped(yard(GIVES, OPENS), 3)[1]] for _ in range(2)]
    assert states[0] == states[1]
    assert states[0][0] == stepped(yard(), 1)[1][0].state_hash
    assert len({yard().digest, yard(GIVES).digest, yard(OPENS).digest}) == 3


def test_they_can_be_put_into_a_text_and_exchanged():
    wanted = yard(GIVES, OPENS).interventions
    text = with_interventions(YARD, wanted)
    assert parse_scenario(text) == yard(GIVES, OPENS)
    exchanged = with_interventions(text, yard(SHUTS).interventions)
    assert parse_scenario(exchanged).interventions == yard(SHUTS).interventions
    assert parse_scenario(with_interventions(exchanged, ())).interventions == ()


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ("{actor: mira, item: bread, amount: 3}", "tick"),
        ("{tick: 1, actor: zoe, item: bread, amount: 3}", "there is no actor 'zoe'"),
        ("{tick: 1, actor: mira, item: gold, amount: 3}", "there is no item 'gold'"),
        ("{tick: 1, actor: mira, item: bread, amount: 7}", "6"),
        ("{tick: 1, actor: mira, item: bread}", "amount"),
        ('{tick: 1, object: "gate:1", state: ajar}', "there is no state of gate 'ajar'"),
        ("{tick: 1, object: well, state: open}", "there is no object 'well'"),
        ('{tick: 1, object: "gate:1", state: open, actor: mira}', "actor"),
        ("5", "expected"),
    ],
)
def test_an_intervention_that_cannot_be_read_says_why_and_where(wrong, says):
    with pytest.raises(ScenarioError) as error:
        yard(wrong)
    problem = error.value.problems[0]
    assert says in problem.message
    assert problem.place is not None
    assert problem.place.line == YARD.count("\n") + 1
