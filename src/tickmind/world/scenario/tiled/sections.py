"""`map: {tiled: FILE}`: the sections that a Tiled map stands for, and a scenario's text with them in it."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from tickmind.world.scenario.tiled.drawing import TileDrawing, Vocabulary
from tickmind.world.scenario.tiled.folder import TiledFolder
from tickmind.world.scenario.tiled.objects import ObjectLayers
from tickmind.world.scenario.tiled.position import TiledPosition
from tickmind.world.scenario.tiled.tile_art import tile_art
from tickmind.world.scenario.tiled.tiled_map import read_tiled_map
from tickmind.world.scenario.yaml_nodes import Many, YamlMapping, flow_text, leaf, table, with_value

_LISTS = ("objects", "ground", "actors")


@dataclass(frozen=True, slots=True)
class TiledSections:
    """What a Tiled map stands for, and how to make its picture for viewers."""

    given: YamlMapping
    from_file: bool
    art: Callable[[], bytes | None]  # see `tile_art`


def tiled_sections(
    given: YamlMapping, floors: Collection[str], kinds: Collection[str], folder: Path | None
) -> TiledSections | None:
    """Return the sections that the Tiled map of a scenario stands for, or None if it has none.

    A text that was kept beside a run has them in it already (see `with_map_inside`).
    """
    node = given.get("map")
    if not isinstance(node, YamlMapping) or "tiled" not in node.entries:
        return None
    node.nothing_but("tiled", "floor")
    named = node.entries["tiled"]
    if isinstance(named, YamlMapping):
        named.nothing_but("map", "legend", *_LISTS, "zones")
        return TiledSections(named, from_file=False, art=lambda: None)
    file = leaf(named)
    if folder is None:
        file.place.fail("a map of Tiled is read from a file beside the scenario; load the scenario from a file, too")
    where = file.text[:200] if file.text.isprintable() else repr(file.text[:200])
    place = TiledPosition(file.place.source, file.place.line, file.place.column, where=where)
    files = TiledFolder(folder)
    tiled = read_tiled_map(files, file.text, place)
    words = Vocabulary(floors, kinds)
    drawing = TileDrawing(tiled, words, node.get("floor"))
    entries = {**drawing.sections(), **ObjectLayers(tiled, words, drawing).sections()}
    sections = YamlMapping(place, entries, dict.fromkeys(entries, place))
    return TiledSections(sections, from_file=True, art=lambda: tile_art(tiled, drawing, files))


def with_sections(given: YamlMapping, tiled: YamlMapping) -> YamlMapping:
    """Return a scenario whose lists begin with what the Tiled map adds to them."""
    if "legend" in given.entries:
        given.keys["legend"].note("a legend is for a drawn map; the tiles of a Tiled map have properties instead")
    entries, keys = dict(given.entries), dict(given.keys)
    for name, node in tiled.entries.items():
        own = given.get(name)
        if name in _LISTS and isinstance(own, Many) and isinstance(node, Many):
            entries[name] = Many(own.place, (*node.items, *own.items))
        elif name == "zones" and own is not None:
            entries[name] = _both(table(node), table(own))
        elif name not in _LISTS or own is None:  # a list that is none is complained of by its reader
            entries[name] = node
            keys[name] = tiled.keys[name]
    return YamlMapping(given.place, entries, keys)


def _both(drawn: YamlMapping, own: YamlMapping) -> YamlMapping:
    for name in own.entries.keys() & drawn.entries.keys():
        own.keys[name].note(f"the zone {name!r} is in the Tiled map, too; remove one of them")
    return YamlMapping(own.place, {**drawn.entries, **own.entries}, {**drawn.keys, **own.keys})


def with_map_inside(text: str, tiled: YamlMapping) -> str:
    """Return a scenario's text with the sections of its Tiled map in place of the file's name, to keep it."""
    return with_value(text, ("map", "tiled"), flow_text(tiled))
