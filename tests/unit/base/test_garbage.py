"""The garbage collector, ruled over by a program."""

import gc
from weakref import ref

import pytest

from tickmind.base.garbage import WHOLE_EVERY_TICKS, GarbageKeeper, settle


class Ring:
    def __init__(self):
        self.me = self


@pytest.fixture
def keeper():
    made = []

    def make(**options):
        made.append(GarbageKeeper(**options))
        return made[-1]

    enabled, threshold = gc.isenabled(), gc.get_threshold()
    yield make
    for one in made:
        one.stop()
    assert (gc.isenabled(), gc.get_threshold()) == (enabled, threshold)


def test_what_is_settled_is_free_of_garbage_and_not_looked_through_again():
    kept, lost = Ring(), ref(Ring())
    settle()
    try:
        assert lost() is None
        assert all(one is not kept for one in gc.get_objects())
    finally:
        gc.unfreeze()


def test_python_collects_nothing_by_itself(keeper):
    keeper().start()
    assert not gc.isenabled()


def test_python_still_collects_when_there_is_very_much(keeper):
    keeper(most_young=200_000).start()
    assert gc.isenabled()
    assert gc.get_threshold()[0] == 200_000


@pytest.mark.parametrize("phase", [0, 7])
def test_all_garbage_is_gone_within_so_many_ticks(keeper, phase):
    one = keeper(most_young=200_000, phase=phase)
    one.start()
    one.collect()
    ring = Ring()
    gone = ref(ring)
    gc.collect()  # it has got old
    del ring
    for _ in range(WHOLE_EVERY_TICKS):
        one.collect()
    assert gone() is None
