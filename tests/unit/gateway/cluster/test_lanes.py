"""Limits that other gateways have met hold here, whether their lane is there already or is made later."""

from random import Random

from tickmind.base import ManualClock, Secret
from tickmind.gateway.cluster.lane_limits import LaneLimit
from tickmind.gateway.cluster.lanes import MAX_HEARD, SharedLanes
from tickmind.gateway.queue.lanes import Lanes
from tickmind.gateway.routing.plan import Plan, Target
from tickmind.gateway.settings.config import ApiKey, GatewayConfig, Provider

PROVIDER = Provider("p", "http://p.test/v1", (ApiKey("k", Secret("s")),))
PLAN = Plan((Target(PROVIDER, PROVIDER.keys[0], "m"),), "m")


def house():
    clock = ManualClock(monotonic=100.0)
    lanes = Lanes(GatewayConfig(), Random(1))
    return clock, lanes, SharedLanes(lanes, clock)


def test_a_limit_that_was_heard_before_its_lane_was_made_holds_it():
    clock, lanes, shared = house()
    shared.limit(LaneLimit("p/k", 130.0, "rate limited"))
    shared.limit(LaneLimit("p/k", 120.0, "an older one"))
    clock.advance(1)
    (lane,) = lanes.queue_of(PLAN, clock.monotonic()).lanes
    assert (lane.limited_until_s, lane.reason) == (130.0, "rate limited")
    assert lane.earliest_s(clock.monotonic(), 0) == 130.0


def test_a_limit_that_is_over_when_its_lane_is_made_holds_nothing():
    clock, lanes, shared = house()
    shared.limit(LaneLimit("p/k", 130.0, "rate limited"))
    clock.advance(31)
    (lane,) = lanes.queue_of(PLAN, clock.monotonic()).lanes
    assert lane.earliest_s(clock.monotonic(), 0) == clock.monotonic()


def test_limits_of_lanes_that_never_come_do_not_fill_the_memory():
    clock, lanes, shared = house()
    for number in range(int(MAX_HEARD.maximum) + 100):
        shared.limit(LaneLimit(f"p/{number}", 130.0, ""))
    assert len(shared._heard) == MAX_HEARD.maximum
    clock.advance(31)
    shared.limit(LaneLimit("p/k", 200.0, "rate limited"))
    assert len(shared._heard) == 1
    assert lanes.queue_of(PLAN, clock.monotonic()).lanes[0].limited_until_s == 200.0
