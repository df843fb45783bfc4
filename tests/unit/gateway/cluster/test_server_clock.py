from hypothesis import given
from hypothesis import strategies as st

from tickmind.gateway.cluster.server_clock import ServerClock

WAYS = st.lists(st.tuples(st.floats(0.0, 0.01), st.floats(0.0, 3.0)), min_size=1, max_size=30)


def difference_after(clock, asked_s, there_s, back_s, true_s):
    """Ask a server whose clock is behind by `true_s`, with such ways there and back."""
    looked_s = asked_s + there_s
    return clock.difference_s(asked_s, looked_s + back_s, looked_s - true_s)


@given(WAYS, st.floats(-1e6, 1e6))
def test_no_answer_however_late_moves_the_clock_by_more_than_the_quickest_way_back_and_the_way_there(ways, true_s):
    clock = ServerClock()
    quickest_s = min(back_s for _, back_s in ways)
    found = [difference_after(clock, 10.0 * i, there, back, true_s) for i, (there, back) in enumerate(ways)]
    assert all(
        true_s - there - 1e-6 <= each <= true_s + back + 1e-6 for each, (there, back) in zip(found, ways, strict=True)
    )
    assert found[-1] <= true_s + quickest_s + 1e-6


@given(st.floats(0.0, 0.01), st.floats(-100.0, 100.0))
def test_a_server_whose_clock_was_set_is_followed_with_the_next_answer(way_s, moved_s):
    clock = ServerClock()
    difference_after(clock, 0.0, way_s, way_s, 5.0)
    found = difference_after(clock, 1.0, way_s, way_s, 5.0 + moved_s)
    assert abs(found - 5.0 - moved_s) <= way_s + 1e-6
