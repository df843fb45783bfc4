"""Regions are worked out once, and mean what they say."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tickmind.server.delivery import lens
from tickmind.server.delivery.lens import Lens, Lenses
from tickmind.wire import Region

WIDTH, HEIGHT = 9, 7
regions = st.tuples(*[st.integers(0, 12)] * 4).map(
    lambda at: Region(min(at[0], at[2]), min(at[1], at[3]), max(at[0], at[2]), max(at[1], at[3]))
)


@given(st.lists(regions, max_size=20).map(tuple))
def test_a_lens_holds_the_tiles_of_all_regions_and_no_other(some):
    y, x = (side.ravel().astype(np.int32) for side in np.mgrid[:HEIGHT, :WIDTH])
    expected = [
        not some or any(at.min_x <= one_x <= at.max_x and at.min_y <= one_y <= at.max_y for at in some)
        for one_x, one_y in zip(x, y, strict=True)
    ]
    assert Lens(some, WIDTH, HEIGHT).holds(x, y).tolist() == expected


def test_the_same_tiles_are_held_however_often_a_region_is_named():
    whole = Region(0, 0, 4095, 4095)
    corner = np.array([0, 4095], dtype=np.int32)
    assert Lens((whole,) * 1000, 4096, 4096).holds(corner, corner).tolist() == [True, True]


def test_a_lens_is_made_once_and_those_that_nobody_uses_are_forgotten(monkeypatch):
    monkeypatch.setattr(lens, "MOST_LENSES", 2)
    lenses = Lenses(WIDTH, HEIGHT)
    first, second, third = ((Region(number, 0, 5, 5),) for number in range(3))
    used = lenses.of(first)
    unused = lenses.of(second)
    assert lenses.of(first) is used
    lenses.of(third)
    assert lenses.of(first) is used
    assert lenses.of(second) is not unused
