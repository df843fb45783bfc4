import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tickmind.world.kernels import (
    KernelError,
    Placed,
    RowLists,
    Sight,
    SightRule,
    changes_between,
    hearers,
    visible_pairs,
)

SEEDS = st.integers(0, 2**32 - 1)


def crowd(rng, height, width, density):
    """Rows on tiles of their own, some of them nowhere, and their occupancy."""
    tiles = rng.permutation(height * width)[: int(density * height * width)]
    x, y = (tiles % width).astype(np.int32), (tiles // width).astype(np.int32)
    gone = rng.random(len(tiles)) < 0.1
    x[gone] = y[gone] = -1
    occupancy = np.full((height, width), -1, dtype=np.int32)
    occupancy[y[~gone], x[~gone]] = np.flatnonzero(~gone)
    return x, y, occupancy


def plain_visible(x, y, masks, radius, occupancy, *, own_tile):
    """Tile by tile through the mask."""
    lists = []
    for row in range(len(x)):
        rows = []
        for tile in range((2 * radius + 1) ** 2):
            dx, dy = tile % (2 * radius + 1) - radius, tile // (2 * radius + 1) - radius
            if int(masks[row, tile // 64]) >> tile % 64 & 1 and (own_tile or (dx, dy) != (0, 0)):
                there = occupancy[y[row] + dy, x[row] + dx]
                rows += [int(there)] if there >= 0 else []
        lists.append(rows)
    return lists


def as_lists(found):
    return [rows.tolist() for rows in found]


@settings(max_examples=25, deadline=None)
@given(
    seed=SEEDS,
    height=st.integers(1, 14),
    width=st.integers(1, 80),
    radius=st.integers(0, 5),
    density=st.sampled_from([0.0, 0.05, 0.5, 1.0]),
    rule=st.sampled_from(SightRule),
)
def test_observers_are_told_of_exactly_those_on_the_tiles_they_see(seed, height, width, radius, density, rule):
    rng = np.random.default_rng(seed)
    x, y, occupancy = crowd(rng, height, width, density)
    object_x, object_y, objects = crowd(rng, height, width, 0.2)
    masks = Sight(rng.random((height, width)) < 0.15, radius=radius, rule=rule).look(x, y)
    actors, things = Placed(occupancy), Placed(objects)
    actors.update(x, y)
    things.update(object_x, object_y)
    for _ in range(2):
        found = visible_pairs(x, y, masks, radius, actors, own_tile=False)
        assert as_lists(found) == plain_visible(x, y, masks, radius, occupancy, own_tile=False)
        found = visible_pairs(x, y, masks, radius, things, own_tile=True)
        assert as_lists(found) == plain_visible(x, y, masks, radius, objects, own_tile=True)


def test_a_packed_square_without_walls_is_listed_whole():
    side, radius = 70, 20
    rng = np.random.default_rng(5)
    rows = rng.permutation(side * side).astype(np.int32)
    occupancy = rows.reshape(side, side)
    tiles = np.argsort(rows)
    x, y = (tiles % side).astype(np.int32), (tiles // side).astype(np.int32)
    placed = Placed(occupancy)
    placed.update(x, y)
    masks = Sight(np.zeros((side, side), dtype=bool), radius=radius).look(x, y)
    found = visible_pairs(x, y, masks, radius, placed, own_tile=False)
    for row in range(0, len(x), 97):
        square = occupancy[max(0, y[row] - radius) : y[row] + radius + 1, max(0, x[row] - radius) : x[row] + radius + 1]
        assert found[row].tolist() == [other for other in square.ravel().tolist() if other != row]


@settings(max_examples=60, deadline=None)
@given(
    seed=SEEDS,
    height=st.integers(1, 30),
    width=st.integers(1, 200),
    radius=st.sampled_from([0, 1, 5, 12, 31, 32, 33, 64, 150]),
    density=st.sampled_from([0.01, 0.3, 1.0]),
)
def test_everybody_within_the_radius_hears_walls_or_not(seed, height, width, radius, density):
    rng = np.random.default_rng(seed)
    x, y, occupancy = crowd(rng, height, width, density)
    speakers = rng.permutation(len(x))[:5].astype(np.int32)
    placed = Placed(occupancy)
    placed.update(x, y)
    expected = [
        [
            row
            for row in np.lexsort((x, y)).tolist()
            if row != one and x[row] >= 0 and x[one] >= 0
            if abs(x[row] - x[one]) <= radius and abs(y[row] - y[one]) <= radius
        ]
        for one in speakers.tolist()
    ]
    assert as_lists(hearers(x, y, speakers, radius, placed)) == expected


def lists_of(rows):
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    return RowLists(offsets, np.array([row for one in rows for row in one], dtype=np.int32))


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_changes_are_the_differences_in_the_order_of_the_lists(data):
    rows = 12
    seen = st.lists(st.integers(0, rows - 1), unique=True)
    before = data.draw(st.lists(seen, min_size=1, max_size=6))
    after = data.draw(st.lists(seen, min_size=len(before), max_size=len(before)))
    has_moved = np.array(data.draw(st.lists(st.booleans(), min_size=rows, max_size=rows)))
    changes = changes_between(lists_of(before), lists_of(after), has_moved)
    pairs = list(zip(before, after, strict=True))
    assert as_lists(changes.entered) == [[row for row in new if row not in old] for old, new in pairs]
    assert as_lists(changes.left) == [[row for row in old if row not in new] for old, new in pairs]
    assert as_lists(changes.moved) == [[row for row in new if row in old and has_moved[row]] for old, new in pairs]


def test_at_first_everything_seen_enters():
    seen = lists_of([[1, 2], [], [0]])
    changes = changes_between(RowLists.empty(3), seen, np.ones(3, dtype=bool))
    assert as_lists(changes.entered) == [[1, 2], [], [0]]
    assert not len(changes.left.ids)
    assert not len(changes.moved.ids)


def test_rows_and_observers_that_do_not_belong_together_are_refused():
    has_moved = np.zeros(2, dtype=bool)
    with pytest.raises(KernelError, match="same observers"):
        changes_between(RowLists.empty(1), RowLists.empty(2), has_moved)
    with pytest.raises(KernelError, match="not among"):
        changes_between(RowLists.empty(1), lists_of([[2]]), has_moved)
    x = y = np.zeros(1, dtype=np.int32)
    placed = Placed(np.zeros((1, 1), dtype=np.int32))
    with pytest.raises(KernelError, match="speaker"):
        hearers(x, y, np.array([1], dtype=np.int32), 3, placed)
    with pytest.raises(KernelError, match="radius"):
        hearers(x, y, np.array([0], dtype=np.int32), -1, placed)
    with pytest.raises(KernelError, match="mask"):
        visible_pairs(x, y, np.zeros((1, 9), dtype=np.uint64), 12, placed, own_tile=False)
    with pytest.raises(KernelError, match="outside"):
        visible_pairs(x + 1, y, np.zeros((1, 1), dtype=np.uint64), 1, placed, own_tile=False)
    with pytest.raises(KernelError, match="outside"):
        placed.update(x + 1, y)


def test_positions_that_differ_from_occupancy_are_refused():
    x, y = np.array([0, 1], dtype=np.int32), np.zeros(2, dtype=np.int32)
    for occupancy in ([[-1, 1]], [[1, 0]], [[0, 2]], [[0, -1]]):
        with pytest.raises(KernelError, match="occupancy"):
            Placed(np.array(occupancy, dtype=np.int32)).update(x, y)
    with pytest.raises(KernelError, match="occupancy"):
        Placed(np.array([[0, -1]], dtype=np.int32)).update(x * 0, y)


def test_speakers_outside_the_map_are_refused():
    x = y = np.zeros(1, dtype=np.int32)
    placed = Placed(np.zeros((1, 2), dtype=np.int32))
    for at_x, at_y in ((x + 2, y), (x, y + 1), (x - 2, y)):
        with pytest.raises(KernelError, match="outside"):
            hearers(at_x, at_y, np.array([0], dtype=np.int32), 3, placed)
