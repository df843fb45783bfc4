"""Actors come into the world and leave it: as the scenario says, or by a rule. Away, they neither see nor are seen."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tickmind.protocol import Direction, Entered, Give, Heard, Left, Move, Offer, Placement, Reason, Say, Wait
from tickmind.world import ScenarioError, TileWorld, WorldError, parse_scenario

INN = """\
world: inn
rules: {needs: true}
calendar: {day_ticks: 24, begins: "06:00"}
floors: {boards: {}}
items: {coin: {}}
map: {width: 5, height: 1, floor: boards}
actors:
  - {id: guest, at: [1, 0], inventory: {coin: 3}, arrives: {tick: 3}, leaves: {tick: 6}}
  - {id: host, at: [2, 0]}
"""
GUEST, HOST = 0, 1


def inn(text=INN, rules=None):
    return TileWorld.from_scenario(parse_scenario(text), rules)


def until(world, tick_id):
    while world.tick_id < tick_id:
        world.step({})
    return world


def test_an_actor_is_there_from_the_tick_of_its_arrival_until_that_of_its_departure():
    world = inn()
    there = []
    for _ in range(8):
        there.append(bool(world.present[GUEST]))
        record = world.step({})
        assert (record.actor_state.x[GUEST] >= 0) == world.present[GUEST]
    assert there == [False, False, True, True, True, False, False, False]


def test_others_see_it_come_and_go():
    world = until(inn(), 3)
    (seen,) = world.observe([HOST])
    assert [one.entity_id for one in seen.visible_entities] == ["guest"]
    assert Entered("guest", 1, 0) in seen.events
    assert until(world, 5).observe([HOST])[0].visible_entities
    (after,) = until(world, 6).observe([HOST])
    assert after.visible_entities == ()
    assert after.events == (Left("guest", 1, 0),)


def test_an_actor_that_is_away_does_nothing_and_perceives_nothing():
    world = inn()
    (refused, _) = world.step({GUEST: Move(Direction.E), HOST: Wait()}).action_results()
    assert refused.reason is Reason.AWAY
    with pytest.raises(WorldError, match="away"):
        world.observe([GUEST])
    assert world.observe_columns().actor.tolist() == [HOST]
    (needs,) = world.observe([HOST])
    assert needs.me.hunger > 0
    assert until(world, 3).observe([GUEST])[0].me.hunger == 0  # nor does it hunger


def test_nothing_is_handed_to_an_actor_that_is_away():
    text = INN.replace("at: [2, 0]}", "at: [0, 0], inventory: {coin: 1}}")  # beside the corner of the map
    for intent in (Give("guest", "coin"), Offer("guest", "coin")):
        (refused,) = inn(text).step({HOST: intent}).action_results()
        assert refused.reason is Reason.TOO_FAR


def test_its_tile_is_free_for_others_until_it_comes_and_then_it_waits_for_them():
    world = inn()
    world.step({HOST: Move(Direction.W)})  # onto the guest's tile
    until(world, 4)
    assert not world.present[GUEST]
    world.step({HOST: Move(Direction.E)})
    assert world.present[GUEST]
    (contested,) = world.step({HOST: Move(Direction.W)}).action_results()
    assert contested.reason is Reason.OCCUPIED


def test_the_tile_of_an_actor_that_has_left_is_free():
    world = until(inn(), 6)
    (moved,) = world.step({HOST: Move(Direction.W)}).action_results()
    assert moved.ok


def test_what_it_carries_goes_and_comes_with_it():
    world = until(inn(), 6)
    assert world._state.inventory[GUEST].tolist() == [3]


def test_a_snapshot_keeps_who_is_there_and_who_is_yet_to_come():
    for tick in (1, 3, 7):
        world, other = until(inn(), tick), inn()
        other.restore(world.snapshot())
        assert other.state_hash() == world.state_hash()
        for _ in range(6):
            assert other.step({}).state_hash == world.step({}).state_hash
        assert np.array_equal(other.present, world.present)


def test_a_time_may_be_a_day_and_a_clock():
    world = inn(INN.replace("{tick: 3}, leaves: {tick: 6}", '{day: 1, clock: "10:00"}, leaves: {day: 2}'))
    there = [tick for tick in range(1, 25) if until(world, tick).present[GUEST]]
    assert (there[0], there[-1]) == (4, 17)
    assert str(world.info.setting.calendar.at(4)) == "day 1, 10:00"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("leaves: {tick: 6}", "leaves: {tick: 3}", "would leave before it arrives"),
        ("arrives: {tick: 3}", "arrives: {tick: 0}", "from 1 to"),
        ("arrives: {tick: 3}", "arrives: {tick: 3, day: 2}", "expected a time as {tick: 100}"),
        ("arrives: {tick: 3}", "arrives: {clock: '08:00'}", "expected a time as {tick: 100}"),
        ("arrives: {tick: 3}", "arrives: 3", "expected a time as {tick: 100}"),
        ("arrives: {tick: 3}", "arrives: seldom", "or never"),
        ("leaves: {tick: 6}", "leaves: never", "expected"),
        ("arrives: {tick: 3}", "arrives: {tick: 1}", "from tick 2 on"),
        ("arrives: {tick: 3}", "arrives: {day: 1, clock: '05:00'}", "not after the beginning of the world"),
    ],
)
def test_mistakes_of_times_are_named(old, new, message):
    assert old in INN
    with pytest.raises(ScenarioError) as raised:
        parse_scenario(INN.replace(old, new))
    assert message in str(raised.value)


def test_a_rule_brings_actors_and_sends_them_away():
    def visits(tick):
        if tick.tick_id == 2:
            assert not tick.is_there("guest")
            assert tick.bring("guest", 4, 0)
            assert not tick.bring("guest", 3, 0)  # it is there
        if tick.tick_id == 4:
            tick.send_away("guest")
            assert not tick.bring("guest", 2, 0)  # where the host stands

    text = INN.replace("{tick: 3}, leaves: {tick: 6}", "{tick: 1000}") + "own_rules: [visits]\n"
    world = inn(text, {"visits": visits})
    there = []
    for _ in range(6):
        record = world.step({})
        assert not record.rule_events
        there.append(bool(world.present[GUEST]))
    assert there == [False, True, True, False, False, False]
    assert until(world, 1000).present[GUEST]


def test_a_rule_brings_an_actor_through_a_door_that_it_opens_in_the_same_tick():
    brought = []

    def opens(tick):
        if tick.tick_id == 2:
            brought.append(tick.bring("guest", 4, 0))
            tick.set_object_state("gate", "open")
            brought.append(tick.bring("guest", 4, 0))

    text = INN.replace("{tick: 3}, leaves: {tick: 6}", "{tick: 1000}") + "own_rules: [opens]\n"
    text = text.replace("map:", "kinds: {gate: {states: {shut: {walkable: false}, open: {}}}}\nmap:")
    world = inn(f"{text}objects: [{{id: gate, kind: gate, at: [4, 0]}}]\n", {"opens": opens})
    world.step({})
    assert not world.step({}).rule_events
    assert brought == [False, True]


def test_scenarios_differ_by_arrivals():
    texts = (INN, INN.replace("tick: 3", "tick: 4"), INN.replace(", leaves: {tick: 6}", ""))
    assert len({parse_scenario(text).digest for text in texts}) == 3


def test_nothing_falls_below_an_actor_that_is_away():
    def gives(tick):
        assert tick.give_items("guest", "coin", 200) == (97 if tick.tick_id == 1 else 0)

    text = INN.replace("{tick: 3}, leaves: {tick: 6}", "{tick: 1000}") + "own_rules: [gives]\n"
    world = inn(text, {"gives": gives})
    for _ in range(2):
        assert not any(event.text for event in world.step({}).rule_events)
    assert not len(world._state.ground_key)
    assert world.observe([HOST])[0].me.entity_id == "host"


def test_no_goal_is_reached_by_an_actor_that_is_away():
    world = inn(INN + "goals: {rich: {carry: {coin: 3}, ends: true}}\n")
    reached = [bool(world.step({}).rule_events) for _ in range(3)]
    assert reached == [False, False, True]


def test_no_actor_is_brought_into_what_has_closed_in_the_same_tick():
    text = """\
world: gate
floors: {path: {}}
kinds: {gate: {states: {open: {}, closed: {walkable: false}}}}
objects: [{id: gate, kind: gate, at: [1, 0]}]
map: {width: 3, height: 1, floor: path}
actors: [{id: guest, at: [2, 0], arrives: {tick: 100}}, {id: host, at: [0, 0]}]
own_rules: [closes]
"""
    done = []

    def closes(tick):
        done.append((tick.set_object_state("gate", "closed"), tick.bring("guest", 1, 0)))

    world = inn(text, {"closes": closes})
    assert not world.step({}).rule_events
    assert done == [(True, False)]


def test_offers_of_and_to_an_actor_that_leaves_are_gone():
    world = until(inn(INN.replace("at: [2, 0]}", "at: [2, 0], inventory: {coin: 1}}")), 3)
    world.step({GUEST: Offer("host", "coin"), HOST: Offer("guest", "coin")})
    assert len(world._state.offers) == 2
    until(world, 6)
    assert len(world._state.offers) == 0


def test_the_last_words_of_an_actor_that_leaves_are_heard():
    world = until(inn(), 5)
    world.step({GUEST: Say("bye")})
    assert not world.present[GUEST]
    assert Heard("guest", "local", "bye", 1, 0) in world.observe([HOST])[0].events


def test_many_actors_come_in_one_tick():
    crowd = "\n".join(f"  - {{id: 'a{n}', at: [{n}, 1], arrives: {{tick: 2}}}}" for n in range(500))
    world = inn(INN.replace("width: 5, height: 1", "width: 500, height: 2") + crowd + "\n")
    before = world._state.x
    world.step({})
    assert world.present.sum() == 501
    assert (before < 0).sum() == 501  # the column of the tick before is as it was


NEVER = INN.replace("{tick: 3}, leaves: {tick: 6}", "never")


def outcomes(world, *orders):
    return [order.reason for order in world.step({}, None, orders).placements]


def test_an_actor_that_never_arrives_by_itself_waits_for_an_order():
    world = until(inn(NEVER), 100)
    assert not world.present[GUEST]
    assert outcomes(world, Placement("guest", 4, 0)) == [Reason.NONE]
    assert world.present[GUEST]
    assert (world.view().actors.x[GUEST], world.view().actors.y[GUEST]) == (4, 0)


def test_an_actor_that_never_arrives_by_itself_may_leave_at_a_time():
    world = inn(NEVER.replace("never", "never, leaves: {tick: 5}"))
    assert outcomes(world, Placement("guest", 4, 0)) == [Reason.NONE]
    there = [bool(until(world, tick).present[GUEST]) for tick in range(2, 8)]
    assert there == [True, True, True, False, False, False]


def test_a_scenario_that_waits_for_an_order_is_another_one():
    assert len({parse_scenario(text).digest for text in (INN, NEVER, INN.replace("arrives: {tick: 3}, ", ""))}) == 3


def test_an_operator_brings_actors_and_sends_them_away_at_the_end_of_a_tick():
    world = inn(NEVER)
    record = world.step({HOST: Move(Direction.W)}, None, [Placement("guest", 2, 0)])  # where the host was
    assert record.placements == (Placement("guest", 2, 0),)
    assert record.actor_state.x.tolist() == [2, 1]
    assert Entered("guest", 2, 0) in world.observe([HOST])[0].events
    world.step({GUEST: Move(Direction.E)}, None, [Placement("guest")])
    assert not world.present[GUEST]
    assert until(world, 10).state_hash() != until(inn(NEVER), 10).state_hash()
    assert world._state.inventory[GUEST].tolist() == [3]


def test_orders_that_can_not_be_carried_out_change_nothing_and_say_why():
    text = NEVER.replace("map:", "kinds: {wall: {states: {whole: {walkable: false}}}}\nmap:")
    text += "objects: [{id: wall, kind: wall, at: [4, 0]}]\n"
    world, other = inn(text), inn(text)
    orders = {
        Placement("guest", 4, 0): Reason.NOT_WALKABLE,
        Placement("guest", 2, 0): Reason.OCCUPIED,
        Placement("guest", 5, 0): Reason.OUT_OF_BOUNDS,
        Placement("guest", 0, 1): Reason.OUT_OF_BOUNDS,
        Placement("guest"): Reason.AWAY,
        Placement("host", 3, 0): Reason.ALREADY_THERE,
    }
    assert outcomes(world, *orders) == list(orders.values())
    other.step({})
    assert world.state_hash() == other.state_hash()
    with pytest.raises(WorldError, match="no actor 'ghost'"):
        world.step({}, None, [Placement("ghost", 1, 0)])


def test_orders_of_one_tick_are_carried_out_one_after_another():
    world = inn(NEVER)
    assert outcomes(world, Placement("guest", 2, 0), Placement("host"), Placement("guest", 2, 0)) == [
        Reason.OCCUPIED,
        Reason.NONE,
        Reason.NONE,
    ]
    assert world.present.tolist() == [True, False]


def test_an_actor_of_a_world_in_which_all_stay_can_be_sent_away_and_brought_back():
    world = inn(INN.replace(", arrives: {tick: 3}, leaves: {tick: 6}", ""))
    before = world.step({}).actor_state
    world.step({}, None, [Placement("guest")])
    assert before.x.tolist() == [1, 2]  # the column of the tick before is as it was
    other = inn(INN.replace(", arrives: {tick: 3}, leaves: {tick: 6}", ""))
    other.restore(world.snapshot())
    for one in (world, other):
        assert outcomes(one, Placement("guest", *one.start_of(GUEST))) == [Reason.NONE]
    assert world.state_hash() == other.state_hash()


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.lists(st.tuples(st.sampled_from(("guest", "host")), st.integers(-1, 5), st.booleans()), max_size=3),
        min_size=1,
        max_size=8,
    )
)
def test_a_run_with_orders_is_repeated_from_its_record(ticks):
    world, again = inn(), inn()
    for orders in ticks:
        placements = [Placement(actor_id) if leaves else Placement(actor_id, x, 0) for actor_id, x, leaves in orders]
        record = world.step({HOST: Move(Direction.W)}, None, placements)
        present = record.actor_state.x[record.actor_state.present].tolist()
        assert len(set(present)) == len(present)
        assert again.repeat(record)
