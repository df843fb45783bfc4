"""Memory for large tables that are read at random."""

import mmap
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

_HUGE_BYTES = 4 * 2**20  # below this, pages of the usual size do


def scattered_zeros(shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """Like `np.zeros`, in huge pages where the system has them: else each random read costs a page lookup.

    As with `np.zeros`, untouched memory costs nothing.
    """
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    if size < _HUGE_BYTES or not hasattr(mmap, "MADV_HUGEPAGE"):
        return np.zeros(shape, dtype=dtype)
    memory = mmap.mmap(-1, size)
    with suppress(OSError):  # without huge pages, small ones will do
        memory.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(memory, dtype=dtype).reshape(shape)
