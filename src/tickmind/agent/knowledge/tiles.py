"""Tiles that a character has seen, and whether one can walk there: the map in its head."""

from collections.abc import Iterable

from tickmind.protocol import VisibleTiles

Tile = tuple[int, int]


class TileMemory:
    """Remembers every tile that was ever in sight, as it was when it was seen last.

    Rows are whole numbers with one bit for each tile, so that a glance at hundreds of tiles costs microseconds.
    """

    __slots__ = ("_known", "_last", "_walkable")

    def __init__(self) -> None:
        self._known: dict[int, int] = {}  # y -> bits by x
        self._walkable: dict[int, int] = {}  # y -> bits by x
        self._last: VisibleTiles | None = None

    def __len__(self) -> int:
        return sum(bits.bit_count() for bits in self._known.values())

    def see(self, tiles: VisibleTiles) -> None:
        """Take in what is in sight."""
        if tiles == self._last:
            return
        self._last = tiles
        side = 2 * tiles.radius + 1
        full = (1 << side) - 1
        visible, walkable = int.from_bytes(tiles.visible, "little"), int.from_bytes(tiles.walkable, "little")
        west, y = tiles.centre_x - tiles.radius, tiles.centre_y - tiles.radius
        known, can_walk = self._known, self._walkable
        while visible:
            seen = visible & full
            if seen:
                free = walkable & seen
                if west >= 0:
                    seen, free = seen << west, free << west
                else:
                    seen, free = seen >> -west, free >> -west
                known[y] = known.get(y, 0) | seen
                can_walk[y] = can_walk.get(y, 0) & ~seen | free
            visible >>= side
            walkable >>= side
            y += 1

    def knows(self, x: int, y: int) -> bool:
        """Whether the tile was ever in sight."""
        return x >= 0 and bool(self._known.get(y, 0) >> x & 1)

    def can_walk(self, x: int, y: int) -> bool:
        """Whether the tile is known and was walkable; somebody may stand there now."""
        return x >= 0 and bool(self._walkable.get(y, 0) >> x & 1)

    def walkable_row(self, y: int) -> int:
        """The tiles of a row for which `can_walk` holds, each as one bit: the lowest is the westernmost."""
        return self._walkable.get(y, 0)

    def nearest_frontier(self, start: Tile, doors: Iterable[Tile] = ()) -> Tile | None:
        """A reachable tile next to one that was never seen, among the nearest; None if all is known.

        `doors` are tiles that are closed but can be opened. Waves go out from the start, a whole row of tiles at a
        time.
        """
        reached = {start[1]: 1 << start[0]}
        wave = dict(reached)
        walkable = dict(self._walkable)
        for x, y in doors:
            walkable[y] = walkable.get(y, 0) | 1 << x
        while wave:
            found: dict[int, int] = {}
            for y, bits in wave.items():
                for row, spread in ((y, bits << 1 | bits >> 1), (y - 1, bits), (y + 1, bits)):
                    new = spread & walkable.get(row, 0) & ~reached.get(row, 0)
                    if new:
                        found[row] = found.get(row, 0) | new
            for y, bits in found.items():
                reached[y] = reached.get(y, 0) | bits
                edge = bits & ~self._inside(y)
                if edge:
                    return (edge & -edge).bit_length() - 1, y
            wave = found
        return None

    def _inside(self, y: int) -> int:
        """The tiles of a row all of whose neighbours are known."""
        known = self._known.get
        rows = known(y - 1, 0) & known(y, 0) & known(y + 1, 0)
        return rows & (rows << 1) & (rows >> 1)
