"""The tile layers of a Tiled map as a drawing and a legend, which is how a scenario says the same."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from tickmind.world.scenario.limits import MAX_TILED_MEANINGS, MAX_TILED_TILES
from tickmind.world.scenario.tiled.position import TiledPosition
from tickmind.world.scenario.tiled.properties import property_nodes
from tickmind.world.scenario.tiled.tile_data import TILE_BITS, read_tiles
from tickmind.world.scenario.tiled.tiled_map import DrawnLayer, TiledMap
from tickmind.world.scenario.yaml_nodes import Leaf, Many, Node, YamlMapping

if TYPE_CHECKING:
    from numpy.typing import NDArray

Meaning = dict[str, Node]  # as in a legend
TILE_KEYS = ("floor", "object", "state", "stock", "owner", "contents", "ground", "actor")  # those of a legend
_TABLE = 1 << 22  # entries of a table of codes; above it values are sorted instead
_NO_SIGNS = "\"'\\ "  # hard to read where a drawing is kept in quotes


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The names that a tile's class may be: of floors and of kinds of objects."""

    floors: Collection[str]
    kinds: Collection[str]

    def meaning(self, properties: object, class_name: object, place: TiledPosition) -> Meaning:
        """Return what a tile or a layer with these properties stands for; nothing if they say nothing to us."""
        found = property_nodes(properties, place, TILE_KEYS)
        if class_name in self.floors:
            found.setdefault("floor", Leaf(place, str(class_name), plain=True))
        elif class_name in self.kinds:
            found.setdefault("object", Leaf(place, str(class_name), plain=True))
        return found


class TileDrawing:
    """Stacks the tile layers of a map: the uppermost floor counts, and everything else is put on it."""

    def __init__(self, tiled: TiledMap, words: Vocabulary, floor: Node | None) -> None:
        self._map = tiled
        self._words = words
        self._meanings: list[Meaning] = [{}]  # code -> what a stack of tiles stands for; 0 is nothing
        self._codes: dict[str, int] = {"": 0}  # its text -> code
        self._of_tiles: dict[int, Meaning] = {}  # number of a tile -> what it stands for
        self._bottom = floor
        self._cells: NDArray[np.int32] = np.zeros(tiled.width * tiled.height, dtype=np.int32)  # code of each cell
        for layer in tiled.tile_layers:
            with layer.place.source.noting():
                self._add(layer)

    def sections(self) -> dict[str, Node]:
        """Return the sections `map` and `legend`."""
        place = self._map.place
        legend: dict[str, Node] = {}
        signs = _signs()

        def sign_of(code: int) -> int:
            meaning = self._meanings[code]
            if "floor" not in meaning:
                meaning = {"floor": self._floor_of(code), **meaning}
            sign = next(signs)
            legend[sign] = YamlMapping(place, meaning, dict.fromkeys(meaning, place))
            return ord(sign)

        rows = np.full((self._map.height, self._map.width + 1), ord("\n"), dtype="<u4")
        rows[:, :-1] = _mapped(self._cells, sign_of, place).reshape(self._map.height, self._map.width)
        return {
            "map": Leaf(place, rows.tobytes().decode("utf-32-le"), plain=False),
            "legend": YamlMapping(place, legend, dict.fromkeys(legend, place)),
        }

    def tile_meaning(self, number: int, place: TiledPosition) -> Meaning:
        """Return what the properties and the class of a tile say."""
        if number not in self._of_tiles:
            tileset = self._map.tileset_of(number, place)
            tile = tileset.tile(number)
            at = tileset.place.inside(f"tile {number - tileset.first}")
            self._of_tiles[number] = self._words.meaning(tile.properties, tile.class_, at) if tile else {}
        return self._of_tiles[number]

    def layer_meaning(self, layer: DrawnLayer) -> Meaning:
        """Return what the properties and the class of a layer say, for tiles in it that say nothing."""
        return self._words.meaning(layer.layer.properties, layer.layer.class_, layer.place)

    def _add(self, layer: DrawnLayer) -> None:
        """Put a layer upon those below it. All cells with the same stack of tiles are looked at once."""
        gids = read_tiles(layer.data, layer.encoding, layer.compression, len(self._cells), layer.place)
        gids = gids & np.uint32(TILE_BITS)
        of_layer = self.layer_meaning(layer)

        def code_of(number: int) -> int:
            return self._code(self.tile_meaning(number, layer.place) or of_layer) if number else 0

        above = _mapped(gids, code_of, layer.place)
        many = len(self._meanings)
        stacks = self._cells * np.int32(many) + above
        twice: set[str] = set()  # properties that a cell would have two of, each noted once for a layer

        def stacked(stack: int) -> int:
            lower, upper = (self._meanings[code] for code in divmod(stack, many))
            for key in ("object", "ground", "actor"):
                if key in lower and key in upper:
                    if key in twice:
                        return stack // many
                    twice.add(key)
                    y, x = divmod(int(np.argmax(stacks == stack)), self._map.width)
                    message = f"a layer below has the property {key!r} at the same place; remove one of the tiles"
                    layer.place.at(x, y).note(message)
                    return stack // many
            return self._code({**lower, **upper})

        self._cells = _mapped(stacks, stacked, layer.place)

    def _code(self, meaning: Meaning) -> int:
        """Return the code of a meaning; two tiles that stand for the same have the same one."""
        text = written(meaning)
        code = self._codes.get(text)
        if code is None:
            code = self._codes[text] = len(self._meanings)
            if not MAX_TILED_MEANINGS.allows(code):
                self._map.place.fail(f"more than {MAX_TILED_MEANINGS.maximum} different meanings of tiles")
            self._meanings.append(meaning)
        return code

    def _floor_of(self, code: int) -> Node:
        if self._bottom is None:
            cells = np.flatnonzero(self._cells == code)
            y, x = divmod(int(cells[0]), self._map.width)
            self._map.place.fail(
                f"no tile gives a floor to {len(cells)} cells, the first is [{x}, {y}]; give the tile there a property "
                "`floor` in its tileset in Tiled, or say `floor: NAME` beside `tiled:` for all of them"
            )
        return self._bottom


def written(meaning: Meaning) -> str:
    """Return a mapping as text; the same for the same content, wherever it stands."""
    return ", ".join(f"{key}: {_text(node)}" for key, node in sorted(meaning.items()))


def _mapped(values: "NDArray[Any]", code_of: Callable[[int], int], place: TiledPosition) -> "NDArray[np.int32]":
    """Return the code of each value; it is asked for each different one once."""
    top = int(values.max()) + 1
    wide = top > _TABLE  # numbers of tiles with wide gaps between them
    used = np.unique(values) if wide else np.flatnonzero(np.bincount(values, minlength=top))
    if not MAX_TILED_TILES.allows(len(used)):
        place.fail(f"more than {MAX_TILED_TILES.maximum:,} different tiles, or stacks of them")
    codes: NDArray[np.int32] = np.array([code_of(value) for value in used.tolist()], dtype=np.int32)
    if wide:
        at: NDArray[np.int64] = np.searchsorted(used, values)
        return codes[at]
    table = np.zeros(top, dtype=np.int32)
    table[used] = codes
    found: NDArray[np.int32] = table[values]
    return found


def _text(node: Node) -> str:
    if isinstance(node, Leaf):
        return repr(node.text)
    if isinstance(node, Many):
        return f"[{', '.join(map(_text, node.items))}]"
    return f"{{{written(node.entries)}}}"


def _signs() -> Iterator[str]:
    """Yield single characters that can be printed: ASCII, then letters with accents, then Chinese ones."""
    codes = chain(range(33, 127), range(0xC0, 0x180), range(0x4E00, 0x9FA0))
    return (chr(code) for code in codes if chr(code) not in _NO_SIGNS)
