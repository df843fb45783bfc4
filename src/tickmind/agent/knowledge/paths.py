"""Find ways from one tile to another over known ground: each step goes to one of eight tiles.

A step takes one tick, unless `FloorCosts` say that it costs more there.
"""

import heapq
from collections.abc import Collection
from functools import lru_cache
from typing import Protocol

from tickmind.agent.knowledge.floor_costs import FloorCosts
from tickmind.agent.knowledge.tiles import Tile
from tickmind.base import Limit
from tickmind.protocol import Direction

MAX_TILES_TRIED = Limit("number of tiles that are tried for one way", 2000)
SUSPICIOUS = 64  # after so many tiles the search checks whether the goal can be reached at all
SMALL_PLACE = 128  # tiles
_ALL_WALKABLE = 0o777 << 9  # in the bits around a tile
_STEPS = tuple((way.dx, way.dy) for way in sorted(Direction, key=lambda way: way.diagonal))  # straight ones first
_WAYS = {(way.dx, way.dy): way for way in Direction}


class Ground(Protocol):
    """The ground that ways lead over, such as `TileMemory` and `VisibleTiles`."""

    def walkable_row(self, y: int) -> int:
        """Return the walkable tiles of a row, as far as known, each as one bit: the westernmost lowest."""
        ...


def direction_to(start: Tile, step: Tile) -> Direction:
    """Return the direction from a tile to one beside it."""
    return _WAYS[step[0] - start[0], step[1] - start[1]]


def distance(start: Tile, goal: Tile) -> int:
    """Return the number of steps between two tiles if nothing is in the way."""
    return max(abs(start[0] - goal[0]), abs(start[1] - goal[1]))


def nearest_tile(at: Tile, area: tuple[int, int, int, int]) -> Tile:
    """Return the tile of a rectangle that is nearest to another tile."""
    west, north, east, south = area
    return min(max(at[0], west), east), min(max(at[1], north), south)


def find_path(
    ground: Ground,
    start: Tile,
    goal: Tile,
    *,
    avoid: Collection[Tile] = (),
    beside: bool = False,
    doors: Collection[Tile] = (),
    costs: FloorCosts | None = None,
    max_tiles: Limit = MAX_TILES_TRIED,
) -> list[Tile] | None:
    """Return a cheapest way by A*, without the start; None if there is none within the limit.

    A diagonal step needs both tiles beside it. `avoid` are occupied tiles, `beside` ends on a tile next to
    the goal, and `doors` are further passable tiles, such as those with a closed door. Without `costs` all steps cost
    the same; if the search for the cheapest way reaches the limit, a shortest one is returned.
    """
    if start == goal or (beside and distance(start, goal) <= 1):
        return []
    goal_x, goal_y = goal
    if goal_x < 0 or goal_y < 0:  # no map has such a tile
        return None
    lines = _Lines(ground, avoid, doors)
    if not beside and not lines.line(goal_y)[1] >> goal_x & 2:
        return None
    most = max_tiles.maximum
    straight = _straight_way(lines, start, goal, stop_at=1 if beside else 0)
    if costs and (straight is None or any(costs.at(tile) > 1 for tile in straight)):
        cheapest = _cheapest_way(lines, start, goal, costs, beside=beside, most=most)
        if cheapest is not None:
            return cheapest
    if straight is not None:
        return straight if len(straight) <= most else None
    came_from: dict[Tile, Tile] = {start: start}
    steps: dict[Tile, int] = {start: 0}
    open_tiles: list[tuple[int, int, Tile]] = [(0, 0, start)]
    tried = 0
    while open_tiles:
        _, _, tile = heapq.heappop(open_tiles)
        x, y = tile
        far = max(abs(x - goal_x), abs(y - goal_y))
        if far == 0 or (beside and far == 1):
            return _way_back(came_from, start, tile)
        tried += 1
        if tried > most or (tried == SUSPICIOUS and _is_shut_in(lines, goal, start, beside=beside)):
            return None
        count = steps[tile] + 1
        for dx, dy in _steps_from(lines.around(x, y)):
            new = (x + dx, y + dy)
            if steps.get(new, count + 1) <= count:
                continue
            steps[new] = count
            came_from[new] = tile
            off_x, off_y = abs(new[0] - goal_x), abs(new[1] - goal_y)
            off = max(off_x, off_y)
            heapq.heappush(open_tiles, (count + off, off_x + off_y, new))
    return None


def _cheapest_way(
    lines: "_Lines", start: Tile, goal: Tile, costs: FloorCosts, *, beside: bool, most: float
) -> list[Tile] | None:
    """Return a way of the lowest cost, as `find_path` does for equal costs."""
    goal_x, goal_y = goal
    came_from: dict[Tile, Tile] = {start: start}
    best: dict[Tile, int] = {start: 0}  # tile -> lowest cost so far
    done: set[Tile] = set()
    open_tiles: list[tuple[int, int, Tile]] = [(0, 0, start)]
    while open_tiles:
        _, _, tile = heapq.heappop(open_tiles)
        if tile in done:
            continue
        x, y = tile
        far = max(abs(x - goal_x), abs(y - goal_y))
        if far == 0 or (beside and far == 1):
            return _way_back(came_from, start, tile)
        done.add(tile)
        if len(done) > most or (len(done) == SUSPICIOUS and _is_shut_in(lines, goal, start, beside=beside)):
            return None
        for dx, dy in _steps_from(lines.around(x, y)):
            new = (x + dx, y + dy)
            cost = best[tile] + costs.at(new)
            if best.get(new, cost + 1) <= cost:
                continue
            best[new] = cost
            came_from[new] = tile
            off_x, off_y = abs(new[0] - goal_x), abs(new[1] - goal_y)
            heapq.heappush(open_tiles, (cost + max(off_x, off_y), off_x + off_y, new))
    return None


def _straight_way(lines: "_Lines", start: Tile, goal: Tile, *, stop_at: int) -> list[Tile] | None:
    """Return the way that goes nearer to the goal with each step, which is what A* finds if nothing is in the way."""
    (x, y), (goal_x, goal_y) = start, goal
    way: list[Tile] = []
    while True:
        off_x, off_y = goal_x - x, goal_y - y
        far_x, far_y = abs(off_x), abs(off_y)
        if far_x <= stop_at and far_y <= stop_at:
            return way
        dx, dy = (off_x > 0) - (off_x < 0), (off_y > 0) - (off_y < 0)
        free = _steps_from(lines.around(x, y))
        if dx and dy and (dx, dy) not in free:
            dx, dy = (dx, 0) if far_x > far_y else (0, dy) if far_y > far_x else (0, 0)
        if (dx, dy) not in free:
            return None
        x, y = x + dx, y + dy
        way.append((x, y))


def _is_shut_in(lines: "_Lines", goal: Tile, start: Tile, *, beside: bool) -> bool:
    """Return whether the goal is known to be in a small enclosed place, so that searching on is useless."""
    x, y = goal
    reached = {(x + dx, y + dy) for dx, dy in _steps_from(lines.around(x, y) | _ALL_WALKABLE)} if beside else {goal}
    unread = list(reached)
    while unread:
        x, y = tile = unread.pop()
        if distance(tile, start) <= 1 or len(reached) > SMALL_PLACE:
            return False
        fresh = {(x + dx, y + dy) for dx, dy in _steps_from(lines.around(x, y))} - reached
        reached |= fresh
        unread.extend(fresh)
    return True


class _Lines:
    """Rows of tiles as bits, read once for each search; the bit of a tile is one higher than its place."""

    __slots__ = ("_avoid", "_doors", "_ground", "_lines", "_threes")

    def __init__(self, ground: Ground, avoid: Collection[Tile], doors: Collection[Tile]) -> None:
        self._ground = ground
        self._avoid = _bits_of(avoid)
        self._doors = _bits_of(doors)
        self._lines: dict[int, tuple[int, int]] = {}  # y -> walkable tiles, tiles that are free to step on now
        self._threes: dict[int, tuple[int, ...]] = {}  # y -> three lines of free tiles, and of walkable ones

    def line(self, y: int) -> tuple[int, int]:
        line = self._lines.get(y)
        if line is None:
            walkable = self._ground.walkable_row(y) << 1
            line = walkable, (walkable | self._doors.get(y, 0)) & ~self._avoid.get(y, 0)
            self._lines[y] = line
        return line

    def around(self, x: int, y: int) -> int:
        """Return where a step from a tile may go, nine bits row by row, and above them the walkable tiles."""
        three = self._threes.get(y)
        if three is None:
            lines = [self.line(row) for row in (y - 1, y, y + 1)]
            three = self._threes[y] = (*(step for _, step in lines), *(walk for walk, _ in lines))
        north, here, south, walk_north, walk_here, walk_south = three
        return (
            (north >> x & 7)
            | (here >> x & 7) << 3
            | (south >> x & 7) << 6
            | (walk_north >> x & 7) << 9
            | (walk_here >> x & 7) << 12
            | (walk_south >> x & 7) << 15
        )


def _bits_of(tiles: Collection[Tile]) -> dict[int, int]:
    rows: dict[int, int] = {}  # y -> bits
    for x, y in tiles:
        if x >= 0:
            rows[y] = rows.get(y, 0) | 2 << x
    return rows


@lru_cache(maxsize=1 << 14)
def _steps_from(around: int) -> tuple[Tile, ...]:
    """Return the steps that a surrounding allows, straight ones first."""
    walk = around >> 9
    return tuple(
        (dx, dy)
        for dx, dy in _STEPS
        if around >> (3 * dy + dx + 4) & 1 and (not (dx and dy) or (walk >> (dx + 4) & 1 and walk >> (3 * dy + 4) & 1))
    )


def _way_back(came_from: dict[Tile, Tile], start: Tile, tile: Tile) -> list[Tile]:
    way: list[Tile] = []
    while tile != start:
        way.append(tile)
        tile = came_from[tile]
    way.reverse()
    return way
