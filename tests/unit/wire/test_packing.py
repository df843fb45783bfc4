"""Numbers so far apart that their difference does not fit are still compared rightly."""

import numpy as np
import pytest

from tickmind.wire import MessageError
from tickmind.wire.columns.packing import check_rows, read_offsets


def test_rows_that_jump_from_end_to_end_are_refused():
    rows = np.array([5, 1_476_395_011, -1_400_000_000, 7], dtype=np.int32)
    with pytest.raises(MessageError, match="ascending rows below 12"):
        check_rows(rows, 12, "actor")


def test_offsets_that_jump_from_end_to_end_are_refused():
    offsets = np.array([0, 6 * 10**18, -6 * 10**18, 3], dtype=np.int64)
    with pytest.raises(MessageError, match="grow from 0 to 3"):
        read_offsets(offsets.tobytes(), 3, 3, "entity_offset")
