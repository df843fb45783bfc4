"""The scenarios by the real rules, without a network and without a model."""

import random
import re
from collections import Counter
from pathlib import Path

import pytest

from tickmind.agent import Company, Settings, Start
from tickmind.characters.arena_player import ArenaPlayer
from tickmind.characters.escapee import Escapee
from tickmind.characters.forager_bt import Forager
from tickmind.runner import load_mapping
from tickmind.world import TileWorld, load_scenario, parse_scenario

SCENARIOS = Path(__file__).parents[3] / "scenarios"
OUTSIDE = {(7, 12), (13, 12)}  # the benches


def started(settings=None):
    return lambda entity_id: Start(entity_id, settings or Settings(), random.Random(entity_id))


def play(world, casts, ticks):
    """Let casts live in a world, each for its rows, and give the records."""
    everybody = sorted(row for rows in casts.values() for row in rows)
    for _ in range(ticks):
        seen = dict(zip(everybody, world.observe(everybody), strict=True))
        intents = {}
        for cast, rows in casts.items():
            cast.perceive(world.tick_id, [seen[row] for row in rows])
            intents.update({row: cast.act(seen[row]) for row in rows})
        yield world.step(intents)


def escape(hearing_radius):
    """Two prisoners by their trees; where they are after 120 ticks."""
    text = (SCENARIOS / "escape.yaml").read_text()
    text = re.sub("hearing_radius: [0-9]+", f"hearing_radius: {hearing_radius}", text)
    world = TileWorld.from_scenario(parse_scenario(text))
    records = list(play(world, {Company(Escapee, started()): range(2)}, 120))
    return {(seen.me.x, seen.me.y) for seen in world.observe(range(2))}, records


def test_two_who_talk_get_out():
    where, records = escape(20)
    assert where == OUTSIDE
    done = Counter(result.action_type for record in records for result in record.action_results() if result.ok)
    assert done["Interact"] == 7  # three symbols for each door, and the gate
    assert done["Give"] == 1


def test_two_who_do_not_hear_each_other_stay_where_they_are():
    where, records = escape(0)
    assert all(y < 6 for _, y in where)
    results = [result for record in records for result in record.action_results()]
    assert not any(result.action_type == "Interact" for result in results)  # nobody guesses


def test_a_wrong_symbol_jams_the_door():
    scenario = load_scenario(SCENARIOS / "escape.yaml")
    for name, code in (("west_door", "crown moon star"), ("east_door", "moon star crown")):
        door = next(kind for kind in scenario.kinds if kind.name == name)
        state = door.states[0]
        for symbol in code.split():
            goes_to = {action.verb: action.to for action in state.actions}
            assert {to for verb, to in goes_to.items() if verb != symbol} == {"jammed"}
            state = door.states[door.state_code(goes_to[symbol])]
        assert state.walkable


@pytest.mark.slow
def test_arena_players_raid_tag_and_bring_gems_home():
    path = SCENARIOS / "arena.yaml"
    mapping, world = load_mapping(path), TileWorld.from_scenario(load_scenario(path))
    casts = {}
    for team in ("red", "blue"):
        rows = [row for row, actor in enumerate(world.info.actors) if actor.type == team]
        casts[Company(ArenaPlayer, started(mapping.agents[team].settings))] = rows
    done, gems = Counter[str](), Counter[str]()
    for record in play(world, casts, 300):
        for result in record.action_results():
            if result.ok:
                done[str(result.action_type)] += 1
                gems[result.actor_id.partition(":")[0]] += result.action_type == "Drop"
    assert done["Say"] > 10  # tags
    assert done["Sleep"] > 5  # and they are obeyed
    assert done["Wake"] > 2
    assert min(gems["red"], gems["blue"]) > 2
    assert done["Move"] > 1500  # of 3000: nobody stands about


@pytest.mark.slow
def test_islanders_live_on_berries_that_grow_back():
    text = (SCENARIOS / "island.yaml").read_text()
    scenario = parse_scenario(text.replace("count: 500,", "count: 500, hunger: 290,"))
    assert len(scenario.actors) == 500
    world = TileWorld.from_scenario(scenario)
    rows = range(0, 500, 25)  # some of them, all over the island
    stock: dict[str, list[object]] = {}
    eaten = 0
    for record in play(world, {Company(Forager, started()): rows}, 120):
        eaten += sum(1 for result in record.action_results() if result.ok and result.action_type == "Use")
        for delta in record.object_deltas:
            stock.setdefault(delta.object_id, []).append(delta.new_value)
    assert eaten > 12
    assert any(values[0] == 2 and values[-1] == 3 for values in stock.values())
    assert max(seen.me.hunger for seen in world.observe(rows)) < 420
