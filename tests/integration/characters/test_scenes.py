"""The scenarios by the real rules, without a network and without a model."""

import json
import random
import re
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tickmind.agent import CharacterHost, Settings, Start
from tickmind.characters.arena_player import ArenaPlayer
from tickmind.characters.escapee import Escapee
from tickmind.characters.forager_bt import Forager
from tickmind.characters.tool_user import ToolUser
from tickmind.llm import ModelReply, ToolCall
from tickmind.llm.testing import ScriptedTransport
from tickmind.runner import load_mapping
from tickmind.strategy import ToolAgentAdapter
from tickmind.tools import ToolAgent
from tickmind.world import TileWorld, load_scenario, parse_scenario

SCENARIOS = Path(__file__).parents[3] / "scenarios"
OUTSIDE = {(7, 12), (13, 12)}  # the benches


def started(settings=None):
    return lambda entity_id: Start(entity_id, settings or Settings(), random.Random(entity_id))


def play(world, hosts, ticks):
    """Let hosts live in a world, each for its rows, and give the records."""
    everybody = sorted(row for rows in hosts.values() for row in rows)
    for _ in range(ticks):
        seen = dict(zip(everybody, world.observe(everybody), strict=True))
        intents = {}
        for host, rows in hosts.items():
            host.begin(world.tick_id, [seen[row] for row in rows])
            for row in rows:
                host.perceive(seen[row])
            intents.update({row: host.act(seen[row]) for row in rows})
        yield world.step(intents)


def escape(hearing_radius):
    """Two prisoners by their trees; where they are after 120 ticks."""
    text = (SCENARIOS / "escape.yaml").read_text()
    text = re.sub("hearing_radius: [0-9]+", f"hearing_radius: {hearing_radius}", text)
    world = TileWorld.from_scenario(parse_scenario(text))
    records = list(play(world, {CharacterHost(Escapee, started()): range(2)}, 120))
    return {(seen.me.x, seen.me.y) for seen in world.observe(range(2))}, records


def test_two_who_talk_get_out():
    where, records = escape(20)
    assert where == OUTSIDE
    done = Counter(result.action_type for record in records for result in record.action_results() if result.ok)
    assert done["Interact"] == 7  # three symbols for each door, and the gate
    assert done["Give"] == 1
    (reached,) = (event for record in records for event in record.rule_events)
    assert (reached.name, reached.actor_ids, reached.ends) == ("both_out", ("mira", "tomas"), True)


def test_two_who_do_not_hear_each_other_stay_where_they_are():
    where, records = escape(0)
    assert all(y < 6 for _, y in where)
    results = [result for record in records for result in record.action_results()]
    assert not any(result.action_type == "Interact" for result in results)  # nobody guesses
    assert not any(record.rule_events for record in records)


def clever(name):
    """What a clever model would answer that knows nothing but what its character perceives."""

    def use(tool, **given):
        return ModelReply("", "tool_calls", tool_calls=(ToolCall("call_1", tool, json.dumps(given)),))

    def answer(request):
        view = request.messages[-1].text.replace("\\n", "\n").replace('\\"', '"')
        at = re.search(r"You are at \((\d+), (\d+)\).* carrying (.*)\.", view)
        if at is None:
            return use("look")
        x, y, bag = int(at[1]), int(at[2]), at[3]
        signs = [
            symbol
            for _, symbol in sorted((int(at_x), sign) for sign, at_x in re.findall(r"sign_(\w+) at \((\d+)", view))
        ]
        mine = f"The signs here say {', '.join(signs)}."
        if y < 6 and mine not in view:
            return use("say", text=mine)
        if half := re.search(r"ground at \((\d+), (\d+)\).* with 1 (\w+_half)", view):
            there = int(half[1]), int(half[2])
            return use("pick_up", item=half[3]) if there == (x, y) else use("go_to", x=there[0], y=there[1])
        heard = [code for code in re.findall(r"signs here say (\w+, \w+, \w+)", view) if code not in mine]
        door = re.search(r"_door at \((\d+), 6\) (\w+)", view)
        if y < 6 and door and door[2] == "open":
            return use("go_to", x=int(door[1]), y=6)
        if y < 6:
            work = re.search(r"(locked|first|second) \(work on (\w+_door:1)", view)
            if not heard or not work:
                return "I wait for an answer."
            return use(
                "work_on", object_id=work[2], verb=heard[0].split(", ")[("locked", "first", "second").index(work[1])]
            )
        if "gate at (10, 10) open" in view and y < 10:
            return use("go_to", x=10, y=11)
        if "gate at (10, 10) open" in view:
            bench = 7 if name == "mira" else 13
            return "I am free." if (x, y) == (bench, 12) else use("go_to", x=bench, y=12)
        if "left_half" in bag and "right_half" in bag:
            return use("work_on", object_id="gate:1", verb="unlock")
        if name == "mira" and "half" in bag and "- tomas at" in view:
            return use("give", item="left_half", to="tomas")
        return use("go_to", x=10, y=8) if y == 6 else "I wait."

    return answer


@pytest.mark.slow
def test_two_models_get_out_through_tools():
    world = TileWorld.from_scenario(load_scenario(SCENARIOS / "escape.yaml"))
    characters: dict[int, Any] = {}  # all of them are tool users

    def make_agent(eid):
        who = characters[eid]
        transport = ScriptedTransport(clever(who.entity_id))
        return ToolAgent(transport, who.tools(), model="scripted", agent_id=who.entity_id)

    company = CharacterHost(ToolUser, started(), client=ToolAgentAdapter(make_agent), characters=characters)
    until_s = time.monotonic() + 90
    while {(seen.me.x, seen.me.y) for seen in world.observe(range(2))} != OUTSIDE:
        assert time.monotonic() < until_s, [one.view for one in characters.values()]
        for record in play(world, {company: range(2)}, 1):
            company.reflect(record.tick_id)
    company.close()


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
    hosts = {}
    for team in ("red", "blue"):
        rows = [row for row, actor in enumerate(world.info.actors) if actor.type == team]
        hosts[CharacterHost(ArenaPlayer, started(mapping.agents[team].settings))] = rows
    done, gems = Counter[str](), Counter[str]()
    for record in play(world, hosts, 300):
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
    for record in play(world, {CharacterHost(Forager, started()): rows}, 120):
        eaten += sum(1 for result in record.action_results() if result.ok and result.action_type == "Use")
        for delta in record.object_deltas:
            stock.setdefault(delta.object_id, []).append(delta.new_value)
    assert eaten > 12
    assert any(values[0] == 2 and values[-1] == 3 for values in stock.values())
    assert max(seen.me.hunger for seen in world.observe(rows)) < 420
