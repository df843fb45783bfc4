"""The schema for editors accepts every scenario that is read, and knows the same keys."""

import json
from pathlib import Path

import jsonschema
import pytest
import yaml
from tests.kits.tiled_files import TILED, tmx, write_village
from tests.unit.world.test_calendar import YEAR
from tests.unit.world.test_guide import keys_read
from tests.unit.world.test_setting import VILLAGE

from tickmind.cli.new_scenario import SCENARIO
from tickmind.world.scenario.scenario_reader import parse_to_keep

FILES = sorted((Path(__file__).parents[3] / "scenarios").glob("*.yaml"))


@pytest.fixture(scope="module")
def schema(tmp_path_factory):
    from typer.testing import CliRunner

    from tickmind.cli.app import app

    done = CliRunner().invoke(app, ["world", "--schema"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_it_is_a_schema(schema):
    jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_scenarios_that_come_with_tickmind_fit(schema, path):
    jsonschema.validate(yaml.safe_load(path.read_text()), schema)


@pytest.mark.parametrize(
    "text", [VILLAGE, YEAR, SCENARIO.format(name="hamlet", title="Hamlet")], ids=["village", "year", "new"]
)
def test_other_scenarios_fit(schema, text):
    jsonschema.validate(yaml.safe_load(text), schema)


def test_a_scenario_with_a_tiled_map_fits_as_it_is_written_and_as_it_is_kept(schema, tmp_path):
    write_village(tmp_path, tmx())
    for text in (TILED, parse_to_keep(TILED, folder=tmp_path).text):
        jsonschema.validate(yaml.safe_load(text), schema)


@pytest.mark.parametrize(
    "change",
    [
        {"zonse": {}},
        {"map": {"tield": "village.tmx"}},
        {"zones": {"mill": {"within": [1, 2, 3]}}},
        {"calendar": {"day_ticks": 0}},
        {"calendar": {"seasons": {"summer": {"dayz": 1}}}},
        {"calendar": {"weather": {"sun": 0}}},
        {"personas": {"ada": {"vioce": "loud"}}},
        {"kinds": {"oven": {"actions": {"bake": {"consumes": {"flour": 0}}}}}},
        {"agents": {"a": {"cmdd": []}}},
    ],
    ids=str,
)
def test_mistakes_do_not_fit(schema, change):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**yaml.safe_load(VILLAGE), **change}, schema)


def test_it_has_every_key_that_is_read(schema):
    known = set()

    def walk(node):
        if isinstance(node, dict):
            known.update(node.get("properties", {}))
            for value in node.values():
                walk(value)
        elif isinstance(node, list):
            for value in node:
                walk(value)

    walk(schema)
    assert keys_read() - known == set()
