"""Fair shares of a source that doubles: what all take together, half of it grows back."""

from hypothesis import given
from hypothesis import strategies as st

from tickmind.mind.shares import MAX_SOURCES, FairShares


def test_a_share_is_half_of_what_is_there_by_those_who_share():
    shares = FairShares()
    assert shares.left("meadow", 100, period=0, sharers=5) == 10


def test_what_was_taken_counts_until_the_next_period():
    shares = FairShares()
    shares.left("meadow", 100, period=0, sharers=5)
    for _ in range(10):
        shares.take("meadow")
    assert shares.left("meadow", 90, period=0, sharers=5) == 0
    assert shares.left("meadow", 90, period=1, sharers=5) == 9


def test_a_source_with_too_little_is_left_alone():
    assert FairShares().left("meadow", 9, period=0, sharers=5) == 0


def test_it_remembers_a_bounded_number_of_sources():
    shares = FairShares()
    for number in range(int(MAX_SOURCES.maximum) + 50):
        shares.left(f"bush:{number}", 10, period=0, sharers=1)
    assert len(shares._shares) == MAX_SOURCES.maximum


@given(st.integers(10, 500), st.integers(1, 8), st.integers(1, 30))
def test_a_source_lasts_while_all_take_their_shares_in_whatever_order(most, sharers, rounds):
    everybody, stock = [FairShares() for _ in range(sharers)], most
    for period in range(rounds):
        for shares in everybody[period % sharers :] + everybody[: period % sharers]:
            while shares.left("meadow", stock, period=period, sharers=sharers):
                shares.take("meadow")
                stock -= 1
        assert stock >= most // 2 - sharers
        assert stock > 0
        stock = min(most, 2 * stock)
