import pytest
from tests.kits.queue_doubles import SimulatedTime

from tickmind.base import ManualClock
from tickmind.gateway.cluster.census import Census
from tickmind.gateway.cluster.rate_limiter import SharedPace
from tickmind.gateway.settings.config import Limits

REJOIN_S = 5.0
PER_SECOND = 20
BEAT_S = 1.0


def joined(clock, gateways):
    census = Census(clock, REJOIN_S)
    census.count(gateways)
    census.found()
    return census


def test_a_gateway_that_starts_counts_who_is_there_and_leases_at_once():
    census = Census(ManualClock(), REJOIN_S)
    assert (census.alone, census.rejoining) == (1, 0)
    census.lost()
    assert (census.alone, census.losses) == (1, 0)
    census.count(3)
    census.found()
    assert (census.gateways, census.alone, census.rejoining) == (3, 0, 0)
    census.count(2)
    assert census.gateways == 2


def test_who_was_there_before_a_loss_counts_until_it_must_be_back():
    clock = ManualClock()
    census = joined(clock, 2)
    census.lost()
    assert (census.alone, census.rejoining, census.losses) == (2, 0, 1)
    clock.advance(60)
    census.count(1)
    census.found()
    assert (census.gateways, census.alone, census.rejoining) == (2, 0, 2)
    clock.advance(REJOIN_S - 0.1)
    census.count(1)
    assert census.rejoining == 2
    clock.advance(0.1)
    census.count(1)
    assert (census.gateways, census.rejoining) == (1, 0)


def test_a_second_loss_before_all_are_back_divides_by_all_of_them():
    clock = ManualClock()
    census = joined(clock, 2)
    census.lost()
    census.count(1)
    census.found()
    census.lost()
    assert census.alone == 2
    clock.advance(60)
    census.count(3)
    census.found()
    assert census.rejoining == 3, "one more has come meanwhile"


class World:
    """Gateways with as much to send as they may, and a server that spaces permits evenly and starts empty."""

    def __init__(self, gateways):
        self.time = SimulatedTime()
        self.limits = Limits(requests_per_second=PER_SECOND)
        self.sent: list[float] = []
        self.next_s = 0.0
        self.gateways = [Gateway(self) for _ in range(gateways)]

    def grant(self, pool):
        now = self.time.monotonic()
        pool.question(now)
        self.next_s = max(now, self.next_s)
        pool.granted(now, [self.next_s], 0.0)
        self.next_s += pool.spec.unit_us / 1e6

    def connected(self):
        return sum(gateway.census.connected for gateway in self.gateways)

    def busiest(self, span_s):
        """The most in any window of so many seconds."""
        return max(sum(at <= other < at + span_s for other in self.sent) for at in self.sent)


class Gateway:
    """A census, a pace that goes by it, and a beat."""

    def __init__(self, world):
        self.world = world
        self.census = Census(world.time, REJOIN_S)
        self.pace = SharedPace("p", world.limits, self.census, world.grant)
        self.alive = True

    def find(self):
        self.census.count(self.world.connected() + 1)
        self.pace.rejoined(self.world.time.monotonic())
        self.census.found()

    def beat(self):
        if self.census.connected:
            self.census.count(self.world.connected())
        self.world.time.after(BEAT_S, self.beat)

    def work(self):
        if self.alive:
            now = self.world.time.monotonic()
            at_s = self.pace.earliest_s(now, 0)
            if at_s <= now:
                self.pace.take(now, 0)
                self.world.sent.append(now)
            self.world.time.at(at_s, self.work)

    def die(self):
        self.alive = self.census.connected = False


@pytest.fixture
def world():
    """Two gateways that have shared a limit and lost the server at 3 s."""
    world = World(2)
    for gateway in world.gateways:
        gateway.find()
    for gateway in world.gateways:
        gateway.beat()
        gateway.work()
    world.time.run_until(3)
    for gateway in world.gateways:
        gateway.census.lost()
    return world


@pytest.mark.parametrize("later_s", [0.0, 0.5, 2.7, REJOIN_S])
def test_the_limit_holds_while_gateways_find_the_server_again_one_after_the_other(world, later_s):
    one, two = world.gateways
    world.time.at(6, one.find)
    world.time.at(6 + later_s, two.find)
    world.time.run_until(25)
    assert world.busiest(1) <= PER_SECOND + 2  # each seam may add one for each gateway
    assert world.busiest(3) <= 3 * PER_SECOND + 2
    for begin_s in range(24):
        assert sum(begin_s <= at < begin_s + 1 for at in world.sent) >= 0.85 * PER_SECOND, "nothing is wasted, either"
    assert one.census.rejoining == two.census.rejoining == 0


def test_what_was_a_dead_gateways_is_used_once_it_can_not_come_back(world):
    one, two = world.gateways
    two.die()
    world.time.at(6, one.find)
    world.time.run_until(25)
    assert sum(7 <= at < 10 for at in world.sent) <= 3 * PER_SECOND / 2 + 1
    assert sum(6 + REJOIN_S + BEAT_S <= at < 25 for at in world.sent) >= 0.9 * PER_SECOND * (19 - REJOIN_S - BEAT_S)
