"""The world's inner loops as compiled functions over NumPy arrays: movement, sight, who sees and hears whom."""

from tickmind.world.kernels.compiled import warm_up
from tickmind.world.kernels.errors import KernelError
from tickmind.world.kernels.movement import MoveResult, MoveScratch, resolve_moves

__all__ = ["KernelError", "MoveResult", "MoveScratch", "resolve_moves", "warm_up"]
