"""Lines of sight: the tiles between two others."""

from enum import StrEnum


class SightRule(StrEnum):
    """How a line of sight is drawn. A tile is seen if no tile strictly between is opaque; it may be opaque itself."""

    BRESENHAM_1 = "bresenham-1"  # Bresenham's line from the observer to the tile
    SYMMETRIC_1 = "symmetric-1"  # the same line both ways, from the northern (else western) end: A sees B iff B sees A


def between(dx: int, dy: int) -> list[tuple[int, int]]:
    """Return the tiles strictly between (0, 0) and (dx, dy) on Bresenham's line from the former."""
    width, height = abs(dx), abs(dy)
    step_x, step_y = (dx > 0) - (dx < 0), (dy > 0) - (dy < 0)
    x, y, error = 0, 0, width - height
    tiles: list[tuple[int, int]] = []
    while True:
        double = 2 * error
        if double >= -height:
            error -= height
            x += step_x
        if double <= width:
            error += width
            y += step_y
        if (x, y) == (dx, dy) or (dx, dy) == (0, 0):
            return tiles
        tiles.append((x, y))


def line_of_sight(rule: SightRule, dx: int, dy: int) -> list[tuple[int, int]]:
    """Return the tiles that an observer at (0, 0) has to see through to see (dx, dy)."""
    if rule is SightRule.SYMMETRIC_1 and (dy, dx) < (0, 0):
        return [(x + dx, y + dy) for x, y in between(-dx, -dy)]
    return between(dx, dy)
