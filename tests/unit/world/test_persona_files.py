"""Personas that several scenarios share: where their files may be, which goes first, and what a run keeps of them."""

import json

import jsonschema
import pytest
import yaml

from tickmind.world import ScenarioError, load_scenario, parse_scenario
from tickmind.world.scenario.json_schema import scenario_schema
from tickmind.world.scenario.persona_files import named_files, with_persona_files

WORLD = """\
world: hamlet
floors: {grass: {}}
map: {width: 6, height: 4, floor: grass}
zones: {mill: {within: [0, 0, 2, 2]}}
"""
SCENARIO = f"""\
{WORLD}persona_files: [people.yaml, guests/far.yaml]
personas:
  bo: {{name: Bo of here}}
actors:
  - {{id: ada, at: [0, 0]}}
  - {{id: bo, at: [1, 0]}}
  - {{id: cleo, at: [2, 0], persona: drifter}}
"""
PEOPLE = """\
# Everyone along the river
ada:
  name: Ada
  age: 41
  home: mill
  work: bakery of another world
  backstory: Ada came, it is said, from "over" the hills \\o/
  relations: {ghost: your late husband}
bo: {name: Bo of the river}
nobody:
"""
FAR = 'drifter: {traits: ["restless: always", "41"], age: 7}\n'


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "guests").mkdir()
    (tmp_path / "people.yaml").write_text(PEOPLE)
    (tmp_path / "guests" / "far.yaml").write_text(FAR)
    (tmp_path / "hamlet.yaml").write_text(SCENARIO)
    return tmp_path


def personas(scenario):
    return {actor.entity_id: actor.persona for actor in scenario.actors}


def mistake(text, folder):
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(text, "hamlet.yaml", folder=folder)
    return str(caught.value)


def test_people_come_from_files_and_those_of_the_scenario_go_first(folder):
    found = personas(load_scenario(folder / "hamlet.yaml"))
    assert (found["ada"].name, found["ada"].age, found["ada"].home) == ("Ada", 41, "mill")
    assert found["bo"].name == "Bo of here"
    assert found["cleo"].traits == ("restless: always", "41")


def test_shared_people_may_know_people_and_places_of_other_worlds(folder):
    ada = personas(load_scenario(folder / "hamlet.yaml"))["ada"]
    assert ada.work == ""
    assert ada.relations == (("ghost", "your late husband"),)


def test_they_change_no_rule(folder):
    bare = SCENARIO.replace("persona_files", "# persona_files").replace(", persona: drifter", "")
    assert load_scenario(folder / "hamlet.yaml").digest == parse_scenario(bare).digest


def test_mistakes_in_a_file_are_named_with_the_file_and_its_line_after_those_of_the_scenario(folder):
    (folder / "people.yaml").write_text(PEOPLE.replace("age: 41", "age: old").replace("bo: {name", "bo: {nmae"))
    (folder / "hamlet.yaml").write_text(SCENARIO.replace("Bo of here}", "Bo of here, home: mil}"))
    with pytest.raises(ScenarioError) as caught:
        load_scenario(folder / "hamlet.yaml")
    lines = str(caught.value).splitlines()
    assert [line.split(": ")[0] for line in lines] == [
        f"{folder / 'hamlet.yaml'}:7:32",
        f"{folder / 'people.yaml'}:4:8",
        f"{folder / 'people.yaml'}:9:6",
    ]
    assert "did you mean 'name'?" in lines[2]


def test_a_file_that_is_no_yaml_or_empty_is_named(folder):
    (folder / "people.yaml").write_text("ada: {\n")
    (folder / "guests" / "far.yaml").write_text("")
    said = mistake(SCENARIO, folder)
    assert f"{folder / 'people.yaml'}:2:1: this is no YAML" in said
    assert f"{folder / 'guests' / 'far.yaml'}: the file is empty; it holds personas by their names" in said


def test_a_persona_in_two_files_names_both(folder):
    (folder / "guests" / "far.yaml").write_text(f"{FAR}\n\nada: {{}}\n")
    said = mistake(SCENARIO, folder)
    where = f"{folder / 'guests' / 'far.yaml'}:4:1"
    assert f"{where}: the persona 'ada' of guests/far.yaml is in people.yaml too, in line 2; rename one" in said


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../people.yaml", "guests/../../people.yaml", "C:people.yaml", "guests\\\\far.yaml"]
)
def test_a_path_leads_down_only(folder, path):
    said = mistake(SCENARIO.replace("people.yaml", f'"{path}"'), folder)
    assert said.startswith("hamlet.yaml:5:17: expected a path below the scenario's folder")


def test_a_link_out_of_the_folder_is_refused_and_one_within_is_followed(folder, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "people.yaml"
    outside.write_text(PEOPLE)
    (folder / "link.yaml").symlink_to(outside)
    assert "link.yaml leads out of the scenario's folder; copy" in mistake(
        SCENARIO.replace("people.yaml", "link.yaml"), folder
    )
    (folder / "near.yaml").symlink_to(folder / "people.yaml")
    found = personas(parse_scenario(SCENARIO.replace("people.yaml", "near.yaml"), folder=folder))
    assert found["ada"].name == "Ada"


def test_what_cannot_be_read_is_named(folder):
    assert "hamlet.yaml:5:17: none.yaml can't be read: No such file" in mistake(
        SCENARIO.replace("people.yaml", "none.yaml"), folder
    )
    assert "guests is no file" in mistake(SCENARIO.replace("people.yaml", "guests"), folder)
    (folder / "people.yaml").write_bytes(b"ada: {name: \xff}")
    assert "people.yaml is not UTF-8 text" in mistake(SCENARIO, folder)
    (folder / "people.yaml").write_text("# " + 4_000_000 * "x")
    assert "people.yaml is larger than 4,000,000 bytes" in mistake(SCENARIO, folder)


def test_a_list_of_files_is_short_and_names_none_twice(folder):
    assert "'people.yaml' stands here twice" in mistake(SCENARIO.replace("guests/far.yaml", "people.yaml"), folder)
    many = ", ".join(f"{number}.yaml" for number in range(33))
    assert "more than 32 persona files" in mistake(SCENARIO.replace("people.yaml", many), folder)


def test_a_text_without_a_folder_says_that_it_needs_one():
    assert "only a text was given; load the file" in mistake(SCENARIO, None)


LISTS = [
    "persona_files: [people.yaml, guests/far.yaml]  # both",
    "persona_files:\n  - people.yaml  # one\n  - guests/far.yaml\n\n# then",
    "persona_files:\n- people.yaml\n- guests/far.yaml",
    "persona_files: [\n  people.yaml,\n  guests/far.yaml,\n]",
]


@pytest.mark.parametrize("before", ["", "\ufeff", "# the 😀 of é\n"], ids=["plain", "mark", "wide"])
@pytest.mark.parametrize("listed", LISTS)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_run_keeps_what_the_files_hold(folder, before, listed, end):
    voice = '  voice: "low \\"\\u2028\U0001f600\u200d"\n'
    (folder / "people.yaml").write_text(PEOPLE.replace("  age: 41\n", f"  age: 41\n{voice}"))
    text = (before + SCENARIO.replace(SCENARIO.splitlines()[4], listed)).replace("\n", end)
    text = text.replace("world: hamlet", "world: persona_files")  # a value, not the section
    whole = parse_scenario(text, folder=folder)
    kept = with_persona_files(text, "hamlet.yaml", folder)
    assert personas(parse_scenario(kept)) == personas(whole)
    assert with_persona_files(kept, "hamlet.yaml", None) == kept
    jsonschema.validate(yaml.safe_load(kept), json.loads(json.dumps(scenario_schema())))


def test_a_text_without_files_is_kept_as_it_is():
    assert with_persona_files(WORLD, "hamlet.yaml", None) == WORLD


def test_a_relation_to_no_actor_is_named_where_the_persona_is_used(folder):
    used = SCENARIO.replace("{name: Bo of here}", "{name: Bo, relations: {ada: wife, cloe: friend}}")
    assert mistake(used, folder) == "hamlet.yaml:7:41: there is no actor 'cloe'; there are: ada, bo, cleo"
    inline = SCENARIO.replace("persona: drifter", "persona: {relations: {eve: friend}}")
    assert mistake(inline, folder).startswith("hamlet.yaml:11:50: there is no actor 'eve'")
    unused = used.replace("  bo: {", "  in_reserve: {")
    assert personas(parse_scenario(unused, folder=folder))["bo"].name == "Bo of the river"


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("world: x\n", []),
        ("persona_files: [a.yaml, ../b.yaml, a.yaml, c/d.yaml]\nseed: none\n", ["a.yaml", "c/d.yaml"]),
        ("persona_files: {a.yaml: {}}\n", []),
        ("persona_files: a.yaml\n", []),
        ("persona_files: [a.yaml\n", []),
        ("- a\n", []),
        ("", []),
        ("map: {tiled: village.tmx}\npersona_files: [a.yaml]", ["village.tmx", "a.yaml"]),
        ("map: {tiled: ../village.tmx}", []),
    ],
)
def test_the_files_of_a_scenario_are_known_whatever_else_is_wrong_with_it(text, paths):
    assert named_files(text, "x.yaml") == paths
