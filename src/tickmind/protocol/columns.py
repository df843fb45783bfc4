"""Type names of columns; only type checkers read them, so that importing `protocol` never loads NumPy."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Bool: TypeAlias = NDArray[np.bool_]
    Float32: TypeAlias = NDArray[np.float32]
    Int8: TypeAlias = NDArray[np.int8]
    Int16: TypeAlias = NDArray[np.int16]
    Int32: TypeAlias = NDArray[np.int32]
    Int64: TypeAlias = NDArray[np.int64]
    UInt8: TypeAlias = NDArray[np.uint8]
    UInt16: TypeAlias = NDArray[np.uint16]
    UInt64: TypeAlias = NDArray[np.uint64]

Texts: TypeAlias = Mapping[int, tuple[str, str]]
Wanted: TypeAlias = Mapping[int, tuple[int, int]]
