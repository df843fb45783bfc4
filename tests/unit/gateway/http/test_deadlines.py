"""Deadlines come at most one slot late, once, and not to those that ended before."""

import heapq
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from tickmind.base import ManualClock
from tickmind.gateway.http.deadlines import SLOT_S, Deadlines


class Timer:
    def __init__(self) -> None:
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class FakeTimers:
    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.heap: list[tuple[float, int, Timer, Callable[[], None]]] = []

    def __call__(self, when_s: float, work: Callable[[], None]) -> Timer:
        timer = Timer()
        heapq.heappush(self.heap, (when_s, id(timer), timer, work))
        return timer

    def run(self, until_s: float) -> None:
        while self.heap and self.heap[0][0] <= until_s:
            when_s, _, timer, work = heapq.heappop(self.heap)
            self.clock.advance(max(0.0, when_s - self.clock.monotonic()))
            if not timer.cancelled:
                work()


class Item:
    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.told_s: list[float] = []

    def overdue(self) -> None:
        self.told_s.append(self.clock.monotonic())


@given(st.lists(st.tuples(st.floats(0.0, 5.0), st.booleans()), max_size=40))
def test_each_is_told_once_and_in_time_unless_it_ended(wanted: list[tuple[float, bool]]) -> None:
    clock = ManualClock()
    timers = FakeTimers(clock)
    deadlines = Deadlines(clock.monotonic, timers)
    items = [(Item(clock), at_s, ends) for at_s, ends in wanted]
    for item, at_s, ends in items:
        deadlines.add(item, at_s)
        if ends:
            deadlines.remove(item)
    timers.run(10.0)
    for item, at_s, ends in items:
        assert len(item.told_s) == (0 if ends else 1)
        assert all(at_s <= told_s + 1e-6 and told_s <= at_s + 2.2 * SLOT_S for told_s in item.told_s)
    assert len(deadlines) == 0
    assert not timers.heap


def test_what_ended_long_before_its_deadline_leaves_nothing_behind() -> None:
    clock = ManualClock()
    timers = FakeTimers(clock)
    deadlines = Deadlines(clock.monotonic, timers)
    for number in range(100):
        item = Item(clock)
        deadlines.add(item, 120.0 + number * SLOT_S)
        deadlines.remove(item)
    assert len(deadlines) == 0
    assert len(timers.heap) == 1


def test_a_busy_gateway_looks_as_seldom_as_its_deadlines_are_far() -> None:
    clock = ManualClock()
    timers = FakeTimers(clock)
    rung: list[float] = []

    def at(when_s: float, work: Callable[[], None]) -> Timer:
        rung.append(when_s)
        return timers(when_s, work)

    deadlines = Deadlines(clock.monotonic, at)
    for _ in range(600):  # each takes a tenth of a second of the minute that it may take
        item = Item(clock)
        deadlines.add(item, clock.monotonic() + 60.0)
        timers.run(clock.monotonic() + 0.1)
        clock.advance(0.1)
        deadlines.remove(item)
    assert len(rung) <= 3


def test_the_fault_of_one_does_not_keep_the_others_from_hearing() -> None:
    clock = ManualClock()
    timers = FakeTimers(clock)
    deadlines = Deadlines(clock.monotonic, timers)

    class Faulty:
        def overdue(self) -> None:
            raise RuntimeError("a fault")

    sound, late = Item(clock), Item(clock)
    for item, at_s in ((Faulty(), 1.0), (sound, 1.0), (Faulty(), 1.0), (late, 2.0)):
        deadlines.add(item, at_s)
    timers.run(3.0)
    assert (len(sound.told_s), len(late.told_s)) == (1, 1)
