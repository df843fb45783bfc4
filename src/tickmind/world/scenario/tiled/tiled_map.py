"""A map of Tiled as it stands in its files: size, tilesets and layers, the same for XML and JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from xml.etree.ElementTree import Element

from tickmind.base import Limit
from tickmind.world.scenario.limits import (
    MAX_MAP_SIDE,
    MAX_TILED_CELLS,
    MAX_TILED_DEPTH,
    MAX_TILED_LAYERS,
    MAX_TILED_SETS,
)
from tickmind.world.scenario.tiled.folder import TiledFolder
from tickmind.world.scenario.tiled.position import TiledPosition
from tickmind.world.scenario.yaml_nodes import YamlText

if TYPE_CHECKING:
    from pytiled_parser import Tileset
    from pytiled_parser.layer import Layer, ObjectLayer
    from pytiled_parser.tileset import Tile

Raw: TypeAlias = Element | dict[str, Any]  # both have `get`
_LAYERS = {"layer": "tilelayer", "objectgroup": "objectgroup", "imagelayer": "imagelayer", "group": "group"}
_UNREADABLE = (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
_OF_PICTURES = (
    "animation",
    "grid",
    "image",
    "objectgroup",
    "terrains",
    "terraintypes",
    "tileoffset",
    "transformations",
    "wangsets",
)
_TILED = "Tiled 1.8 or newer"
_MAX_TILES = Limit("number of tiles", 2**28 - 1)  # of all tilesets; the other bits of a number flip the tile


@dataclass(frozen=True, slots=True)
class PlacedTileset:
    """A tileset of a map, with the number of its first tile there."""

    first: int
    tiles: "Tileset"
    place: TiledPosition
    file: Path
    image: str  # its file as it is written, relative to `file`; empty for a collection of images

    def has(self, number: int) -> bool:
        """Whether it has a tile of this number in the map; ids of a collection of images may have gaps."""
        own = number - self.first
        return 0 <= own < self.tiles.tile_count or own in (self.tiles.tiles or {})

    def tile(self, number: int) -> "Tile | None":
        """Return what the tileset says of a tile, if it says anything."""
        return (self.tiles.tiles or {}).get(number - self.first)


@dataclass(frozen=True, slots=True)
class DrawnLayer:
    """A tile layer; its data are decoded only when it is its turn."""

    layer: "Layer"
    place: TiledPosition
    data: Any
    encoding: Any
    compression: Any


@dataclass(frozen=True, slots=True)
class TiledMap:
    """A map with its layers in the order in which they are drawn, those of groups included."""

    width: int
    height: int
    tile_width: int  # in pixels
    tile_height: int
    place: TiledPosition
    tilesets: tuple[PlacedTileset, ...]  # by their first numbers, the last first
    tile_layers: tuple[DrawnLayer, ...]
    object_layers: tuple[tuple["ObjectLayer", TiledPosition], ...]

    def tileset_of(self, number: int, place: TiledPosition) -> PlacedTileset:
        """Return the tileset that a tile's number belongs to."""
        tileset = next((tileset for tileset in self.tilesets if tileset.first <= number), None)
        if tileset is None or not tileset.has(number):
            place.fail(f"the tile {number} belongs to no tileset; open the map in Tiled and draw the place again")
        return tileset


def read_tiled_map(folder: TiledFolder, name: str, place: TiledPosition) -> TiledMap:
    """Read a map and its tilesets. `place` is where the scenario names it."""
    try:
        import pytiled_parser  # noqa: F401 - fails here, with a message, rather than in the middle
    except ModuleNotFoundError as error:
        place.fail(f"maps of Tiled need {error.name}: `pip install 'tickmind[tiled]'`")
    path, raw = folder.read(name, place)
    if (raw.tag if isinstance(raw, Element) else raw.get("type")) != "map":
        place.fail("is not a map; name the .tmx or .tmj file, not a tileset or a template")
    if raw.get("orientation") != "orthogonal":
        place.fail(f"only orthogonal maps are read, and this one is {str(raw.get('orientation'))[:40]!r}")
    if raw.get("infinite", "0") not in ("0", False):
        place.fail("the map is infinite; in Tiled take the tick off Map > Map Properties > Infinite, and save it")
    tile_layers = []
    object_layers = []
    for number, (kind, layer) in enumerate(_layers(raw, place), 1):
        if not MAX_TILED_LAYERS.allows(number):
            place.fail(f"more than {MAX_TILED_LAYERS.maximum} layers")
        at = place.inside(f"layer {str(layer.get('name', number))[:100]!r}")
        if kind == "tilelayer":
            tile_layers.append(_tile_layer(layer, at))
        elif kind == "objectgroup":
            object_layers.append((_object_layer(layer, at), at))
    width, height = (_number(raw, side, MAX_MAP_SIDE, place) for side in ("width", "height"))
    if not MAX_TILED_CELLS.allows(width * height * len(tile_layers)):
        place.fail(f"more than {MAX_TILED_CELLS.maximum:,} cells in all tile layers; merge some layers in Tiled")
    return TiledMap(
        width=width,
        height=height,
        tile_width=_number(raw, "tilewidth", MAX_MAP_SIDE, place),
        tile_height=_number(raw, "tileheight", MAX_MAP_SIDE, place),
        place=place,
        tilesets=_tilesets(folder, path, raw, place),
        tile_layers=tuple(tile_layers),
        object_layers=tuple(object_layers),
    )


def _number(raw: Raw, key: str, most: Limit, place: TiledPosition) -> int:
    said = raw.get(key)
    text = str(said)
    if isinstance(said, bool) or not (text.isascii() and text.isdigit() and len(text) < 12 and int(text) > 0):
        place.fail(f"expected a whole number as {key}, found {text[:40]!r}; open and save it with {_TILED}")
    if not most.allows(int(text)):
        place.fail(f"expected a {key} of 1 to {most.maximum}, found {text}")
    return int(text)


def _parts(raw: Raw, key: str, place: TiledPosition) -> list[dict[str, Any]]:
    """Return a list of objects in JSON."""
    found: Any = raw.get(key)
    found = [] if found is None else found
    if not isinstance(found, list) or not all(isinstance(part, dict) for part in found):
        place.fail(f"expected a list of objects as {key}")
    return found


def _layers(raw: Raw, place: TiledPosition, depth: int = 1) -> Iterator[tuple[str, Raw]]:
    """Yield all layers from the lowest to the uppermost, with their kinds; those of groups in place of the group."""
    if not MAX_TILED_DEPTH.allows(depth):
        place.fail(f"groups nested more than {MAX_TILED_DEPTH.maximum} deep")
    layers: list[tuple[str, Raw]]
    if isinstance(raw, Element):
        layers = [(_LAYERS[part.tag], part) for part in raw if part.tag in _LAYERS]
    else:
        layers = [(str(part.get("type")), part) for part in _parts(raw, "layers", place)]
    for kind, layer in layers:
        if kind == "group":
            yield from _layers(layer, place, depth + 1)
        elif kind in _LAYERS.values():
            yield kind, layer
        else:
            place.fail(f"has a layer of the unknown type {kind[:40]!r}")


def _tile_layer(raw: Raw, place: TiledPosition) -> DrawnLayer:
    data: Raw = raw
    text: Any = None
    if isinstance(raw, Element):
        elements = raw.findall("data")
        if len(elements) != 1:
            place.fail(f"expected its data once, found it {len(elements)} times")
        data, text = elements[0], elements[0].text
        raw.remove(elements[0])
    else:
        text = raw.pop("data", None)
    return DrawnLayer(_parsed_layer(raw, place), place, text, data.get("encoding"), data.get("compression"))


def _object_layer(raw: Raw, place: TiledPosition) -> "ObjectLayer":
    from pytiled_parser.layer import ObjectLayer

    for thing in raw.findall("object") if isinstance(raw, Element) else _parts(raw, "objects", place):
        if thing.get("template") is not None:
            place.fail(
                f"templates are not read, and the object {str(thing.get('id'))[:40]!r} has one; mark all objects "
                "in Tiled, and choose `Detach` in their menu"
            )
    layer = _parsed_layer(raw, place)
    assert isinstance(layer, ObjectLayer), "it is of this kind"
    return layer


def _parsed_layer(raw: Raw, place: TiledPosition) -> "Layer":
    """Let the library read a layer without the data of its tiles. It has no folder, so it opens no file."""
    from pytiled_parser.parsers.json.layer import parse as parse_json
    from pytiled_parser.parsers.tmx.layer import parse as parse_xml

    try:
        if isinstance(raw, Element):
            return parse_xml(raw, "utf-8")
        return parse_json(raw, "utf-8")  # type: ignore[arg-type]  # it is not checked yet; what is missing raises
    except _UNREADABLE as error:
        place.fail(_unreadable(error))


def tileset_files(root: Path, name: str) -> list[Path]:
    """Return the files of the tilesets that a map names, as far as it can be read; they need not exist."""
    place = TiledPosition(YamlText(name), 1, 1, where=name)
    folder, files = TiledFolder(root), []
    with place.source.noting():
        path, raw = folder.read(name, place)
        entries: Sequence[Raw] = raw.findall("tileset") if isinstance(raw, Element) else _parts(raw, "tilesets", place)
        for entry in entries[: int(MAX_TILED_SETS.maximum)]:
            with place.source.noting():
                if (source := entry.get("source")) is not None:
                    files.append(folder.find(str(source), place, path))
    return files


def _tilesets(folder: TiledFolder, path: Path, raw: Raw, place: TiledPosition) -> tuple[PlacedTileset, ...]:
    entries: Sequence[Raw] = raw.findall("tileset") if isinstance(raw, Element) else _parts(raw, "tilesets", place)
    if not MAX_TILED_SETS.allows(len(entries)):
        place.fail(f"more than {MAX_TILED_SETS.maximum} tilesets")
    tilesets: dict[int, PlacedTileset] = {}
    for entry in entries:
        first = _number(entry, "firstgid", _MAX_TILES, place)
        file, content = path, entry
        at = place.inside(f"tileset {str(entry.get('name', first))[:100]!r}")
        if (source := entry.get("source")) is not None:
            at = place.inside(f"tileset {str(source)[:200]!r}")
            file, content = folder.read(str(source), at, beside=path)
            if (content.tag if isinstance(content, Element) else content.get("type")) != "tileset":
                at.fail("is not a tileset")
        if first in tilesets:
            at.fail(f"two tilesets begin with the tile {first}")
        image = _image(content)
        tilesets[first] = PlacedTileset(first, _parsed_tileset(content, first, at), at, file, image)
    return tuple(tilesets[first] for first in sorted(tilesets, reverse=True))


def _image(raw: Raw) -> str:
    if isinstance(raw, Element):
        element = raw.find("image")
        return element.get("source", "") if element is not None else ""
    return str(raw.get("image") or "")


def _parsed_tileset(raw: Raw, first: int, place: TiledPosition) -> "Tileset":
    """Let the library read a tileset without what only draws it."""
    from pytiled_parser.parsers.json.tileset import parse as parse_json
    from pytiled_parser.parsers.tmx.tileset import parse as parse_xml

    _number(raw, "tilecount", _MAX_TILES, place)
    if isinstance(raw, Element):
        for part in (raw, *raw.findall("tile")):
            for unread in [child for child in part if child.tag in _OF_PICTURES]:
                part.remove(unread)
    else:
        for some in (raw, *_parts(raw, "tiles", place)):
            for key in (*_OF_PICTURES, "imagewidth", "imageheight"):
                some.pop(key, None)
    try:
        tileset = parse_xml(raw, first, "utf-8") if isinstance(raw, Element) else parse_json(raw, first, "utf-8")  # type: ignore[arg-type]  # as above
        tileset.tile_count = int(tileset.tile_count)
    except _UNREADABLE as error:
        place.fail(_unreadable(error))
    return tileset


def _unreadable(error: Exception) -> str:
    said = f"{error} is missing" if isinstance(error, KeyError) else str(error)
    return f"can't be read: {said[:200]}; open and save it with {_TILED}"
