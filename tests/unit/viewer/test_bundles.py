"""Small things that the viewer keeps packed."""

import random
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.base import Limit
from tickmind.protocol import NeedColumns
from tickmind.viewer.sources import bundles
from tickmind.viewer.sources.bundles import Bundle, Bundles
from tickmind.viewer.sources.minds import Minds
from tickmind.viewer.sources.shelf import LiveReportHistory

ROOM = Limit("memory of a test", 1 << 24, "bytes")
PARTS = st.lists(st.tuples(st.integers(0, 40), st.binary(max_size=30), st.integers(0, 3)), max_size=60)


@given(PARTS, st.integers(0, 40), st.integers(0, 40), st.integers(0, 3), st.integers(1, 70))
def test_what_is_kept_comes_out_newest_first_whatever_is_packed(parts, first, last, row, full):
    bundles._FULL_PARTS, before = full, bundles._FULL_PARTS
    try:
        kept = Bundles(ROOM)
        for tick, part, whose in parts:
            kept.add(tick, part, whose)
    finally:
        bundles._FULL_PARTS = before
    wanted = [(tick, part) for tick, part, whose in parts if whose == row and first <= tick <= last]
    assert list(kept.newest(first, last, row)) == wanted[::-1]


def test_the_oldest_go_and_the_newest_stay_however_large():
    kept = Bundles(ROOM.at(200_000))
    for tick in range(100):
        kept.add(tick, random.Random(tick).randbytes(66_000))  # a bundle each
    assert [tick for tick, _ in kept.newest(0, 100)] == [99, 98]
    kept.add(100, bytes(500_000))
    assert [tick for tick, _ in kept.newest(0, 100)] == [100]


def test_a_bundle_that_is_too_large_to_be_packed_quickly_stays_as_it_is():
    large = Bundle()
    large.add(1, bytes(200_000))
    large.add(2, bytes(200_000))
    large.pack()
    assert large.size > 400_000
    assert [(tick, bytes(part)) for tick, part in large.parts(2, 2)] == [(2, bytes(200_000))]


def test_what_is_large_is_kept_apart_so_that_its_neighbours_are_packed():
    kept = Bundles(ROOM)
    for tick in range(20):
        kept.add(tick, b"small " * 1000)
        kept.add(tick, bytes(300_000), row=1)
    sizes = [bundle.size for bundle in kept._bundles]
    assert sum(size < 2000 for size in sizes) >= 20
    assert [tick for tick, _ in kept.newest(3, 5)] == [5, 4, 3]


def test_large_documents_are_packed_too():
    shelf = LiveReportHistory(ROOM.at(1_000_000))
    for tick in range(50):
        shelf.add(0, tick, {"tick": tick, "text": f"{tick} berries " * 40_000})
    assert len(list(shelf.newest(0, 0, 50))) == 50
    assert next(shelf.newest(0, 0, 48))["tick"] == 48


def test_one_can_look_while_more_comes():
    kept = Bundles(ROOM)
    kept.add(1, b"one")
    looking = kept.newest(0, 9)
    tick, part = next(looking)
    kept.add(2, b"two")
    assert (tick, bytes(part)) == (1, b"one")
    assert [tick for tick, _ in kept.newest(0, 9)] == [2, 1]


@pytest.mark.slow
def test_an_hour_of_the_needs_of_a_village_is_kept_in_two_megabytes():
    rows = np.arange(25, dtype=np.int32)
    minds = Minds({})
    tracemalloc.start()
    try:
        for tick in range(36_000):
            falling = (900 - (tick + 7 * rows) // 60 % 900).astype(np.int16)
            minds.add_needs(tick, NeedColumns(rows, falling, falling[::-1].copy()))
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 2_000_000
    assert minds.of(3, 500)["needs"][-1] == (500, 900 - (500 + 21) // 60, 900 - (500 + 21 * 7) // 60)
