"""Scenario files: what they say, and how they complain."""

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.long import short_or_long

from tickmind.base import ConfigError
from tickmind.base.yaml_source import SourcePosition
from tickmind.world import MAX_ACTORS, Needs, Rules, ScenarioError, load_scenario, parse_scenario

SMALL = """\
world: small
floors:
  grass: {}
  rock: {walkable: false, opaque: true}
items:
  coin: {}
kinds:
  bush: {stock: {item: coin, most: 2}}
map: |
  ..#
  .b1
legend:
  ".": grass
  "#": rock
  "b": {floor: grass, object: bush}
  "1": {floor: grass, actor: {type: villager}}
"""


def test_a_small_scenario_says_what_it_says():
    scenario = parse_scenario(SMALL)
    assert (scenario.name, scenario.width, scenario.height, scenario.seed) == ("small", 3, 2, 0)
    assert scenario.floor_codes == bytes([0, 0, 1, 0, 0, 0])
    assert scenario.rules == Rules()
    assert [(found.object_id, found.x, found.y, found.state, found.stock) for found in scenario.objects] == [
        ("bush:1", 1, 1, "plain", 2)
    ]
    assert [(actor.entity_id, actor.type, actor.x, actor.y) for actor in scenario.actors] == [
        ("entity:1", "villager", 2, 1)
    ]


def test_names_leave_room_for_what_is_made_of_them():
    # clients take names of 100 characters: those of items with what tells a change, those of kinds with a number
    longest = SMALL.replace("coin", "c" * 90).replace("bush", "b" * 98)
    scenario = parse_scenario(longest)
    assert len(f"inventory.{scenario.items[0].name}") == 100
    assert len(scenario.objects[0].object_id) == 100
    with pytest.raises(ScenarioError, match="1 to 90"):
        parse_scenario(SMALL.replace("coin", "c" * 91))
    with pytest.raises(ScenarioError, match="100 characters"):
        parse_scenario(SMALL.replace("bush", "b" * 99))


def test_rows_follow_the_numbers_in_ids():
    text = (
        SMALL
        + "actors:\n"
        + "".join(f"  - {{id: 'entity:{number}', at: [{x}, 0]}}\n" for x, number in enumerate((10, 9)))
    )
    assert [actor.entity_id for actor in parse_scenario(text).actors] == ["entity:1", "entity:9", "entity:10"]


def test_rules_have_defaults_and_the_deadline_is_half_a_tick():
    rules = parse_scenario(SMALL + "rules: {tick_duration_ms: 50, needs: true, world_version: 1.1.0}\n").rules
    assert (rules.tick_duration_ms, rules.intent_deadline_ms) == (50, 25)
    assert rules.needs == Needs()
    assert rules.sight_rule == "symmetric-1"


def test_many_actors_are_placed_by_the_seed_on_free_tiles():
    text = (
        "world: big\nseed: {}\nfloors: {{g: {{}}}}\nmap: {{width: 30, height: 30, floor: g}}\n"
        "actors: [{{count: 500, within: [0, 0, 29, 19]}}]\n"
    )
    first, again, other = (parse_scenario(text.format(seed)) for seed in (1, 1, 2))
    places = {(actor.x, actor.y) for actor in first.actors}
    assert len(places) == 500
    assert all(y < 20 for _, y in places)
    assert first.digest == again.digest
    assert first.digest != other.digest


def test_the_seed_of_a_run_goes_before_that_of_the_file():
    text = SMALL.replace("world: small", "world: small\nseed: 4")
    own, given_one, same = parse_scenario(text), parse_scenario(text, seed=9), parse_scenario(text, seed=4)
    assert (own.seed, given_one.seed) == (4, 9)
    assert own.digest == same.digest != given_one.digest
    assert own.mind_seed == same.mind_seed != given_one.mind_seed
    assert own.mind_seed != own.seed


def test_thinking_time_is_a_rule_of_the_world():
    plain, slow = parse_scenario(SMALL), parse_scenario(SMALL + "thinking: {ticks: 4}\n")
    assert (plain.thinking_ticks, slow.thinking_ticks) == (0, 4)
    assert plain.digest != slow.digest
    with pytest.raises(ScenarioError, match="whole number from 1 to 1000"):
        parse_scenario(SMALL + "thinking: {ticks: 0}\n")
    with pytest.raises(ScenarioError, match="unknown key 'tick'"):
        parse_scenario(SMALL + "thinking: {tick: 4}\n")


def test_sections_of_other_parts_are_left_alone():
    assert parse_scenario(SMALL + "agents: {a: {cmd: [x]}}\nassignments: []\n").digest == parse_scenario(SMALL).digest


@pytest.mark.parametrize(
    ("old", "new", "line", "column", "problem"),
    [
        ("world: small", "world: ''", 1, 8, "expected a name"),
        ("world: small\n", "", 1, 1, "the key 'world' is missing"),
        ("floors:", "flors:", 2, 1, "unknown key 'flors' (did you mean 'floors'?); known here: actors"),
        ("walkable: false", "walkable: no", 4, 20, "expected true or false, found 'no'"),
        ("walkable: false", "walkabel: false", 4, 10, "unknown key 'walkabel'"),
        ("item: coin", "item: gold", 8, 24, "there is no item 'gold'; there are: coin"),
        ("most: 2", "most: 0", 8, 36, "expected a whole number from 1 to 65535, found '0'"),
        ("most: 2", "most: 2.5", 8, 36, "expected a whole number"),
        ("  ..#\n", "  ..\n", 11, 3, "expected 2 tiles as in the first row, found 3"),
        ("  .b1", "  .?1", 11, 4, "the sign '?' is not in the legend"),
        ("object: bush", "object: tree", 15, 31, "there is no kind of object 'tree'"),
        ('"#": rock', '"##": rock', 14, 3, "expected a single character"),
        ('"#": rock', '"#": lava', 14, 8, "there is no floor 'lava'"),
        ('"1": {floor: grass,', '"1": {floor: rock,', 11, 5, "no actor can stand at [2, 1]"),
        ("items:\n  coin: {}", "items: &a\n  coin: {}", 5, 8, "anchors and aliases"),
        ("items:\n  coin: {}", "items: !!map\n  coin: {}", 5, 8, "tags are not read"),
        ("items:\n", "items:\n  coin: {}\n", 7, 3, "the key 'coin' stands here twice, first in line 6"),
        ("items:\n  coin: {}", "items: [coin]", 5, 8, "expected a mapping of keys to values, found a list"),
        ("items:\n  coin: {}", "items: ]", 5, 8, "this is no YAML"),
    ],
)
def test_a_mistake_is_told_with_its_place(old, new, line, column, problem):
    assert old in SMALL
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(SMALL.replace(old, new, 1), source="small.yaml")
    error = caught.value
    (place,) = [found.place for found in error.problems if problem in found.message]
    assert place == SourcePosition(line, column), error
    assert f"small.yaml:{line}:{column}: " in str(error)
    assert isinstance(error, ConfigError)


def test_all_mistakes_are_told_at_once_in_the_order_of_the_text():
    text = SMALL.replace("walkable: false", "walkabel: false").replace("most: 2", "most: 0").replace("  ..#", "  ..?")
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(f"{text}objects: [{{kind: tree}}]\nrules: {{sight_radius: 99, needs: 3}}\nmodels: {{}}\n")
    said = [found.message for found in caught.value.problems]
    wanted = ["'walkabel'", "from 1 to 65535", "the sign '?'", "from 1 to", "a mapping", "unknown key 'models'"]
    assert len(said) == len(wanted)
    assert all(part in one for part, one in zip(wanted, said, strict=True)), said


def test_mistakes_in_what_stands_on_the_map_are_told_at_once():
    more = "actors: [{at: [9, 0]}, {at: [0, 0], facing: UP}, {at: [1, 0], colour: red}]\nground: [{item: gold}]\n"
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(SMALL + more)
    assert len(caught.value.problems) == 4, caught.value


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ("actors: [{at: [9, 0]}]", "expected a whole number from 0 to 2, found '9'"),
        ("actors: [{at: [0, 0]}, {at: [0, 0]}]", "an actor already stands at [0, 0]"),
        ("actors: [{at: [0, 0], id: 'entity:1'}]", "the id 'entity:1' is there twice"),
        ("actors: [{count: 99}]", "there is room for 4 more actors, not for 99"),
        ("actors: [{count: 2, id: x}]", "expected {n} in the id"),
        ("actors: [{at: [0, 0], count: 2}]", "count and within are for actors without a place"),
        ("actors: [{at: [0, 0], facing: UP}]", "expected one of N, NE, E"),
        ("actors: [{at: [0, 0], inventory: {coin: 101}}]", "an actor carries at most 100 items"),
        ("actors: [{at: [0]}]", "expected a place as [x, y]"),
        ("actors: {}", "expected a list, found a mapping"),
        ("objects: [{kind: bush, at: [1, 1]}]", "'bush:1' is already at [1, 1]"),
        ("objects: [{kind: bush, at: [0, 0], state: ripe}]", "there is no state of bush 'ripe'; there are: plain"),
        ("ground: [{item: gold, at: [0, 0]}]", "there is no item 'gold'"),
        ("rules: {world_version: 9.0.0}", "expected one of 1.0.0, 1.1.0; found '9.0.0'"),
        ("rules: {sight_radius: 99}", "expected a whole number from 1 to"),
        ("rules: {intent_deadline_ms: 2000}", "expected a whole number from 1 to 1000"),
        ("seed: -1", "expected a whole number from 0"),
        ("---\nworld: two", "expected one document, found 2"),
        ("agents: " + "[" * 50 + "]" * 50, "nested more than 12 deep"),
    ],
)
def test_what_does_not_fit_is_refused(more, problem):
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(SMALL + more + "\n")
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        ("{states: {a: {actions: {go: {to: b}}}}}", "there is no state of this kind 'b'; there are: a"),
        ("{states: {a: {change: {to: a}}}}", "the key 'ticks' is missing"),
        ("{states: {}}", "expected 1 to 250 states"),
        ("{states: {a: {}}, walkable: false}", "belong to each of them"),
        ("{states: {a: {actions: {x: {to: a, work: 2}, y: {to: a, work: 3}}}}}", "more than one action takes"),
    ],
)
def test_a_kind_that_cannot_be_is_refused(kind, problem):
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(SMALL.replace("kinds:\n", f"kinds:\n  odd: {kind}\n"))
    assert problem in str(caught.value)


def test_a_file_that_is_not_there_or_not_text_is_told(tmp_path):
    with pytest.raises(ScenarioError, match=r"missing\.yaml: can't be read: No such file"):
        load_scenario(tmp_path / "missing.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ScenarioError, match="is not UTF-8 text"):
        load_scenario(tmp_path / "binary.yaml")


def test_too_many_actors_are_refused():
    with pytest.raises(ScenarioError, match=f"from 1 to {MAX_ACTORS.maximum - 1}"):
        parse_scenario(SMALL + "actors: [{count: 2000000}]\n")


@settings(max_examples=short_or_long(150, 300), deadline=None)
@given(st.data())
@pytest.mark.slow
def test_a_damaged_file_is_refused_with_a_scenario_error_or_read(data):
    start = data.draw(st.integers(0, len(SMALL)))
    end = data.draw(st.integers(start, min(len(SMALL), start + 30)))
    text = SMALL[:start] + data.draw(st.text(alphabet="{}[]:,#|&*!'\"-? \n\tabc019\0\u2028é", max_size=8)) + SMALL[end:]
    with contextlib.suppress(ScenarioError):
        parse_scenario(text)
