import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tickmind.world.chance import Dice, draw, scatter

SEEDS = st.integers(0, 2**63 - 1)


def test_chance_is_the_same_on_every_machine():
    assert scatter(7, 1, 2, np.arange(3)).tolist() == [
        7969596245549217467,
        5105604414344456748,
        15956321159405613274,
    ]
    dice = Dice(7)
    assert [dice.below(100) for _ in range(5)] == [74, 27, 45, 90, 74]


@given(SEEDS, st.integers(0, 9), st.integers(0, 10**12))
def test_a_draw_stays_below_its_bound(seed, purpose, tick):
    bounds = np.array([0, 1, 2, 7, 1000], dtype=np.int64)
    drawn = draw(seed, purpose, tick, np.arange(5, dtype=np.int64), bounds)
    assert (drawn >= 0).all()
    assert (drawn < np.maximum(bounds, 1)).all()


def test_draws_are_even():
    drawn = draw(3, 1, 1, np.arange(100_000), np.full(100_000, 10))
    assert abs(np.bincount(drawn, minlength=10) - 10_000).max() < 500


@given(SEEDS, st.integers(0, 50), st.integers(0, 50))
def test_dice_stay_between(seed, least, more):
    dice = Dice(seed)
    assert all(least <= dice.between(least, least + more) <= least + more for _ in range(20))
