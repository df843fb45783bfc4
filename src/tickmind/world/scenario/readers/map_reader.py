"""The text map of a scenario and its legend."""

from dataclasses import dataclass

from tickmind.world.scenario.kinds import FloorKind
from tickmind.world.scenario.limits import MAX_MAP_SIDE
from tickmind.world.scenario.readers.kind_reader import known
from tickmind.world.scenario.tiled.position import TiledPosition
from tickmind.world.scenario.yaml_nodes import Leaf, Node, NodePosition, YamlMapping, leaf, table


@dataclass(frozen=True, slots=True)
class Mark:
    """A tile of the map whose sign stands for more than a floor: what the legend says, and where it was drawn."""

    x: int
    y: int
    place: NodePosition
    meaning: YamlMapping


@dataclass(frozen=True, slots=True)
class Land:
    """The map: floors, and the marks on it in the order of rows."""

    width: int
    height: int
    floor_codes: bytes
    marks: tuple[Mark, ...]


def read_map(given: YamlMapping, floors: tuple[FloorKind, ...], lines: list[str]) -> Land | None:
    """The sections `map` and `legend`: a drawing, or only a size and one floor for all of it.

    None if there are rows that can't be; what is wrong with them is noted.
    """
    node = given.need("map")
    codes = {floor.name: code for code, floor in enumerate(floors)}
    if isinstance(node, YamlMapping):
        return _read_plain(node, codes)
    drawing = leaf(node)
    legend, signs = _read_legend(table(given.need("legend")), codes)
    rows = drawing.text.removesuffix("\n").split("\n")
    width = len(rows[0])
    if not width or not MAX_MAP_SIDE.allows(max(width, len(rows))):
        drawing.place.fail(f"expected a map of 1 to {MAX_MAP_SIDE.maximum} tiles each way, found {width} x {len(rows)}")
    floor_of = str.maketrans({sign: chr(code) for sign, code in signs.items()})
    telling = frozenset(legend)
    painted = []
    marks = []
    good = True
    for y, row in enumerate(rows):
        if len(row) != width:
            _at(drawing, lines, y, 0, row).note(f"expected {width} tiles as in the first row, found {len(row)}")
            good = False
            continue
        used = set(row)
        if not used <= signs.keys():
            x = next(x for x, sign in enumerate(row) if sign not in signs)
            place = _at(drawing, lines, y, x, row)
            place.note(f"the sign {row[x]!r} is not in the legend; there are: {' '.join(sorted(signs))}")
            good = False
            continue
        painted.append(row.translate(floor_of).encode("latin-1"))
        if used & telling:
            start = _at(drawing, lines, y, 0, row)
            marks += [Mark(x, y, start.east(x), legend[sign]) for x, sign in enumerate(row) if sign in telling]
    return Land(width, len(rows), b"".join(painted), tuple(marks)) if good else None


def _read_plain(given: YamlMapping, codes: dict[str, int]) -> Land:
    given.nothing_but("width", "height", "floor")
    width = leaf(given.need("width")).integer(1, MAX_MAP_SIDE)
    height = leaf(given.need("height")).integer(1, MAX_MAP_SIDE)
    code = codes[known(given.need("floor"), codes, "floor")]
    return Land(width, height, bytes([code]) * (width * height), ())


def _read_legend(given: YamlMapping, codes: dict[str, int]) -> tuple[dict[str, YamlMapping], dict[str, int]]:
    """Sign -> what it stands for besides its floor, and sign -> floor code."""
    meanings: dict[str, YamlMapping] = {}
    signs: dict[str, int] = {}
    for sign, place in given.keys.items():
        if len(sign) != 1 or not sign.isprintable():
            place.note(f"expected a single character as sign, found {sign!r}")
            continue
        signs[sign] = 0  # where it stands for nothing that there is
        with place.source.noting():
            node: Node = given.entries[sign]
            if isinstance(node, Leaf):
                signs[sign] = codes[known(node, codes, "floor")]
                continue
            one = table(node)
            one.nothing_but("floor", "object", "state", "stock", "owner", "contents", "ground", "actor")
            signs[sign] = codes[known(one.need("floor"), codes, "floor")]
            if len(one.entries) > 1:
                meanings[sign] = one
    return meanings, signs


def _at(drawing: Leaf, lines: list[str], y: int, x: int, row: str) -> NodePosition:
    """Where in the file a tile of the map is drawn."""
    if isinstance(drawing.place, TiledPosition):
        return drawing.place.at(x, y)
    line = drawing.place.line + y  # the block begins in the line after its mark
    written = lines[line] if line < len(lines) else ""
    indent = written.find(row) if row else 0
    return NodePosition(drawing.place.source, line + 1, max(indent, 0) + x + 1)
