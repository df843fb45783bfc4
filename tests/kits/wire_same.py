"""Equality that looks into columns, which `==` does not."""

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np


def same(left: Any, right: Any) -> bool:
    """Whether two values are equal, with their types, and the numbers and shapes of arrays in them."""
    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
        return (
            isinstance(left, np.ndarray)
            and isinstance(right, np.ndarray)
            and left.dtype == right.dtype
            and np.array_equal(left, right)
        )
    if type(left) is not type(right):
        return False
    if is_dataclass(left):
        return all(same(getattr(left, field.name), getattr(right, field.name)) for field in fields(left))
    if isinstance(left, tuple):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)
