import time

import pytest

from tickmind.base import ManualClock, SystemClock


def test_manual_clock_moves_only_when_told():
    clock = ManualClock()
    assert clock.monotonic() == clock.monotonic() == 0.0
    clock.advance(1.5)
    assert clock.monotonic() == 1.5


def test_sleeping_on_a_manual_clock_takes_no_time():
    clock = ManualClock()
    began = time.monotonic()
    clock.sleep(3600)
    assert clock.monotonic() == 3600
    assert time.monotonic() - began < 60


def test_a_wall_clock_jump_leaves_monotonic_time_alone():
    clock = ManualClock(wall=1000.0)
    clock.jump_wall(-86_400)
    assert (clock.monotonic(), clock.wall()) == (0.0, 1000.0 - 86_400)


def test_manual_time_does_not_run_backwards():
    with pytest.raises(ValueError, match="jump_wall"):
        ManualClock().advance(-1)


def test_the_system_clock_follows_the_machine():
    clock = SystemClock()
    assert abs(clock.wall() - time.time()) < 5
    before = clock.monotonic()
    clock.sleep(-1)
    assert clock.monotonic() >= before
