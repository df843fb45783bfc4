from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.base import Secret
from tickmind.gateway.cluster.pool import LOOK_AGAIN_S, MAX_BATCH, MAX_REFUNDS, Pool
from tickmind.gateway.cluster.rate_limiter import SharedPace, part_of
from tickmind.gateway.cluster.script import LEASE_S, SHORT_LEASE_S, request_spec, token_spec
from tickmind.gateway.fairness.sessions import Session
from tickmind.gateway.queue.lanes import Lanes
from tickmind.gateway.routing.plan import Plan, Target
from tickmind.gateway.settings.config import ApiKey, GatewayConfig, Limits, Provider

FIXED = 8  # arguments of a question before its windows


class Server:
    """Notes who asks."""

    def __init__(self):
        self.poked: list[Pool] = []
        self.alone = 0
        self.rejoining = 0

    def poke(self, pool):
        self.poked.append(pool)


def request_pool(**limits):
    server = Server()
    spec = request_spec(Limits(**limits))
    assert spec is not None
    return Pool("p", spec, server.poke), server


def wanted(pool, now=0.0):
    return pool.question(now)[:2]


def test_an_empty_stock_asks_once_and_is_looked_at_again():
    pool, server = request_pool(requests_per_minute=60)
    assert pool.earliest_s(5.0, 1) == 5.0 + LOOK_AGAIN_S
    assert server.poked == [pool]
    assert wanted(pool) == [1, 1]
    assert pool.earliest_s(5.0, 1) == 5.0 + LOOK_AGAIN_S
    assert server.poked == [pool]


def test_a_permit_is_good_from_its_time_until_the_lease_ends():
    pool, _ = request_pool(requests_per_minute=60)
    pool.question(0.0)
    pool.granted(0.0, [2.0], 0.0)
    assert pool.earliest_s(1.0, 1) == 2.0
    assert pool.earliest_s(2.1, 1) == 2.1
    assert pool.earliest_s(2.0 + LEASE_S, 1) > 2.0 + LEASE_S
    assert pool.lost == 1


def test_a_look_leases_nothing_and_tells_when_a_permit_could_be_had():
    pool, server = request_pool(requests_per_minute=60)
    assert pool.look_s(5.0, 1) == 5.0
    pool.question(5.0)
    assert pool.look_s(5.0, 1) == 5.0 + LOOK_AGAIN_S
    pool.granted(5.0, [6.0], 0.0)
    assert pool.look_s(5.0, 1) == 6.0
    pool.take(6.0, 1)
    assert pool.look_s(6.0, 1) == pytest.approx(7.0, rel=0.01)
    assert pool.look_s(8.0, 1) == 8.0
    pool.question(8.0)
    pool.granted(8.0, [], 100.0)
    assert pool.look_s(8.0, 1) > 90
    pool.clear()
    assert pool.look_s(8.0, 1) == 8.0
    assert server.poked == []


def test_a_forecast_leases_nothing():
    server = Server()

    def make_pace(name, limits):
        return SharedPace(name, limits, server, server.poke)

    key = ApiKey("k", Secret("s"))
    own = {"m": Limits(requests_per_minute=30)}
    provider = Provider("p", "http://p.test", (key,), Limits(requests_per_minute=60), model_limits=own)
    lanes = Lanes(GatewayConfig(), Random(1), make_pace=make_pace)
    queue = lanes.queue_of(Plan((Target(provider, key, "m"),), "m"), 0.0)
    assert queue.forecast(Session("s", "s"), 7.0) == 7.0
    assert queue.outlook(7.0, 0) == (7.0, False)
    assert server.poked == []
    assert queue.lanes[0].earliest_s(7.0, 0) > 7.0
    assert len(server.poked) == 2


def test_an_idle_lane_asks_for_no_more_than_it_needs():
    pool, server = request_pool(requests_per_minute=60)
    for second in range(5):
        pool.earliest_s(second, 1)
        pool.question(second)
        pool.granted(second, [second], 0.0)
        pool.take(second, 1)
    assert len(server.poked) == 5
    assert wanted(pool) == [1, 1]


def test_a_busy_lane_asks_for_more_before_it_runs_dry():
    pool, server = request_pool(requests_per_second=1000)
    sizes = []
    for _ in range(10):
        pool.earliest_s(0.0, 1)
        count = int(wanted(pool)[1])
        sizes.append(count)
        pool.granted(0.0, [0.0] * count, 0.0)
        poked = len(server.poked)
        for left in range(count, 0, -1):
            pool.take(0.0, 1)
            if count > 2 and left == 2:
                assert len(server.poked) > poked
    assert sizes[:7] == [1, 2, 4, 8, 16, 32, 64]
    assert max(sizes) == MAX_BATCH


def test_a_batch_lasts_a_tenth_of_a_second_at_most():
    pool, _ = request_pool(requests_per_minute=1200)
    for _ in range(10):
        pool.earliest_s(0.0, 1)
        count = int(wanted(pool)[1])
        assert count <= 2
        pool.granted(0.0, [0.0] * count, 0.0)
        for _ in range(count):
            pool.take(0.0, 1)


def test_when_there_is_nothing_nobody_asks_before_it_is_time():
    pool, server = request_pool(requests_per_minute=60, requests_per_day=10)
    pool.earliest_s(0.0, 1)
    pool.question(0.0)
    pool.granted(0.0, [], 100.0)
    server.poked.clear()
    at = pool.earliest_s(1.0, 1)
    assert 90 < at < 100
    assert server.poked == []
    pool.earliest_s(at, 1)
    assert server.poked == [pool]


def test_what_was_not_leased_is_a_debt_that_is_told_once():
    pool, _ = request_pool(requests_per_minute=60)
    pool.take(0.0, 1)
    assert pool.question(0.0)[4] == 1
    assert pool.question(0.0)[4] == 0


def test_unused_tokens_are_given_back_with_their_age():
    spec = token_spec(Limits(tokens_per_minute=6000))
    assert spec is not None
    pool = Pool("p", spec, Server().poke)
    pool.correct(10.0, -300)
    pool.correct(10.1, -200)
    pool.correct(20.0, 50)
    question = pool.question(30.0)
    assert question[4] == 50
    age_us, amount = question[FIXED + 3 :]
    assert amount == 500
    assert 20e6 <= age_us <= 21e6
    for second in range(1000):
        pool.correct(float(second), -1)
    assert len(pool.question(1000.0)) == FIXED + 3 + 2 * MAX_REFUNDS


def pool_of_tokens(per_minute):
    """A pool of so many tokens, and the server that it asks."""
    spec = token_spec(Limits(tokens_per_minute=per_minute))
    assert spec is not None
    server = Server()
    return Pool("p", spec, server.poke), server


def test_tokens_that_are_given_back_bring_what_was_reserved_for_later_forward():
    pool, server = pool_of_tokens(6000)
    pool.earliest_s(0.0, 4000)
    pool.question(0.0)
    pool.granted(0.0, [0.0], 0.0)
    pool.take(0.0, 4000)
    pool.earliest_s(0.0, 4000)
    pool.question(0.0)
    pool.granted(0.0, [60.5], 0.0)
    assert pool.earliest_s(1.0, 4000) == 60.5
    server.poked.clear()
    pool.correct(0.0, -3500)
    assert pool.look_s(2.0, 4000) == 60.5
    assert pool.earliest_s(2.0, 4000) == 2.0 + LOOK_AGAIN_S
    assert server.poked == [pool]
    refunds = pool.question(2.0)[FIXED + 3 :]
    assert refunds[1] == 3500
    assert refunds[2:] == [pytest.approx(-58.5e6), 4000], "at the very time for which it was reserved"
    pool.granted(2.0, [2.0], 0.0)
    assert pool.earliest_s(2.0, 4000) == 2.0
    assert pool.lost == 0


def test_what_is_due_soon_is_not_handed_back():
    pool, server = pool_of_tokens(60_000)
    pool.earliest_s(0.0, 100)
    pool.question(0.0)
    pool.granted(0.0, [0.1], 0.0)
    server.poked.clear()
    pool.correct(0.0, -50)
    assert pool.earliest_s(0.0, 100) == 0.1
    assert server.poked == []


def test_nobody_waits_for_a_time_that_was_told_before_tokens_were_given_back():
    pool, server = pool_of_tokens(6000)
    pool.earliest_s(0.0, 4000)
    pool.question(0.0)
    pool.granted(0.0, [], 100.0)
    server.poked.clear()
    assert pool.earliest_s(1.0, 4000) > 90
    pool.correct(0.5, -3500)
    assert pool.earliest_s(1.0, 4000) == 1.0 + LOOK_AGAIN_S
    assert server.poked == [pool]


@given(st.lists(st.tuples(st.sampled_from("atgxc"), st.floats(0, 1), st.integers(1, 50)), max_size=80))
def test_no_more_is_used_than_was_leased_and_owed(steps):
    spec = token_spec(Limits(tokens_per_minute=60))
    assert spec is not None
    server = Server()
    pool = Pool("p", spec, server.poke)
    now = used = leased = told = each = 0.0
    count = 0
    for step, passed_s, amount in steps:
        now += passed_s
        if step == "a":
            assert pool.earliest_s(now, amount) >= now
        elif step == "t" and pool.earliest_s(now, amount) <= now:
            pool.take(now, amount)
            used += amount
        elif step == "g" and pool.asking:
            pool.granted(now, [now] * count, 0.0)
            leased += each * count
        elif step == "c":
            pool.clear()
        elif not pool.asking:
            question = pool.question(now)
            each, count, owed = question[0], int(question[1]), question[4]
            told += owed
        assert used <= leased + told + pool.owed + 1e-6


def test_specs_follow_the_limits():
    assert request_spec(Limits(tokens_per_minute=10)) is None
    assert token_spec(Limits(requests_per_minute=10)) is None
    even = request_spec(Limits(requests_per_minute=60))
    assert even is not None
    assert (even.windows, even.tolerance_us, even.lease_s) == ((), 0.0, LEASE_S)
    bursty = request_spec(Limits(requests_per_minute=60, burst=5))
    assert bursty is not None
    assert len(bursty.windows) == 1
    assert bursty.digest != even.digest
    quick = request_spec(Limits(requests_per_second=5))
    assert quick is not None
    assert quick.lease_s == SHORT_LEASE_S
    rare = request_spec(Limits(requests_per_minute=0.5, burst=5))
    assert rare is not None
    assert (rare.windows, rare.tolerance_us) == ((), 0.0)


def test_alone_a_pace_keeps_to_its_part():
    server = Server()
    pace = SharedPace("p", Limits(requests_per_minute=60, burst=10), server, server.poke)
    server.alone = 3
    times, now = [], 0.0
    while now < 120:
        now = max(now, pace.earliest_s(now, 0))
        pace.take(now, 0)
        times.append(now)
    assert len(times) == pytest.approx(40, abs=2)
    assert server.poked == []
    server.alone = 0
    pace.rejoined(now)
    pace.earliest_s(now, 0)
    assert len(server.poked) == 1


def test_a_part_has_no_burst():
    part = part_of(Limits(requests_per_minute=30, tokens_per_day=100, burst=9, concurrency=4), 2)
    assert part == Limits(requests_per_minute=15, tokens_per_day=50, burst=1, concurrency=4)


def test_a_pace_that_rejoins_asks_for_a_permit_when_its_part_allows_one():
    server = Server()
    pace = SharedPace("p", Limits(requests_per_minute=60), server, server.poke)
    (pool,) = pace.pools
    server.alone = 2
    pace.take(0.0, 0)
    server.alone, server.rejoining = 0, 2
    pace.rejoined(0.5)
    due_s = pace.earliest_s(0.5, 0)
    assert due_s == pytest.approx(2.0, rel=0.02)
    assert server.poked == []
    assert pace.earliest_s(due_s, 0) == due_s + LOOK_AGAIN_S
    assert server.poked == [pool]
    pool.question(due_s)
    pool.granted(due_s, [due_s], 0.0)
    pace.take(due_s, 0)
    assert pool.owed == 0
    assert pace.earliest_s(due_s, 0) == pytest.approx(2 * due_s, rel=0.02)
    server.rejoining = 0
    assert pace.earliest_s(due_s, 0) == due_s + LOOK_AGAIN_S, "only the permits bind again"


def test_what_is_settled_while_rejoining_concerns_the_part_and_all():
    server = Server()
    pace = SharedPace("p", Limits(tokens_per_minute=6000), server, server.poke)
    (pool,) = pace.pools
    server.rejoining = 2
    pace.rejoined(0.0)
    pace.take(1.0, 3000)
    full_s = pace.earliest_s(1.0, 3000)
    pace.settle(1.0, 3000, 0)
    assert pace.earliest_s(1.0, 3000) < full_s
    assert len(pool.question(3.0)) == FIXED + 5


def test_what_was_taken_alone_is_not_given_back_to_all():
    server = Server()
    pace = SharedPace("p", Limits(tokens_per_minute=6000), server, server.poke)
    (pool,) = pace.pools
    server.alone = 2
    pace.take(1.0, 100)
    server.alone = 0
    pace.rejoined(2.0)
    pace.settle(1.0, 100, 10)
    assert len(pool.question(3.0)) == FIXED + 3
    pace.settle(2.5, 100, 10)
    assert len(pool.question(3.0)) == FIXED + 5
