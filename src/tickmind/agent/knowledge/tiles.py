"""`TileMemory`: the tiles that a character has seen, and which are walkable."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from tickmind.protocol import VisibleTiles

Tile = tuple[int, int]
FIRST_STEPS = 10  # the first search for the unknown reaches so far
TOWARDS_STEPS = 200  # the search for the unknown in a direction reaches so far


class TileMemory:
    """Remember every tile that was ever in sight, as it was when it was seen last.

    Rows are whole numbers with one bit for each tile, so that a glance at hundreds of tiles costs microseconds. What
    was seen last is kept as it came until it is needed, or there is time: see `settle`.
    """

    __slots__ = ("_gains", "_known", "_last", "_off_east", "_off_south", "_unsettled", "_walkable")

    def __init__(self) -> None:
        self._known: dict[int, int] = {}  # y -> bits by x
        self._walkable: dict[int, int] = {}  # y -> bits by x
        self._off_east: int | None = None  # the first column beyond the map, once that is known
        self._off_south: int | None = None  # and the first row
        self._last: VisibleTiles | None = None
        self._unsettled = False  # whether the last is not in the rows yet
        self._gains = 0  # views that showed a tile for the first time, or one that was not walkable before

    def __len__(self) -> int:
        self.settle()
        return sum(bits.bit_count() for bits in self._known.values())

    @property
    def gains(self) -> int:
        """A number that grows when there may be more to reach: a new tile is in sight, or a way has opened."""
        self.settle()
        return self._gains

    def see(self, tiles: VisibleTiles) -> None:
        """Keep what is in sight."""
        if tiles != self._last:
            self.settle()
            self._last, self._unsettled = tiles, True

    def settle(self) -> None:
        """Put what was seen last into the map. Happens by itself when needed; call it when there is time."""
        tiles = self._last
        if tiles is None or not self._unsettled:
            return
        self._unsettled = False
        side = 2 * tiles.radius + 1
        full = (1 << side) - 1
        visible, walkable = int.from_bytes(tiles.visible, "little"), int.from_bytes(tiles.walkable, "little")
        west, y = tiles.centre_x - tiles.radius, tiles.centre_y - tiles.radius
        if self._off_east is None or self._off_south is None:
            self._find_border(tiles, visible)
        known, can_walk, gained = self._known, self._walkable, 0
        while visible:
            seen = visible & full
            if seen:
                free = walkable & seen
                if west >= 0:
                    seen, free = seen << west, free << west
                else:
                    seen, free = seen >> -west, free >> -west
                known_before, free_before = known.get(y, 0), can_walk.get(y, 0)
                gained |= seen & ~known_before | free & ~free_before
                known[y] = known_before | seen
                can_walk[y] = free_before & ~seen | free
            visible >>= side
            walkable >>= side
            y += 1
        self._gains += gained != 0

    def _find_border(self, tiles: VisibleTiles, visible: int) -> None:
        """Learn where the map ends: tiles beside the character are always in sight, unless they are off the map."""
        here, east, south = _beside(tiles.radius)
        if not visible & here:
            return
        if not visible & east:
            self._off_east = tiles.centre_x + 1
        if not visible & south:
            self._off_south = tiles.centre_y + 1

    def knows(self, x: int, y: int) -> bool:
        """Return whether the tile was ever in sight."""
        self.settle()
        return x >= 0 and bool(self._known.get(y, 0) >> x & 1)

    def can_walk(self, x: int, y: int) -> bool:
        """Return whether the tile is known and was walkable; another actor may stand there now."""
        if self._unsettled and self._last is not None:
            if self._last.sees(x, y):
                return self._last.can_walk(x, y)
            self.settle()
        return x >= 0 and bool(self._walkable.get(y, 0) >> x & 1)

    def walkable_row(self, y: int) -> int:
        """Return the tiles of a row for which `can_walk` holds, each as one bit: the lowest is the westernmost."""
        self.settle()
        return self._walkable.get(y, 0)

    def walkable_columns(self, y: int, west: int, east: int) -> Iterator[int]:
        """Yield the columns of a row, from west to east with both ends, for which `can_walk` holds."""
        west = max(west, 0)
        bits = self.walkable_row(y) >> west & (1 << max(east - west + 1, 0)) - 1
        while bits:
            lowest = bits & -bits
            yield west + lowest.bit_length() - 1
            bits ^= lowest

    def nearest_frontier(self, start: Tile, doors: Iterable[Tile] = ()) -> Tile | None:
        """Return a reachable tile next to one that was never seen, among the nearest; None if all is known.

        Maps begin at (0, 0); their ends in the east and the south are learnt on arrival.
        `doors` are tiles that are closed but can be opened. Waves go out from the start over a part of the map that
        is one whole number, so that a step of them all costs next to nothing; if that part is too small, over more.
        """
        self.settle()
        steps = FIRST_STEPS
        while True:
            sheet = _Sheet(start, steps, self._known)
            known = sheet.bits(self._known) | sheet.off_map(self._off_east, self._off_south)
            frontier = sheet.search(known, sheet.bits(self._walkable) | sheet.bits_of(doors))
            if frontier is not _FURTHER:
                return frontier
            steps *= 4

    def frontier_towards(self, start: Tile, goal: Tile, doors: Iterable[Tile] = ()) -> Tile | None:
        """Return the reachable tile next to one that was never seen that is nearest to a goal; None if there is none.

        It looks `TOWARDS_STEPS` far.
        """
        self.settle()
        sheet = _Sheet(start, TOWARDS_STEPS, self._known)
        known = sheet.bits(self._known) | sheet.off_map(self._off_east, self._off_south)
        return sheet.search_towards(goal, known, sheet.bits(self._walkable) | sheet.bits_of(doors))


_FURTHER = (-1, -1)  # no tile: the target may be further away


@lru_cache(maxsize=8)
def _beside(radius: int) -> tuple[int, int, int]:
    """Return the bits of a window's middle tile, the three to the east of it, and the three to the south.

    All are empty for an observer that sees only its own tile and so can't see where the map ends.
    """
    side = 2 * radius + 1
    here = 1 << radius * side + radius
    east = here << 1 | here << 1 + side | here << 1 >> side
    south = here << side | here << side + 1 | here << side - 1
    return (here, east, south) if radius else (0, 0, 0)


@lru_cache(maxsize=8)
def _without_margin(wide: int, high: int) -> int:
    """Return all tiles of a sheet but those of its margin."""
    line = ((1 << wide - 2) - 1) << 1
    return _joined([0, *[line] * (high - 2), 0], wide)


def _joined(lines: Sequence[int], wide: int) -> int:
    """Join the bits of all lines, whole bytes wide, to one number: adding line by line would copy all each time."""
    size = wide // 8
    return int.from_bytes(b"".join([line.to_bytes(size, "little") for line in lines]), "little")


class _Sheet:
    """The known tiles around a start, line by line as the bits of one number, with a margin of one on all sides."""

    __slots__ = ("_high", "_north", "_start", "_steps", "_west", "_wide")

    def __init__(self, start: Tile, steps: int, known: dict[int, int]) -> None:
        self._start, self._steps = start, steps
        x, y = start
        self._west, self._north = max(x - steps, 0) - 1, max(y - steps, min([y, *known])) - 1
        east = min(x + steps, max([x, *(row.bit_length() - 1 for row in known.values())])) + 1
        self._wide = -(-(east - self._west + 1) // 8) * 8  # whole bytes, so that lines join quickly
        self._high = min(y + steps, max([y, *known])) + 1 - self._north + 1

    def bits(self, rows: dict[int, int]) -> int:
        """Return the part of some rows that is on the sheet."""
        west, full = self._west, (1 << self._wide) - 1
        lines = [rows.get(y, 0) for y in range(self._north, self._north + self._high)]
        return _joined([(row >> west if west >= 0 else row << -west) & full for row in lines], self._wide)

    def off_map(self, off_east: int | None, off_south: int | None) -> int:
        """Return the part of the sheet that is known to be beyond the map, given its first column and row there."""
        wide, high = self._wide, self._high
        full = (1 << wide) - 1
        line = 1 if self._west < 0 else 0
        if off_east is not None and off_east < self._west + wide:
            line |= full & ~((1 << max(off_east - self._west, 0)) - 1)
        last = high if off_south is None else off_south - self._north
        if not line and self._north >= 0 and last >= high:
            return 0
        rows = range(self._north, self._north + high)
        return _joined([full if y < 0 or y - self._north >= last else line for y in rows], wide)

    def bits_of(self, tiles: Iterable[Tile]) -> int:
        """Return those of some tiles that are on the sheet."""
        sheet = 0
        for x, y in tiles:
            across, down = x - self._west, y - self._north
            if 0 <= across < self._wide and 0 <= down < self._high:
                sheet |= 1 << down * self._wide + across
        return sheet

    def search(self, known: int, walkable: int) -> Tile | None:
        """Return the nearest walkable tile beside an unknown one; `_FURTHER` if there is none within so many steps."""
        edge = self._edge(known, walkable)
        for wave in self._waves(walkable):
            if not wave:
                return None
            if wave & edge:
                return self._nearest_row(wave & edge)
        return _FURTHER

    def search_towards(self, goal: Tile, known: int, walkable: int) -> Tile | None:
        """Return the reachable tile beside an unknown one that is nearest to a goal; None if there is none."""
        edge, reached = self._edge(known, walkable), 0
        for wave in self._waves(walkable):
            if not wave:
                break
            reached |= wave & edge
        tiles: list[Tile] = []
        for down in range(self._high):
            row = reached >> down * self._wide & (1 << self._wide) - 1
            split = max(goal[0] - self._west, 0)
            west, east = row & (1 << split) - 1, row >> split
            tiles += [(self._west + west.bit_length() - 1, self._north + down)] if west else []
            tiles += [(self._west + split + (east & -east).bit_length() - 1, self._north + down)] if east else []
        return min(tiles, key=lambda tile: (abs(tile[0] - goal[0]) + abs(tile[1] - goal[1]), tile), default=None)

    def _edge(self, known: int, walkable: int) -> int:
        """Return the walkable tiles beside unknown ones."""
        side, lines = self._wide, known & known << 1 & known >> 1
        return walkable & _without_margin(side, self._high) & ~(lines & lines << side & lines >> side)

    def _waves(self, walkable: int) -> Iterator[int]:
        """Yield the tiles one step from the start, then those at two steps and so on; 0 when there are none."""
        side = self._wide
        walkable &= _without_margin(side, self._high)
        wave = reached = 1 << (self._start[1] - self._north) * side + self._start[0] - self._west
        for _ in range(self._steps):
            wave = (wave << 1 | wave >> 1 | wave << side | wave >> side) & walkable & ~reached
            yield wave
            reached |= wave

    def _nearest_row(self, tiles: int) -> Tile:
        """Return the westernmost of the given tiles in the row that is nearest to the start."""
        wide, middle = self._wide, self._start[1] - self._north
        for off in range(self._high):
            for down in (middle - off, middle + off):
                if not 0 <= down < self._high:
                    continue
                row = tiles >> down * wide & (1 << wide) - 1
                if row:
                    return self._west + (row & -row).bit_length() - 1, self._north + down
        raise AssertionError("tiles is not empty")
