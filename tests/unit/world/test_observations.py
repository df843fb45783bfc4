"""What actors perceive: golden scenarios of sight, hearing and events, each observer-relative."""

import pytest

from tickmind.protocol import (
    Acted,
    ActionResult,
    ActionType,
    ActorStatus,
    Direction,
    Drop,
    Effect,
    Entered,
    Heard,
    Interact,
    ItemStack,
    Left,
    Move,
    Moved,
    Pickup,
    Reason,
    Say,
    VisibleEntity,
    VisibleObject,
    Wait,
)
from tickmind.world import WorldError


def names(observation):
    return [entity.entity_id for entity in observation.visible_entities]


def test_the_first_observation_shows_all_and_tells_no_events(play):
    two = play("1.2")
    seen = two.look(1)
    assert (seen.tick_id, seen.deadline_ms, seen.events, seen.result) == (1, 500, (), None)
    assert seen.me.entity_id == "entity:1"
    assert seen.visible_entities == (
        VisibleEntity("entity:2", 2, 0, "villager", ("npc",), ActorStatus.AWAKE, Direction.S),
    )


def test_a_wall_hides_and_is_seen_itself(play):
    two = play("1#2\n...")
    seen = two.look(1)
    assert names(seen) == []
    assert seen.visible_tiles.sees(1, 0)
    assert not seen.visible_tiles.sees(2, 0)
    assert not seen.visible_tiles.can_walk(1, 0)
    assert seen.visible_tiles.can_walk(0, 1)
    assert not seen.visible_tiles.sees(0, -1)
    assert (0, 0) in seen.visible_tiles.tiles()


def test_floors_come_with_the_tiles_in_sight(play):
    seen = play("1~#").look(1).visible_tiles
    side = 2 * seen.radius + 1
    start = seen.radius * side + seen.radius
    assert seen.floors[start : start + 3] == bytes([0, 1, 2])


def test_sight_ends_at_its_radius(play):
    assert names(play("1..2", rules="{sight_radius: 2}").look(1)) == []
    assert names(play("1.2", rules="{sight_radius: 2}").look(1)) == ["entity:2"]


def test_a_closed_door_hides_an_open_one_does_not_and_who_is_behind_enters_sight(play):
    two = play("1D2")
    assert names(two.look(1)) == []
    two.step({1: Interact("door:1", "open")})
    seen = two.look(1)
    assert names(seen) == ["entity:2"]
    assert seen.events == (Entered("entity:2", 2, 0),)
    two.step({2: Interact("door:1", "close")})
    seen = two.look(1)
    assert seen.events == (Left("entity:2", 2, 0),)
    assert names(seen) == []


def test_entering_leaving_and_moving_in_sight_are_told_apart(play):
    two = play("1...\n###2")
    two.step({2: Move(Direction.N)})
    assert two.look(1).events == (Entered("entity:2", 3, 0),)
    two.step({2: Move(Direction.W)})
    assert two.look(1).events == (Moved("entity:2", 2, 0, Direction.W),)
    two.step({2: Move(Direction.E)})
    two.step({2: Move(Direction.S)})
    assert two.look(1).events == (Left("entity:2", 3, 0),)


def test_an_observer_that_moves_sees_others_enter(play):
    two = play("1#.2\n....")
    two.step({1: Move(Direction.S)})
    assert two.look(1).events == (Entered("entity:2", 3, 0),)


def test_the_action_of_somebody_in_sight_is_told_and_of_somebody_unseen_is_not(play):
    three = play("1.2#3", carry={2: "{coin: 1}"})
    three.step({2: Drop("coin")})
    result = ActionResult("entity:2", ActionType.DROP, ok=True, effects=(Effect("inventory.coin", -1),))
    assert three.look(1).events == (Acted(result),)
    assert three.look(3).events == ()
    three.step({2: Pickup("wood")})
    failed = ActionResult("entity:2", ActionType.PICKUP, ok=False, reason=Reason.NOTHING_HERE)
    assert three.look(1).events == (Acted(failed),)


def test_waiting_and_failing_to_move_are_no_news(play):
    two = play("1.2")
    two.step({2: Move(Direction.N), 1: Wait()})
    assert two.look(1).events == ()
    assert two.look(2).events == ()


def test_ones_own_result_comes_with_the_next_observation(play):
    one = play("1")
    one.step({1: Move(Direction.N)})
    assert one.look(1).result == ActionResult("entity:1", ActionType.MOVE, ok=False, reason=Reason.OUT_OF_BOUNDS)
    one.step()
    assert one.look(1).result is None


def test_speech_goes_through_walls_but_not_beyond_hearing(play):
    four = play("1#2...3", rules="{hearing_radius: 4}")
    four.step({2: Say("hello")})
    heard = Heard("entity:2", "local", "hello", 2, 0)
    assert four.look(1).events == (heard,)
    assert four.look(3).events == (heard,)
    assert four.look(2).events == ()
    four.step({1: Say("who is there?")})
    assert four.look(3).events == ()


def test_speech_is_heard_where_the_listener_is_after_the_tick(play):
    two = play("1..2.", rules="{hearing_radius: 3}")
    two.step({1: Say("wait!"), 2: Move(Direction.E)})
    assert [event for event in two.look(2).events if isinstance(event, Heard)] == []


def test_objects_and_what_lies_around_are_seen_in_full(play):
    assert play("1bgT").look(1).visible_objects == (
        VisibleObject("bush:1", "bush", 1, 0, "plain", 0, (ItemStack("berries", 3),)),
        VisibleObject("tree:1", "tree", 3, 0, "standing", 3, (), ("chop", "fell")),
        VisibleObject("ground:2,0", "ground", 2, 0, "", 0, (ItemStack("berries", 2), ItemStack("coin", 1))),
    )


def test_what_lies_behind_a_wall_is_not_seen(play):
    assert [found.kind for found in play("1Tbg").look(1).visible_objects] == ["tree"]


def test_who_was_not_watched_before_gets_exact_events_all_the_same(play):
    two = play("1...\n###2")
    two.step({2: Move(Direction.N)})  # nobody has looked before
    two.step({2: Move(Direction.W)})
    assert two.look(1).events == (Moved("entity:2", 2, 0, Direction.W),)


def test_a_reader_gets_the_deadline_that_is_left(play):
    assert play("1").world.observe([0], deadline_ms=77)[0].deadline_ms == 77


@pytest.mark.parametrize("row", [-1, 1])
def test_a_row_that_is_not_there_is_refused(play, row):
    with pytest.raises(WorldError, match=r"from 0 to 0; look them up with row_of\(\)"):
        play("1").world.observe([row])


def test_under_the_symmetric_rule_who_sees_is_seen(play):
    drawing = "1.#.2\n.#.#.\n3.4.5\n#..#.\n6.#78"
    crowd = play(drawing, rules="{world_version: 1.1.0}")
    assert crowd.world.world_version == "1.1.0"
    sees = {(f"entity:{one}", name) for one in range(1, 9) for name in names(crowd.look(one))}
    assert sees
    assert {(two, one) for one, two in sees} == sees
