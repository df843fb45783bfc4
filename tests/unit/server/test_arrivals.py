"""Actors that come and go: they are announced, and nobody controls one that is away."""

from dataclasses import replace

import numpy as np
import pytest

from tickmind.protocol import LifecycleKind, Reason, Wait
from tickmind.server.delivery.streams import StreamKind
from tickmind.server.pace import TickPace
from tickmind.wire import ViewFilter, columns
from tickmind.wire.codec import parse
from tickmind.wire.messages.frames import BatchOpened, Closed, ControlAck, ControlIntent, ControlOpened, LeasesLost
from tickmind.wire.messages.requests import AcquireRequest, EntitiesRequest
from tickmind.wire.v1 import viewer_pb2
from tickmind.world import parse_scenario

INN = """\
world: inn
floors: {boards: {}}
map: {width: 5, height: 1, floor: boards}
actors:
  - {id: guest, at: [1, 0], arrives: {tick: 2}, leaves: {tick: 4}}
  - {id: host, at: [2, 0]}
"""
GUEST, HOST = 0, 1


@pytest.fixture
def inn(make_game):
    return make_game(scenario=parse_scenario(INN))


def listed(game):
    actors, _ = game.authority.entities(EntitiesRequest())
    return [actor.entity_id for actor in actors]


def test_only_actors_that_are_there_are_listed_and_granted(inn):
    assert listed(inn) == ["host"]
    assert inn.authority.acquire(AcquireRequest("guest", "me")) == Closed(Reason.AWAY)
    inn.tick()
    assert listed(inn) == ["guest", "host"]
    assert not isinstance(inn.authority.acquire(AcquireRequest("guest", "me")), Closed)
    inn.tick()
    inn.tick()
    assert listed(inn) == ["host"]
    assert inn.authority.acquire(AcquireRequest("guest", "me")) == Closed(Reason.AWAY)


def test_the_controller_of_an_actor_that_leaves_loses_it_and_gets_the_reason(inn):
    inn.tick()
    guest = inn.control("guest")
    inn.authority.begin()
    guest.send(ControlIntent(2, Wait()))
    inn.finish()
    inn.authority.begin()
    inn.finish()
    frames = guest.read()
    assert [type(frame) for frame in frames] == [ControlOpened, ControlAck, Closed]  # an older observation is dropped
    assert frames[-1].reason is Reason.AWAY
    assert not inn.authority.leases.controlled.any()
    assert len(inn.authority.leases) == 0
    inn.tick()


def test_a_host_of_many_keeps_those_that_stay(inn):
    refused = inn.host(np.array([GUEST, HOST], dtype=np.int32)).read()[0]
    assert isinstance(refused, BatchOpened)
    assert (refused.granted.tolist(), refused.refused.tolist()) == ([HOST], [GUEST])
    assert isinstance(inn.host(np.array([GUEST], dtype=np.int32)).read()[0], Closed)


def test_a_host_loses_those_that_leave(inn):
    inn.tick()
    host = inn.host(np.array([GUEST, HOST], dtype=np.int32))
    for _ in range(3):
        inn.tick()
    lost = [frame for frame in host.read() if isinstance(frame, LeasesLost)]
    assert [frame.actor.tolist() for frame in lost] == [[GUEST]]
    assert inn.authority.leases.controlled.tolist() == [False, True]


def test_arrivals_and_departures_are_announced_to_readers_and_viewers(inn):
    stream = inn.stream(StreamKind.LIFECYCLE, 100)
    inn.authority.lifecycle.follow(stream)
    viewer = inn.stream(StreamKind.VIEWER, 100)
    inn.authority.viewers[viewer] = ViewFilter()
    present = [change for change in inn.authority.present() if change.kind is LifecycleKind.SPAWNED]
    assert [change.rows.tolist() for change in present] == [[HOST]]
    for _ in range(4):
        inn.tick()
    told = []
    while (changes := stream.outbox.take()) is not None:
        told.append((changes.kind, changes.rows.tolist()))
    assert told == [(LifecycleKind.SPAWNED, [GUEST]), (LifecycleKind.DESPAWNED, [GUEST])]
    seen = []
    while (data := viewer.outbox.take()) is not None:
        message = parse(viewer_pb2.StreamViewerEventsResponse, data).event
        event = columns.decode_viewer_event(message, inn.authority.bounds)
        seen += [(one.kind, one.entity.entity_id) for one in event.lifecycle]
    assert seen == [(LifecycleKind.SPAWNED, "guest"), (LifecycleKind.DESPAWNED, "guest")]


def test_a_world_in_lockstep_waits_only_for_those_that_are_there(make_game):
    game = make_game(scenario=parse_scenario(INN), pace=TickPace.of(1000, 500, lockstep=True, controllers=2))
    host = game.control("host")
    game.authority.begin()
    assert not game.authority.ready()
    host.send(ControlIntent(1, Wait()))
    assert game.authority.ready()
    game.finish()
    game.authority.begin()
    host.send(ControlIntent(2, Wait()))
    assert not game.authority.ready()  # the guest has come and has no controller yet
    game.control("guest").send(ControlIntent(2, Wait()))
    assert game.authority.ready()


def test_a_world_in_lockstep_does_not_wait_for_agents_of_actors_that_are_away(make_game):
    text = INN + "  - {id: statue, at: [4, 0]}\n"  # which has no agent, as the guest and the host have
    game = make_game(scenario=parse_scenario(text), pace=TickPace.of(1000, 500, lockstep=True, controllers=2))
    game.authority.begin()
    game.control("host").send(ControlIntent(1, Wait()))
    assert game.authority.ready()


def test_a_world_in_lockstep_does_not_take_an_actor_that_is_away_for_one_with_an_agent(make_game):
    text = INN + "  - {id: cook, at: [4, 0]}\n"
    pace = replace(TickPace.of(1000, 500, lockstep=True, controllers=2), awaited=frozenset(("host", "cook")))
    game = make_game(scenario=parse_scenario(text), pace=pace)  # the guest has no agent, and is away
    game.authority.begin()
    game.control("host").send(ControlIntent(1, Wait()))
    assert not game.authority.ready()
    assert game.authority.missing == 1
    game.control("cook").send(ControlIntent(1, Wait()))
    assert game.authority.ready()


def test_a_world_in_lockstep_goes_on_while_all_that_have_agents_are_away(make_game):
    pace = replace(TickPace.of(1000, 500, lockstep=True), awaited=frozenset(("guest",)))
    game = make_game(scenario=parse_scenario(INN), pace=pace)
    game.authority.begin()
    assert game.authority.ready()
    game.finish()
    game.authority.begin()
    assert not game.authority.ready()  # the guest has come


def test_an_actor_is_granted_from_the_moment_in_which_its_arrival_is_shown(inn):
    inn.authority.begin()
    record = inn.authority.resolve()
    assert inn.authority.acquire(AcquireRequest("guest", "me")) == Closed(Reason.AWAY)  # the tick is not stored yet
    inn.authority.publish(record)
    lease = inn.authority.acquire(AcquireRequest("guest", "me"))
    assert not isinstance(lease, Closed)
    for _ in inn.authority.prepare():
        pass
    inn.tick()
    assert inn.authority.leases.controlled.tolist() == [True, False]


def test_a_snapshot_for_viewers_says_who_is_away(inn):
    snapshot = inn.authority.snapshot(ViewFilter())
    assert snapshot.state.x.tolist() == [-1, 2]
