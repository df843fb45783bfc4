"""What kernels raise: `KernelError`, a branch of `TickmindError`."""

from tickmind.base import TickmindError


class KernelError(TickmindError):
    """Arrays contradict each other, such as positions and occupancy; nothing was changed by the call that says so."""
