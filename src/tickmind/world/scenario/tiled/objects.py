"""The object layers of a Tiled map as the lists of a scenario: objects, ground, actors and zones."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tickmind.base.problems import nearest
from tickmind.world.scenario.tiled.drawing import Meaning, TileDrawing, Vocabulary, written
from tickmind.world.scenario.tiled.position import TiledPosition
from tickmind.world.scenario.tiled.properties import property_nodes
from tickmind.world.scenario.tiled.tile_data import tile_number
from tickmind.world.scenario.tiled.tiled_map import TiledMap
from tickmind.world.scenario.yaml_nodes import Leaf, Many, Node, YamlMapping, many, table

if TYPE_CHECKING:
    from pytiled_parser.tiled_object import TiledObject

CLASSES = ("actor", "object", "ground", "zone")
_SECTIONS = {"actor": "actors", "object": "objects", "ground": "ground"}
_ALIGNED = {  # where in a tile object its position is, from its north-west corner
    "topleft": (0.0, 0.0),
    "top": (0.5, 0.0),
    "topright": (1.0, 0.0),
    "left": (0.0, 0.5),
    "center": (0.5, 0.5),
    "right": (1.0, 0.5),
    "bottomleft": (0.0, 1.0),
    "bottom": (0.5, 1.0),
    "bottomright": (1.0, 1.0),
}

_FARTHEST = 1e9  # pixels, in any direction


class ObjectLayers:
    """Reads the objects of all object layers in the order of the file; those without a class of ours are decoration."""

    def __init__(self, tiled: TiledMap, words: Vocabulary, drawing: TileDrawing) -> None:
        self._map = tiled
        self._words = words
        self._drawing = drawing
        self._lists: dict[str, list[Node]] = {name: [] for name in _SECTIONS.values()}
        self._zones: dict[str, YamlMapping] = {}
        for layer, place in tiled.object_layers:
            for thing in layer.tiled_objects:
                with place.source.noting():
                    self._add(thing, place.inside(f"object {_name(thing)!r}"))

    def sections(self) -> dict[str, Node]:
        """Return the sections `objects`, `ground`, `actors` and `zones`, without those that are empty."""
        place = self._map.place
        nodes: dict[str, Node] = {name: Many(place, tuple(items)) for name, items in self._lists.items() if items}
        if self._zones:
            keys = {name: zone.place for name, zone in self._zones.items()}
            nodes["zones"] = YamlMapping(place, dict(self._zones), keys)
        return nodes

    def _add(self, thing: "TiledObject", place: TiledPosition) -> None:
        number = self._number(thing, place)
        tile = self._map.tileset_of(number, place).tile(number) if number else None
        class_name = thing.class_ or (tile.class_ if tile else None)
        if class_name in CLASSES:
            given = property_nodes(tile.properties, place.inside("its tile")) if tile else {}
            given |= property_nodes(thing.properties, place)
            if class_name == "zone":
                self._add_zone(thing, given, place)
            else:
                self._put(str(class_name), thing, given, place)
            return
        given = dict(self._drawing.tile_meaning(number, place)) if number else {}
        given |= self._words.meaning(thing.properties, thing.class_, place)
        meant = list(_meant(given, place))
        for name, entries in meant:
            self._put(name, thing, entries, place)
        likely = nearest(class_name.lower(), CLASSES) if isinstance(class_name, str) and len(class_name) < 10 else ""
        if likely and not meant:
            place.fail(f"the class {class_name!r} is unknown{likely}; there are: {', '.join(CLASSES)}")

    def _number(self, thing: "TiledObject", place: TiledPosition) -> int:
        """Return the number of the tile of a tile object, or 0. It has what its tile says, unless it says it itself."""
        gid = getattr(thing, "gid", None)
        if gid is None:
            return 0
        if not isinstance(gid, int) or not 0 < gid < 2**32:
            place.fail("expected a whole number as gid")
        return tile_number(gid)

    def _put(self, class_name: str, thing: "TiledObject", given: Meaning, place: TiledPosition) -> None:
        name = str(thing.name or "").strip()
        if class_name != "ground" and name:
            given.setdefault("id", Leaf(place, name, plain=True))
        if class_name == "actor" and "count" in given:
            given["within"] = _numbers(place, *self._area(thing, place))
        else:
            given["at"] = _numbers(place, *self._tile(thing, place))
        self._lists[_SECTIONS[class_name]].append(YamlMapping(place, given, dict.fromkeys(given, place)))

    def _add_zone(self, thing: "TiledObject", given: Meaning, place: TiledPosition) -> None:
        name = str(thing.name or "").strip()
        if not name:
            place.fail("a zone needs a name; write it into the field Name in Tiled")
        area = _numbers(place, *self._area(thing, place))
        before = self._zones.get(name)
        if before is None:
            within: tuple[Node, ...] = (area,)
        else:
            same = before.entries
            within = (*many(same["within"]).items, area)
            said = {key: node for key, node in same.items() if key != "within"}
            if given and said and written(given) != written(said):
                place.fail(
                    f"another rectangle of the zone {name[:100]!r} has other properties; give them to one of them"
                )
            given = said or given
        given = {**given, "within": Many(place, within)}
        self._zones[name] = YamlMapping(place, given, dict.fromkeys(given, place))

    def _box(self, thing: "TiledObject", place: TiledPosition) -> tuple[float, float, float, float]:
        """Return the position and the size of an object in pixels; a point has no size."""
        numbers = (*thing.coordinates, *thing.size)
        if not _are_numbers(*numbers) or max(map(abs, numbers)) > _FARTHEST:
            place.fail("expected numbers as its position and size, none of them far off the map")
        if type(thing).__name__ not in ("Point", "Rectangle", "Tile"):
            place.fail(f"is a {type(thing).__name__.lower()}; draw it as a point, a rectangle or a tile")
        x, y, width, height = numbers
        return x, y, width, height

    def _tile(self, thing: "TiledObject", place: TiledPosition) -> tuple[int, int]:
        """Return the tile in which the middle of an object is."""
        x, y, width, height = self._box(thing, place)
        aligned = (0.0, 0.0)
        if number := self._number(thing, place):
            alignment = self._map.tileset_of(number, place).tiles.alignment
            aligned = _ALIGNED.get(str(alignment), _ALIGNED["bottomleft"])
        east, south = width * (0.5 - aligned[0]), height * (0.5 - aligned[1])
        if not _are_numbers(thing.rotation):
            place.fail("expected a number as its rotation")
        turn = math.radians(thing.rotation)  # clockwise, about its position
        x += east * math.cos(turn) - south * math.sin(turn)
        y += east * math.sin(turn) + south * math.cos(turn)
        return math.floor(round(x / self._map.tile_width, 6)), math.floor(round(y / self._map.tile_height, 6))

    def _area(self, thing: "TiledObject", place: TiledPosition) -> tuple[int, int, int, int]:
        """Return the tiles of a rectangle, its sides moved to the nearest borders of tiles."""
        x, y, width, height = self._box(thing, place)
        if type(thing).__name__ != "Rectangle" or thing.rotation:
            place.fail("expected a rectangle that is not rotated")
        west, east = (math.floor(side / self._map.tile_width + 0.5) for side in (x, x + width))
        north, south = (math.floor(side / self._map.tile_height + 0.5) for side in (y, y + height))
        return west, north, max(west, east - 1), max(north, south - 1)


def _meant(given: Meaning, place: TiledPosition) -> Iterator[tuple[str, Meaning]]:
    """Yield what a tile would mean as what objects of our classes say."""
    if "object" in given:
        said: Meaning = {key: given[key] for key in ("state", "stock", "owner", "contents") if key in given}
        yield "object", {"kind": given["object"], **said}
    if "ground" in given:
        for item, amount in table(given["ground"]).entries.items():
            yield "ground", {"item": Leaf(place, item, plain=True), "amount": amount}
    if "actor" in given:
        yield "actor", dict(table(given["actor"]).entries)


def _name(thing: "TiledObject") -> str:
    return str(thing.name or thing.id)[:100]


def _are_numbers(*values: object) -> bool:
    """Whether these are numbers; in JSON they may be anything."""
    return all(isinstance(value, int | float) and math.isfinite(value) for value in values)


def _numbers(place: TiledPosition, *numbers: int) -> Many:
    return Many(place, tuple(Leaf(place, str(number), plain=True) for number in numbers))
