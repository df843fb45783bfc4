"""A person borrows an actor from its agent, and the agent has it back when the person leaves."""

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.long import short_or_long

from tickmind.base import ManualClock, Secret
from tickmind.protocol import ActionType, ActorStatus, Direction, Move, Reason, Say
from tickmind.server.authority import Authority
from tickmind.server.control.leases import Leases
from tickmind.server.delivery.streams import StreamKind
from tickmind.server.seats import ControlSeat
from tickmind.server.testing import meadow
from tickmind.wire import MessageError, ViewFilter
from tickmind.wire.messages.frames import (
    AckBatch,
    Closed,
    ControlAck,
    ControlIntent,
    ControlOpen,
    ControlOpened,
    IntentBatch,
    Release,
)
from tickmind.wire.messages.requests import SubmitRequest
from tickmind.world import TileWorld

NAMES = ("entity:1", "entity:2", "entity:3")
TTL_S = 10.0
WORLD = TileWorld.from_scenario(meadow(len(NAMES)))


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def leases(clock):
    return Leases(NAMES, clock=clock)


def granted(answer):
    assert not isinstance(answer, Closed), answer
    return answer[1]


def test_the_agent_keeps_its_lease_and_decides_nothing(leases):
    agent = granted(leases.acquire(0, "agent"))
    person = granted(leases.borrow(0, "person:Ada"))
    assert person.epoch == agent.epoch + 1
    assert leases.check(agent.lease_id, 0) is Reason.NONE
    assert leases.may_act(agent.lease_id, 0) is Reason.PLAYED
    assert leases.may_act(person.lease_id, 0) is Reason.NONE
    assert leases.may_act(person.lease_id, 1) is Reason.INVALID_LEASE


def test_the_agent_decides_again_when_the_person_leaves(leases):
    agent = granted(leases.acquire(0, "agent"))
    person = granted(leases.borrow(0, "person:Ada"))
    assert leases.release(person.lease_id) is Reason.NONE
    assert leases.may_act(agent.lease_id, 0) is Reason.NONE
    assert not leases.played.any()


def test_a_person_who_says_nothing_more_loses_the_actor_after_the_lease(leases, clock):
    agent = granted(leases.acquire(0, "agent"))
    person = granted(leases.borrow(0, "person:Ada"))
    clock.advance(TTL_S / 2)
    leases.renew(agent.lease_id)
    clock.advance(TTL_S / 2)
    leases.expire()
    assert leases.may_act(person.lease_id, 0) is Reason.EXPIRED_LEASE
    assert leases.may_act(agent.lease_id, 0) is Reason.NONE
    assert leases.controlled[0]


def test_a_second_person_is_refused_with_the_time_that_is_left(leases, clock):
    granted(leases.borrow(0, "person:Ada"))
    clock.advance(4)
    assert leases.borrow(0, "person:Bo") == Closed(Reason.PLAYED, 6000)
    assert leases.borrow(0, "person:Ada") == Closed(Reason.PLAYED, 6000)
    assert granted(leases.borrow(1, "person:Bo"))


def test_a_person_comes_back_with_the_secret(leases):
    first = granted(leases.borrow(0, "person:Ada"))
    second = granted(leases.borrow(0, "person:Ada", first.lease_id))
    assert second.epoch == first.epoch + 1
    assert leases.may_act(first.lease_id, 0) is Reason.INVALID_LEASE
    assert leases.may_act(second.lease_id, 0) is Reason.NONE


def test_no_secret_of_an_agent_takes_an_actor_from_a_person_nor_the_other_way_round(leases):
    agent = granted(leases.acquire(0, "me"))
    person = granted(leases.borrow(0, "me"))
    assert leases.borrow(0, "me", agent.lease_id) == Closed(Reason.PLAYED, 10_000)
    assert leases.acquire(0, "me", person.lease_id) == Closed(Reason.LEASE_HELD, 10_000)


def test_control_begins_and_ends_once_whoever_comes_and_goes(clock):
    changes = []
    leases = Leases(NAMES, clock=clock, on_change=lambda which, on: changes.append((which.tolist(), on)))
    person = granted(leases.borrow(0, "person:Ada"))
    agent = granted(leases.acquire(0, "agent"))
    leases.release(person.lease_id)
    person = granted(leases.borrow(0, "person:Ada"))
    leases.release(agent.lease_id)
    assert changes == [([0], True)]
    leases.release(person.lease_id)
    assert changes == [([0], True), ([0], False)]


def test_an_agent_that_starts_meanwhile_waits_for_the_person_to_leave(leases):
    person = granted(leases.borrow(0, "person:Ada"))
    agent = granted(leases.acquire(0, "agent"))
    assert leases.may_act(agent.lease_id, 0) is Reason.PLAYED
    leases.release(person.lease_id)
    assert leases.may_act(agent.lease_id, 0) is Reason.NONE


def test_whoever_leaves_the_world_is_lost_to_both(leases):
    agent = granted(leases.acquire(0, "agent"))
    person = granted(leases.borrow(0, "person:Ada"))
    leases.take_back(np.array([0], dtype=np.int32), Reason.AWAY)
    assert not leases.controlled[0]
    assert leases.check(agent.lease_id, 0) is Reason.INVALID_LEASE
    assert leases.check(person.lease_id, 0) is Reason.INVALID_LEASE


def borrow(game, entity_id="entity:1", name="person:Ada", previous=None):
    stream = game.stream(StreamKind.CONTROL)
    opening = ControlOpen(entity_id, name, previous, play=True)
    return type(game.control("entity:4"))(ControlSeat.open(game.authority, opening, stream, may_play=True), stream)


def test_the_streams_of_both_stay_and_only_the_persons_intents_count(game):
    agent = game.control()
    agent.read()
    person = borrow(game)
    assert isinstance(person.read()[0], ControlOpened)
    game.authority.begin()
    agent.send(ControlIntent(1, Say("I am the agent")))
    person.send(ControlIntent(1, Say("I am Ada")))
    acks = [frame for frame in agent.read() if isinstance(frame, ControlAck)]
    assert [one.ack.reason for one in acks] == [Reason.PLAYED]
    record = game.finish()
    assert [said.text for said in record.utterances] == ["I am Ada"]
    person.send(Release())
    game.authority.begin()
    agent.send(ControlIntent(2, Say("I am back")))
    assert [said.text for said in game.finish().utterances] == ["I am back"]


def test_the_agent_perceives_what_the_person_did_as_its_own_deed(game):
    agent = game.control()
    person = borrow(game)
    game.authority.begin()
    person.send(ControlIntent(1, Move(Direction.E)))
    game.finish()
    agent.read()
    game.authority.begin()
    observation = agent.read()[-1]
    assert observation.result.ok
    assert observation.result.action_type is ActionType.MOVE
    assert observation.me.status is ActorStatus.AWAKE


def test_an_intent_of_the_agent_from_before_does_not_count(game):
    agent = game.control()
    game.authority.begin()
    agent.send(ControlIntent(1, Say("I go on")))
    person = borrow(game)
    person.send(ControlIntent(1, Say("stop")))
    assert [said.text for said in game.finish().utterances] == ["stop"]


def test_a_host_has_the_intents_of_played_actors_refused(game):
    host = game.host(np.array([0, 1], dtype=np.int32))
    borrow(game)
    game.authority.begin()
    host.read()
    intents = game.world.compile({0: Say("no"), 1: Say("yes")})
    host.send(IntentBatch(1, intents, np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.uint8)))
    acks = [frame for frame in host.read() if isinstance(frame, AckBatch)]
    assert [(one.accepted, one.refused.tolist()) for one in acks] == [(1, [0])]
    assert [said.text for said in game.finish().utterances] == ["yes"]


def test_the_record_and_viewers_know_which_ticks_a_person_played(game):
    game.control()
    before = game.tick()
    person = borrow(game)
    during = game.tick()
    shown = game.authority.snapshot(ViewFilter()).state.status_bits
    person.send(Release())
    after = game.tick()
    played = int(ActorStatus.PLAYED)
    assert [int(one.actor_state.status_bits[0]) & played for one in (before, during, after)] == [0, played, 0]
    assert int(shown[0]) & played


def test_to_play_takes_the_right_to_do_so(game):
    opening = ControlOpen("entity:1", "person:Ada", play=True)
    with pytest.raises(MessageError, match="only an operator"):
        ControlSeat.open(game.authority, opening, game.stream())


class Model(RuleBasedStateMachine):
    """An agent and two persons open, leave, fall silent and come back in any order."""

    @initialize()
    def start(self):
        self.clock = ManualClock()
        self.authority = Authority(WORLD, clock=self.clock)
        self.leases = self.authority.leases
        self.authority.inbox.open(1)
        self.agent = self.person = None  # the lease and until when it lasts
        self.epoch = 0
        self.issued = []

    def holds(self, one):
        return one is not None and one[1] > self.clock.monotonic()

    def note(self, answer):
        lease = granted(answer)
        assert lease.epoch > self.epoch
        self.epoch = lease.epoch
        self.issued.append(lease)
        return lease, self.clock.monotonic() + TTL_S

    @rule()
    def agent_comes(self):
        answer = self.leases.acquire(0, "agent", self.agent[0].lease_id if self.agent else None)
        self.agent = self.note(answer)

    @rule(who=st.sampled_from("ab"), knows=st.booleans())
    def person_comes(self, who, knows):
        secret = self.person[0].lease_id if self.person and knows else Secret("x" * 32)
        answer = self.leases.borrow(0, who, secret)
        if self.person and self.holds(self.person) and not (knows and who == self.person[0].controller_id):
            assert isinstance(answer, Closed)
            assert answer.reason is Reason.PLAYED
        else:
            self.person = self.note(answer)

    @rule()
    def person_leaves(self):
        if self.person:
            assert (self.leases.release(self.person[0].lease_id) is Reason.NONE) is self.holds(self.person)
            self.person = None

    @rule()
    def agent_leaves(self):
        if self.agent:
            assert (self.leases.release(self.agent[0].lease_id) is Reason.NONE) is self.holds(self.agent)
            self.agent = None

    @rule()
    def agent_shows_life(self):
        if self.agent and self.holds(self.agent):
            self.leases.renew(self.agent[0].lease_id)
            self.agent = self.agent[0], self.clock.monotonic() + TTL_S

    @rule(seconds=st.sampled_from([0.5, 4.0, 9.999, 10.0]))
    def pass_time(self, seconds):
        self.clock.advance(seconds)

    @rule()
    def sweep(self):
        self.leases.expire()

    @invariant()
    def at_most_one_decides_and_it_is_the_person_if_there_is_one(self):
        if not hasattr(self, "leases"):
            return
        self.leases.expire()
        deciding = [one for one in self.issued if self.leases.may_act(one.lease_id, 0) is Reason.NONE]
        expected = [one[0] for one in (self.person, self.agent) if one and self.holds(one)][:1]
        assert deciding == expected
        assert bool(self.leases.controlled[0]) is bool(expected)
        assert bool(self.leases.played[0]) is self.holds(self.person)

    @rule(text=st.sampled_from(["one", "two"]))
    def all_speak_and_one_is_heard(self, text):
        inbox = self.authority.inbox
        accepted = [
            one
            for one in self.issued[-6:]
            if self.authority.submit(SubmitRequest(one.lease_id, NAMES[0], inbox.tick_id, Say(text))).accepted
        ]
        assert len(accepted) <= 1
        inbox.open(inbox.tick_id + 1)


Model.TestCase.settings = settings(max_examples=short_or_long(25, 100), stateful_step_count=25, deadline=None)
TestBorrowing = Model.TestCase
