"""`RowLists`: many lists of rows in one array."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class RowLists:
    """For each of several (observers, speakers) a list of rows, each row at most once.

    The list of number i is `ids[offsets[i] : offsets[i + 1]]`.
    """

    offsets: NDArray[np.int64]
    ids: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, number: int) -> NDArray[np.int32]:
        return self.ids[self.offsets[number] : self.offsets[number + 1]]

    def __iter__(self) -> Iterator[NDArray[np.int32]]:
        return (self[number] for number in range(len(self)))

    @staticmethod
    def empty(count: int) -> "RowLists":
        """Return so many empty lists, such as what was seen before the first tick."""
        return RowLists(np.zeros(count + 1, dtype=np.int64), np.zeros(0, dtype=np.int32))
