"""`TiledPosition`: where in a Tiled map something stands, for messages."""

from dataclasses import dataclass, replace

from tickmind.base.problems import Problem
from tickmind.world.scenario.yaml_nodes import NodePosition


@dataclass(frozen=True, slots=True)
class TiledPosition(NodePosition):
    """A place in a Tiled map. Line and column are those of the scenario that names it; messages begin with the rest."""

    where: str = ""  # the file, then the layer, object or tileset in it
    tile: tuple[int, int] | None = None

    def inside(self, part: str) -> "TiledPosition":
        """Return the place of a part of this one."""
        return replace(self, where=f"{self.where}: {part}" if self.where else part)

    def at(self, x: int, y: int) -> "TiledPosition":
        """Return the place of a tile."""
        return replace(self, tile=(x, y))

    def east(self, columns: int) -> "TiledPosition":
        """Return the place some tiles further east."""
        x, y = self.tile or (0, 0)
        return replace(self, tile=(x + columns, y))

    def problem(self, message: str) -> Problem:
        """What is wrong here."""
        tile = f": tile [{self.tile[0]}, {self.tile[1]}]" if self.tile else ""
        return NodePosition.problem(self, f"{self.where}{tile}: {message}")
