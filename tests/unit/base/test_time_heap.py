import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.base.time_heap import TimeHeap


def test_items_come_when_their_time_has_come_and_not_before():
    heap = TimeHeap[str]()
    for at_s, item in ((3.0, "c"), (1.0, "a"), (2.0, "b")):
        heap.add(at_s, item)
    assert heap.first_s() == 1.0
    assert list(heap.due(2.0)) == ["a", "b"]
    assert len(heap) == 1
    assert list(heap.due(2.9)) == []


def test_items_of_one_time_come_in_the_order_of_their_adding_and_are_never_compared():
    heap, items = TimeHeap[object](), [object() for _ in range(100)]
    for item in items:
        heap.add(1.0, item)
    assert list(heap.due(1.0)) == items


def test_an_item_may_be_added_again_while_the_due_ones_are_read():
    heap = TimeHeap[str]()
    heap.add(1.0, "moved")
    heap.add(1.0, "over")
    seen = []
    for item in heap.due(1.0):
        seen.append(item)
        if item == "moved":
            heap.add(5.0, item)
    assert seen == ["moved", "over"]
    assert heap.first_s() == 5.0


def test_entries_out_of_date_neither_come_up_nor_count_as_the_first():
    times = {"a": 5.0}
    heap = TimeHeap[str](lambda at_s, item: times.get(item) == at_s)
    for at_s, item in ((1.0, "gone"), (2.0, "a"), (5.0, "a")):
        heap.add(at_s, item)
    assert heap.first_s() == 5.0
    assert list(heap.due(10.0)) == ["a"]
    assert heap.first_s() == math.inf


def test_entries_out_of_date_do_not_pile_up():
    heap = TimeHeap[int](lambda _, number: number >= 9_990)
    for number in range(10_000):
        heap.add(1e9, number)
        assert len(heap) < 150
    heap.clean()
    assert len(heap) == 10


def test_an_empty_heap_has_nothing_to_pop():
    heap = TimeHeap[str]()
    heap.add(1.0, "a")
    assert heap.pop() == (1.0, "a")
    heap.add(2.0, "b")
    heap.clear()
    with pytest.raises(IndexError):
        heap.pop()


@given(st.lists(st.tuples(st.integers(0, 20), st.booleans()), max_size=200), st.integers(0, 20))
def test_it_gives_what_a_sorted_list_would_give(entries, now_s):
    wanted = {number for number, (_, kept) in enumerate(entries) if kept}
    heap = TimeHeap[int](lambda _, number: number in wanted)
    for number, (at_s, _) in enumerate(entries):
        heap.add(at_s, number)
    expected = sorted((at_s, number) for number, (at_s, kept) in enumerate(entries) if kept)
    assert list(heap.due(now_s)) == [number for at_s, number in expected if at_s <= now_s]
    assert heap.first_s() == min((at_s for at_s, _ in expected if at_s > now_s), default=math.inf)
