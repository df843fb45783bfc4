"""Golden scenarios of what actors do, one claim each."""

import pytest

from tickmind.protocol import (
    ActorStatus,
    Direction,
    Drop,
    Effect,
    Give,
    Interact,
    Move,
    ObjectDelta,
    Pickup,
    Reason,
    Say,
    Sleep,
    Use,
    Wait,
    Wake,
)
from tickmind.world import ScenarioError, TileWorld, parse_scenario

NEEDS = "{needs: {hunger_per_tick: 10, energy_per_tick: 5, rest_per_tick: 50, wake_energy: 100}}"


# Movement


@pytest.mark.slow
def test_a_step_goes_one_tile_and_turns(play):
    one = play("...\n.1.\n...")
    assert one.do(1, Move(Direction.NE)).ok
    assert one.at(1) == (2, 0)
    assert one.me(1).facing is Direction.NE


@pytest.mark.parametrize(
    ("drawing", "direction", "reason"),
    [
        ("1", Direction.N, Reason.OUT_OF_BOUNDS),
        ("1#", Direction.E, Reason.NOT_WALKABLE),
        ("1~", Direction.E, Reason.NOT_WALKABLE),
        ("1D", Direction.E, Reason.NOT_WALKABLE),
        ("1#\n..", Direction.SE, Reason.ILLEGAL_DIAGONAL),
        ("12", Direction.E, Reason.OCCUPIED),
    ],
)
def test_a_step_that_fails_says_why_and_changes_only_the_facing(play, drawing, direction, reason):
    one = play(drawing)
    done = one.do(1, Move(direction))
    assert (done.ok, done.reason) == (False, reason)
    assert one.at(1) == (0, 0)
    assert one.me(1).facing is direction


def test_of_two_who_want_a_tile_the_smaller_id_gets_it(play):
    two = play("9.10".replace("10", "2"))
    record = two.step({9: Move(Direction.E), 2: Move(Direction.W)})
    assert [(found.actor_id, found.reason) for found in record.action_results()] == [
        ("entity:2", Reason.NONE),
        ("entity:9", Reason.TILE_CONTESTED),
    ]


def test_swap_fails_for_both(play):
    two = play("12")
    record = two.step({1: Move(Direction.E), 2: Move(Direction.W)})
    assert [found.reason for found in record.action_results()] == [Reason.SWAP, Reason.SWAP]


def test_a_cycle_fails_for_all(play):
    four = play("12\n43")
    ways = {1: Direction.E, 2: Direction.S, 3: Direction.W, 4: Direction.N}
    record = four.step({digit: Move(way) for digit, way in ways.items()})
    assert [found.reason for found in record.action_results()] == [Reason.CYCLE] * 4


def test_a_failed_move_fails_all_who_follow(play):
    row = play("123#")
    record = row.step({digit: Move(Direction.E) for digit in (1, 2, 3)})
    assert [found.reason for found in record.action_results()] == [
        Reason.BLOCKED_BY_FAILED_MOVE,
        Reason.BLOCKED_BY_FAILED_MOVE,
        Reason.NOT_WALKABLE,
    ]


def test_a_row_moves_as_one(play):
    row = play("123.")
    assert all(found.ok for found in row.step({digit: Move(Direction.E) for digit in (1, 2, 3)}).action_results())
    assert [row.at(digit) for digit in (1, 2, 3)] == [(1, 0), (2, 0), (3, 0)]


# Items


def test_pickup_takes_from_the_tile_what_is_there(play):
    one = play("1g")
    one.do(1, Move(Direction.E))
    done = one.do(1, Pickup("berries", 5))
    assert done.effects == {"inventory.berries": 2}
    assert done.record.object_deltas == (ObjectDelta("ground:1,0", "berries", 0),)
    assert one.has(1) == {"berries": 2}
    assert one.do(1, Pickup("berries")).reason is Reason.NOTHING_HERE
    assert one.do(1, Pickup("coin")).ok


def test_pickup_takes_from_a_bush_and_berries_grow_back(play):
    one = play("1b")
    one.do(1, Move(Direction.E))
    assert one.do(1, Pickup("berries", 9)).effects == {"inventory.berries": 3}  # in tick 2
    assert one.do(1, Pickup("berries")).reason is Reason.NOTHING_HERE
    stocks = [[delta.new_value for delta in one.step().object_deltas] for _ in range(15)]  # ticks 4 to 18
    assert stocks == [[], [], [1], [], [], [], [2], [], [], [], [3], [], [], [], []]


def test_pickup_takes_no_more_than_one_can_carry(play):
    one = play("1g", rules="{inventory_limit: 3}", carry={1: "{wood: 2}"})
    one.do(1, Move(Direction.E))
    assert one.do(1, Pickup("berries", 2)).effects == {"inventory.berries": 1}
    assert one.do(1, Pickup("berries", 1)).reason is Reason.INVENTORY_FULL


@pytest.mark.parametrize(
    ("intent", "reason"),
    [
        (Pickup("berries", 0), Reason.ILLEGAL_ACTION),
        (Pickup("berries", -3), Reason.ILLEGAL_ACTION),
        (Pickup("berries", 10**30), Reason.NOTHING_HERE),
        (Pickup("gold"), Reason.UNKNOWN_KIND),
        (Pickup("berries", item_id="item:1"), Reason.UNKNOWN_KIND),
        (Use("coin"), Reason.NOT_USABLE),
        (Use("berries"), Reason.NOT_IN_INVENTORY),
        (Drop("berries"), Reason.NOT_IN_INVENTORY),
        (Drop("coin", 2), Reason.NOT_IN_INVENTORY),
        (Give("entity:2", "wood"), Reason.NOT_IN_INVENTORY),
        (Give("entity:3", "coin"), Reason.TOO_FAR),
        (Give("entity:1", "coin"), Reason.UNKNOWN_TARGET),
        (Give("entity:77", "coin"), Reason.UNKNOWN_TARGET),
        (Interact("door:77"), Reason.UNKNOWN_TARGET),
        (Interact("tree:1"), Reason.TOO_FAR),
        (Interact("door:1", "close"), Reason.WRONG_STATE),
        (Interact("door:1", "chop"), Reason.WRONG_STATE),
        (Interact("door:1", "eat"), Reason.ILLEGAL_ACTION),
        (Wake(), Reason.NOT_ASLEEP),
        (Say(""), Reason.ILLEGAL_ACTION),
        (Say("x" * 501), Reason.TEXT_TOO_LONG),
        (Say("hello", channel="radio"), Reason.ILLEGAL_ACTION),
    ],
)
def test_what_cannot_be_done_is_refused_with_its_reason(play, intent, reason):
    crowd = play("D12.3.T", carry={1: "{coin: 1}"})
    before = crowd.has(1), crowd.has(2)
    done = crowd.do(1, intent)
    assert (done.ok, done.reason, done.effects) == (False, reason, {})
    assert (crowd.has(1), crowd.has(2)) == before


def test_use_eats_and_stills_hunger(play):
    one = play("1", rules=NEEDS, carry={1: "{berries: 2}"}, state=", hunger: 500, energy: 500")
    done = one.do(1, Use("berries", 2))
    assert done.effects == {"inventory.berries": -2, "hunger": -200, "energy": 20}
    assert (one.me(1).hunger, one.me(1).energy) == (310, 515)  # and the tick's own change
    assert one.has(1) == {}


def test_use_without_needs_only_uses_up(play):
    one = play("1", carry={1: "{berries: 2}"})
    assert one.do(1, Use("berries")).effects == {"inventory.berries": -1}
    assert (one.me(1).hunger, one.me(1).energy) == (0, 1000)


def test_drop_lays_down_and_another_picks_up(play):
    two = play("12", carry={1: "{coin: 3}"})
    done = two.do(1, Drop("coin", 2))
    assert done.record.object_deltas == (ObjectDelta("ground:0,0", "coin", 2),)
    two.step({1: Drop("coin")})
    assert two.has(1) == {}
    assert [(found.object_id, found.kind, found.items[0].quantity) for found in two.look(2).visible_objects] == [
        ("ground:0,0", "ground", 3)
    ]


def test_give_hands_over_to_who_stands_near(play):
    two = play("1.\n.2", carry={1: "{coin: 3}"})
    done = two.do(1, Give("entity:2", "coin", 2))
    assert (done.result.target_id, done.effects) == ("entity:2", {"inventory.coin": -2})
    assert (two.has(1), two.has(2)) == ({"coin": 1}, {"coin": 2})


def test_give_fails_whole_if_the_other_has_no_room(play):
    two = play("12", rules="{inventory_limit: 3}", carry={1: "{coin: 2}", 2: "{wood: 2}"})
    assert two.do(1, Give("entity:2", "coin", 2)).reason is Reason.INVENTORY_FULL
    assert (two.has(1), two.has(2)) == ({"coin": 2}, {"wood": 2})


def test_a_gift_can_be_passed_on_in_the_same_tick_by_a_later_row(play):
    three = play("123", carry={1: "{coin: 1}"})
    record = three.step({1: Give("entity:2", "coin"), 2: Give("entity:3", "coin")})
    assert [found.ok for found in record.action_results()] == [True, True]
    assert three.has(3) == {"coin": 1}


# Objects


def test_a_door_opens_lets_through_and_closes(play):
    one = play("1D.")
    done = one.do(1, Interact("door:1"))
    assert done.record.object_deltas == (ObjectDelta("door:1", "state", "open"),)
    assert one.do(1, Move(Direction.E)).ok
    assert one.do(1, Move(Direction.E)).ok
    assert one.do(1, Interact("door:1", "close")).ok
    assert one.do(1, Move(Direction.W)).reason is Reason.NOT_WALKABLE


def test_a_door_does_not_close_on_somebody(play):
    two = play("1O2")
    two.do(2, Move(Direction.W))
    assert two.do(1, Interact("door:1", "close")).reason is Reason.TARGET_OCCUPIED
    assert two.do(2, Interact("door:1", "close")).reason is Reason.TARGET_OCCUPIED


def test_chopping_takes_its_work_and_yields_wood(play):
    one = play("1T")
    effects = [one.do(1, Interact("tree:1", "chop")).effects for _ in range(3)]
    assert effects == [{"work_remaining": 2}, {"work_remaining": 1}, {"work_remaining": 0, "inventory.wood": 2}]
    assert one.do(1, Interact("tree:1", "chop")).reason is Reason.WRONG_STATE
    assert one.do(1, Move(Direction.E)).ok


def test_two_who_chop_share_the_work_in_the_order_of_their_ids(play):
    two = play("1T2")
    chop = {1: Interact("tree:1"), 2: Interact("tree:1")}
    two.step(chop)
    record = two.step(chop)
    assert [found.reason for found in record.action_results()] == [Reason.NONE, Reason.WRONG_STATE]
    assert (two.has(1), two.has(2)) == ({"wood": 2}, {})


def test_an_action_may_need_something_that_stays(play):
    two = play("1T2", carry={2: "{axe: 1}"})
    assert two.do(1, Interact("tree:1", "fell")).reason is Reason.MISSING_ITEM
    assert two.do(2, Interact("tree:1", "fell")).ok
    assert two.has(2) == {"axe": 1, "wood": 2}


def test_a_recipe_uses_up_what_it_consumes_with_the_last_of_the_work(play):
    one = play("1W", carry={1: "{axe: 1, wood: 5}"})
    assert one.do(1, Interact("bench:1", "saw")).effects == {"work_remaining": 1}
    assert one.has(1) == {"axe": 1, "wood": 5}
    done = one.do(1, Interact("bench:1", "saw"))
    assert [(effect.name, effect.value) for effect in done.result.effects] == [
        ("work_remaining", 0), ("inventory.wood", -2), ("inventory.plank", 3),
    ]  # fmt: skip
    assert one.has(1) == {"axe": 1, "plank": 3, "wood": 3}
    one.do(1, Interact("bench:1", "saw"))
    one.do(1, Interact("bench:1", "saw"))  # it stays in its state, so the work begins again
    assert one.has(1) == {"axe": 1, "plank": 6, "wood": 1}


def test_a_refusal_names_what_is_missing(play):
    two = play("1W2", carry={2: "{wood: 1}"})
    refused = two.do(1, Interact("bench:1", "saw"))
    assert (refused.reason, refused.effects) == (Reason.MISSING_ITEM, {"missing.axe": 1, "missing.wood": 2})
    assert two.do(2, Interact("bench:1", "saw")).effects == {"missing.axe": 1, "missing.wood": 1}
    assert two.has(2) == {"wood": 1}


def test_what_is_used_up_makes_room_for_what_it_yields(play):
    one = play("1W", carry={1: "{axe: 1, wood: 3}"}, rules="{inventory_limit: 4}")
    one.do(1, Interact("bench:1"))
    done = one.do(1, Interact("bench:1"))
    assert one.has(1) == {"axe": 1, "plank": 2, "wood": 1}
    assert ObjectDelta("ground:0,0", "plank", 1) in done.record.object_deltas


HOURS = """\
world: shop
calendar: {day_ticks: 24, begins: "06:00"}
floors: {grass: {}}
items: {coin: {}, bread: {}}
kinds: {stall: {actions: {buy: {consumes: {coin: 1}, yields: {bread: 1}, hours: ["08:00", "10:00"]}}}}
map: |
  1S
legend: {".": grass, "S": {floor: grass, object: stall}, "1": {floor: grass, actor: {inventory: {coin: 20}}}}
"""


@pytest.mark.parametrize(("hours", "open_at"), [('["08:00", "10:00"]', {8, 9}), ('["22:00", "01:00"]', {22, 23, 0})])
def test_what_has_hours_can_be_done_in_them_only(hours, open_at):
    world = TileWorld.from_scenario(parse_scenario(HOURS.replace('["08:00", "10:00"]', hours)))
    calendar = world.info.setting.calendar
    for _ in range(48):
        hour = calendar.at(world.tick_id).hour
        (result,) = world.step({0: Interact("stall:1", "buy")}).action_results()
        if hour in open_at:
            assert result.ok, result
        else:
            opens = int(hours[2:4]) * 60
            assert (result.reason, result.effects) == (Reason.CLOSED, (Effect("opens_at", opens),))
    assert {stack.kind: stack.quantity for stack in world.observe([0])[0].me.inventory} == {
        "bread": 2 * len(open_at), "coin": 20 - 2 * len(open_at),
    }  # fmt: skip


def test_hours_and_the_calendar_that_they_go_by_are_part_of_a_scenarios_identity():
    digests = {
        parse_scenario(text).digest
        for text in (HOURS, HOURS.replace("10:00", "11:00"), HOURS.replace("day_ticks: 24", "day_ticks: 48"))
    }
    assert len(digests) == 3


def test_hours_that_never_come_are_named():
    with pytest.raises(ScenarioError, match="these hours are empty"):
        parse_scenario(HOURS.replace('["08:00", "10:00"]', '["08:00", "08:00"]'))


@pytest.mark.parametrize("bad", ['["08:00"]', '["8", "10:00"]', "[8, 10]"])
def test_hours_that_are_none_are_named(bad):
    with pytest.raises(ScenarioError, match="time"):
        parse_scenario(HOURS.replace('["08:00", "10:00"]', bad))


def test_what_work_needs_is_checked_at_each_step(play):
    one = play("1W", carry={1: "{axe: 1, wood: 2}"})
    one.do(1, Interact("bench:1"))
    one.do(1, Drop("wood", 1))
    assert one.do(1, Interact("bench:1")).effects == {"missing.wood": 1}
    one.do(1, Pickup("wood", 1))
    assert one.do(1, Interact("bench:1")).ok


def test_what_one_cannot_carry_falls_to_the_ground(play):
    one = play("1C", rules="{inventory_limit: 3}")
    one.do(1, Interact("chest:1"))
    done = one.do(1, Interact("chest:1"))
    assert done.effects == {"work_remaining": 0, "inventory.coin": 3}
    assert ObjectDelta("ground:0,0", "coin", 2) in done.record.object_deltas


def test_a_tree_grows_again_but_not_on_somebody(play):
    one = play("1T")
    for _ in range(3):
        one.do(1, Interact("tree:1", "chop"))  # a stump since tick 3
    one.do(1, Move(Direction.E))
    assert [len(one.step().object_deltas) for _ in range(10)] == [0] * 10
    grown = one.do(1, Move(Direction.W)).record.object_deltas
    assert ObjectDelta("tree:1", "state", "standing") in grown
    assert one.do(1, Move(Direction.E)).reason is Reason.NOT_WALKABLE


# Sleep, needs, control


def test_who_sleeps_can_only_wake(play):
    one = play("1")
    assert one.do(1, Sleep()).ok
    assert one.me(1).status == ActorStatus.ASLEEP
    for intent in (Move(Direction.N), Say("x"), Use("berries"), Sleep(), Interact("x")):
        assert one.do(1, intent).reason is Reason.ASLEEP
    assert one.do(1, Wait()).ok
    assert one.do(1, Wake()).ok
    assert one.me(1).status == ActorStatus.AWAKE


def test_the_exhausted_fall_asleep_and_wake_only_when_rested(play):
    one = play("1", rules=NEEDS, state=", energy: 5")
    one.step()
    assert one.me(1).status == ActorStatus.ASLEEP
    assert one.do(1, Wake()).reason is Reason.TOO_TIRED  # energy 0
    assert one.do(1, Wake()).reason is Reason.TOO_TIRED  # 50
    assert one.do(1, Wake()).ok  # 100


def test_the_starving_can_only_wake_eat_speak_and_wait(play):
    two = play("12", rules=NEEDS, carry={2: "{berries: 1}"}, state=", hunger: 995")
    two.step()
    assert two.me(1).status == ActorStatus.INCAPACITATED
    assert two.do(1, Move(Direction.S)).reason is Reason.INCAPACITATED
    assert two.do(1, Say("help")).ok
    assert two.do(2, Use("berries")).ok
    assert two.me(2).status == ActorStatus.AWAKE


def test_who_starves_asleep_wakes_and_eats(play):
    one = play("1", rules=NEEDS, carry={1: "{berries: 1}"}, state=", hunger: 995")
    assert one.do(1, Sleep()).ok
    assert one.me(1).status == ActorStatus.ASLEEP | ActorStatus.INCAPACITATED
    assert one.do(1, Use("berries")).reason is Reason.ASLEEP
    assert one.do(1, Wake()).ok
    assert one.me(1).status == ActorStatus.INCAPACITATED
    assert one.do(1, Use("berries")).ok
    assert one.me(1).status == ActorStatus.AWAKE


def test_nobody_starves_where_there_is_no_starvation(play):
    one = play("1.", rules=NEEDS.replace("{needs: {", "{needs: {starvation: false, "), state=", hunger: 995")
    one.step()
    assert (one.me(1).hunger, one.me(1).status) == (1000, ActorStatus.AWAKE)
    assert one.do(1, Move(Direction.E)).ok


def test_an_uncontrolled_actor_stands_still_and_its_needs_with_it(play):
    one = play("1.", rules=NEEDS)
    record = one.step({1: Move(Direction.E)}, uncontrolled=(1,))
    assert record.result_at(0).reason is Reason.INVALID_LEASE
    assert one.at(1) == (0, 0)
    assert one.me(1).status == ActorStatus.UNCONTROLLED
    assert (one.me(1).hunger, one.me(1).energy) == (0, 1000)


def test_an_uncontrolled_actor_falls_asleep_on_furniture_and_wakes_under_control(play):
    one = play("1B")
    one.do(1, Move(Direction.E))
    assert one.me(1).status == ActorStatus.AWAKE
    one.step(uncontrolled=(1,))
    assert one.me(1).status == ActorStatus.UNCONTROLLED | ActorStatus.ASLEEP
    assert one.do(1, Move(Direction.W)).ok
    assert one.me(1).status == ActorStatus.AWAKE


def test_actions_use_the_position_after_the_move_of_others(play):
    two = play("1.2", carry={1: "{coin: 1}"})
    record = two.step({1: Give("entity:2", "coin"), 2: Move(Direction.W)})
    assert [found.ok for found in record.action_results()] == [True, True]
    assert two.has(2) == {"coin": 1}
