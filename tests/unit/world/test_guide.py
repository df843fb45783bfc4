"""The guide to scenario files names every key that is read, and its map of Tiled is one."""

import ast
import re
from pathlib import Path

import tickmind.world.scenario as readers
from tickmind.world import load_scenario
from tickmind.world.scenario.readers.kind_reader import _OF_A_STATE
from tickmind.world.scenario.readers.setting_reader import _PERSONA_KEYS
from tickmind.world.scenario.readers.spawn_reader import _ACTOR_KEYS
from tickmind.world.scenario.scenario_reader import OTHER_SECTIONS, SECTIONS

GUIDES = Path(__file__).parents[3] / "docs" / "guides"
TILED = GUIDES / "scenario-tiled.md"


def keys_read():
    """What readers pass to `nothing_but`, and the keys that are kept in tuples."""
    keys = {*SECTIONS, *OTHER_SECTIONS, *_PERSONA_KEYS, *_ACTOR_KEYS, *_OF_A_STATE}
    for file in Path(readers.__path__[0]).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "nothing_but":
                keys |= {str(argument.value) for argument in node.args if isinstance(argument, ast.Constant)}
    return keys


def test_every_key_is_in_the_guide():
    keys = keys_read()
    assert {"world", "consumes", "within", "day_ticks", "voice", "spread"} <= keys
    text = "".join(page.read_text() for page in (GUIDES / "own-world.md", *GUIDES.glob("scenario-*.md")))
    assert sorted(key for key in keys if f"`{key}`" not in text) == []


def test_the_map_of_tiled_in_the_guide_is_a_world(tmp_path):
    blocks = dict(re.findall(r"```(xml|yaml)\n(<map.*?|world: oasis.*?)```", TILED.read_text(), re.DOTALL))
    (tmp_path / "oasis.tmx").write_text(blocks["xml"])
    (tmp_path / "oasis.yaml").write_text(blocks["yaml"])
    scenario = load_scenario(tmp_path / "oasis.yaml")
    assert scenario.floor_codes == bytes([0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0])
    assert [(found.object_id, found.x, found.y) for found in scenario.objects] == [("palm:1", 3, 0)]
    assert [(actor.entity_id, actor.type, actor.x, actor.y) for actor in scenario.actors] == [("ada", "nomad", 0, 0)]
    assert [(zone.name, zone.areas) for zone in scenario.setting.zones] == [("pond", ((1, 1, 2, 1),))]
