"""Maps of the editor Tiled give the same worlds as scenarios that draw them in text.

The files in the folder `tiled` were written by Tiled 1.8.2 of Debian (`tiled --export-map`), one for each format of
tile layers, from the village of `tests.kits.tiled_files`.
"""

import base64
import json
import re
import shutil
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from tests.kits.tiled_files import ENCODINGS, HEAD, LAND, THINGS, TILED, TWIN, packed, tmj, tmx, tsx, write_village

from tickmind.base import ConfigError
from tickmind.world import ScenarioError, load_scenario, parse_scenario
from tickmind.world.scenario.scenario_reader import KeptScenario, parse_to_keep

DRAWN = Path(__file__).parent / "tiled"
EXAMPLES = Path("/usr/share/doc/tiled/examples")
EXPORTS = sorted(path.name for path in DRAWN.glob("*.tm[xj]"))
IN_JSON = [one for one in ENCODINGS if one[0] != "xml"]


def complaints(folder, text, name="village.tmx", scenario=None):
    """What is said of a map."""
    write_village(folder, text, name)
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(scenario or TILED.replace("village.tmx", name), "hamlet.yaml", folder=folder)
    return [problem.message for problem in caught.value.problems]


@pytest.fixture(scope="module")
def twin():
    return parse_scenario(TWIN)


@pytest.mark.parametrize(("encoding", "compression"), ENCODINGS)
def test_a_map_in_xml_is_the_world_of_its_twin(tmp_path, twin, encoding, compression):
    scenario = load_scenario(write_village(tmp_path, tmx(encoding, compression)))
    assert scenario == twin
    assert scenario.digest == twin.digest


@pytest.mark.parametrize(("encoding", "compression"), IN_JSON)
def test_a_map_in_json_is_the_world_of_its_twin(tmp_path, twin, encoding, compression):
    assert load_scenario(write_village(tmp_path, tmj(encoding, compression), "village.tmj")) == twin


def test_a_class_may_be_called_class_as_in_tiled_1_9(tmp_path, twin):
    text, changed = re.subn(r"(<(?:tile|object) [^>]*?)type=", r"\1class=", tmx())
    assert changed == 10
    assert load_scenario(write_village(tmp_path, text)) == twin


def test_every_format_of_tiled_is_among_the_exports():
    formats = {"-".join(filter(None, one)) for one in ENCODINGS}
    assert {name.removesuffix(".tmx") for name in EXPORTS} >= formats
    assert {name.removesuffix(".tmj") for name in EXPORTS} >= formats - {"xml"}


@pytest.mark.parametrize("name", EXPORTS)
def test_a_map_exported_by_tiled_is_the_world_of_its_twin(name, twin):
    scenario = parse_scenario(TILED.replace("village.tmx", name), folder=DRAWN)
    assert scenario == twin
    assert scenario.digest == twin.digest


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("tiled") is None, reason="the editor Tiled is not installed")
@pytest.mark.parametrize(("encoding", "compression"), ENCODINGS)
def test_a_map_that_the_installed_tiled_writes_is_the_world_of_its_twin(tmp_path, twin, encoding, compression):
    (tmp_path / "drawn.tmx").write_text(tmx(encoding, compression, source="basic.tsx"))
    shutil.copy(DRAWN / "basic.tsx", tmp_path)
    shutil.copy(DRAWN / "tiles.png", tmp_path)
    display = {"QT_QPA_PLATFORM": "offscreen", "XDG_RUNTIME_DIR": str(tmp_path), "HOME": str(tmp_path)}
    for form, name in (("tmx", "village.tmx"), ("json", "village.tmj"))[: 1 if encoding == "xml" else 2]:
        command = ["tiled", "--export-map", form, "drawn.tmx", name]
        subprocess.run(command, cwd=tmp_path, env=display, check=True, capture_output=True, timeout=60)
        assert parse_scenario(TILED.replace("village.tmx", name), folder=tmp_path) == twin


@pytest.mark.skipif(not EXAMPLES.is_dir(), reason="the examples of the editor Tiled are not installed")
@pytest.mark.parametrize(("name", "size"), [("desert.tmx", (40, 40)), ("rpg/island.tmx", (58, 47))])
def test_an_example_that_comes_with_tiled_opens(name, size):
    text = f"world: example\nfloors: {{ground: {{}}}}\nmap: {{tiled: {name}, floor: ground}}\nactors: [{{count: 3}}]\n"
    kept = parse_to_keep(text, folder=EXAMPLES)
    assert (kept.scenario.width, kept.scenario.height) == size
    assert kept.tile_art is not None
    assert parse_scenario(kept.text) == kept.scenario


@pytest.mark.parametrize("source", ["basic.tsx", "sets/basic.tsx"])
def test_a_tileset_may_be_a_file_of_its_own(tmp_path, twin, source):
    (tmp_path / "sets").mkdir()
    (tmp_path / source).write_text(tsx())
    assert load_scenario(write_village(tmp_path, tmx(source=source))) == twin


def test_a_map_and_its_tileset_may_be_in_folders_beside_each_other(tmp_path, twin):
    for name, text in (("maps/village.tmx", tmx(source="../sets/basic.tsx")), ("sets/basic.tsx", tsx())):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    assert parse_scenario(TILED.replace("village.tmx", "maps/village.tmx"), folder=tmp_path) == twin


def test_the_numbers_of_tiles_may_be_large(tmp_path, twin):
    first = 200_000_000
    text = tmx().replace('firstgid="1"', f'firstgid="{first}"').replace('gid="2147483652"', f'gid="{first + 3}"')
    for layer in (LAND, THINGS):
        for row in layer:
            moved = [gid and (gid & 0xF000_0000) + (gid & 0x0FFF_FFFF) + first - 1 for gid in row]
            text = text.replace(",".join(map(str, row)), ",".join(map(str, moved)))
    assert load_scenario(write_village(tmp_path, text)) == twin


def test_the_properties_of_a_layer_count_for_tiles_that_say_nothing(tmp_path):
    text = tmx().replace('type="scenery"', "").replace('<property name="floor" type="string" value="rock"/>', "")
    property_ = '<properties><property name="floor" value="rock"/></properties>'
    text = text.replace('height="4"><data', f'height="4">{property_}<data', 1)
    assert load_scenario(write_village(tmp_path, text)) == parse_scenario(TWIN)


def test_tiles_without_a_meaning_are_complained_of_or_have_the_floor_that_the_scenario_says(tmp_path, twin):
    text = tmx().replace('<property name="floor" type="string" value="rock"/>', "")
    (complaint,) = complaints(tmp_path, text)
    assert complaint.startswith("village.tmx: no tile gives a floor to 16 cells, the first is [0, 0]; give the tile")
    said = TILED.replace("village.tmx", "village.tmx, floor: rock")
    assert parse_scenario(said, folder=tmp_path) == twin


def test_what_the_layers_add_comes_before_what_the_scenario_says(tmp_path):
    more = "objects:\n  - {kind: bush, at: [1, 2]}\nactors:\n  - {at: [4, 2]}\nzones:\n  gate: {within: [0, 0, 1, 1]}\n"
    write_village(tmp_path, tmx())
    scenario = parse_scenario(TILED + more, folder=tmp_path)
    assert [(found.object_id, found.x, found.y) for found in scenario.objects if found.kind == "bush"] == [
        ("bush:1", 1, 1),
        ("bush:2", 4, 2),
        ("bush:3", 2, 1),
        ("bush:4", 1, 2),
    ]
    assert {actor.entity_id for actor in scenario.actors} == {"ada", "entity:1", "guest:1", "guest:2"}
    assert [zone.name for zone in scenario.setting.zones] == ["bakery", "gate"]


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (
            'value="rock"',
            'value="rokc"',
            "village.tmx: tileset 'basic': tile 2: property 'floor': there is no floor 'rokc'",
        ),
        (
            'value="door"',
            'value="gate"',
            "village.tmx: tileset 'basic': tile 4: property 'object': there is no kind of",
        ),
        (
            'value="{coin: 2}"',
            'value="{coin: 2"',
            "village.tmx: layer 'people': object 'ada': property 'inventory': this is",
        ),
        ('value="{coin: 2}"', 'value="{cion: 2}"', "object 'ada': property 'inventory': there is no item 'cion'"),
        ('name="facing"', 'name="faicng"', "object 'ada': unknown key 'faicng' (did you mean 'facing'?)"),
        ('type="zone"', 'type="Zones"', "object 'bakery': the class 'Zones' is unknown (did you mean 'zone'?)"),
        ('name="bakery" type="zone"', 'type="zone"', "object '4': a zone needs a name"),
        ('value="ada"', 'value="eve"', "property 'owner': there is no actor 'eve'"),
        ('x="56" y="40"', 'x="56" y="400"', "object 'ada': expected a whole number from 0 to 3, found '25'"),
        ('x="56" y="40"', 'x="nan" y="40"', "object 'ada': expected numbers as its position and size"),
        ('x="16" y="16" width="48"', 'x="1.7e308" y="16" width="1.7e308"', "none of them far off the map"),
        ("<point/>", '<polygon points="0,0 1,1"/>', "object 'ada': is a polygon; draw it as a point"),
        ('x="16" y="16" width="48" height="32"', 'x="16" y="16" width="48" height="32" rotation="9"', "not rotated"),
    ],
)
def test_a_mistake_is_named_with_its_place_in_the_map(tmp_path, old, new, complaint):
    text = tmx()
    assert old in text
    said = complaints(tmp_path, text.replace(old, new, 1))
    assert any(complaint in one for one in said), said


def test_two_tiles_with_objects_at_one_place_are_complained_of(tmp_path):
    text = tmx().replace("3,1,1,", "3,5,1,", 1)  # a door under the bush
    (complaint,) = complaints(tmp_path, text)
    assert complaint.startswith("village.tmx: layer 'things': tile [1, 1]: a layer below has the property 'object'")


def test_an_object_in_the_way_of_another_is_complained_of_by_its_tile(tmp_path):
    said = complaints(tmp_path, tmx().replace('x="66" y="17"', 'x="34" y="34"'))
    assert any("object 'hearth'" in one and "already at [2, 2]" in one for one in said), said


def test_all_mistakes_are_at_the_line_that_names_the_map(tmp_path):
    write_village(tmp_path, tmx().replace('value="rock"', 'value="rokc"').replace('value="ada"', 'value="eve"'))
    with pytest.raises(ScenarioError) as caught:
        load_scenario(tmp_path / "hamlet.yaml")
    line = TILED.split("\n").index("map: {tiled: village.tmx}") + 1
    assert {(problem.place.line, problem.place.column) for problem in caught.value.problems if problem.place} == {
        (line, 14)
    }
    assert len(caught.value.problems) == 2
    assert str(caught.value).startswith(f"{tmp_path / 'hamlet.yaml'}:{line}:14: village.tmx: ")


@pytest.mark.parametrize(
    ("scenario", "complaint"),
    [
        (TILED + 'legend: {".": grass}\n', "a legend is for a drawn map"),
        (TILED + "zones: {bakery: {within: [0, 0, 1, 1]}}\n", "the zone 'bakery' is in the Tiled map, too"),
        (TILED.replace("tiled: village.tmx", "tiled: village.tmx, flor: rock"), "unknown key 'flor'"),
        (TILED.replace("village.tmx", "nowhere.tmx"), "nowhere.tmx: can't be read: No such file"),
        (TILED.replace("village.tmx", "[a]"), "expected a single value, found a list"),
        (TILED + "objects: 7\n", "expected a list, found '7'"),
    ],
)
def test_what_does_not_go_with_a_tiled_map_is_complained_of(tmp_path, scenario, complaint):
    assert any(complaint in one for one in complaints(tmp_path, tmx(), scenario=scenario))


def test_a_text_without_a_folder_can_not_name_a_map():
    with pytest.raises(ScenarioError, match="load the scenario from a file"):
        parse_scenario(TILED)


def test_the_kept_text_needs_no_other_file(tmp_path, twin):
    write_village(tmp_path, tmx("base64", "zlib"))
    kept = parse_to_keep(TILED, folder=tmp_path)
    assert kept.scenario == twin == parse_scenario(kept.text)
    assert kept.text.startswith(HEAD)
    assert kept.tile_art is None  # the image of the tileset is not there
    assert parse_to_keep(kept.text, folder=tmp_path) == KeptScenario(twin, kept.text)
    assert parse_to_keep(TWIN) == KeptScenario(twin, TWIN)


@pytest.mark.parametrize(
    "written",
    [
        "map:\n  tiled: village.tmx  # drawn\n",
        "map: {floor: sand, 'tiled': \"village.tmx\"}\n",
        "map:\n    tiled:\n      'village.tmx'\n\n",
        "? map\n: tiled: village.tmx\n",
    ],
)
def test_the_map_is_kept_however_its_name_is_written(tmp_path, twin, written):
    write_village(tmp_path, tmx())
    text = "\ufeff# ümläut\n" + TILED.replace("map: {tiled: village.tmx}\n", written)
    kept = parse_to_keep(text, folder=tmp_path)
    assert kept.scenario == twin == parse_scenario(kept.text)
    assert "# ümläut" in kept.text


def test_a_fraction_in_the_properties_of_an_actor_is_kept(tmp_path):
    text, changed = re.subn(
        r'(<object [^>]*?type="actor"[^>]*?>\s*<properties>)',
        r'\1<property name="agent" value="{pace: 1.5, shy: true}"/>',
        tmx(),
    )
    assert changed == 2
    write_village(tmp_path, text)
    kept = parse_to_keep(TILED, folder=tmp_path)
    assert "1.5" in kept.text
    assert kept.scenario == parse_scenario(kept.text)


def test_persona_files_are_kept_beside_the_map(tmp_path, twin):
    write_village(tmp_path, tmx())
    (tmp_path / "people.yaml").write_text("ada: {name: Ada, home: bakery}\n")
    text = TILED.replace("personas:\n  ada: {name: Ada, home: bakery}\n", "persona_files: [people.yaml]\n")
    kept = parse_to_keep(text, folder=tmp_path)
    assert kept.scenario == twin == parse_scenario(kept.text)


def test_a_container_is_a_tile_with_an_owner_and_contents(tmp_path):
    text = tmx().replace(
        '<property name="object" type="string" value="door"/><property name="state" type="string" value="open"/>',
        '<property name="object" value="chest"/><property name="owner" value="ada"/>'
        '<property name="contents" value="{coin: 3}"/>',
    )
    write_village(tmp_path, text)
    chest = "  chest: {walkable: false, holds: 5}\n  oven:"
    scenario = parse_scenario(TILED.replace("  oven:", chest), folder=tmp_path)
    drawn = TWIN.replace("object: door, state: open", "object: chest, owner: ada, contents: {coin: 3}")
    assert scenario == parse_scenario(drawn.replace("  oven:", chest))
    assert any(found.kind == "chest" for found in scenario.objects)


def art_of(folder, text):
    """The picture of a map whose image is there."""
    shutil.copy(DRAWN / "tiles.png", folder)
    art = parse_to_keep(write_village(folder, text).read_text(), folder=folder).tile_art
    return None if art is None else json.loads(art)


def test_the_picture_has_the_tiles_with_their_flips_but_no_objects(tmp_path):
    art = art_of(tmp_path, tmx("base64", "gzip"))
    (tileset,) = art["sets"]
    assert base64.b64decode(tileset.pop("image")) == (DRAWN / "tiles.png").read_bytes()
    size = {"width": 16, "height": 16, "margin": 0, "spacing": 0}
    assert tileset == {"first": 1, "count": 5, "columns": 5, **size}
    layers = [np.frombuffer(zlib.decompress(base64.b64decode(layer)), "<u4").tolist() for layer in art["layers"]]
    assert layers == [[gid for row in LAND for gid in row], [0] * 24]


def test_hidden_layers_are_not_in_the_picture(tmp_path):
    art = art_of(tmp_path, tmx().replace('name="things"', 'name="things" visible="0"'))
    assert len(art["layers"]) == 1


@pytest.mark.parametrize(
    "image",
    ["", "nowhere.png", "../tiles.png", "/etc/passwd", "village.tmx", "huge.png", "sub"],
)
def test_an_image_that_can_not_be_shown_leaves_a_world_without_a_picture(tmp_path, twin, image):
    folder = tmp_path / "world"
    (folder / "sub").mkdir(parents=True)
    shutil.copy(DRAWN / "tiles.png", tmp_path)
    huge = bytearray((DRAWN / "tiles.png").read_bytes())
    huge[16:20] = (100_000).to_bytes(4, "big")
    (folder / "huge.png").write_bytes(huge)
    text = tmx().replace('source="tiles.png"', f'source="{image}"')
    kept = parse_to_keep(write_village(folder, text).read_text(), folder=folder)
    assert (kept.scenario, kept.tile_art) == (twin, None)


@pytest.mark.slow
def test_a_map_as_large_as_can_be_is_read(tmp_path):
    side = 4096
    rows = np.ones((side, side), dtype="<u4")
    rows[5, 7] = 3
    layer = (
        f'<layer id="1" name="land"><data encoding="base64" compression="zlib">{packed(rows, "zlib")}</data></layer>'
    )
    layer = layer.replace("<layer ", f'<layer width="{side}" height="{side}" ')
    head = tmx().partition("<layer")[0].replace('width="6" height="4"', f'width="{side}" height="{side}"')
    (tmp_path / "large.tmx").write_text(f"{head}{layer}</map>")
    scenario = parse_scenario(HEAD + "map: {tiled: large.tmx}\n", folder=tmp_path)
    assert (scenario.width, scenario.height) == (side, side)
    assert scenario.floor_codes.index(2) == 5 * side + 7
    assert scenario.floor_codes.count(0) == side * side - 1


def test_a_missing_library_is_named_with_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pytiled_parser", None)
    (complaint,) = complaints(tmp_path, tmx())
    assert complaint == "village.tmx: maps of Tiled need pytiled_parser: `pip install 'tickmind[tiled]'`"


def test_without_zstandard_only_zstd_is_refused(tmp_path, monkeypatch, twin):
    monkeypatch.setitem(sys.modules, "zstandard", None)
    assert parse_scenario(TILED.replace("village.tmx", "base64-zlib.tmx"), folder=DRAWN) == twin
    with pytest.raises(
        ConfigError, match=r"layer 'land': zstd needs zstandard: `pip install 'tickmind\[tiled\]'`, or choose"
    ):
        parse_scenario(TILED.replace("village.tmx", "base64-zstd.tmx"), folder=DRAWN)
