"""A small village as maps of Tiled in each encoding, and the scenario that says the same without Tiled."""

import base64
import gzip
import json
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import quoteattr

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

HEAD = """\
world: hamlet
floors:
  grass: {}
  sand: {}
  rock: {walkable: false, opaque: true}
items:
  coin: {}
  berry: {}
kinds:
  bush: {stock: {item: berry, most: 3}}
  door: {states: {closed: {walkable: false, actions: {open: {to: open}}}, open: {actions: {close: {to: closed}}}}}
  oven: {walkable: false}
"""
TAIL = """\
ground:
  - {item: coin, amount: 1, at: [0, 0]}
personas:
  ada: {name: Ada, home: bakery}
"""
TILED = HEAD + "map: {tiled: village.tmx}\n" + TAIL
TWIN = (
    HEAD
    + """\
map: |
  ######
  #b..,#
  #.d.b#
  ######
legend:
  "#": rock
  ".": grass
  ",": sand
  "b": {floor: grass, object: bush, stock: 2}
  "d": {floor: sand, object: door, state: open}
objects:
  - {id: hearth, kind: oven, at: [4, 1]}
  - {kind: bush, at: [2, 1], stock: 2}
zones:
  bakery: {within: [[3, 1, 4, 1], [4, 2, 4, 2]], owner: ada, purpose: where bread is made}
actors:
  - {id: ada, type: villager, at: [3, 2], facing: N, tags: [brisk, warm], inventory: {coin: 2}}
  - {id: "guest:{n}", type: guest, count: 2, within: [1, 1, 3, 2]}
"""
    + TAIL.replace("ground:\n", "ground:\n  - {item: berry, amount: 4, at: [3, 1]}\n")
)
WIDTH, HEIGHT, TILE = 6, 4, 16
_FLIPPED = 0x8000_0000  # horizontally
_FLIPS = 0xE000_0000
_GRASS, _SAND, _ROCK, _BUSH, _DOOR = range(1, 6)
LAND = [
    [3, 3, 3 | _FLIPPED, 3, 3, 3],
    [3, 1, 1, 1 | _FLIPS, 2, 3],
    [3, 1, 1, 1, 1, 3],
    [3, 3, 3, 3, 3 | _FLIPS, 3],
]
THINGS = [[0] * 6, [0, 4 | _FLIPS, 0, 0, 0, 0], [0, 0, 5, 0, 4 | _FLIPPED, 0], [0] * 6]
ENCODINGS = [("csv", ""), ("xml", ""), *(("base64", packed) for packed in ("", "gzip", "zlib", "zstd"))]
TILES: dict[int, tuple[str, dict[str, object]]] = {  # id -> class and properties
    0: ("grass", {}),
    1: ("", {"floor": "sand"}),
    2: ("scenery", {"floor": "rock", "collides": True}),
    3: ("bush", {"stock": 2}),
    4: ("", {"floor": "sand", "object": "door", "state": "open"}),
}
OBJECTS: list[dict[str, Any]] = [  # what has no class of ours is decoration
    {"name": "ada", "type": "actor", "x": 56, "y": 40, "point": True}
    | {"properties": {"type": "villager", "facing": "N", "tags": "[brisk, warm]", "inventory": "{coin: 2}"}},
    {"name": "hearth", "type": "object", "x": 66, "y": 17, "width": 13, "height": 14, "properties": {"kind": "oven"}},
    {"name": "", "type": "ground", "x": 50, "y": 18, "point": True, "properties": {"item": "berry", "amount": 4}},
    {"name": "bakery", "type": "zone", "x": 46, "y": 17, "width": 33, "height": 16}
    | {"properties": {"owner": "ada", "purpose": "where bread is made"}},
    {"name": "bakery", "type": "zone", "x": 64, "y": 32, "width": 16, "height": 16, "properties": {}},
    {"name": "", "type": "", "x": 32, "y": 32, "width": 16, "height": 16, "gid": 4 | _FLIPPED, "properties": {}},
    {"name": "guest:{n}", "type": "actor", "x": 16, "y": 16, "width": 48, "height": 32}
    | {"properties": {"type": "guest", "count": 2}},
    {"name": "a cloud", "type": "decoration", "x": 1, "y": 1, "width": 2, "height": 2, "properties": {"depth": 1}},
]


def packed(rows: "list[list[int]] | NDArray[np.uint32]", compression: str) -> str:
    """Return the base64 of a layer's tiles."""
    raw = np.array(rows, dtype="<u4").tobytes()
    if compression == "zstd":
        import zstandard

        raw = zstandard.compress(raw)
    elif compression:
        raw = gzip.compress(raw, mtime=0) if compression == "gzip" else zlib.compress(raw)
    return base64.b64encode(raw).decode()


def tmx(encoding: str = "csv", compression: str = "", *, source: str = "") -> str:
    """Return the map as XML; its tileset in it, or in the file `source`."""
    tileset = f'<tileset firstgid="1" source={quoteattr(source)}/>' if source else tsx('firstgid="1"')
    layers = (_layer(1, "land", LAND, encoding, compression), _layer(2, "things", THINGS, encoding, compression))
    objects = "".join(_object(number, thing) for number, thing in enumerate(OBJECTS, 1))
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<map version="1.8" tiledversion="1.8.2" orientation="orthogonal" '
        f'renderorder="right-down" width="{WIDTH}" height="{HEIGHT}" tilewidth="{TILE}" tileheight="{TILE}" '
        f'infinite="0" nextlayerid="5" nextobjectid="9">{tileset}{layers[0]}'
        f'<group id="4" name="more">{layers[1]}</group>'
        f'<objectgroup id="3" name="people">{objects}</objectgroup></map>\n'
    )


def tsx(first: str = "") -> str:
    """Return the tileset as an element; with a head it is a file of its own."""
    tiles = "".join(
        f'<tile id="{number}"{f" type={quoteattr(name)}" if name else ""}>{_properties(properties)}</tile>'
        for number, (name, properties) in TILES.items()
    )
    image = '<image source="tiles.png" width="80" height="16"/>'
    size = f'tilewidth="{TILE}" tileheight="{TILE}" tilecount="5" columns="5"'
    return f'<tileset {first} name="basic" {size}>{image}{tiles}</tileset>'


def tmj(encoding: str = "csv", compression: str = "") -> str:
    """Return the map as JSON."""
    both = {"visible": True, "opacity": 1, "x": 0, "y": 0}

    def layer(number: int, name: str, rows: list[list[int]]) -> dict[str, object]:
        size = {"type": "tilelayer", "id": number, "name": name, "width": WIDTH, "height": HEIGHT}
        if encoding == "csv":
            return both | size | {"data": [gid for row in rows for gid in row]}
        return both | size | {"encoding": encoding, "compression": compression, "data": packed(rows, compression)}

    shape = {"width": 0, "height": 0, "rotation": 0, "visible": True}
    objects = [
        shape | {**thing, "id": number, "properties": _listed(thing["properties"])}
        for number, thing in enumerate(OBJECTS, 1)
    ]
    tileset = {
        "firstgid": 1,
        "name": "basic",
        "tilewidth": TILE,
        "tileheight": TILE,
        "tilecount": 5,
        "columns": 5,
        "spacing": 0,
        "margin": 0,
        "image": "tiles.png",
        "imagewidth": 80,
        "imageheight": 16,
        "tiles": [
            {"id": number, "type": name, "properties": _listed(properties)}
            for number, (name, properties) in TILES.items()
        ],
    }
    return json.dumps(
        {
            "type": "map",
            "version": "1.8",
            "tiledversion": "1.8.2",
            "orientation": "orthogonal",
            "renderorder": "right-down",
            "width": WIDTH,
            "height": HEIGHT,
            "tilewidth": TILE,
            "tileheight": TILE,
            "infinite": False,
            "tilesets": [tileset],
            "layers": [
                layer(1, "land", LAND),
                both | {"type": "group", "name": "more", "layers": [layer(2, "things", THINGS)]},
                both | {"type": "objectgroup", "name": "people", "draworder": "topdown", "objects": objects},
            ],
        }
    )


def write_village(folder: Path, text: str, name: str = "village.tmx") -> Path:
    """Write the scenario and its map; return the scenario's file."""
    (folder / name).write_text(text)
    scenario = folder / "hamlet.yaml"
    scenario.write_text(TILED.replace("village.tmx", name))
    return scenario


def _layer(number: int, name: str, rows: list[list[int]], encoding: str, compression: str) -> str:
    said = f' encoding="{encoding}"' if encoding != "xml" else ""
    said += f' compression="{compression}"' if compression else ""
    if encoding == "csv":
        data = ",\n".join(",".join(map(str, row)) for row in rows)
    elif encoding == "xml":
        data = "\n".join(f'<tile gid="{gid}"/>' if gid else "<tile/>" for row in rows for gid in row)
    else:
        data = f"\n   {packed(rows, compression)}\n  "
    return f'<layer id="{number}" name="{name}" width="{WIDTH}" height="{HEIGHT}"><data{said}>{data}</data></layer>'


def _object(number: int, thing: dict[str, Any]) -> str:
    said = "".join(
        f" {key}={quoteattr(str(value))}"
        for key, value in thing.items()
        if key not in ("point", "properties") and value != ""
    )
    point = "<point/>" if thing.get("point") else ""
    return f'<object id="{number}"{said}>{_properties(thing["properties"])}{point}</object>'


def _properties(properties: dict[str, object]) -> str:
    listed = "".join(
        f'<property name="{one["name"]}" type="{one["type"]}" value={quoteattr(_said(one["value"]))}/>'
        for one in _listed(properties)
    )
    return f"<properties>{listed}</properties>" if listed else ""


def _said(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _listed(properties: dict[str, object]) -> list[dict[str, object]]:
    types = {bool: "bool", int: "int", str: "string"}
    return [{"name": name, "type": types[type(value)], "value": value} for name, value in properties.items()]
