"""The way from one tile to another over known ground: each step to one of eight tiles takes one tick."""

import heapq
from collections.abc import Callable, Collection
from typing import Protocol

from tickmind.agent.knowledge.tiles import Tile
from tickmind.base import Limit
from tickmind.protocol import Direction

MAX_TILES_TRIED = Limit("number of tiles that are tried for one way", 2000)
_STEPS = tuple((way.dx, way.dy) for way in sorted(Direction, key=lambda way: way.diagonal))  # straight ones first
_WAYS = {(way.dx, way.dy): way for way in Direction}


class Ground(Protocol):
    """What ways lead over; `TileMemory` is one."""

    def can_walk(self, x: int, y: int) -> bool:
        """Whether one can step there, as far as is known."""
        ...


def direction_to(start: Tile, step: Tile) -> Direction:
    """The direction from a tile to one beside it."""
    return _WAYS[step[0] - start[0], step[1] - start[1]]


def distance(one: Tile, other: Tile) -> int:
    """The number of steps between two tiles if nothing is in the way."""
    return max(abs(one[0] - other[0]), abs(one[1] - other[1]))


def find_path(
    ground: Ground,
    start: Tile,
    goal: Tile,
    *,
    avoid: Collection[Tile] = (),
    beside: bool = False,
    passable: Callable[[int, int], bool] | None = None,
    max_tiles: Limit = MAX_TILES_TRIED,
) -> list[Tile] | None:
    """A shortest way by A*, without the start; None if there is none within the limit.

    A diagonal step needs both tiles beside it. `avoid` are tiles where somebody stands, `beside` ends on a tile next to
    the goal, and `passable` says of further tiles that one can get through, such as those with a closed door.
    """
    if start == goal or (beside and distance(start, goal) <= 1):
        return []
    can_walk = ground.can_walk
    goal_x, goal_y = goal

    def free(x: int, y: int) -> bool:
        return (can_walk(x, y) or (passable is not None and passable(x, y))) and (x, y) not in avoid

    if not beside and not free(goal_x, goal_y):
        return None
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
        if not max_tiles.allows(tried):
            return None
        count = steps[tile] + 1
        for dx, dy in _STEPS:
            new = (x + dx, y + dy)
            if steps.get(new, count + 1) <= count or not free(*new):
                continue
            if dx and dy and not (can_walk(x + dx, y) and can_walk(x, y + dy)):
                continue
            steps[new] = count
            came_from[new] = tile
            off = abs(new[0] - goal_x), abs(new[1] - goal_y)
            heapq.heappush(open_tiles, (count + max(off), off[0] + off[1], new))
    return None


def _way_back(came_from: dict[Tile, Tile], start: Tile, tile: Tile) -> list[Tile]:
    way: list[Tile] = []
    while tile != start:
        way.append(tile)
        tile = came_from[tile]
    way.reverse()
    return way
