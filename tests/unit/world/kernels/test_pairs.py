import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.long import short_or_long

from tickmind.world.kernels import (
    KernelError,
    Placed,
    RowLists,
    Sight,
    SightRule,
    hearers,
    visible_pairs,
)
from tickmind.world.kernels.nearby import order_by_area
from tickmind.world.kernels.packing import ENTERED, MOVED, list_left, pack_entities, write_cards

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
@pytest.mark.slow
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


@settings(max_examples=short_or_long(25, 50), deadline=None)
@given(seed=SEEDS, height=st.integers(1, 40), width=st.integers(1, 80), density=st.sampled_from([0.0, 0.05, 1.0]))
def test_the_order_by_area_names_each_observer_once_and_keeps_areas_together(seed, height, width, density):
    x, y, _ = crowd(np.random.default_rng(seed), height, width, density)
    order = order_by_area(x, y, height, width).tolist()
    assert sorted(order) == list(range(len(x)))
    areas = [(y[row] // 16, x[row] // 16, row) if x[row] >= 0 else (-1, -1, row) for row in order]
    assert areas == sorted(areas)


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


@settings(max_examples=short_or_long(30, 60), deadline=None)
@given(
    seed=SEEDS,
    height=st.integers(1, 30),
    width=st.integers(1, 200),
    radius=st.sampled_from([0, 1, 5, 12, 31, 32, 33, 64, 150]),
    density=st.sampled_from([0.01, 0.3, 1.0]),
)
@pytest.mark.slow
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


def move_some(rng, x, y, height, width):
    """The same rows, some of them on other tiles, some gone and some back."""
    tiles = rng.permutation(height * width)[: len(x)]
    stay = (rng.random(len(x)) < 0.5) & (x >= 0)
    taken = set((y[stay] * width + x[stay]).tolist())
    new_x, new_y = np.full_like(x, -1), np.full_like(y, -1)
    new_x[stay], new_y[stay] = x[stay], y[stay]
    for row, tile in enumerate(tiles.tolist()):
        if not stay[row] and tile not in taken and rng.random() < 0.9:
            new_x[row], new_y[row] = tile % width, tile // width
    occupancy = np.full((height, width), -1, dtype=np.int32)
    occupancy[new_y[new_x >= 0], new_x[new_x >= 0]] = np.flatnonzero(new_x >= 0)
    return new_x, new_y, occupancy


@settings(max_examples=short_or_long(25, 50), deadline=None)
@given(
    seed=SEEDS,
    height=st.integers(1, 14),
    width=st.integers(1, 80),
    radius=st.integers(0, 5),
    density=st.sampled_from([0.05, 0.3, 1.0]),
)
@pytest.mark.slow
def test_who_entered_and_who_left_are_the_differences_of_the_lists(seed, height, width, radius, density):
    rng = np.random.default_rng(seed)
    sight = Sight(rng.random((height, width)) < 0.15, radius=radius)
    old_x, old_y, occupancy = crowd(rng, height, width, density)
    x, y, new_occupancy = move_some(rng, old_x, old_y, height, width)
    found = []
    for at_x, at_y, there in ((old_x, old_y, occupancy), (x, y, new_occupancy)):
        placed, masks = Placed(there), sight.look(at_x, at_y).copy()
        placed.update(at_x, at_y)
        found.append((masks, visible_pairs(at_x, at_y, masks, radius, placed, own_tile=False)))
    (old_masks, before), (masks, after) = found
    facing, status = rng.integers(0, 8, len(x)).astype(np.int8), rng.integers(0, 8, len(x)).astype(np.int32)
    deeds = rng.integers(0, 30, (2, len(x))).astype(np.uint8)
    cards = np.empty((len(x), 2), dtype=np.uint64)
    write_cards(x, y, old_x, old_y, status, facing, deeds, cards)
    observers = np.arange(len(x), dtype=np.int32)
    signed, unsigned = np.empty((3, len(after.ids)), dtype=np.int8), np.empty((4, len(after.ids)), dtype=np.uint8)
    pack_entities(observers, cards, np.uint64(radius), old_masks, after.offsets, after.ids, signed, unsigned)
    offsets, left = np.zeros(len(x) + 1, dtype=np.int64), np.empty(len(before.ids) + 1, dtype=np.int32)
    list_left(observers, cards, np.uint64(radius), masks, before.offsets, before.ids, offsets, left)
    pairs = list(zip(as_lists(before), as_lists(after), strict=True))
    moved = (x != old_x) | (y != old_y)
    flags = [[MOVED * int(moved[row]) if row in old else ENTERED for row in new] for old, new in pairs]
    assert unsigned[1].tolist() == [flag for one in flags for flag in one]
    assert as_lists(RowLists(offsets, left[: offsets[-1]])) == [
        [row for row in old if row not in new] for old, new in pairs
    ]
    observer = np.repeat(observers, np.diff(after.offsets))
    assert np.array_equal(signed, [x[after.ids] - x[observer], y[after.ids] - y[observer], facing[after.ids]])
    assert np.array_equal(unsigned[[0, 2, 3]], [status[after.ids], *deeds[:, after.ids]])


def test_rows_and_observers_that_do_not_belong_together_are_refused():
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
