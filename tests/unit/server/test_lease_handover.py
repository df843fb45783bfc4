"""What a lease that went over to another one, or was given up, is still worth: nothing, at once and for good."""

import numpy as np
import pytest

from tickmind.base import ManualClock
from tickmind.protocol import Lease, Reason
from tickmind.server.control.leases import Leases
from tickmind.wire.messages.frames import Closed

NAMES = ("entity:1", "entity:2", "entity:3")


def rows(*numbers):
    return np.array(numbers, dtype=np.int32)


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def lost():
    return []


@pytest.fixture
def leases(clock, lost):
    return Leases(NAMES, clock=clock, on_lost=lambda grant, which, why: lost.append((which.tolist(), why)))


def take(leases, row=0, controller="me", previous=None):
    found = leases.acquire(row, controller, previous)
    assert not isinstance(found, Closed), found
    return found


def take_many(leases, which, previous=None):
    found = leases.acquire_many(which, "host", previous)
    assert not isinstance(found, Closed), found
    return found


def test_a_lease_that_was_taken_back_leaves_nothing_of_the_one_before(leases, lost):
    grant, first = take(leases)
    _, second = take(leases, previous=first.lease_id)
    assert (len(leases), grant.ended) == (1, Reason.INVALID_LEASE)
    assert leases.check(first.lease_id, 0) is Reason.INVALID_LEASE
    assert leases.renew(first.lease_id) == Closed(Reason.INVALID_LEASE)
    assert isinstance(leases.renew(second.lease_id), Lease)
    assert second.epoch == first.epoch + 1
    assert lost == [([0], Reason.INVALID_LEASE)]


def test_a_host_that_comes_back_holds_all_of_its_actors_by_the_new_secret_alone(leases, lost):
    first = take_many(leases, rows(0, 1))
    second = take_many(leases, rows(0, 1, 2), first.lease_id)
    assert leases.holds(second.grant, rows(0, 1, 2)).all()
    assert [leases.check(second.lease_id, row) for row in range(3)] == [Reason.NONE] * 3
    assert [leases.check(first.lease_id, row) for row in range(3)] == [Reason.INVALID_LEASE] * 3
    assert second.epoch.tolist() == [first.epoch[0] + 1, first.epoch[1] + 1, first.epoch[0]]
    assert (len(leases), lost) == (1, [([0, 1], Reason.INVALID_LEASE)])


def test_a_host_keeps_what_one_of_its_actors_left_behind(leases):
    batch = take_many(leases, rows(0, 1))
    take(leases, 1, "host", batch.lease_id)
    assert (len(leases), batch.grant.ended) == (2, Reason.NONE)
    take(leases, 0, "host", batch.lease_id)
    assert (len(leases), batch.grant.ended) == (2, Reason.INVALID_LEASE)  # nothing was left of it


def test_a_stream_renews_its_lease_for_its_whole_time(leases, clock):
    batch = take_many(leases, rows(0, 1))
    for _ in range(3):
        clock.advance(9.999)
        assert leases.renew_grant(batch.grant) is Reason.NONE
        leases.expire()
        assert leases.controlled.tolist() == [True, True, False]
    clock.advance(10)
    leases.expire()
    assert not leases.controlled.any()
    assert batch.grant.ended is Reason.EXPIRED_LEASE
    assert leases.check(batch.lease_id, 0) is Reason.EXPIRED_LEASE


def test_a_stream_that_ends_gives_its_lease_up_once(leases, lost):
    grant, lease = take(leases)
    leases.release_grant(grant)
    leases.release_grant(grant)
    assert (len(leases), lost) == (0, [([0], Reason.INVALID_LEASE)])
    assert not leases.controlled.any()
    take(leases, 0, "other")
    assert leases.check(lease.lease_id, 0) is Reason.INVALID_LEASE


def test_a_lease_that_is_nearly_over_is_told_to_last_a_moment(leases, clock):
    take(leases)
    clock.advance(9.9999)
    assert leases.acquire(0, "other") == Closed(Reason.LEASE_HELD, 1)


def test_a_lease_whose_time_is_over_is_free_for_the_first_who_asks(leases, clock):
    _, lease = take(leases)
    clock.advance(10)
    take(leases, controller="other")
    assert leases.check(lease.lease_id, 0) is Reason.EXPIRED_LEASE
    clock.advance(10)
    assert take_many(leases, rows(0, 1)).granted.tolist() == [0, 1]


def test_control_is_announced_when_it_begins_and_not_when_it_goes_over(clock):
    changes: list[tuple[list[int], bool]] = []
    leases = Leases(NAMES, clock=clock, on_change=lambda which, now: changes.append((which.tolist(), now)))
    _, lease = take(leases, 1)
    assert leases.controlled.tolist() == [False, True, False]
    take(leases, 1, previous=lease.lease_id)
    assert leases.controlled.tolist() == [False, True, False]
    assert changes == [([1], True)]


def test_secrets_of_any_length_are_taken(clock):
    secrets = iter(["k" * 200, "a" * 200, "b" * 200])
    leases = Leases(NAMES, clock=clock, secrets=lambda: next(secrets))
    _, first = take(leases, 0)
    _, second = take(leases, 1)
    assert [leases.check(first.lease_id, row) for row in (0, 1)] == [Reason.NONE, Reason.INVALID_LEASE]
    assert leases.check(second.lease_id, 1) is Reason.NONE


def test_a_new_lease_has_observed_no_tick(leases):
    grant, _ = take(leases)
    assert grant.observed_tick == 0
