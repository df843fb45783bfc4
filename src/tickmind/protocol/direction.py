"""`Direction`: the eight ways to go from a tile."""

from enum import IntEnum


class Direction(IntEnum):
    """A way to move or to face; its number is the `facing` of records. x grows to the east, y to the south.

    >>> Direction.NE.dx, Direction.NE.dy
    (1, -1)
    """

    N = 0
    NE = 1
    E = 2
    SE = 3
    S = 4
    SW = 5
    W = 6
    NW = 7

    @property
    def dx(self) -> int:
        """The step along x."""
        return DX[self]

    @property
    def dy(self) -> int:
        """The step along y."""
        return DY[self]

    @property
    def diagonal(self) -> bool:
        """Whether the step needs both tiles beside it to be walkable."""
        return bool(self & 1)


DX = (0, 1, 1, 1, 0, -1, -1, -1)  # direction -> step along x
DY = (-1, -1, 0, 1, 1, 1, 0, -1)  # direction -> step along y
