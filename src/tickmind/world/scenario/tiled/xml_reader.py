"""XML of Tiled as elements, read so that a hostile file is refused before it costs anything."""

import xml.parsers.expat
from typing import NoReturn
from xml.etree.ElementTree import Element, TreeBuilder

from tickmind.world.scenario.limits import MAX_TILED_DEPTH, MAX_TILED_NODES
from tickmind.world.scenario.tiled.position import TiledPosition


def read_xml(data: bytes, place: TiledPosition, most_nodes: int) -> tuple[Element, int]:
    """Return the root of a document and the number of its elements. `place` names the file in errors."""
    try:
        data.decode()
    except UnicodeDecodeError:
        place.fail("is not UTF-8 text; save it with Tiled")
    reader = _Reader(place, most_nodes)
    parser = xml.parsers.expat.ParserCreate("utf-8")  # whatever the file says of itself
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = reader.doctype
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    try:
        parser.Parse(data, True)
    except xml.parsers.expat.ExpatError as error:
        place.fail(f"this is no XML: {error}")
    return reader.builder.close(), reader.nodes


class _Reader:
    """Builds the elements. `<tile>` in a layer's data becomes a number in its text, as if it were written as CSV."""

    def __init__(self, place: TiledPosition, most_nodes: int) -> None:
        self.builder = TreeBuilder()
        self.nodes = 0
        self._place = place
        self._most_nodes = most_nodes
        self._open: list[str] = []
        self._gids: list[str] = []

    def doctype(self, *_said: object) -> NoReturn:
        self._place.fail(
            "has a document type (<!DOCTYPE>), and such files are not read; open and save it with Tiled 1.8 or newer"
        )

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if not MAX_TILED_DEPTH.allows(len(self._open) + 1):
            self._place.fail(f"nested more than {MAX_TILED_DEPTH.maximum} deep")
        if self._open and self._open[-1] == "data" and tag == "tile":
            self._gids.append(attributes.get("gid", "0"))
            self._open.append("")  # nothing in it counts
            return
        self.nodes += 1
        if self.nodes > self._most_nodes:
            self._place.fail(f"has more than {MAX_TILED_NODES.maximum:,} parts")
        self._open.append(tag)
        self.builder.start(tag, attributes)

    def end(self, tag: str) -> None:
        if not self._open.pop():
            return
        if tag == "data" and self._gids:
            self.builder.data(",".join(self._gids))
            self._gids = []
        self.builder.end(tag)

    def text(self, text: str) -> None:
        if self._open and self._open[-1]:
            self.builder.data(text)
