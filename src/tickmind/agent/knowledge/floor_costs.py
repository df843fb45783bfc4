"""`FloorCosts`: what a step onto each known tile costs, by the floors of the world."""

from collections.abc import Sequence

from tickmind.agent.knowledge.tiles import Tile
from tickmind.protocol import FloorInfo, VisibleTiles

HAZARD_COST = 10**9  # more than any way around: who can, avoids hazards


def step_cost(floor: FloorInfo) -> int:
    """Return the cost of a step onto a floor: its ticks, what it takes of needs, and hazards.

    A point of a need counts as much as a tick.
    """
    harm = max(0, -floor.energy) + max(0, floor.hunger) + sum(max(0, -by) for _, by in floor.own_needs)
    return floor.step_ticks * (1 + harm) + (HAZARD_COST if floor.hazards else 0)


class FloorCosts:
    """The known tiles that cost more than one tick. False as long as there is none, and then ways need not ask it."""

    __slots__ = ("_digits", "_last", "_rows")

    def __init__(self, floors: Sequence[FloorInfo]) -> None:
        costs = [step_cost(floor) if floor.walkable else 1 for floor in floors]
        self._digits = {  # cost -> floor code as a byte -> the digit 1 if it has that cost, else 0
            cost: bytes(ord("1") if code < len(costs) and costs[code] == cost else ord("0") for code in range(256))
            for cost in sorted(set(costs) - {1})
        }
        self._rows: dict[int, dict[int, int]] = {}  # cost -> y -> bits by x
        self._last: VisibleTiles | None = None

    def __bool__(self) -> bool:
        return bool(self._rows)

    def see(self, tiles: VisibleTiles) -> None:
        """Keep the floors in sight, if the world sends them."""
        if not tiles.floors or tiles == self._last:
            return
        self._last = tiles
        side = 2 * tiles.radius + 1
        full, west = (1 << side) - 1, tiles.centre_x - tiles.radius
        visible = int.from_bytes(tiles.visible, "little")
        for cost, digits in self._digits.items():
            window = int(tiles.floors[::-1].translate(digits), 2) & visible
            y = tiles.centre_y - tiles.radius
            while window:
                if seen := window & full:
                    rows = self._rows.setdefault(cost, {})
                    rows[y] = rows.get(y, 0) | (seen << west if west >= 0 else seen >> -west)
                window >>= side
                y += 1

    def at(self, tile: Tile) -> int:
        """Return the cost of a step onto a tile; 1 if no more is known."""
        x, y = tile
        for cost, rows in self._rows.items():
            if rows.get(y, 0) >> x & 1:
                return cost
        return 1
