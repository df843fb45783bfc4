"""`KernelError`: raised by kernels, a branch of `TickmindError`."""

from tickmind.base import TickmindError


class KernelError(TickmindError):
    """Arrays contradict each other, such as positions and occupancy; the call that raises it changed nothing."""
