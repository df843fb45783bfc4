"""Tiles that a character has seen, and whether one can walk there: the map in its head."""

from collections.abc import Iterator

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

    def is_frontier(self, x: int, y: int) -> bool:
        """Whether the tile is walkable and next to one that was never seen."""
        if not self.can_walk(x, y):
            return False
        around = 0b111 << x >> 1
        known = self._known
        return any(known.get(row, 0) & around != around for row in (y - 1, y, y + 1))

    def walkable_tiles(self) -> Iterator[Tile]:
        """All known tiles that one can walk on, row by row."""
        for y, bits in sorted(self._walkable.items()):
            left = bits
            while left:
                low = left & -left
                yield low.bit_length() - 1, y
                left ^= low
