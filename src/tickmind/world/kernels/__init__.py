"""The world's inner loops as compiled functions over NumPy arrays: movement, sight, visible and audible actors.

Positions are columns `x` and `y`, maps are arrays of height x width, y grows to the south. Call `warm_up` before the
first tick.
"""

from tickmind.world.kernels.compiled import is_compiled, warm_up
from tickmind.world.kernels.errors import KernelError
from tickmind.world.kernels.hearing import hearers
from tickmind.world.kernels.lines import SightRule
from tickmind.world.kernels.lists import RowLists
from tickmind.world.kernels.movement import MoveResult, MoveScratch, resolve_moves
from tickmind.world.kernels.pairs import visible_pairs
from tickmind.world.kernels.placed import Placed
from tickmind.world.kernels.sight import Sight

__all__ = [
    "KernelError",
    "MoveResult",
    "MoveScratch",
    "Placed",
    "RowLists",
    "Sight",
    "SightRule",
    "hearers",
    "is_compiled",
    "resolve_moves",
    "visible_pairs",
    "warm_up",
]
