"""Hostile maps of Tiled are refused by a `ScenarioError` that names the file, before they cost time or memory."""

import base64
import contextlib
import gzip
import json
import os
import tracemalloc
import zlib

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.kits.tiled_files import TILED, tmj, tmx, tsx
from tests.long import short_or_long

from tickmind.world import ScenarioError, parse_scenario
from tickmind.world.scenario import limits

LAYER = '<data encoding="csv">'


def refusal(folder, text, name="village.tmx", scenario=TILED):
    """What is said of a map that is refused."""
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(scenario.replace("village.tmx", name), "hamlet.yaml", folder=folder)
    message = "\n".join(problem.message for problem in caught.value.problems)
    assert name in message
    return message


@pytest.mark.parametrize(
    "doctype",
    [
        '<!DOCTYPE map SYSTEM "http://mapeditor.org/dtd/1.0/map.dtd">',
        '<!DOCTYPE map [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>',
        '<!DOCTYPE map [<!ENTITY a SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE map [<!ENTITY % a SYSTEM "file:///etc/passwd"> %a;]>',
    ],
)
def test_a_document_type_is_refused(tmp_path, doctype):
    text = tmx()
    assert "document type" in refusal(tmp_path, text.replace("<map ", f"{doctype}<map ", 1))
    (tmp_path / "basic.tsx").write_text(doctype + tsx())
    said = refusal(tmp_path, tmx(source="basic.tsx"))
    assert "tileset 'basic.tsx': has a document type" in said


@pytest.mark.parametrize("compression", ["zlib", "gzip", "zstd"])
def test_a_bomb_is_not_decompressed(tmp_path, compression):
    zeros = bytes(20_000_000)
    bombs = {"zlib": zlib.compress(zeros), "gzip": gzip.compress(zeros), "zstd": zstandard.compress(zeros)}
    data = base64.b64encode(bombs[compression]).decode()
    text = tmx("base64", compression)
    start = text.index('">', text.index("<data")) + 2
    text = text[:start] + data + text[text.index("</data>") :]
    tracemalloc.start()
    try:
        said = refusal(tmp_path, text)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "layer 'land'" in said
    assert most < 5_000_000


@pytest.mark.parametrize(
    ("path", "inside"),
    [
        ("/etc/passwd", "outside"),
        ("../secret.tmx", "outside"),
        ("sub/../../secret.tmx", "outside"),
        ("link.tmx", "outside"),
        ("linked/secret.tmx", "outside"),
        ("C:\\\\secret.tmx", "with / between folders"),
        ("sub", "not a plain file"),
        ("pipe.tmx", "not a plain file"),
        ("loop.tmx", "not a plain file"),
        ("a" * 5000, "can't be read"),
        ("", "expected the name"),
        ("a\\0b", "expected the name"),
        ("a\\nb", "expected the name"),
    ],
)
def test_no_path_leads_out_of_the_folder(tmp_path, path, inside):
    (tmp_path / "secret.tmx").write_text(tmx())
    folder = tmp_path / "world"
    (folder / "sub").mkdir(parents=True)
    (folder / "link.tmx").symlink_to(tmp_path / "secret.tmx")
    (folder / "linked").symlink_to(tmp_path)
    (folder / "loop.tmx").symlink_to(folder / "loop.tmx")
    os.mkfifo(folder / "pipe.tmx")
    with pytest.raises(ScenarioError, match=inside):
        parse_scenario(TILED.replace("village.tmx", f'"{path}"'), folder=folder)
    written = path.encode().decode("unicode_escape")
    if "\0" not in written:  # which XML has no way to say
        source = written.replace("\n", "&#10;")
        (folder / "village.tmx").write_text(
            tmx().replace(tsx('firstgid="1"'), f'<tileset firstgid="1" source="{source}"/>')
        )
        with pytest.raises(ScenarioError, match=inside):
            parse_scenario(TILED, folder=folder)
    as_json = json.loads(tmj())
    as_json["tilesets"] = [{"firstgid": 1, "source": written}]
    (folder / "village.tmj").write_text(json.dumps(as_json))
    with pytest.raises(ScenarioError, match=inside):
        parse_scenario(TILED.replace("village.tmx", "village.tmj"), folder=folder)


def test_a_link_within_the_folder_is_followed(tmp_path):
    (tmp_path / "real.tmx").write_text(tmx())
    (tmp_path / "village.tmx").symlink_to("real.tmx")
    assert parse_scenario(TILED, folder=tmp_path).name == "hamlet"


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (
            'orientation="orthogonal"',
            'orientation="isometric"',
            "only orthogonal maps are read, and this one is 'isometric'",
        ),
        ('infinite="0"', 'infinite="1"', "the map is infinite; in Tiled take the tick off"),
        ('width="6" height="4" tilewidth', 'width="4097" height="4" tilewidth', "expected a width of 1 to 4096"),
        (
            'width="6" height="4" tilewidth',
            'width="99999999999999999" height="4" tilewidth',
            "expected a whole number as width",
        ),
        ('width="6" height="4" tilewidth', 'width="-6" height="4" tilewidth', "expected a whole number as width"),
        ('width="6" height="4" tilewidth', 'width="5" height="4" tilewidth', "expected 20 tiles, found 24"),
        ('tilewidth="16"', 'tilewidth="0"', "expected a whole number as tilewidth"),
        ("3,3,3", "3,3", "expected 24 tiles, found 23"),
        ("3,3,3", "3,,3", "expected numbers with commas"),
        ("3,3,3", "3,-3,3", "expected numbers of tiles from 0 to 4294967295"),
        ("3,3,3", "3,4294967296,3", "expected numbers of tiles"),
        ("3,3,3", "3,[3],3", "expected a list of whole numbers"),
        ("3,3,3", "3,1e3,3", "expected a list of whole numbers"),
        ("3,3,3", "3,99,3", "the tile 99 belongs to no tileset"),
        (LAYER, '<data encoding="morse">', "unknown encoding 'morse'"),
        (LAYER, '<data encoding="base64" compression="rar">', "unknown compression 'rar'"),
        (LAYER, '<data encoding="base64">', "this is no base64"),
        (LAYER, "<data/>" + LAYER, "expected its data once, found it 2 times"),
        ('firstgid="1"', 'firstgid="0"', "expected a whole number as firstgid"),
        ('firstgid="1"', 'firstgid="7"', "the tile 1 belongs to no tileset"),
        ('tilecount="5"', "", "expected a whole number as tilecount, found 'None'; open and save it with Tiled"),
        ('columns="5"', "", "can't be read: 'columns' is missing"),
        ('<tile id="0"', '<tile id="x"', "can't be read: invalid literal"),
        ('<object id="1"', '<object id="1" template="a.tx"', "templates are not read, and the object '1' has one"),
        ('gid="2147483652"', 'gid="99"', "the tile 99 belongs to no tileset"),
        ('gid="2147483652"', 'gid="99999999999"', "expected a whole number as gid"),
        ("<map ", "<mop ", "this is no XML"),
        ("</map>", "", "this is no XML"),
        ("</map>", "</map><map/>", "this is no XML"),
        ('name="land"', 'name="&unknown;"', "this is no XML"),
    ],
)
def test_what_tiled_does_not_write_is_refused(tmp_path, old, new, complaint):
    text = tmx()
    assert old in text
    assert complaint in refusal(tmp_path, text.replace(old, new, 1))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (b"", "is no map or tileset of Tiled"),
        (b"\x89PNG", "is no map or tileset of Tiled"),
        (b"<map>\xff</map>", "is not UTF-8 text"),
        (tmx().encode("utf-16"), "is no map or tileset of Tiled"),
        (tsx().encode(), "is not a map"),
        (b"{}", "is not a map"),
        (b'{"type": "map"', "this is no JSON"),
        (b'{"type": ' + b"[" * 5000 + b"]" * 5000 + b"}", "this is no JSON"),
        (b'{"type": ' + b"[]," * 600_000, "has more than 500,000 parts"),
        (b"<map>" + b"<a/>" * 500_001 + b"</map>", "has more than 500,000 parts"),
        (b"<map>" * 40 + b"</map>" * 40, "nested more than 32 deep"),
    ],
    ids=lambda value: None if isinstance(value, bytes) else value,
)
def test_what_is_no_map_is_refused(tmp_path, text, complaint):
    assert complaint in refusal(tmp_path, text)


def test_layers_are_not_larger_than_their_limit_together(tmp_path):
    text = tmx().replace('width="6" height="4" tilewidth', 'width="4096" height="4096" tilewidth')
    layer = '<layer name="x" width="4096" height="4096"><data encoding="csv">1</data></layer>'
    assert "merge some layers" in refusal(tmp_path, text.replace("<objectgroup", layer * 10 + "<objectgroup", 1))
    assert "more than 100 layers" in refusal(tmp_path, tmx().replace("<objectgroup", layer * 101 + "<objectgroup", 1))


def test_files_are_not_larger_than_their_limit_together(tmp_path, monkeypatch):
    text, tileset = tmx(source="basic.tsx"), tsx()
    (tmp_path / "basic.tsx").write_text(tileset)
    (tmp_path / "village.tmx").write_text(text)
    both = len(text) + len(tileset)
    for most, good in ((both, True), (both - 1, False)):
        limit = type(limits.MAX_TILED_BYTES)("size", most, "bytes")
        monkeypatch.setattr("tickmind.world.scenario.tiled.folder.MAX_TILED_BYTES", limit)
        if good:
            assert parse_scenario(TILED, folder=tmp_path).name == "hamlet"
        else:
            assert "save its tile layers compressed" in refusal(tmp_path, text)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("layers", {}),
        ("layers", [7]),
        ("layers", [{"type": "dream"}]),
        ("layers", [{"type": "tilelayer"}]),
        ("layers", [{"type": "tilelayer", "name": "x", "opacity": 1, "visible": True, "data": {}}]),
        ("layers", [{"type": "objectgroup", "objects": 7}]),
        ("layers", [{"type": "objectgroup", "objects": [{}]}]),
        ("tilesets", 7),
        ("tilesets", [{}]),
        ("tilesets", [{"firstgid": 1}]),
        ("tilesets", [{"firstgid": 1, "source": 7}]),
        ("tilesets", [{"firstgid": True, "source": "a.tsx"}]),
        ("width", "6.0"),
        ("width", True),
        ("width", [6]),
        ("orientation", {}),
        ("infinite", 1),
    ],
)
def test_json_of_another_shape_is_refused(tmp_path, part, value):
    refusal(tmp_path, json.dumps({**json.loads(tmj()), part: value}), "village.tmj")


@pytest.mark.parametrize("place", ["name", "type", "x", "width", "rotation", "gid", "properties", "id"])
@pytest.mark.parametrize("value", [None, True, [], {}, "7", 1e300, -(2**40)], ids=str)
def test_objects_with_odd_values_raise_nothing_else(tmp_path, place, value):
    document = json.loads(tmj())
    for thing in document["layers"][2]["objects"]:
        thing[place] = value
    (tmp_path / "village.tmj").write_text(json.dumps(document))
    with contextlib.suppress(ScenarioError):
        parse_scenario(TILED.replace("village.tmx", "village.tmj"), folder=tmp_path)


@pytest.mark.parametrize(
    "text", [tmx(), tmx("base64", "zlib"), tmj(), tmj("base64", "zstd")], ids=["csv", "zlib", "json", "zstd"]
)
@settings(
    max_examples=short_or_long(60, 3000), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_a_spoilt_map_is_read_or_refused(tmp_path, text, data):
    """Pieces cut out, doubled and replaced: a world, or an error of ours."""
    spoilt = text
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(spoilt)))
        end = data.draw(st.integers(start, min(len(spoilt), start + 40)))
        piece = data.draw(
            st.sampled_from(
                ["", '"', "<", ">", "{", "}", "[", "]", ",", "0", "-1", "9" * 30, "null", "\0", "\ud800", "é"]
            )
            | st.just(spoilt[start:end] * 2)
            | st.text(max_size=8)
        )
        spoilt = spoilt[:start] + piece + spoilt[end:]
    (tmp_path / "village.tmx").write_bytes(spoilt.encode("utf-8", "surrogatepass"))
    with contextlib.suppress(ScenarioError):
        parse_scenario(TILED, folder=tmp_path)
