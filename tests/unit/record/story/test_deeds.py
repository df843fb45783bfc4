"""What actors did and what happened to them, from the ticks of a small world that is played by hand."""

from dataclasses import replace

from tickmind.protocol import Build, Direction, Effect, Interact, Move, Pickup, Say, Sleep, Wait
from tickmind.protocol.record import RuleEvent
from tickmind.record.story.deeds import VISIT_TICKS, DeedWatch
from tickmind.record.story.events import StoryKind
from tickmind.world import TileWorld, parse_scenario

ADA, BRAM = 0, 1
SCENARIO = """
world: yard
rules: {needs: {hunger_per_tick: 3, energy_per_tick: 1, rest_per_tick: 8, wake_energy: 300, starvation: true}}
items: {wheat: {}, bread: {use: {hunger: -400}}, wood: {}, plank: {}, berries: {}}
kinds:
  oven: {walkable: false, actions: {bake: {consumes: {wheat: 1}, yields: {bread: 1}}}}
  tree:
    states:
      standing: {walkable: false, actions: {chop: {to: stump, work: 2, yields: {wood: 2}}}}
      stump: {}
  door:
    states:
      closed: {walkable: false, actions: {open: {to: open}}}
      open: {actions: {close: {to: closed}}}
  bell: {walkable: false, actions: {ring: {}}}
  wall: {walkable: false, build: {most: 2, consumes: {plank: 1}}, actions: {smash: {removes: true}}}
objects:
  - {kind: oven, at: [1, 0]}
  - {kind: tree, at: [0, 1]}
  - {kind: door, at: [1, 1]}
  - {kind: bell, at: [6, 0]}
zones: {kitchen: {within: [0, 0, 1, 0]}, garden: {within: [4, 2, 7, 3]}}
personas: {ada: {name: Ada, home: kitchen}, bram: {name: Bram, home: kitchen}}
goals: {shopping: {who: {id: ada}, carry: {bread: 1}, score: 5}}
actors:
  - {id: ada, at: [0, 0], inventory: {wheat: 2, plank: 1}}
  - {id: bram, at: [5, 0], hunger: 690}
  - {id: cleo, at: [7, 0], arrives: {tick: 3}, leaves: {tick: 5}}
legend: {".": grass}
floors: {grass: {}}
map: |
  ........
  ........
  ........
  ........
"""


def watched(*turns, scenario=SCENARIO):
    """Play some turns, and return the watch over them after an empty first tick."""
    world = TileWorld.from_scenario(parse_scenario(scenario))
    watch = DeedWatch(world.info)
    for intents in ({}, *turns):
        watch.add(world.step(intents))
    return watch


def told(watch, *kinds):
    return [
        (one.tick_id, one.kind.value, one.who, one.what, one.amount, one.how)
        for one in watch.finish()
        if one.kind in kinds
    ]


def test_what_is_made_of_other_items_is_told_with_its_verb():
    watch = watched({ADA: Interact("oven:1", "bake")}, {ADA: Interact("oven:1")})
    assert told(watch, StoryKind.MADE, StoryKind.GOT, StoryKind.WORKED) == [
        (2, "made", "ada", "bread", 1, "bake"),
        (3, "made", "ada", "bread", 1, "bake"),
    ]


def test_work_of_several_steps_is_told_at_its_last():
    watch = watched({ADA: Interact("tree:1", "chop")}, {ADA: Interact("tree:1", "chop")})
    assert told(watch, StoryKind.GOT) == [(3, "got", "ada", "wood", 2, "chop tree")]


def test_doors_are_not_worth_a_word_and_bells_are():
    watch = watched({ADA: Interact("door:1", "open"), BRAM: Interact("bell:1", "ring")})
    assert told(watch, StoryKind.WORKED) == [(2, "worked", "bram", "bell", 1, "ring")]


def test_what_is_built_is_told_by_its_kind():
    assert told(watched({ADA: Build("wall", Direction.SE)}), StoryKind.BUILT) == []  # the door is there
    free = SCENARIO.replace("  - {kind: door, at: [1, 1]}\n", "")
    assert told(watched({ADA: Build("wall", Direction.SE)}, scenario=free), StoryKind.BUILT) == [
        (2, "built", "ada", "wall", 1, "")
    ]


def test_an_action_that_failed_is_not_told():
    watch = watched({ADA: Pickup("berries"), BRAM: Interact("oven:1", "bake")})
    assert told(watch, StoryKind.GATHERED, StoryKind.MADE, StoryKind.WORKED) == []


def test_who_comes_and_goes_is_told():
    assert told(watched(*({},) * 5), StoryKind.CAME, StoryKind.LEFT) == [
        (2, "came", "cleo", "", 1, ""),
        (4, "left", "cleo", "", 1, ""),
    ]


def test_hunger_is_told_once_until_it_is_over():
    hungry = told(watched(*({},) * 30), StoryKind.HUNGRY)
    assert [one[1:3] for one in hungry] == [("hungry", "bram")]


def test_sleep_at_home_and_away_are_told_apart():
    watch = watched({ADA: Sleep(), BRAM: Sleep()}, {}, {})
    assert told(watch, StoryKind.SLEPT, StoryKind.SLEPT_OUT) == [
        (2, "slept", "ada", "", 1, ""),
        (2, "slept out", "bram", "", 1, ""),
    ]


def test_a_place_is_visited_by_who_stays_there_for_the_first_time():
    down, up = {BRAM: Move(Direction.S)}, {BRAM: Move(Direction.N)}
    through = watched(down, down, up, up)
    assert told(through, StoryKind.VISITED) == []
    stays = watched(down, down, *({},) * VISIT_TICKS, up, up, down, *({},) * VISIT_TICKS)
    assert told(stays, StoryKind.VISITED) == [(3, "visited", "bram", "", 1, "")]


def test_who_comes_to_a_place_before_all_others_visits_it():
    empty = SCENARIO.replace("kitchen: {within: [0, 0, 1, 0]}", "kitchen: {within: [0, 3, 1, 3]}")
    down = {BRAM: Move(Direction.S)}
    watch = watched(down, down, *({},) * VISIT_TICKS, scenario=empty)
    assert told(watch, StoryKind.VISITED) == [(3, "visited", "bram", "", 1, "")]


def test_lines_within_hearing_of_each_other_are_a_talk():
    hello = {ADA: Say("Hello!")}
    watch = watched(hello, {BRAM: Say("Hello, Ada.")}, hello, *({},) * 20, {BRAM: Say("Anyone?")}, hello)
    assert watch.talks == [(3, "ada", "bram"), (26, "ada", "bram")]
    far = SCENARIO.replace("rules: {", "rules: {hearing_radius: 2, ")
    assert watched(hello, {BRAM: Say("Hello?")}, scenario=far).talks == []


def test_a_goal_is_told_with_who_reached_it():
    watch = watched({ADA: Interact("oven:1", "bake")})
    assert told(watch, StoryKind.GOAL) == [(2, "goal", "ada", "shopping", 5, "")]


def test_a_rule_of_the_users_own_is_told_in_its_words_and_what_decays_is_not():
    world = TileWorld.from_scenario(parse_scenario(SCENARIO))
    watch = DeedWatch(world.info)
    record = world.step({ADA: Wait()})
    decayed = RuleEvent("decay", ("ada",), effects=(Effect("inventory.wheat", -1),))
    watch.add(replace(record, rule_events=(RuleEvent("flood", own=True, text="The stream rose."), decayed)))
    assert told(watch, StoryKind.RULE, StoryKind.GOAL) == [(1, "rule", "", "The stream rose.", 0, "")]


def test_the_largest_crowd_of_a_day_is_told_if_it_is_one():
    crowd = "".join(f"  - {{id: c{number}, at: [{4 + number}, 2]}}\n" for number in range(4))
    watch = watched({}, scenario=SCENARIO.replace("legend:", f"{crowd}legend:"))
    assert [(one.place, one.amount) for one in watch.finish() if one.kind is StoryKind.CROWD] == [("garden", 4)]


def test_a_world_without_zones_people_or_minds_has_no_places():
    plain = "\n".join(line for line in SCENARIO.splitlines() if not line.startswith(("zones", "personas", "goals")))
    watch = watched({ADA: Interact("oven:1", "bake")}, scenario=plain)
    assert [one.place for one in watch.finish()] == ["", ""]
