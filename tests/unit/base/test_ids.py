import random

from hypothesis import given
from hypothesis import strategies as st

from tickmind.base import IdMaker, ManualClock, secret_token


def test_ids_sort_by_the_time_they_were_made():
    clock = ManualClock()
    make = IdMaker(clock=clock)
    first = make("run")
    clock.advance(0.001)
    assert first < make("run")


@given(st.lists(st.floats(-1e6, 1e6), max_size=30), st.integers())
def test_ids_grow_even_when_the_wall_clock_is_set_back(jumps, seed):
    clock = ManualClock()
    make = IdMaker(clock=clock, rng=random.Random(seed))
    made = [make("x")]
    for jump in jumps:
        clock.jump_wall(jump)
        made.append(make("x"))
    assert made == sorted(set(made))


def test_the_same_clock_and_seed_give_the_same_ids():
    first, second = (IdMaker(clock=ManualClock(), rng=random.Random(7)) for _ in range(2))
    assert [first("a"), first("b")] == [second("a"), second("b")]


def test_tokens_differ():
    assert len({secret_token() for _ in range(100)}) == 100
