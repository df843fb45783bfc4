"""One timer for all expiries: it rings at the earliest time, forgets who no longer waits, and stays small."""

import math
import random
from types import SimpleNamespace
from typing import Any

import pytest

from tickmind.gateway.queue.job import JobState
from tickmind.gateway.queue.wakeups import Wakeups

GARBAGE = 64  # entries out of date that may be kept


class Timer:
    """Notes when it is set and called off; `ring` lets the last one go off."""

    def __init__(self) -> None:
        self.set_s: list[float] = []
        self.called_off = 0
        self.ring: Any = None

    def __call__(self, at_s: float, ring: Any) -> "Timer":
        self.set_s.append(at_s)
        self.ring = ring
        return self

    def cancel(self) -> None:
        self.called_off += 1


class Job:
    """What is asked of a job that waits. No two are equal, as with the real ones."""

    def __init__(self, expires_s: float) -> None:
        self.state = JobState.QUEUED
        self.expires_s = expires_s


class Key:
    """What is asked of a key."""

    wake_s = math.inf


def job(expires_s: float) -> Any:
    return Job(expires_s)


def key() -> Any:
    return Key()


@pytest.fixture
def timer():
    return Timer()


@pytest.fixture
def rung():
    return []


@pytest.fixture
def wakeups(timer, rung):
    return Wakeups(timer, lambda: rung.append(True))


def drained(take):
    found = []
    while (one := take()) is not None:
        found.append(one)
    return found


def test_jobs_expire_at_their_time_and_in_the_order_of_it(wakeups):
    late, early, same = job(3.0), job(1.0), job(1.0)
    for one in (late, early, same):
        wakeups.expire(one)
    assert wakeups.expired(0.999) is None
    assert drained(lambda: wakeups.expired(1.0)) == [early, same]
    assert drained(lambda: wakeups.expired(2.0)) == []
    assert drained(lambda: wakeups.expired(9.0)) == [late]
    assert len(wakeups) == 0


def test_jobs_that_were_served_or_got_another_time_expire_no_more(wakeups):
    served, moved, waiting = job(1.0), job(1.0), job(1.0)
    for one in (served, moved, waiting):
        wakeups.expire(one)
    served.state = JobState.SENT
    moved.expires_s = 5.0
    wakeups.expire(moved)
    assert drained(lambda: wakeups.expired(2.0)) == [waiting]
    assert drained(lambda: wakeups.expired(5.0)) == [moved]


def test_a_job_out_of_date_at_the_front_is_forgotten_before_its_time(wakeups):
    gone = job(5.0)
    wakeups.expire(gone)
    gone.state = JobState.DONE
    assert wakeups.expired(0.0) is None
    assert len(wakeups) == 0


def test_jobs_that_are_served_before_they_expire_leave_next_to_nothing_behind(wakeups):
    waiting = [job(1000.0 + number) for number in range(10)]
    for one in waiting:
        wakeups.expire(one)
    most = 0
    for number in range(5000):
        gone = job(float(number))
        wakeups.expire(gone)
        gone.state = JobState.DONE
        most = max(most, len(wakeups))
    assert most == GARBAGE + 2 * len(waiting)
    assert drained(lambda: wakeups.expired(2000.0)) == waiting


def test_keys_that_change_their_time_leave_next_to_nothing_behind(wakeups):
    steady, restless = [key() for _ in range(10)], key()
    for number, one in enumerate(steady):
        wakeups.wake(one, 9000.0 + number)
    most = 0
    for number in range(5000):
        wakeups.wake(restless, float(number))
        most = max(most, len(wakeups))
    assert most == GARBAGE + 2 * len(steady)
    assert drained(lambda: wakeups.due(10_000.0)) == [restless, *steady]


@pytest.mark.parametrize("waiting", [10, 400])
def test_a_crowd_that_waits_is_looked_through_seldom(wakeups, waiting):
    looked = 0

    class Counted(SimpleNamespace):
        @property
        def state(self) -> JobState:
            nonlocal looked
            looked += 1
            return JobState.QUEUED

    for number in range(waiting):
        wakeups.expire(Counted(expires_s=float(number)))
    assert looked <= 2 * waiting
    found = drained(lambda: wakeups.expired(1e9))
    assert [one.expires_s for one in found] == [float(number) for number in range(waiting)]


def test_keys_are_due_in_the_order_of_their_times_after_a_sweep_too(wakeups):
    chance = random.Random(1)
    crowd = [key() for _ in range(200)]
    for _ in range(4):
        for one in crowd:
            wakeups.wake(one, chance.random())
    times = [(one.wake_s, one) for one in crowd]
    found = drained(lambda: wakeups.due(1.0))
    assert found == [one for _, one in sorted(times, key=lambda entry: entry[0])]


def test_keys_of_one_time_are_due_together_and_first_come_first(wakeups):
    crowd = [key() for _ in range(5)]
    for one in crowd:
        wakeups.wake(one, 0.5)
    assert wakeups.due(0.499) is None
    assert drained(lambda: wakeups.due(0.5)) == crowd


def test_a_key_is_due_once_and_only_at_its_last_time(wakeups):
    one = key()
    wakeups.wake(one, 1.0)
    wakeups.wake(one, 1.0)
    assert len(wakeups) == 1
    wakeups.wake(one, 2.0)
    assert wakeups.due(1.999) is None
    assert wakeups.due(2.0) is one
    assert one.wake_s == math.inf
    assert wakeups.due(9.0) is None


def test_a_key_with_nothing_to_wait_for_is_not_looked_at(wakeups, timer):
    one = key()
    wakeups.wake(one, 1.0)
    wakeups.wake(one, math.inf)
    assert len(wakeups) == 1
    wakeups.arm()
    assert (timer.set_s, len(wakeups)) == ([], 0)
    assert wakeups.due(9.0) is None


def test_the_timer_is_set_for_the_earliest_of_jobs_and_keys_and_set_once(wakeups, timer):
    wakeups.arm()
    assert timer.set_s == []
    first, one = job(3.0), key()
    wakeups.expire(first)
    wakeups.arm()
    wakeups.arm()
    assert (timer.set_s, timer.called_off) == ([3.0], 0)
    wakeups.wake(one, 2.0)
    wakeups.arm()
    assert (timer.set_s, timer.called_off) == ([3.0, 2.0], 1)
    wakeups.wake(one, 4.0)
    wakeups.arm()
    assert (timer.set_s, timer.called_off) == ([3.0, 2.0, 3.0], 2)
    first.state = JobState.SENT
    wakeups.arm()
    assert (timer.set_s, timer.called_off) == ([3.0, 2.0, 3.0, 4.0], 3)
    wakeups.wake(one, math.inf)
    wakeups.arm()
    wakeups.arm()
    assert (timer.set_s, timer.called_off) == ([3.0, 2.0, 3.0, 4.0], 4)


def test_the_timer_can_be_set_for_the_same_time_again_after_it_rang_or_was_called_off(wakeups, timer, rung):
    wakeups.expire(job(3.0))
    wakeups.arm()
    timer.ring()
    assert rung == [True]
    wakeups.arm()
    assert (timer.set_s, timer.called_off) == ([3.0, 3.0], 0)
    wakeups.close()
    wakeups.close()
    assert timer.called_off == 1
    wakeups.arm()
    assert timer.set_s == [3.0, 3.0, 3.0]
