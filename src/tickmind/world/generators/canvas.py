"""`Canvas`: a text map while it is being drawn."""

from tickmind.base import ConfigError
from tickmind.world.scenario.limits import MAX_MAP_SIDE


class Canvas:
    """Signs on tiles, to draw maps with."""

    def __init__(self, width: int, height: int, sign: str, *, least_side: int) -> None:
        if not least_side <= min(width, height) or not MAX_MAP_SIDE.allows(max(width, height)):
            raise ConfigError(
                f"can't draw a map of {width} x {height}; a side must have {least_side} to {MAX_MAP_SIDE.maximum} tiles"
            )
        self.width = width
        self.height = height
        self.rows = [[sign] * width for _ in range(height)]

    def __getitem__(self, at: tuple[int, int]) -> str:
        return self.rows[at[1]][at[0]]

    def __setitem__(self, at: tuple[int, int], sign: str) -> None:
        self.rows[at[1]][at[0]] = sign

    def only(self, sign: str, x: int, y: int, width: int, height: int) -> bool:
        """Return whether a rectangle lies on the map and has no other sign in it."""
        if x < 0 or y < 0 or x + width > self.width or y + height > self.height:
            return False
        return all(row[x : x + width] == [sign] * width for row in self.rows[y : y + height])

    def frame(self, sign: str) -> None:
        """Draw along the edge of the map."""
        for x in range(self.width):
            self[x, 0] = self[x, self.height - 1] = sign
        for y in range(self.height):
            self[0, y] = self[self.width - 1, y] = sign

    def text(self, indent: str = "  ") -> str:
        """Return the map as lines."""
        return "".join(f"{indent}{''.join(row)}\n" for row in self.rows)
