"""What is held for agents that have deferred keeps to the same rules as what is queued."""

import pytest
from tests.kits.queue_doubles import SimulatedTime

from tickmind.base import Limit, Secret
from tickmind.gateway.fairness.defer import Decision, Defers
from tickmind.gateway.fairness.sessions import Session
from tickmind.gateway.queue.holding import Holding
from tickmind.gateway.queue.job import JobState
from tickmind.gateway.queue.ticket import Ticket
from tickmind.gateway.refusal import Code, Refusal
from tickmind.gateway.routing.plan import Plan, Target
from tickmind.gateway.settings.config import ApiKey, Provider

KEY = ApiKey("k", Secret("s"))
PLAN = Plan((Target(Provider("p", "http://p.test", (KEY,)), KEY, "m"),), "m")
GAME = Session("game", "game")


class Desk:
    """Notes what becomes of jobs."""

    def __init__(self, **limits):
        self.time = SimulatedTime()
        self.defers = Defers(self.time)
        self.holding = Holding(self.defers, self.time, self.time.at, submit=self._take, **limits)
        self.free: list[Ticket] = []
        self.refused: dict[Ticket, Refusal] = {}

    def _take(self, job):
        assert job.state is JobState.NEW
        self.free.append(job)

    def refuse(self, job, refusal):
        assert job.state is JobState.DONE
        assert job not in self.refused
        self.refused[job] = refusal

    def send(self, job, target):
        raise AssertionError("nothing is sent from here")

    def ask(self, *, timeout_s=100.0, agent="ann", **more):
        job = Ticket(PLAN, GAME, self, self.time.monotonic() + timeout_s, agent, **more)
        until_s = self.defers.held_until(GAME, agent)
        assert until_s is not None
        self.holding.hold(job, until_s)
        return job

    def codes(self, *jobs):
        return [self.refused[job].code for job in jobs]


@pytest.fixture
def desk():
    made = Desk()
    yield made
    made.time.run_for(1000)
    assert len(made.holding) == made.time.pending == 0


def test_what_is_held_goes_in_its_order_when_the_time_has_come(desk):
    desk.defers.defer(GAME, "ann", 10_000)
    jobs = [desk.ask() for _ in range(3)]
    assert len(desk.holding) == 3
    desk.time.run_for(9.9)
    assert desk.free == []
    desk.time.run_for(0.2)
    assert desk.free == jobs


def test_an_agent_that_ends_its_wait_frees_what_is_held_at_once(desk):
    desk.defers.defer(GAME, "ann", 10_000)
    desk.defers.defer(GAME, "bob", 10_000)
    job = desk.ask()
    desk.ask(agent="bob")
    desk.defers.defer(GAME, "ann", 0)
    assert desk.free == [job]
    assert len(desk.holding) == 1


def test_a_wait_that_is_ended_at_another_gateway_frees_what_is_held_here(desk):
    desk.defers.defer(GAME, "ann", 10_000)
    job = desk.ask()
    desk.defers.hear(GAME.label, "ann", Decision(5.0, 1, 10**9))
    assert desk.free == [job]


def test_a_longer_second_defer_holds_what_is_held_and_refuses_what_would_be_too_late(desk):
    desk.defers.defer(GAME, "ann", 10_000)
    patient, hasty, stale = desk.ask(), desk.ask(timeout_s=15), desk.ask(drop_after_s=desk.time.monotonic() + 15)
    desk.time.run_for(5)
    desk.defers.defer(GAME, "ann", 20_000)
    assert desk.codes(hasty, stale) == [Code.DEFERRED, Code.DEFERRED]
    assert desk.refused[hasty].retry_after_s == pytest.approx(20)
    desk.time.run_for(19.9)
    assert desk.free == []
    desk.time.run_for(0.2)
    assert desk.free == [patient]


def test_a_request_that_can_not_wait_so_long_is_refused_at_once(desk):
    desk.defers.defer(GAME, "ann", 10_000)
    assert desk.codes(desk.ask(timeout_s=10)) == [Code.DEFERRED]


def test_a_newer_request_replaces_those_of_its_agent_that_are_held(desk):
    desk.defers.defer(GAME, "ann", 10_000)
    desk.defers.defer(GAME, "bob", 10_000)
    older, others = [desk.ask(), desk.ask()], desk.ask(agent="bob")
    newer = desk.ask(replace_older=True)
    assert desk.codes(*older) == [Code.REPLACED, Code.REPLACED]
    assert len(desk.holding) == 2
    desk.time.run_for(11)
    assert desk.free in ([newer, others], [others, newer])


def test_a_caller_that_leaves_is_forgotten(desk):
    desk.defers.defer(GAME, "ann", 10_000)
    gone, stays = desk.ask(), desk.ask()
    for _ in range(2):
        desk.holding.leave(gone)
    gone.state = JobState.DONE
    desk.time.run_for(11)
    assert desk.free == [stays]


def test_no_more_are_held_than_there_is_room_for():
    desk = Desk(max_held=Limit("requests", 3), max_of_an_agent=Limit("requests of one", 2))
    desk.defers.defer(GAME, "ann", 10_000)
    desk.defers.defer(GAME, "bob", 10_000)
    for _ in range(2):
        desk.ask()
    assert desk.codes(desk.ask()) == [Code.QUEUE_FULL]
    desk.ask(agent="bob")
    assert desk.codes(desk.ask(agent="bob")) == [Code.QUEUE_FULL]
    desk.time.run_for(11)
    assert (len(desk.free), len(desk.holding)) == (3, 0)


def test_all_are_told_when_it_closes(desk):
    desk.defers.defer(GAME, "ann", 10_000)
    jobs = [desk.ask() for _ in range(3)]
    desk.holding.close(Refusal(Code.SHUTTING_DOWN, "later"))
    assert desk.codes(*jobs) == [Code.SHUTTING_DOWN] * 3
