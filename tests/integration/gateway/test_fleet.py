"""Three gateways behind one address keep one limit, also while one is killed and another is cut off from Redis."""

import sys

import pytest
import redis
from tests.kits.gateway_fleet import Fleet
from tests.long import short_or_long

from tickmind.gateway.settings.config import Limits

pytestmark = pytest.mark.slow
PER_MINUTE = short_or_long(300, 600)
GREEDY = {"greedy": 60, **{f"s{number}": 9 for number in range(9)}}


@pytest.fixture
def server(redis_server):
    with redis.Redis.from_url(redis_server.url) as client:
        yield client


def jain(counts):
    return sum(counts) ** 2 / (len(counts) * sum(count**2 for count in counts))


@pytest.mark.parametrize("burst", short_or_long([10], [1, 3, 10]))
def test_ten_greedy_minutes_through_a_killed_gateway_and_one_that_is_cut_off(server, burst):
    fleet = Fleet(server, Limits(requests_per_minute=PER_MINUTE, burst=burst), 3, way_s=0.002)
    fleet.crowd(GREEDY)
    fleet.time.run_until(200)
    fleet.members[0].cut_off(30)
    fleet.time.run_until(400)
    fleet.members[1].kill()
    fleet.time.run_until(600)
    served = list(fleet.served.values())
    sys.stdout.write(f"{len(fleet.sent)} sent, busiest minute {fleet.busiest(60)}, Jain {jain(served):.4f}\n")
    assert fleet.busiest(60) <= PER_MINUTE, "the provider would answer 429"
    assert len(fleet.sent) >= 0.98 * 10 * PER_MINUTE
    assert jain(served) >= 0.98
    assert not fleet.refused


def test_a_gateway_that_is_cut_off_goes_on_with_its_part_and_the_others_leave_it_to_it(server):
    fleet = Fleet(server, Limits(requests_per_minute=PER_MINUTE), 3)
    fleet.crowd(GREEDY)
    fleet.time.run_until(60)
    before = len(fleet.sent)
    fleet.members[2].cut_off(40)
    fleet.time.run_until(100)
    assert fleet.members[2].census.alone == 3
    assert fleet.busiest(20, start_s=65) <= PER_MINUTE / 3 + 1
    assert len(fleet.sent) - before >= 0.95 * 40 / 60 * PER_MINUTE
    fleet.time.run_until(110)
    assert fleet.members[2].census.alone == 0


def test_a_gateway_that_was_killed_leaves_its_part_to_the_others_at_once(server):
    fleet = Fleet(server, Limits(requests_per_minute=PER_MINUTE), 3)
    fleet.crowd(GREEDY)
    fleet.time.run_until(60)
    fleet.members[1].kill()
    fleet.time.run_until(65)
    before = len(fleet.sent)
    fleet.time.run_until(125)
    assert len(fleet.sent) - before >= 0.97 * PER_MINUTE
    assert fleet.members[0].census.gateways == 2


def test_a_gateway_that_stays_away_is_forgotten(server):
    fleet = Fleet(server, Limits(requests_per_minute=PER_MINUTE), 3)
    fleet.crowd(GREEDY)
    fleet.time.run_until(60)
    fleet.members[1].cut_off(1000)
    fleet.time.run_until(130)
    assert fleet.members[0].census.gateways == 2
