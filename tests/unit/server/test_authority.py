"""What a world decides, tick by tick, with time in the test's hands."""

from typing import Any

import numpy as np
import pytest

from tickmind.base import Secret
from tickmind.protocol import (
    Ack,
    ActionType,
    ActorStatus,
    AgentState,
    AgentStatus,
    Direction,
    Insight,
    LifecycleKind,
    Move,
    Observation,
    Reason,
    Say,
    Thought,
    ThoughtReport,
    Wait,
)
from tickmind.server.delivery.outbox import Outbox
from tickmind.server.delivery.streams import StreamKind
from tickmind.server.limits import MAX, ServerLimits
from tickmind.server.pace import TickPace
from tickmind.wire import ViewerEventType, ViewFilter, codec, columns
from tickmind.wire.messages.frames import Closed
from tickmind.wire.messages.limits import MAX_DURATION_MS
from tickmind.wire.messages.requests import (
    AcquireRequest,
    EntitiesRequest,
    InsightsRequest,
    ObservationsRequest,
    StatusRequest,
    SubmitRequest,
    ThoughtRequest,
)
from tickmind.wire.v1 import observation_pb2, viewer_pb2
from tickmind.world import parse_scenario


def lease_of(game, entity_id="entity:1", controller="me"):
    lease = game.authority.acquire(AcquireRequest(entity_id, controller))
    assert not isinstance(lease, Closed), lease
    return lease


def submit(game, lease, intent=None, tick_id=None, entity_id=None):
    request = SubmitRequest(
        lease.lease_id, entity_id or lease.entity_id, tick_id or game.world.tick_id, intent or Wait()
    )
    return game.authority.submit(request)


def events_of(stream):
    """What waits for a viewer."""
    found = []
    while (data := stream.outbox.take()) is not None:
        found.append(codec.parse(viewer_pb2.StreamViewerEventsResponse, data).event)
    return found


def viewer(game, view=None):
    stream = game.stream(StreamKind.VIEWER, int(game.limits.viewer_backlog.maximum))
    game.authority.viewers[stream] = view or ViewFilter()
    return stream


def decoded(game, stream):
    return [columns.decode_viewer_event(message, game.authority.bounds) for message in events_of(stream)]


# Ticks


def test_ticks_count_from_one_and_tell_their_times(game):
    event = game.authority.begin()
    assert event.tick_id == 1
    assert event.intent_deadline_server_time_ms - event.tick_start_server_time_ms == 500
    assert event.tick_duration_ms == 1000
    game.finish()
    assert game.authority.begin().tick_id == 2


def test_an_intent_is_what_its_actor_does(game):
    lease = lease_of(game)
    game.authority.begin()
    assert submit(game, lease, Say("hello")) == Ack(True)
    record = game.finish()
    assert [said.text for said in record.utterances] == ["hello"]
    assert [(one.actor_id, one.action_type) for one in record.action_results()] == [("entity:1", ActionType.SAY)]


def test_an_actor_without_an_intent_waits_and_one_without_a_lease_is_uncontrolled(game):
    lease_of(game)
    record = game.tick()
    status = record.actor_state.status_bits
    assert not status[0] & ActorStatus.UNCONTROLLED
    assert (status[1:] & ActorStatus.UNCONTROLLED).all()
    assert record.controlled.tolist() == [True, False, False, False]


@pytest.mark.parametrize("open_tick", [True, False])
def test_every_refusal_has_its_reason(game, open_tick):
    lease, other = lease_of(game), lease_of(game, "entity:2", "other")
    game.authority.begin()
    if not open_tick:
        game.authority.resolve()
    tick_id = 1
    unknown = Secret("z" * 32)
    asked = {
        Reason.UNKNOWN_ENTITY: submit(game, lease, entity_id="entity:99"),
        Reason.INVALID_LEASE: game.authority.submit(SubmitRequest(unknown, "entity:1", tick_id, Wait())),
        Reason.EARLY_TICK: submit(game, lease, tick_id=tick_id + 1),
    }
    if not open_tick:
        asked[Reason.LATE_TICK] = submit(game, lease, tick_id=tick_id)
    assert asked == {reason: Ack(False, reason) for reason in asked}
    assert submit(game, other, entity_id="entity:1", tick_id=tick_id) == Ack(False, Reason.INVALID_LEASE)


def test_an_expired_lease_is_refused_as_expired(game):
    lease = lease_of(game)
    game.authority.begin()
    game.clock.advance(10)
    assert submit(game, lease) == Ack(False, Reason.EXPIRED_LEASE)


def test_the_second_intent_of_a_tick_is_refused(game):
    lease = lease_of(game)
    game.authority.begin()
    assert submit(game, lease, Say("first")).accepted
    assert submit(game, lease, Say("second")) == Ack(False, Reason.DUPLICATE_INTENT)
    assert [said.text for said in game.finish().utterances] == ["first"]
    game.authority.begin()
    assert submit(game, lease, Say("third")).accepted


def test_a_stopped_agent_that_wakes_up_late_can_do_nothing(game):
    stopped = lease_of(game)
    game.tick()
    game.clock.advance(60)
    newer = lease_of(game, controller="other")
    game.authority.begin()
    assert not submit(game, stopped).accepted
    assert submit(game, newer).accepted
    assert newer.epoch > stopped.epoch


def test_a_record_shows_nothing_before_it_is_published(game):
    watching = viewer(game)
    before = game.authority.snapshot(ViewFilter())
    lease = lease_of(game)
    game.authority.begin()
    submit(game, lease, Say("secret"))
    record = game.authority.resolve()
    assert len(watching.outbox) == 0
    assert game.authority.snapshot(ViewFilter()).tick_id == before.tick_id == 0
    game.authority.publish(record)
    assert [said.text for event in decoded(game, watching) for said in event.utterances] == ["secret"]
    assert game.authority.snapshot(ViewFilter()).tick_id == 1


def test_observations_for_a_tick_are_sent_at_its_start_with_the_results_of_the_last(game):
    agent = game.control()
    game.tick()
    agent.read()
    game.authority.begin()
    [seen] = agent.read()
    assert (seen.tick_id, seen.deadline_ms) == (2, 500)
    assert seen.tick_id == game.world.tick_id


def test_in_lockstep_a_tick_is_ready_when_all_controllers_have_answered(make_game):
    game = make_game(pace=TickPace(1.0, 0.5, lockstep=True, controllers=2))
    game.authority.begin()
    first = lease_of(game)
    assert not game.authority.ready()
    assert submit(game, first).accepted
    assert not game.authority.ready(), "one controller is missing"
    second = lease_of(game, "entity:2", "other")
    assert not game.authority.ready()
    assert submit(game, second).accepted
    assert game.authority.ready()


def test_in_lockstep_there_is_no_hurry(make_game):
    game = make_game(pace=TickPace.of(1000, 500, speed=100, lockstep=True))
    agent = game.control()
    event = game.authority.begin()
    seen = agent.read()[-1]
    assert seen.deadline_ms == MAX_DURATION_MS.maximum
    assert event.intent_deadline_server_time_ms - event.tick_start_server_time_ms == MAX_DURATION_MS.maximum


def test_in_lockstep_a_dead_controller_holds_the_world_up_no_longer_than_its_lease(make_game):
    game = make_game(pace=TickPace(1.0, 0.5, lockstep=True))
    alive = lease_of(game)
    lease_of(game, "entity:2", "dead")
    game.authority.begin()
    submit(game, alive)
    game.clock.advance(9)
    game.authority.leases.renew(alive.lease_id)
    assert not game.authority.ready()
    game.clock.advance(1)
    assert game.authority.ready()


def test_in_lockstep_an_agent_that_comes_late_gets_the_open_tick(make_game):
    game = make_game(pace=TickPace(1.0, 0.5, lockstep=True))
    game.authority.begin()
    agent = game.control()
    assert not game.authority.ready()
    assert [type(frame).__name__ for frame in agent.read()] == ["ControlOpened", "Observation"]


def test_a_stopping_world_refuses_everything(game):
    lease = lease_of(game)
    game.authority.begin()
    game.authority.stop()
    assert submit(game, lease) == Ack(False, Reason.STOPPING)
    assert game.authority.acquire(AcquireRequest("entity:2", "me")) == Closed(Reason.STOPPING)


def test_the_same_intents_give_the_same_world(make_game):
    hashes = []
    for _ in range(2):
        game = make_game()
        lease = lease_of(game)
        found = []
        for way in Direction:
            game.authority.begin()
            submit(game, lease, Move(way))
            found.append(game.finish().state_hash)
        hashes.append(found)
    assert hashes[0] == hashes[1]


# Plain streams of observations


def ask_once(game, lease):
    """Ask for the newest observation; where it comes, or will come."""
    outbox: Outbox[bytes] = Outbox(1)
    game.authority.listen(ObservationsRequest(lease.lease_id, lease.entity_id, once=True), outbox)
    return outbox


def observation_in(outbox):
    message = codec.parse(observation_pb2.StreamObservationsResponse, outbox.take() or b"")
    return codec.decode_observation(message.observation)


def test_a_plain_stream_observes_for_its_lease(game):
    lease = lease_of(game)
    outbox: Outbox[bytes] = Outbox(1)
    game.authority.listen(ObservationsRequest(lease.lease_id, "entity:1"), outbox)
    game.authority.begin()
    message = codec.parse(observation_pb2.StreamObservationsResponse, outbox.take() or b"")
    seen = codec.decode_observation(message.observation)
    assert (seen.tick_id, seen.me.entity_id, seen.visible_tiles.floors) == (1, "entity:1", b"")


def test_an_observation_has_the_start_and_the_deadline_of_its_tick(game):
    lease, seat = lease_of(game), game.control("entity:2")
    outbox: Outbox[bytes] = Outbox(1)
    game.authority.listen(ObservationsRequest(lease.lease_id, "entity:1"), outbox)
    for _ in game.authority.prepare():
        pass  # it is written before the tick begins
    game.clock.advance(3)
    event = game.authority.begin()
    seen = observation_in(outbox)
    assert seen.tick_start_server_time_ms == round(game.clock.wall() * 1000)
    assert seen.intent_deadline_server_time_ms == seen.tick_start_server_time_ms + seen.deadline_ms
    (other,) = [frame for frame in seat.read() if isinstance(frame, Observation)]
    assert other.intent_deadline_server_time_ms == event.intent_deadline_server_time_ms


def test_who_asks_for_one_observation_gets_the_newest_and_each_tick_once(game):
    lease = lease_of(game)
    first = ask_once(game, lease)
    game.tick()
    assert observation_in(first).tick_id == 1
    assert first.ended
    for _ in range(5):
        game.tick()
    late, again = ask_once(game, lease), ask_once(game, lease)
    game.authority.begin()
    assert observation_in(late).tick_id == 7
    third = ask_once(game, lease)
    assert third.take() is None, "the lease has had this tick's"
    game.finish()
    game.authority.begin()
    assert observation_in(third).tick_id == 8
    assert observation_in(again).tick_id == 7


def test_who_asks_within_a_tick_is_answered_with_the_time_that_is_left(game):
    lease = lease_of(game)
    event = game.authority.begin()
    game.clock.advance(0.2)
    seen = observation_in(ask_once(game, lease))
    assert (seen.tick_id, seen.deadline_ms) == (1, game.authority.pace.deadline_ms - 200)
    assert seen.tick_start_server_time_ms == event.tick_start_server_time_ms


def test_the_world_states_the_pace_at_which_it_is_served(make_game):
    game = make_game(4, pace=TickPace.of(1000, 500, tps=20))
    assert (game.authority.info.tick_duration_ms, game.authority.info.intent_deadline_ms) == (50, 25)
    game = make_game(4, pace=TickPace(0.25, 0.1, lockstep=True))
    assert game.authority.info == game.world.info


def test_floors_are_for_those_who_want_them(game):
    lease = lease_of(game)
    outbox: Outbox[bytes] = Outbox(1)
    game.authority.listen(ObservationsRequest(lease.lease_id, "entity:1", want_floors=True), outbox)
    game.authority.begin()
    message = codec.parse(observation_pb2.StreamObservationsResponse, outbox.take() or b"")
    assert codec.decode_observation(message.observation).visible_tiles.floors


def test_nobody_observes_without_the_lease(game):
    lease = lease_of(game)
    listen = game.authority.listen
    assert listen(ObservationsRequest(lease.lease_id, "entity:2"), Outbox(1)) is Reason.INVALID_LEASE
    assert listen(ObservationsRequest(lease.lease_id, "nobody"), Outbox(1)) is Reason.UNKNOWN_ENTITY
    assert listen(ObservationsRequest(Secret("y" * 32), "entity:1"), Outbox(1)) is Reason.INVALID_LEASE


def test_a_plain_stream_ends_with_its_lease(game):
    lease = lease_of(game)
    outbox: Outbox[bytes] = Outbox(1)
    game.authority.listen(ObservationsRequest(lease.lease_id, "entity:1"), outbox)
    game.clock.advance(10)
    game.authority.begin()
    assert outbox.ended
    assert outbox.take() is None


# Entities and their lifecycle


def test_entities_come_in_pages_of_ascending_ids(make_game):
    game = make_game(12, limits=ServerLimits(page=MAX.page.at(5)))
    found, after, more = [], "", True
    while more:
        page, more = game.authority.entities(EntitiesRequest(after_entity_id=after))
        assert len(page) <= 5
        found += [entity.entity_id for entity in page]
        after = found[-1]
    assert found == sorted(actor.entity_id for actor in game.world.info.actors)
    assert len(set(found)) == 12


def test_controlled_entities_can_be_left_out(game):
    lease_of(game, "entity:2")
    page, more = game.authority.entities(EntitiesRequest(uncontrolled_only=True))
    assert [entity.entity_id for entity in page] == ["entity:1", "entity:3", "entity:4"]
    assert not more


def test_taking_and_losing_control_are_told_at_once(game):
    stream = game.stream(StreamKind.LIFECYCLE, 10)
    game.authority.lifecycle.follow(stream)
    lease = lease_of(game)
    game.clock.advance(10)
    game.authority.leases.expire()
    told = [stream.outbox.take(), stream.outbox.take()]
    assert [(one.kind, one.rows.tolist()) for one in told] == [
        (LifecycleKind.CONTROLLED, [0]),
        (LifecycleKind.UNCONTROLLED, [0]),
    ]
    assert lease.entity_id == next(told[0].events(game.world.info.actors)).entity.entity_id


def test_a_reader_of_the_lifecycle_that_can_not_keep_up_is_cut_off(game):
    stream = game.stream(StreamKind.LIFECYCLE, 2)
    game.authority.lifecycle.follow(stream)
    for _ in range(3):
        game.authority.leases.release(lease_of(game).lease_id)
    assert "keep up" in stream.cut_off


def test_what_is_present_is_told_as_if_it_had_just_happened(game):
    lease_of(game, "entity:3")
    spawned, controlled = game.authority.present()
    assert spawned.rows.tolist() == [0, 1, 2, 3]
    assert controlled.rows.tolist() == [2]


# Reports


def report(lease, text="because"):
    return ThoughtRequest(lease.lease_id, ThoughtReport(lease.entity_id, 1, Thought(1, 1, 2, "role", "where?", text)))


def test_thoughts_and_statuses_reach_the_sink_at_once_and_viewers_with_the_tick(make_game):
    kept = []

    class Keeper:
        def thought(self, found):
            kept.append(found)

        def status(self, found):
            kept.append(found)

        def insight(self, found):
            kept.append(found)

    game = make_game(reports=Keeper())
    lease = lease_of(game)
    watching = viewer(game)
    status = AgentStatus("entity:1", 1, AgentState.RUNNING)
    assert game.authority.report_thought(report(lease)) == Ack(True)
    assert game.authority.report_status(StatusRequest(lease.lease_id, status)) == Ack(True)
    assert [type(one).__name__ for one in kept] == ["ThoughtReport", "AgentStatus"]
    game.tick()
    [event] = decoded(game, watching)
    assert [one.thought.reply for one in event.thoughts] == ["because"]
    assert event.statuses == (status,)


def test_a_thought_that_comes_while_a_tick_is_being_kept_is_shown_with_the_next_one(game):
    lease, watching = lease_of(game), viewer(game)
    game.authority.begin()
    record = game.authority.resolve()
    assert game.authority.report_thought(report(lease)) == Ack(True)
    game.authority.publish(record)
    game.tick()
    assert [len(event.thoughts) for event in decoded(game, watching)] == [0, 1]


def test_an_insight_is_taken_once_for_a_tick_and_shown_with_it(make_game):
    game = make_game()
    lease, watching = lease_of(game), viewer(game)
    one, other = Insight("entity:1", 1, gone_keys=("a",)), Insight("entity:1", 2)
    assert game.authority.report_insights(InsightsRequest(lease.lease_id, (one, other))) == Ack(True)
    again = game.authority.report_insights(InsightsRequest(lease.lease_id, (one,)))
    assert again == Ack(False, Reason.OVERLOADED)
    game.tick()
    [event] = decoded(game, watching)
    assert event.insights == (one, other)


def test_nobody_reports_for_others(game):
    lease = lease_of(game)
    other = lease_of(game, "entity:2", "other")
    mixed = InsightsRequest(other.lease_id, (Insight("entity:1", 1), Insight("entity:2", 1)))
    assert game.authority.report_insights(mixed) == Ack(False, Reason.INVALID_LEASE)
    assert [one.entity_id for one in game.authority.reports.take().insights] == ["entity:2"]
    forged = ThoughtRequest(other.lease_id, report(lease).report)
    assert game.authority.report_thought(forged) == Ack(False, Reason.INVALID_LEASE)


def test_reports_are_bounded_in_number_and_size(make_game):
    limits = ServerLimits(
        reports_per_tick=MAX.reports_per_tick.at(3), report_chars_per_tick=MAX.report_chars_per_tick.at(100)
    )
    game = make_game(limits=limits)
    lease = lease_of(game)
    assert game.authority.report_thought(report(lease, "x" * 101)) == Ack(False, Reason.OVERLOADED)
    acks = [game.authority.report_thought(report(lease)).accepted for _ in range(5)]
    assert acks == [True, True, True, False, False]
    game.tick()
    assert game.authority.report_thought(report(lease)).accepted


def test_all_texts_of_a_report_count(make_game):
    game = make_game(limits=ServerLimits(report_chars_per_tick=MAX.report_chars_per_tick.at(300)))
    lease = lease_of(game)
    for name in ("directives", "error", "client", "model", "provider", "error_type"):
        texts: dict[str, Any] = {name: {"a": ["x" * 300]} if name == "directives" else "x" * 300}
        thought = Thought(1, 1, 2, "role", "where?", **texts)
        request = ThoughtRequest(lease.lease_id, ThoughtReport(lease.entity_id, 1, thought))
        assert game.authority.report_thought(request) == Ack(False, Reason.OVERLOADED), name
    status = AgentStatus("entity:1", 1, AgentState.RUNNING, "x" * 200)
    acks = [game.authority.report_status(StatusRequest(lease.lease_id, status)).accepted for _ in range(2)]
    assert acks == [True, False]


# Statistics


def test_statistics_tell_what_happened(game):
    lease = lease_of(game)
    game.authority.begin()
    submit(game, lease)
    submit(game, lease)
    submit(game, lease, tick_id=99)
    game.finish()
    stats = game.authority.statistics()
    assert (stats.ticks, stats.actors, stats.controlled, stats.accepted) == (1, 4, 1, 1)
    assert stats.refused == {Reason.DUPLICATE_INTENT: 1, Reason.EARLY_TICK: 1}
    assert stats.late_intents == 0


def test_viewers_get_only_the_types_they_ask_for(game):
    lease = lease_of(game)
    words = viewer(game, ViewFilter(types=(ViewerEventType.UTTERANCE,)))
    deeds = viewer(game, ViewFilter(types=(ViewerEventType.RESULT,)))
    game.authority.begin()
    submit(game, lease, Say("hi"))
    game.finish()
    [said], [done] = decoded(game, words), decoded(game, deeds)
    assert (len(said.utterances), len(said.results), len(said.actor)) == (1, 0, 0)
    assert (len(done.utterances), len(done.results), len(done.actor)) == (0, 1, 0)


def test_a_viewer_that_can_not_keep_up_is_cut_off(make_game):
    game = make_game(limits=ServerLimits(viewer_backlog=MAX.viewer_backlog.at(2)))
    slow = viewer(game)
    for _ in range(3):
        game.tick()
    assert "keep up" in slow.cut_off
    assert len(slow.outbox) == 0


def test_controlled_rows_of_a_record_are_not_written_to_later(game):
    lease = lease_of(game)
    record = game.tick()
    game.authority.leases.release(lease.lease_id)
    assert record.controlled.tolist() == [True, False, False, False]
    assert np.array_equal(game.authority.leases.controlled, [False] * 4)


def test_a_controller_gets_the_goals_that_are_for_its_entity(make_game):
    text = """\
world: cell
floors: {stone: {}}
map: {width: 5, height: 1, floor: stone}
zones: {outside: {within: [0, 0, 1, 0]}}
actors: [{id: ada, type: prisoner, at: [3, 0]}, {id: bo, type: guard, at: [4, 0]}]
goals: {out: {who: {type: prisoner}, all_in: outside}}
"""
    game = make_game(scenario=parse_scenario(text))
    (ada,), (bo,) = game.control("ada").read(), game.control("bo").read()
    assert [goal.name for goal in ada.run.goals["ada"]] == ["out"]
    assert bo.run.goals == {}
