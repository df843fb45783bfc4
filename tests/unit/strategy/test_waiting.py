"""Who waits is asked in the end: age counts beside priority."""

from tickmind.strategy import MockClient
from tickmind.strategy.queries.due_queue import DueQueue


def order(schedule):
    return [turn.entity_id for turn in iter(schedule.take, None)]


def test_strict_priority_starves_and_age_does_not(stage):
    for aging, asked in ((None, False), (10, True)):
        s = stage(MockClient(), max_queries_per_tick=1, priority_aging_ticks=aging)
        for _ in range(3):
            s.spawn(priority=5, query_interval=1)
        low = s.spawn(query_interval=1)
        s.step(80)
        assert (low in [eid for eid, _ in s.queries]) is asked


def test_nobody_starves_by_default(stage):
    s = stage(MockClient(), max_queries_per_tick=1)
    for _ in range(2):
        s.spawn(priority=1, query_interval=0)
    low = s.spawn(query_interval=0)
    s.step(110)
    assert low in [eid for eid, _ in s.queries]


def test_a_step_of_priority_weighs_as_much_as_the_named_number_of_ticks():
    schedule = DueQueue(aging_ticks=10)
    schedule.put(1, 0, 0)
    schedule.advance(0)
    schedule.put(2, 9, 1)
    schedule.put(3, 11, 1)
    schedule.advance(9)
    schedule.advance(11)
    assert order(schedule) == [2, 1, 3]


def test_one_that_came_late_is_not_old_because_its_interval_is_long_over(stage):
    s = stage(MockClient(), max_queries_per_tick=1, priority_aging_ticks=10)
    s.tick(500)
    low, high = s.spawn(query_interval=1), s.spawn(priority=1, query_interval=1)
    s.tick()
    assert s.queries == [(high, 501)]
    assert low in s.system._roster.schedule


def test_age_is_kept_by_who_is_put_back_and_by_who_is_held():
    schedule = DueQueue(aging_ticks=10)
    schedule.put(1, 0, 0)
    schedule.put(2, 0, 0)
    schedule.advance(0)
    first, second = schedule.take(), schedule.take()
    assert first is not None
    assert second is not None
    schedule.put_back(first)
    schedule.hold(second, 15)
    schedule.put(3, 15, 1)
    schedule.advance(15)
    assert order(schedule) == [1, 2, 3]
