import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.long import short_or_long

from tickmind.base import Limit, LimitExceededError
from tickmind.world.kernels import KernelError, Sight, SightRule, sight
from tickmind.world.kernels.memory import scattered_zeros

RULES = list(SightRule)


def walk(x0, y0, x1, y1):
    """Bresenham's line as it stands in textbooks, both ends in it."""
    dx, dy = abs(x1 - x0), -abs(y1 - y0)
    sx, sy = (1 if x0 < x1 else -1), (1 if y0 < y1 else -1)
    error = dx + dy
    line = [(x0, y0)]
    while (x0, y0) != (x1, y1):
        twice = 2 * error
        if twice >= dy:
            error += dy
            x0 += sx
        if twice <= dx:
            error += dx
            y0 += sy
        line.append((x0, y0))
    return line


def sees(rule, opaque, x0, y0, x1, y1):
    """The rule for one observer and one tile."""
    height, width = opaque.shape
    if not (0 <= x1 < width and 0 <= y1 < height):
        return False
    if rule is SightRule.SYMMETRIC_1 and (y1, x1) < (y0, x0):
        x0, y0, x1, y1 = x1, y1, x0, y0
    return not any(opaque[y, x] for x, y in walk(x0, y0, x1, y1)[1:-1])


def unpack(masks, radius):
    """Masks as flags: observer, line, column."""
    side = 2 * radius + 1
    flags = np.unpackbits(masks.astype("<u8").view(np.uint8), axis=1, bitorder="little").astype(bool)
    assert not flags[:, side * side :].any()
    return flags[:, : side * side].reshape(-1, side, side)


def columns(places):
    return tuple(np.array(column, dtype=np.int32) for column in (zip(*places, strict=True) if places else ([], [])))


def everywhere(shape):
    y, x = np.indices(shape, dtype=np.int32)
    return x.ravel(), y.ravel()


@st.composite
def maps(draw):
    height, width = draw(st.integers(1, 14)), draw(st.integers(1, 14))
    share = draw(st.sampled_from([0.0, 0.1, 0.3, 0.6]))
    chance = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return chance.random((height, width)) < share


@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=25, deadline=None)
@given(opaque=maps(), radius=st.integers(0, 7))
@pytest.mark.slow
def test_every_tile_is_seen_as_the_line_to_it_says(rule, opaque, radius):
    x, y = everywhere(opaque.shape)
    seen = unpack(Sight(opaque, radius=radius, rule=rule).look(x, y), radius)
    for row in range(len(x)):
        for dy in range(-radius, radius + 1):
            for dx in range(-radius, radius + 1):
                expected = sees(rule, opaque, x[row], y[row], x[row] + dx, y[row] + dy)
                assert seen[row, dy + radius, dx + radius] == expected


def naive_sees(opaque, x, y, dx, dy, rule):
    """The same walk for many (observer, target) pairs side by side; they have to stay on the map."""
    if rule is SightRule.SYMMETRIC_1:
        back = (dy < 0) | ((dy == 0) & (dx < 0))
        x, y = np.where(back, x + dx, x), np.where(back, y + dy, y)
        dx, dy = np.where(back, -dx, dx), np.where(back, -dy, dy)
    wide, high = np.abs(dx), -np.abs(dy)
    step_x, step_y = np.sign(dx), np.sign(dy)
    to_x, to_y = x + dx, y + dy
    at_x, at_y, error = x.copy(), y.copy(), wide + high
    clear = np.ones(len(x), dtype=bool)
    for _ in range(int(max(wide.max(), -high.min()))):
        twice = 2 * error
        on_x, on_y = twice >= high, twice <= wide
        going = (at_x != to_x) | (at_y != to_y)
        at_x += np.where(going & on_x, step_x, 0)
        at_y += np.where(going & on_y, step_y, 0)
        error += np.where(going & on_x, high, 0) + np.where(going & on_y, wide, 0)
        between = (at_x != to_x) | (at_y != to_y)
        clear &= ~(between & opaque[at_y, at_x])
    return clear


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("radius", "share"), [(12, 0.12), (12, 0.03), (8, 0.3), (31, 0.02), (5, 0.5)])
@pytest.mark.slow
def test_a_million_random_cases_agree_with_the_naive_walk(rule, radius, share):
    rng = np.random.default_rng([radius, int(100 * share)])
    seen_tiles = 0
    for _ in range(4):
        opaque = rng.random((150, 190)) < share
        observers = 500
        x = rng.integers(0, 190, observers).astype(np.int32)
        y = rng.integers(0, 150, observers).astype(np.int32)
        seen = unpack(Sight(opaque, radius=radius, rule=rule).look(x, y), radius)
        number = rng.integers(0, observers, 60_000)
        dx, dy = rng.integers(-radius, radius + 1, (2, len(number)))
        to_x, to_y = x[number] + dx, y[number] + dy
        inside = (to_x >= 0) & (to_x < 190) & (to_y >= 0) & (to_y < 150)
        got = seen[number, dy + radius, dx + radius]
        assert not got[~inside].any()
        number, dx, dy, got = number[inside], dx[inside], dy[inside], got[inside]
        expected = naive_sees(opaque, x[number].astype(int), y[number].astype(int), dx, dy, rule)
        assert np.array_equal(got, expected)
        seen_tiles += int(got.sum())
    assert seen_tiles > 1_000


@settings(max_examples=short_or_long(30, 60), deadline=None)
@given(opaque=maps(), radius=st.integers(1, 13))
def test_symmetric_sight_is_symmetric(opaque, radius):
    x, y = everywhere(opaque.shape)
    width = opaque.shape[1]
    seen = unpack(Sight(opaque, radius=radius, rule=SightRule.SYMMETRIC_1).look(x, y), radius)
    for row, line, column in np.argwhere(seen).tolist():
        dx, dy = column - radius, line - radius
        other = (y[row] + dy) * width + x[row] + dx
        assert seen[other, radius - dy, radius - dx]


def test_plain_sight_is_not_always_symmetric():
    opaque = np.zeros((2, 3), dtype=bool)
    opaque[1, 1] = True
    x, y = columns([(0, 0), (2, 1)])
    seen = unpack(Sight(opaque, radius=2).look(x, y), 2)
    assert seen[0, 2 + 1, 2 + 2] != seen[1, 2 - 1, 2 - 2]


@settings(max_examples=short_or_long(20, 40), deadline=None)
@given(
    opaque=maps(),
    radius=st.integers(1, 20),
    seed=st.integers(0, 2**32 - 1),
    cache=st.sampled_from([Limit("none", 0), Limit("plenty", 10**8)]),
)
@pytest.mark.slow
def test_what_is_kept_is_never_stale(opaque, radius, seed, cache):
    rng = np.random.default_rng(seed)
    sight = Sight(opaque, radius=radius, cache=cache)
    height, width = opaque.shape
    count = int(rng.integers(1, 6))
    for _ in range(8):
        for _ in range(int(rng.integers(0, 3))):
            door_x, door_y = int(rng.integers(width)), int(rng.integers(height))
            opaque[door_y, door_x] ^= True
            sight.set_opaque(door_x, door_y, opaque=bool(opaque[door_y, door_x]))
        if rng.random() < 0.2:
            count = int(rng.integers(1, 6))
        x, y = rng.integers(0, width, count).astype(np.int32), rng.integers(0, height, count).astype(np.int32)
        fresh = Sight(opaque, radius=radius, cache=Limit("none", 0)).look(x, y)
        assert np.array_equal(sight.look(x, y), fresh)


def test_a_door_far_from_others_on_a_wide_map_is_noticed_at_the_edge_of_sight():
    opaque = np.zeros((3, 200), dtype=bool)
    sight = Sight(opaque, radius=12)
    x, y = columns([(100, 1), (40, 1)])
    assert unpack(sight.look(x, y), 12)[0, 12, 24]
    sight.set_opaque(111, 1, opaque=True)
    seen = unpack(sight.look(x, y), 12)
    assert seen[0, 12, 23]  # the door itself
    assert not seen[0, 12, 24]
    assert seen[1, 12, 24]


def test_those_who_are_nowhere_see_nothing_and_come_back():
    sight = Sight(np.zeros((5, 5), dtype=bool), radius=2)
    for x, expected in ((2, 25), (-1, 0), (2, 25), (0, 15)):
        masks = sight.look(*columns([(x, 2)]))
        assert unpack(masks, 2).sum() == expected


def test_one_who_stands_in_an_opaque_tile_sees_out():
    opaque = np.ones((3, 3), dtype=bool)
    seen = unpack(Sight(opaque, radius=1).look(*columns([(1, 1)])), 1)
    assert seen.all()


@pytest.mark.parametrize("place", [(3, 0), (0, 2), (-2, 0), (0, -1)])
def test_observers_outside_the_map_are_refused(place):
    with pytest.raises(KernelError, match="outside"):
        Sight(np.zeros((2, 3), dtype=bool)).look(*columns([place]))


def test_changes_outside_the_map_are_refused():
    with pytest.raises(KernelError, match="outside"):
        Sight(np.zeros((2, 3), dtype=bool)).set_opaque(3, 0, opaque=True)


def test_radius_is_limited():
    with pytest.raises(LimitExceededError, match="radius"):
        Sight(np.zeros((2, 3), dtype=bool), radius=32)
    with pytest.raises(KernelError, match="radius"):
        Sight(np.zeros((2, 3), dtype=bool), radius=-1)


@pytest.mark.parametrize("cache", [0, 2**20])
def test_a_large_crowd_that_is_looked_at_area_by_area_sees_the_same(cache, monkeypatch):
    rng = np.random.default_rng(5)
    opaque = rng.random((70, 90)) < 0.15
    apart = Sight(opaque, radius=6, cache=Limit("masks", cache))
    together = Sight(opaque, radius=6, cache=Limit("masks", cache))
    for _ in range(4):
        x, y = rng.integers(0, 90, 500, dtype=np.int32), rng.integers(0, 70, 500, dtype=np.int32)
        x[::7] = y[::7] = -1
        expected = apart.look(x, y).copy()
        with monkeypatch.context() as patched:
            patched.setattr(sight, "_LARGE_CROWD", 1)
            assert (together.look(x, y) == expected).all()


def test_a_crowd_makes_up_for_masks_that_are_too_many_for_a_few():
    few, many = (Sight(np.zeros((100, 100), dtype=bool), radius=4, cache=Limit("masks", 1000)) for _ in range(2))
    x, y = everywhere((100, 100))
    few.look(x[:10], y[:10])
    many.look(x, y)
    assert len(few._kept) == 0
    assert len(many._kept) == 10_000


def test_large_tables_are_zero_and_can_be_written_to():
    for shape in ((3, 5), (2**20, 6)):
        table = scattered_zeros(shape, np.uint64)
        assert table.shape == shape
        assert table.dtype == np.uint64
        assert not table.any()
        table[-1, -1] = 7
        assert table.sum() == 7
