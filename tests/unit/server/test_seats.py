"""Control streams, frame by frame."""

import numpy as np
import pytest

from tickmind.protocol import ACTION_CODES as CODES
from tickmind.protocol import (
    REASONS,
    UNUSED,
    ActionType,
    Direction,
    IntentColumns,
    Move,
    Observation,
    Reason,
    Say,
    Wait,
)
from tickmind.server.limits import MAX, ServerLimits
from tickmind.server.seats import WORN_OUT
from tickmind.wire import MessageError
from tickmind.wire.messages.frames import (
    AckBatch,
    BatchOpened,
    Closed,
    ControlAck,
    ControlIntent,
    ControlOpen,
    ControlOpened,
    IntentBatch,
    KeepAlive,
    LeasesLost,
    ObservationBatch,
    Release,
)
from tickmind.wire.messages.requests import AcquireRequest
from tickmind.wire.v1 import action_pb2, control_pb2
from tickmind.world import parse_scenario

NOBODY = np.empty(0, np.int32), np.empty(0, np.uint8)


def kinds(frames):
    return [type(frame).__name__ for frame in frames]


def moves(rows, direction=Direction.N):
    rows = np.array(rows, dtype=np.int32)
    unused = np.full(len(rows), UNUSED, dtype=np.int32)
    action = np.full(len(rows), CODES[ActionType.MOVE], dtype=np.uint8)
    return IntentColumns(rows, action, np.full(len(rows), direction, dtype=np.int8), unused, unused, unused, {})


def test_the_first_frame_down_is_the_lease(game):
    [opened] = game.control("entity:2").read()
    assert isinstance(opened, ControlOpened)
    assert (opened.lease.entity_id, opened.lease.ttl_ms) == ("entity:2", 10_000)


@pytest.mark.parametrize(("floor", "sent"), [("sand: {step_ticks: 2}", True), ("sea: {walkable: false}", False)])
def test_floors_are_sent_where_ways_depend_on_them(make_game, floor, sent):
    text = f"world: w\nfloors: {{{floor}, grass: {{}}}}\nmap: {{width: 3, height: 3, floor: grass}}\n"
    game = make_game(scenario=parse_scenario(text + "actors: [{id: ada, at: [1, 1]}]\n"))
    agent = game.control("ada")
    game.authority.begin()
    opened, observation = agent.read()
    assert opened.run.floors == (game.world.info.floors if sent else ())
    assert bool(observation.visible_tiles.floors) is sent


@pytest.mark.parametrize(("entity_id", "reason"), [("entity:1", Reason.LEASE_HELD), ("nobody", Reason.UNKNOWN_ENTITY)])
def test_a_refusal_is_the_first_and_last_frame(game, entity_id, reason):
    game.authority.acquire(AcquireRequest("entity:1", "other"))
    agent = game.control(entity_id)
    [closed] = agent.read()
    assert agent.seat is None
    assert closed.reason is reason
    assert (closed.retry_after_ms > 0) is (reason is Reason.LEASE_HELD)
    assert agent.stream.outbox.ended


def test_each_intent_is_answered_by_one_ack_in_order(game):
    agent = game.control()
    game.authority.begin()
    agent.read()
    agent.send(ControlIntent(1, Say("a")))
    agent.send(ControlIntent(1, Wait()))
    agent.send(ControlIntent(2, Wait()))
    acks = agent.read()
    assert [(one.tick_id, one.ack.reason) for one in acks] == [
        (1, Reason.NONE),
        (1, Reason.DUPLICATE_INTENT),
        (2, Reason.EARLY_TICK),
    ]


def test_every_frame_keeps_the_lease_alive(game):
    agent = game.control()
    for frame in (KeepAlive(), ControlIntent(1, Wait()), KeepAlive()):
        game.clock.advance(9)
        agent.send(frame)
    game.authority.leases.expire()
    assert game.authority.leases.controlled[0]


def test_an_open_stream_alone_keeps_nothing_alive(game):
    agent = game.control()
    game.clock.advance(10)
    game.authority.begin()
    assert agent.read()[-1] == Closed(Reason.EXPIRED_LEASE)
    assert agent.stream.outbox.ended
    assert not game.authority.leases.controlled[0]


def test_a_frame_after_the_lease_ran_out_brings_nothing_back(game):
    agent = game.control()
    game.authority.begin()
    agent.read()
    game.clock.advance(10)
    agent.send(ControlIntent(1, Say("too late")))
    assert agent.read() == [Closed(Reason.EXPIRED_LEASE)]
    assert game.finish().utterances == ()


def test_release_gives_control_up_at_once(game):
    agent = game.control()
    agent.read()
    agent.send(Release())
    assert agent.read() == [Closed()]
    assert isinstance(game.control(controller="other").read()[0], ControlOpened)


def test_a_stream_that_breaks_leaves_the_lease_to_run_out(game):
    agent = game.control()
    [opened] = agent.read()
    agent.seat.leave()
    assert game.control(controller="other").read()[0].reason is Reason.LEASE_HELD
    [again] = game.control(previous=opened.lease.lease_id).read()
    assert again.lease.epoch == opened.lease.epoch + 1


def test_a_newer_stream_of_the_same_controller_replaces_the_older(game):
    older = game.control()
    [opened] = older.read()
    newer = game.control(previous=opened.lease.lease_id)
    assert older.read() == [Closed(Reason.INVALID_LEASE)]
    game.authority.begin()
    assert kinds(newer.read()) == ["ControlOpened", "Observation"]
    assert older.read() == []


def test_only_the_newest_observation_waits_for_a_slow_agent(game):
    agent = game.control()
    for _ in range(5):
        game.tick()
        agent.send(KeepAlive())
    frames = agent.read()
    assert kinds(frames) == ["ControlOpened", "Observation"]
    assert isinstance(frames[1], Observation)
    assert frames[1].tick_id == 5


def test_a_malformed_intent_is_an_ack_and_the_stream_goes_on(game):
    agent = game.control()
    game.authority.begin()
    agent.read()
    intent = action_pb2.Intent(say=action_pb2.Say(text="x" * 501))
    for broken in (intent, action_pb2.Intent(), action_pb2.Intent(move=action_pb2.Move())):
        frame = control_pb2.ControlRequest(intent=control_pb2.ControlIntent(tick_id=1, intent=broken))
        agent.seat.take(frame.SerializeToString())
    agent.send(ControlIntent(1, Wait()))
    assert [frame.ack.reason for frame in agent.read()] == [
        Reason.TEXT_TOO_LONG,
        Reason.ILLEGAL_ACTION,
        Reason.ILLEGAL_ACTION,
        Reason.NONE,
    ]


@pytest.mark.parametrize("data", [b"\xff\xff\xff", b""])
def test_a_frame_that_can_not_be_read_ends_the_stream(game, data):
    agent = game.control()
    with pytest.raises(MessageError):
        agent.seat.take(data)


def test_a_stream_opens_once(game):
    agent = game.control()
    with pytest.raises(MessageError, match="first frame"):
        agent.send(ControlOpen("entity:2", "me"))


def test_too_many_frames_in_a_tick_are_refused_and_then_end_the_stream(make_game):
    game = make_game(limits=ServerLimits(frames_per_tick=MAX.frames_per_tick.at(3)))
    agent = game.control()
    game.authority.begin()
    agent.read()
    for _ in range(3 * WORN_OUT + 1):
        agent.send(ControlIntent(1, Wait()))
    frames = agent.read()
    reasons = [frame.ack.reason for frame in frames if isinstance(frame, ControlAck)]
    assert reasons[:4] == [Reason.NONE, Reason.DUPLICATE_INTENT, Reason.DUPLICATE_INTENT, Reason.OVERLOADED]
    assert frames[-1] == Closed(Reason.OVERLOADED)


def test_an_agent_that_sends_but_never_reads_is_cut_off(make_game):
    game = make_game(limits=ServerLimits(unanswered=MAX.unanswered.at(4)))
    agent = game.control()
    game.authority.begin()
    for _ in range(5):
        agent.send(ControlIntent(1, Wait()))
    assert "not read" in agent.stream.cut_off
    assert len(agent.stream.outbox) == 0


def test_a_stopping_world_says_so(game):
    agent = game.control()
    agent.read()
    game.authority.stop()
    assert agent.read() == [Closed(Reason.STOPPING)]


# Hosts of many


def test_a_host_gets_its_actors_and_their_observations(game):
    host = game.host(np.array([0, 2, 3], dtype=np.int32))
    game.authority.begin()
    opened, part = host.read()
    assert isinstance(opened, BatchOpened)
    assert isinstance(part, ObservationBatch)
    assert opened.granted.tolist() == part.observations.actor.tolist() == [0, 2, 3]
    assert (part.part, part.parts, part.observations.tick_id) == (0, 1, 1)


def test_observations_of_a_host_come_in_parts(make_game):
    game = make_game(10, limits=ServerLimits(actors_per_part=MAX.actors_per_part.at(4)))
    hosts = [game.host(np.array(rows, dtype=np.int32), f"host:{rows[0]}") for rows in ([1, 3, 5, 7, 9], [0, 2, 4])]
    game.tick()
    for host in hosts:
        host.read()
    game.authority.begin()
    parts = [host.read() for host in hosts]
    assert [[part.observations.actor.tolist() for part in found] for found in parts] == [
        [[1, 3, 5, 7], [9]],
        [[0, 2, 4]],
    ]
    whole = game.world.observe_columns(np.arange(10, dtype=np.int32))
    for part in [part for found in parts for part in found]:
        seen = part.observations
        for place, row in enumerate(seen.actor.tolist()):
            expected = whole.entity[whole.entity_offset[row] : whole.entity_offset[row + 1]]
            assert seen.entity[seen.entity_offset[place] : seen.entity_offset[place + 1]].tolist() == expected.tolist()
            assert seen.visible[place].tolist() == whole.visible[row].tolist()


def test_a_host_hears_in_each_part_what_its_actors_hear(make_game):
    game = make_game(6, limits=ServerLimits(actors_per_part=MAX.actors_per_part.at(1)))
    host = game.host(np.arange(6, dtype=np.int32))
    game.authority.begin()
    rows = np.arange(6, dtype=np.int32)
    unused = np.full(6, UNUSED, dtype=np.int32)
    action = np.full(6, CODES[ActionType.SAY], dtype=np.uint8)
    texts = {row: ("local", f"I am {row}") for row in range(6)}
    speech = IntentColumns(rows, action, unused.astype(np.int8), unused, unused, unused, texts)
    host.send(IntentBatch(1, speech, *NOBODY))
    game.finish()
    host.read()
    game.authority.begin()
    whole = game.world.observe_columns(rows)
    parts = host.read()
    assert len(parts) == 6
    for row, part in enumerate(parts):
        seen = part.observations
        places = whole.heard[whole.heard_offset[row] : whole.heard_offset[row + 1]]
        assert [seen.utterances[at].text for at in seen.heard] == [whole.utterances[at].text for at in places]
        assert len(seen.utterances) == len(places)


def test_a_batch_of_intents_is_answered_by_one_ack(game):
    host = game.host(np.array([0, 1], dtype=np.int32))
    game.authority.begin()
    host.read()
    host.send(IntentBatch(1, moves([0, 1, 2]), *NOBODY))
    host.send(IntentBatch(1, moves([1]), *NOBODY))
    host.send(IntentBatch(7, moves([0, 1]), *NOBODY))
    acks = host.read()
    assert all(isinstance(ack, AckBatch) for ack in acks)
    told = [
        (ack.accepted, dict(zip(ack.refused.tolist(), [REASONS[code] for code in ack.refused_reason], strict=True)))
        for ack in acks
    ]
    assert told == [
        (2, {2: Reason.INVALID_LEASE}),
        (0, {1: Reason.DUPLICATE_INTENT}),
        (0, {0: Reason.EARLY_TICK, 1: Reason.EARLY_TICK}),
    ]
    assert [one.actor_id for one in game.finish().action_results()] == ["entity:1", "entity:2"]


def test_hosts_and_agents_share_one_tick(game):
    host = game.host(np.array([2, 3], dtype=np.int32))
    agent = game.control("entity:1")
    game.authority.begin()
    host.send(IntentBatch(1, moves([2, 3]), *NOBODY))
    agent.send(ControlIntent(1, Move(Direction.S)))
    assert [one.actor_id for one in game.finish().action_results()] == ["entity:1", "entity:3", "entity:4"]


def test_what_a_former_controller_asked_for_is_not_done_under_the_next(game):
    agent, host = game.control("entity:1", "former"), game.host(np.array([1, 2], dtype=np.int32))
    game.authority.begin()
    agent.send(ControlIntent(1, Say("from the former")))
    host.send(IntentBatch(1, moves([1, 2]), *NOBODY))
    for former in (agent, host):
        former.send(Release())
    for entity_id in ("entity:1", "entity:2"):
        newer = game.control(entity_id, "newer")
        newer.send(ControlIntent(1, Say(f"by {entity_id}")))
        assert newer.read()[-1].ack.accepted
    record = game.finish()
    assert [said.text for said in record.utterances] == ["by entity:1", "by entity:2"]
    assert [one.actor_id for one in record.action_results()] == ["entity:1", "entity:2"]


def test_an_actor_whose_lease_ran_out_does_nothing_more(game):
    agent = game.control()
    game.authority.begin()
    agent.send(ControlIntent(1, Say("too late")))
    game.clock.advance(10)
    assert game.finish().utterances == ()


def test_a_host_is_told_which_actors_it_lost(game):
    host = game.host(np.array([0, 1, 2], dtype=np.int32))
    [opened] = host.read()
    game.control("entity:2", "host", opened.lease_id)
    [lost] = host.read()
    assert isinstance(lost, LeasesLost)
    assert (lost.actor.tolist(), REASONS[lost.reason[0]]) == ([1], Reason.INVALID_LEASE)
    game.authority.begin()
    [part] = host.read()
    assert part.observations.actor.tolist() == [0, 2]


def test_a_host_that_is_silent_for_too_long_loses_all(game):
    host = game.host(np.array([0, 1], dtype=np.int32))
    host.read()
    game.clock.advance(10)
    game.authority.begin()
    assert host.read() == [Closed(Reason.EXPIRED_LEASE)]
    assert not game.authority.leases.controlled.any()


def test_a_host_that_releases_gives_all_up(game):
    host = game.host(np.array([0, 1], dtype=np.int32))
    host.read()
    host.send(Release())
    assert host.read() == [Closed()]
    assert not game.authority.leases.controlled.any()


def test_a_host_can_take_its_actors_back_at_once(game):
    host = game.host(np.array([0, 1], dtype=np.int32))
    [opened] = host.read()
    host.seat.leave()
    again = game.host(np.array([0, 1], dtype=np.int32), previous=opened.lease_id)
    [reopened] = again.read()
    assert (reopened.epoch == opened.epoch + 1).all()
    other = game.host(np.array([0], dtype=np.int32), "other")
    assert other.read()[0].reason is Reason.LEASE_HELD
