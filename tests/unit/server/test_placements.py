"""Orders of operators: carried out at the end of a tick, and answered when that is recorded."""

import pytest

from tickmind.protocol import LifecycleKind, Placement, Reason
from tickmind.protocol.record import MAX_PLACEMENTS
from tickmind.server.delivery.streams import StreamKind
from tickmind.server.limits import ServerLimits
from tickmind.wire.messages.placements import PlacementOutcome, PlacementRequest
from tickmind.wire.messages.requests import AcquireRequest
from tickmind.world import TileWorld, parse_scenario

INN = """\
world: inn
floors: {boards: {}}
map: {width: 5, height: 1, floor: boards}
actors:
  - {id: guest, at: [1, 0], arrives: never}
  - {id: host, at: [2, 0]}
"""
GUEST, HOST = 0, 1


@pytest.fixture
def inn(make_game):
    return make_game(scenario=parse_scenario(INN))


class Operator:
    """Gives orders, and keeps their outcomes in the order in which they come."""

    def __init__(self, game):
        self.queue = game.authority.placements
        self.outcomes = []

    def order(self, *args, **given):
        return self.queue.add(PlacementRequest(*args, **given), self.outcomes.append)


def test_an_order_is_answered_when_its_tick_is_recorded(inn):
    operator = Operator(inn)
    operator.order("guest")
    inn.authority.begin()
    record = inn.authority.resolve()
    assert record.placements == (Placement("guest", 1, 0),)  # where the scenario puts it
    assert operator.outcomes == []
    inn.authority.publish(record)
    assert operator.outcomes == [PlacementOutcome(Reason.NONE, 1, (1, 0))]
    assert inn.tick().placements == ()


def test_orders_are_refused_with_the_reason(inn):
    operator = Operator(inn)
    assert operator.order("ghost") == PlacementOutcome(Reason.UNKNOWN_ENTITY)
    operator.order("guest", (2, 0))
    operator.order("guest", leaves=True)
    operator.order("host", (4, 0))
    inn.tick()
    assert operator.outcomes == [
        PlacementOutcome(Reason.OCCUPIED, 1, (2, 0)),
        PlacementOutcome(Reason.AWAY, 1),
        PlacementOutcome(Reason.ALREADY_THERE, 1, (4, 0)),
    ]


def test_those_that_come_and_go_by_order_are_announced_and_lose_their_leases(inn):
    stream = inn.stream(StreamKind.LIFECYCLE, 100)
    inn.authority.lifecycle.follow(stream)
    inn.authority.acquire(AcquireRequest("host", "me"))
    operator = Operator(inn)
    operator.order("guest", (4, 0))
    operator.order("host", leaves=True)
    inn.tick()
    seen = []
    while (changes := stream.outbox.take()) is not None:
        seen.append((changes.kind, changes.rows.tolist()))
    assert seen == [
        (LifecycleKind.CONTROLLED, [HOST]),
        (LifecycleKind.UNCONTROLLED, [HOST]),
        (LifecycleKind.DESPAWNED, [HOST]),
        (LifecycleKind.SPAWNED, [GUEST]),
    ]
    assert not inn.authority.leases.controlled.any()


def test_an_order_of_a_client_that_is_gone_is_withdrawn_until_its_tick_is_over(inn):
    operator = Operator(inn)
    operator.queue.withdraw(operator.order("guest"))
    assert inn.tick().placements == ()
    pending = operator.order("guest")
    inn.authority.begin()
    record = inn.authority.resolve()
    operator.queue.withdraw(pending)  # too late
    inn.authority.publish(record)
    assert [outcome.ok for outcome in operator.outcomes] == [True]


def test_a_world_that_stops_refuses_what_it_has_not_recorded(inn):
    operator = Operator(inn)
    operator.order("guest")
    inn.authority.stop()
    assert operator.outcomes == [PlacementOutcome(Reason.STOPPING)]
    assert operator.order("guest") == PlacementOutcome(Reason.STOPPING)


def test_orders_of_one_tick_are_limited(make_game):
    game = make_game(scenario=parse_scenario(INN), limits=ServerLimits(placements=MAX_PLACEMENTS.at(2)))
    operator = Operator(game)
    operator.order("host", leaves=True)
    operator.order("host", (2, 0))
    assert operator.order("guest") == PlacementOutcome(Reason.OVERLOADED)
    game.tick()
    operator.order("guest")
    game.tick()
    assert [outcome.ok for outcome in operator.outcomes] == [True] * 3


def test_a_restart_repeats_orders_from_the_record(inn):
    from tickmind.server import resume

    operator = Operator(inn)
    records = [inn.tick()]
    operator.order("guest", (4, 0))
    records.append(inn.tick())
    operator.order("host", leaves=True)
    records.append(inn.tick())

    class History:
        last_tick_id = 3

        def records(self, first):
            return iter(records[first - 1 :])

    world = TileWorld.from_scenario(parse_scenario(INN))
    resume(world, None, History())
    assert world.state_hash() == inn.world.state_hash()
    assert world.present.tolist() == [True, False]
