"""`tickmind check` draws the map of a scenario."""

from tests.unit.world.test_scenarios import SMALL

from tickmind.cli.world.map_drawing import draw_map, legend_of
from tickmind.world import parse_scenario
from tickmind.world.scenario.signs import signs_of


def test_a_map_is_drawn_with_what_stands_on_it(tickmind, tmp_path):
    file = tmp_path / "small.yaml"
    file.write_text(SMALL + "ground: [{item: coin, at: [0, 0]}]\n")
    plain = tickmind("check", str(file))
    drawn = tickmind("check", str(file), "--map")
    assert (plain.exit_code, drawn.exit_code) == (0, 0)
    assert drawn.stdout.splitlines()[1:] == [
        "*.#", ".b@", "b bush, 1 of them", "* items on the ground", "@ entity:1",
    ]  # fmt: skip
    assert plain.stdout.splitlines() == drawn.stdout.splitlines()[:1]  # no terminal


def test_kinds_have_signs_of_their_own_while_there_are_letters():
    kinds = "".join(f"  b{number}: {{}}\n" for number in range(5))
    signs = signs_of(parse_scenario(SMALL.replace("kinds:\n", f"kinds:\n{kinds}")))
    assert len(set(signs.values())) == len(signs) == 6
    assert signs["b0"] == "b"


def test_colours_say_what_can_be_walked_on():
    drawing = draw_map(parse_scenario(SMALL))
    styles = {drawing.plain[span.start : span.end]: str(span.style) for span in drawing.spans}
    assert styles == {".": "green", "#": "white", "b": "cyan", "@": "bold yellow"}


def test_many_actors_are_counted():
    text = "world: w\nfloors: {g: {}}\nmap: {width: 9, height: 9, floor: g}\nactors: [{count: 30}]\n"
    assert "entity:12 and 18 more" in legend_of(parse_scenario(text))


def test_a_file_that_is_no_scenario_has_no_map(tickmind, tmp_path):
    file = tmp_path / "agents.yaml"
    file.write_text(
        "agents: {a: {cmd: [python, -m, tickmind.characters.villager]}}\nassignments: [{match: {}, use: a}]\n"
    )
    assert len(tickmind("check", str(file), "--map").stdout.splitlines()) == 1
