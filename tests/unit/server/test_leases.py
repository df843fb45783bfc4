"""At most one controller for each actor, whatever happens."""

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.long import short_or_long

from tickmind.base import ManualClock, Secret
from tickmind.protocol import Lease, Reason, Say
from tickmind.server.authority import Authority
from tickmind.server.control.leases import Leases
from tickmind.server.limits import MAX_EXPIRED_LEASES
from tickmind.server.testing import meadow
from tickmind.wire.messages.frames import Closed
from tickmind.wire.messages.requests import SubmitRequest
from tickmind.world import TileWorld

NAMES = ("entity:1", "entity:2", "entity:3")
TTL_S = 10.0
WORLD = TileWorld.from_scenario(meadow(len(NAMES)))


def rows(*numbers):
    return np.array(numbers, dtype=np.int32)


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def leases(clock):
    return Leases(NAMES, clock=clock)


def take(leases, row=0, controller="me", previous=None):
    found = leases.acquire(row, controller, previous)
    assert not isinstance(found, Closed), found
    return found[1]


def take_many(leases, which, controller="host", previous=None):
    found = leases.acquire_many(which, controller, previous)
    assert not isinstance(found, Closed), found
    return found


def test_a_held_entity_is_refused_with_the_time_that_is_left(leases, clock):
    take(leases)
    clock.advance(4)
    assert leases.acquire(0, "other") == Closed(Reason.LEASE_HELD, 6000)


def test_a_lease_lasts_its_whole_time_and_no_longer(leases, clock):
    lease = take(leases)
    clock.advance(TTL_S - 0.001)
    assert leases.check(lease.lease_id, 0) is Reason.NONE
    clock.advance(0.001)
    assert leases.check(lease.lease_id, 0) is Reason.EXPIRED_LEASE
    assert not leases.controlled[0]


def test_renewing_gives_the_whole_time_again(leases, clock):
    lease = take(leases)
    clock.advance(9)
    assert leases.renew(lease.lease_id) == lease
    clock.advance(9)
    assert leases.check(lease.lease_id, 0) is Reason.NONE


def test_an_expired_lease_is_not_renewed(leases, clock):
    lease = take(leases)
    clock.advance(TTL_S)
    assert leases.renew(lease.lease_id) == Closed(Reason.EXPIRED_LEASE)


def test_wall_clock_jumps_of_a_day_change_nothing(leases, clock):
    lease = take(leases)
    for days in (1, -2, 1):
        clock.jump_wall(days * 86_400)
        leases.expire()
        assert leases.check(lease.lease_id, 0) is Reason.NONE
        assert leases.acquire(0, "other") == Closed(Reason.LEASE_HELD, 10_000)


def test_the_same_controller_with_the_secret_takes_its_entity_back_at_once(leases):
    lost = take(leases)
    again = take(leases, previous=lost.lease_id)
    assert again.epoch == lost.epoch + 1
    assert leases.check(again.lease_id, 0) is Reason.NONE
    assert leases.check(lost.lease_id, 0) is Reason.INVALID_LEASE


def test_the_secret_is_no_use_to_another_controller(leases):
    lease = take(leases)
    assert leases.acquire(0, "thief", lease.lease_id) == Closed(Reason.LEASE_HELD, 10_000)


def test_the_name_is_no_use_without_the_secret(leases):
    take(leases)
    assert leases.acquire(0, "me", Secret("x" * 32)) == Closed(Reason.LEASE_HELD, 10_000)


def test_a_lease_gives_control_of_its_own_entity_only(leases):
    lease = take(leases, 0)
    take(leases, 1, "other")
    assert leases.check(lease.lease_id, 1) is Reason.INVALID_LEASE


def test_a_released_lease_is_unknown_and_the_entity_free(leases):
    lease = take(leases)
    assert leases.release(lease.lease_id) is Reason.NONE
    assert leases.release(lease.lease_id) is Reason.INVALID_LEASE
    assert take(leases, controller="other").epoch == lease.epoch + 1


def test_epochs_grow_over_a_restart_without_any_lease_in_the_checkpoint(clock):
    first = Leases(NAMES, clock=clock)
    epochs = [take(first, 0, f"c{n}", None).epoch for n in range(1)]
    for _ in range(5):
        lease = take(first, 1)
        epochs.append(lease.epoch)
        first.release(lease.lease_id)
    second = Leases(NAMES, clock=clock, incarnation=first.incarnation + 1)
    assert take(second, 1).epoch > max(epochs)


def test_a_lease_from_before_a_restart_is_invalid(clock):
    first = Leases(NAMES, clock=clock)
    lease = take(first)
    second = Leases(NAMES, clock=clock, incarnation=2)
    assert second.check(lease.lease_id, 0) is Reason.INVALID_LEASE


def test_a_host_gets_what_is_free_under_one_secret(leases):
    take(leases, 1, "other")
    batch = take_many(leases, rows(0, 1, 2), "host")
    assert batch.granted.tolist() == [0, 2]
    assert batch.refused.tolist() == [1]
    assert [leases.check(batch.lease_id, row) for row in range(3)] == [
        Reason.NONE,
        Reason.INVALID_LEASE,
        Reason.NONE,
    ]


def test_a_host_that_gets_nothing_is_told_when_to_come_back(leases, clock):
    leases.acquire_many(rows(0, 1), "host")
    clock.advance(3)
    assert leases.acquire_many(rows(0, 1), "other") == Closed(Reason.LEASE_HELD, 7000)
    assert leases.acquire_many(rows(), "other") == Closed(Reason.UNKNOWN_ENTITY)


def test_a_host_that_comes_back_with_fewer_actors_gives_the_others_up(clock):
    changes = []
    leases = Leases(NAMES, clock=clock, on_change=lambda which, on: changes.append((which.tolist(), on)))
    first = take_many(leases, rows(0, 1, 2), "host")
    second = take_many(leases, rows(0, 1), "host", first.lease_id)
    assert second.granted.tolist() == [0, 1]
    assert leases.controlled.tolist() == [True, True, False]
    assert changes == [([0, 1, 2], True), ([2], False)]
    assert leases.check(first.lease_id, 2) is Reason.INVALID_LEASE
    assert take(leases, 2, "other")


def test_one_actor_of_a_host_can_be_taken_over_by_a_stream_of_its_own(clock):
    lost = []
    leases = Leases(NAMES, clock=clock, on_lost=lambda grant, which, why: lost.append((which.tolist(), why)))
    batch = take_many(leases, rows(0, 1), "host")
    lease = take(leases, 1, "host", batch.lease_id)
    assert lost == [([1], Reason.INVALID_LEASE)]
    assert leases.check(batch.lease_id, 0) is Reason.NONE
    assert leases.check(batch.lease_id, 1) is Reason.INVALID_LEASE
    assert leases.check(lease.lease_id, 1) is Reason.NONE


def test_the_lease_of_a_host_is_renewed_by_its_stream_alone(leases, clock):
    batch = take_many(leases, rows(0, 1), "host")
    assert leases.renew(batch.lease_id) == Closed(Reason.INVALID_LEASE)
    clock.advance(9)
    assert leases.renew_grant(batch.grant) is Reason.NONE
    clock.advance(9)
    assert leases.controlled.tolist() == [True, True, False]
    clock.advance(1)
    assert leases.renew_grant(batch.grant) is Reason.EXPIRED_LEASE
    assert not leases.controlled.any()


def test_no_secret_is_kept_or_shown(leases):
    lease = take(leases)
    grant = leases.grant_of(lease.lease_id)
    shown = f"{lease!r} {grant!r} {vars(leases)!r}"
    assert lease.lease_id.reveal() not in shown


def test_memory_of_expired_leases_is_bounded(clock):
    leases = Leases(NAMES, clock=clock)
    for _ in range(int(MAX_EXPIRED_LEASES.maximum) + 10):
        take(leases)
        clock.advance(TTL_S)
        leases.expire()
    assert len(leases._expired) == MAX_EXPIRED_LEASES.maximum
    assert len(leases._due) <= 1


class Model(RuleBasedStateMachine):
    """Controllers come, crash, stop, wake up late and replay what they know, while the server restarts now and then."""

    known = Bundle("known")

    @initialize()
    def start(self):
        self.clock = ManualClock()
        self.incarnation = 0
        self.boot()
        self.said = 0
        self.issued = []  # all leases ever given: (lease, row)
        self.holder = {}  # row -> (lease, controller, expires_s), by the rules as they are written
        self.epochs = dict.fromkeys(range(len(NAMES)), 0)

    def boot(self):
        self.incarnation += 1
        self.authority = Authority(WORLD, clock=self.clock, incarnation=self.incarnation)
        self.leases = self.authority.leases
        self.authority.inbox.open(1)
        self.intents = {}  # row -> what whoever has control has said in this tick

    def held(self, row):
        found = self.holder.get(row)
        return found if found and found[2] > self.clock.monotonic() else None

    @rule(target=known, row=st.integers(0, 2), controller=st.sampled_from("ab"), data=st.data())
    def acquire(self, row, controller, data):
        previous = data.draw(st.sampled_from([None, *self.issued[-6:]]))
        secret = previous[0].lease_id if previous else None
        answer = self.leases.acquire(row, controller, secret)
        held = self.held(row)
        entitled = held is None or (secret == held[0].lease_id and controller == held[1])
        if isinstance(answer, Closed):
            assert not entitled
            assert answer.reason is Reason.LEASE_HELD
            return held[0], row
        assert entitled
        if held is None:
            self.intents.pop(row, None)
        lease = answer[1]
        assert lease.epoch > self.epochs[row]
        self.epochs[row] = lease.epoch
        self.holder[row] = (lease, controller, self.clock.monotonic() + TTL_S)
        self.issued.append((lease, row))
        return lease, row

    @rule(which=known)
    def renew(self, which):
        lease, row = which
        held = self.held(row)
        answer = self.leases.renew(lease.lease_id)
        good = held is not None and held[0].lease_id == lease.lease_id
        assert isinstance(answer, Lease) is good
        if good:
            self.holder[row] = (held[0], held[1], self.clock.monotonic() + TTL_S)

    @rule(which=known)
    def release(self, which):
        lease, row = which
        held = self.held(row)
        good = held is not None and held[0].lease_id == lease.lease_id
        assert (self.leases.release(lease.lease_id) is Reason.NONE) is good
        if good:
            del self.holder[row]
            self.intents.pop(row, None)

    @precondition(lambda self: self.issued)
    @rule(data=st.data())
    def submit(self, data):
        lease, row = data.draw(st.sampled_from(self.issued[-2:]))
        held = self.held(row)
        good = held is not None and held[0].lease_id == lease.lease_id and row not in self.intents
        self.said += 1
        request = SubmitRequest(lease.lease_id, NAMES[row], self.authority.inbox.tick_id, Say(str(self.said)))
        assert self.authority.submit(request).accepted is good
        if good:
            self.intents[row] = str(self.said)

    @rule()
    def tick(self):
        self.leases.expire()
        inbox = self.authority.inbox
        said, _ = inbox.close()
        assert said == {row: Say(text) for row, text in self.intents.items() if self.held(row)}
        inbox.open(inbox.tick_id + 1)
        self.intents = {}

    @rule(seconds=st.sampled_from([0.0, 0.001, 3.0, 9.999, 10.0, 60.0]))
    def pass_time(self, seconds):
        self.clock.advance(seconds)

    @rule(days=st.sampled_from([-1, 1]))
    def jump_wall(self, days):
        self.clock.jump_wall(days * 86_400)

    @rule()
    def sweep(self):
        self.leases.expire()

    @precondition(lambda self: self.incarnation < 5)
    @rule()
    def restart(self):
        self.boot()
        self.holder = {}

    @invariant()
    def at_most_one_lease_controls_an_entity_and_it_is_the_right_one(self):
        if not hasattr(self, "leases"):
            return
        for row in range(len(NAMES)):
            valid = [lease for lease, _ in self.issued if self.leases.check(lease.lease_id, row) is Reason.NONE]
            held = self.held(row)
            assert valid == ([held[0]] if held else [])
            assert not valid or valid[0].epoch == self.epochs[row]


Model.TestCase.settings = settings(max_examples=short_or_long(30, 60), stateful_step_count=30, deadline=None)
TestLeases = Model.TestCase
