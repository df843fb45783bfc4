"""Several gateways' dispatchers in simulated time, with the permits handed out by the script inside a real server."""

import pytest
import redis
from tests.kits.shared_limits import World
from tests.long import short_or_long

from tickmind.gateway.settings.config import Limits

pytestmark = pytest.mark.slow


@pytest.fixture
def server(redis_server):
    with redis.Redis.from_url(redis_server.url) as client:
        yield client


@pytest.mark.parametrize(
    ("per_minute", "burst", "gateways", "way_s"),
    [(30, 1, 2, 0.001), (30, 5, 2, 0.001), (120, 10, 3, 0.02), (1200, 1, 2, 0.005), (1200, 50, 2, 0.001)],
)
def test_together_they_never_exceed_the_limit_and_use_nearly_all_of_it(server, per_minute, burst, gateways, way_s):
    world = World(server, Limits(requests_per_minute=per_minute, burst=burst), way_s=way_s)
    for number in range(gateways):
        world.gateway(number).workers(20)
    minutes = 5.0 if per_minute < 1000 else short_or_long(1.5, 2.0)
    world.time.run_until(60 * minutes)
    assert world.busiest(60) <= per_minute
    assert len(world.sent) >= 0.95 * per_minute * minutes
    shares = world.by_gateway.values()
    assert min(shares) >= 0.7 * max(shares)


def test_a_gateway_that_asks_alone_gets_all(server):
    world = World(server, Limits(requests_per_minute=120, burst=3))
    world.gateway(0)
    world.gateway(1).workers(20)
    world.time.run_until(300)
    assert world.busiest(60) <= 120
    assert world.by_gateway[0] == 0
    assert world.by_gateway[1] >= 0.95 * 600


def test_a_modest_gateway_wastes_little_of_what_a_greedy_one_needs(server):
    world = World(server, Limits(requests_per_minute=120), service_s=2.0)
    world.gateway(0).workers(1)
    greedy = world.gateway(1)
    greedy.workers(40)
    world.time.run_until(300)
    assert world.busiest(60) <= 120
    assert len(world.sent) >= 0.95 * 600


def test_a_high_rate_needs_few_questions(server):
    world = World(server, Limits(requests_per_minute=60_000), way_s=0.002, service_s=0.05)
    for number in range(2):
        world.gateway(number).workers(200)
    world.time.run_until(5)
    assert world.busiest(1) <= 1010
    assert len(world.sent) >= 0.95 * 5000
    assert world.asked <= len(world.sent) / 4


def test_limits_per_second_hold(server):
    world = World(server, Limits(requests_per_second=10))
    for number in range(2):
        world.gateway(number).workers(10)
    world.time.run_until(60)
    assert world.busiest(1) <= 10
    assert len(world.sent) >= 0.95 * 600


def test_tokens_are_shared_too(server):
    world = World(server, Limits(tokens_per_minute=60_000))
    for number in range(2):
        world.gateway(number).workers(10, tokens=500)
    world.time.run_until(300)
    assert world.busiest(60, weigh=lambda tokens: tokens) <= 60_000
    assert sum(tokens for _, tokens in world.sent) >= 0.95 * 300_000


def test_tokens_that_were_not_used_are_given_back(server):
    world = World(server, Limits(tokens_per_minute=60_000))
    for number in range(2):
        world.gateway(number).workers(10, tokens=1000, real_tokens=500)
    world.time.run_until(300)
    assert len(world.sent) >= 0.9 * 600
    assert world.busiest(60, start_s=60.0) <= 120 + 10  # what is under way counts as estimated


def test_tokens_that_are_given_back_free_those_who_had_to_wait_for_them(server):
    world = World(server, Limits(tokens_per_minute=6000), service_s=2.0)
    world.gateway(0).workers(2, tokens=4000, real_tokens=500)
    world.time.run_until(60)
    times = [at for at, _ in world.sent]
    assert times[1] < 8, "500 of 6000 tokens a minute are five seconds"
    assert len(times) >= 4
    assert world.asked <= 20 * len(times)


def test_a_limit_per_day_is_counted_and_not_spaced(server):
    world = World(server, Limits(requests_per_day=100), service_s=0.01)
    for number in range(2):
        world.gateway(number).workers(5)
    world.time.run_until(short_or_long(600, 3600))
    assert len(world.sent) == 100


def test_what_was_leased_and_not_used_is_not_lost_for_the_day(server):
    world = World(server, Limits(requests_per_day=300), service_s=20.0)
    for number in range(2):
        world.gateway(number).workers(5)
    world.time.run_until(1200)
    assert len(world.sent) >= 297
    assert len(world.sent) <= 300


def test_a_request_larger_than_the_limit_goes_and_is_paid_for(server):
    world = World(server, Limits(tokens_per_minute=1000))
    world.gateway(0).workers(1, tokens=5000)
    world.time.run_until(650)
    assert len(world.sent) == 3


def test_alone_each_keeps_to_its_part(server):
    world = World(server, Limits(requests_per_minute=120, burst=5))
    for number in range(2):
        world.gateway(number).workers(20)
    world.time.run_until(120)
    world.alone = 2
    world.time.run_until(300)
    assert world.busiest(60) <= 121  # the seam may add one
    during = [at for at, _ in world.sent if at >= 125]
    assert len(during) >= 0.95 * 175 * 2
    world.alone = 0
    for pace in world.paces:
        pace.rejoined(world.time.monotonic())
    world.server.flushall()
    world.time.run_until(500)
    assert world.busiest(60, start_s=120) <= 121
    assert len([at for at, _ in world.sent if at >= 310]) >= 0.95 * 190 * 2


def test_a_slow_limit_is_remembered_until_its_next_time(server):
    world = World(server, Limits(requests_per_minute=0.1))
    world.gateway(0).workers(2)
    world.time.run_until(1500)
    assert len(world.sent) == 3
    (name,) = server.keys("t:*")
    assert server.pttl(name) > 600_000
