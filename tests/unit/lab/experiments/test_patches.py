"""Patches: other values at paths of a scenario, and what is said of paths that lead nowhere."""

import pytest
from tests.kits.experiments import CLEARING

from tickmind.base import ConfigError
from tickmind.base.yaml_source import read_yaml
from tickmind.lab.experiments.experiment import Patch
from tickmind.lab.experiments.patches import parse_path, patched_text
from tickmind.world import parse_scenario

TEXT = CLEARING.read_text()


def patched(**values):
    return patched_text(TEXT, [Patch(parse_path(path), value) for path, value in values.items()], "clearing.yaml")


def test_paths_are_read_as_people_write_them():
    assert parse_path("kinds.chest.states.closed") == ("kinds", "chest", "states", "closed")
    assert parse_path("actors[0].inventory.coin") == ("actors", 0, "inventory", "coin")
    assert parse_path("legend.1.actor") == ("legend", "1", "actor")


@pytest.mark.parametrize("text", ["", ".", "a..b", "a.", "[0].a", "a[x]", "a[0", "a" + ".b" * 20])
def test_what_is_no_path_is_refused(text):
    with pytest.raises(ConfigError, match="is no path"):
        parse_path(text)


def test_a_value_changes_and_all_others_stay():
    scenario, before = parse_scenario(patched(**{"rules.hearing_radius": 3})), parse_scenario(TEXT)
    assert scenario.rules.hearing_radius == 3
    assert scenario.floor_codes == before.floor_codes
    assert scenario.actors == before.actors
    assert scenario.rules.sight_radius == before.rules.sight_radius


def test_a_setting_that_had_its_default_can_be_given():
    changed = patched(**{"thinking": {"ticks": 4}, "kinds.bed.walkable": False, "rules.text_limit_chars": 80})
    scenario = parse_scenario(changed)
    assert scenario.thinking_ticks == 4
    assert scenario.rules.text_limit_chars == 80


def test_null_takes_a_value_out_and_a_section_can_be_replaced():
    scenario = parse_scenario(
        patched(**{"kinds.berry_bush.stock": None, "items": {"berries": {}, "coin": {}, "wood": {}}})
    )
    assert next(kind for kind in scenario.kinds if kind.name == "berry_bush").stock is None
    assert parse_scenario(patched(**{"rules.needs": None})).rules.needs is None


def test_texts_keep_what_would_mean_something_in_yaml():
    odd = 'no: "#quoted" {x} \n é'
    changed = patched(**{"agents.walker.settings": {"greeting": odd, "on": [True, 1.5, "007"]}})
    assert read_yaml(changed).value["agents"]["walker"]["settings"] == {"greeting": odd, "on": [True, 1.5, "007"]}


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("kinds.chst.opaque", True, "no 'chst' in kinds.*did you mean 'chest'"),
        ("rools.sight_radius", 2, "no 'rools' in the scenario.*did you mean 'rules'"),
        ("rules.nothing", None, "no rules.nothing to take out"),
        ("rules.sight_radius.far", 2, "rules.sight_radius is a single value"),
        ("assignments[7].use", "walker", "no 7 in assignments"),
        ("assignments.first", "walker", "assignments is a list of 2"),
    ],
)
def test_a_path_that_leads_nowhere_is_named(path, value, says):
    with pytest.raises(ConfigError, match=says):
        patched(**{path: value})
