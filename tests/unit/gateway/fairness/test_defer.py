import pytest

from tickmind.base import Limit, ManualClock
from tickmind.gateway.fairness.defer import DEFAULT_DEFER_MS, MAX_DEFER_MS, Defers
from tickmind.gateway.fairness.sessions import Sessions
from tickmind.gateway.refusal import Code, RefusedError
from tickmind.gateway.settings.config import SharingConfig


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def sessions(clock):
    return Sessions(SharingConfig(), clock)


def test_a_deferred_agent_is_held_until_its_time(sessions, clock):
    defers, game = Defers(clock), sessions.get("game")
    defers.defer(game, "ann")
    assert defers.held_until(game, "ann") == DEFAULT_DEFER_MS / 1000 == 5.0
    assert defers.held_until(game, "bob") is None
    assert defers.held_until(sessions.get("other"), "ann") is None
    clock.advance(5)
    assert defers.held_until(game, "ann") is None
    assert defers.listing() == ()


def test_a_second_defer_extends_and_never_shortens(sessions, clock):
    defers, game = Defers(clock), sessions.get("game")
    defers.defer(game, "ann", 10_000)
    assert defers.defer(game, "ann", 1_000).left_s == 10.0
    clock.advance(1)
    assert defers.defer(game, "ann", 20_000).left_s == 20.0
    clock.advance(15)
    assert defers.held_until(game, "ann") == 21.0


def test_a_cancelled_defer_holds_nobody(sessions, clock):
    defers, game = Defers(clock), sessions.get("game")
    defers.defer(game, "ann", 10_000)
    assert defers.cancel(game, "ann")
    assert not defers.cancel(game, "ann")
    assert defers.held_until(game, "ann") is None
    assert defers.listing() == ()
    defers.defer(game, "ann", 2_000)
    assert defers.held_until(game, "ann") == 2.0
    defers.defer(game, "ann", 0)
    assert defers.held_until(game, "ann") is None


def test_a_defer_is_cut_to_the_longest_allowed(sessions, clock):
    defers, game = Defers(clock), sessions.get("game")
    assert defers.defer(game, "ann", 1e300).left_s == MAX_DEFER_MS.maximum / 1000
    assert defers.defer(game, "bob", float("inf")).left_s == MAX_DEFER_MS.maximum / 1000


@pytest.mark.parametrize(("agent", "duration_ms"), [("", 1.0), ("x" * 129, 1.0), ("a\n", 1.0), ("a", float("nan"))])
def test_what_is_no_defer_is_refused(sessions, clock, agent, duration_ms):
    with pytest.raises(RefusedError) as caught:
        Defers(clock).defer(sessions.get("game"), agent, duration_ms)
    assert caught.value.refusal.code is Code.BAD_REQUEST


def test_the_statistics_show_who_waits_and_how_many_were_held(sessions, clock):
    defers, game = Defers(clock), sessions.get("game")
    defers.defer(game, "late", 9_000)
    defers.defer(game, "soon", 1_000)
    defers.defer(game, "never", 1_000)
    defers.cancel(game, "never")
    defers.held_until(game, "soon")
    assert [(one.session, one.agent, one.left_s) for one in defers.listing()] == [
        ("game", "soon", 1.0),
        ("game", "late", 9.0),
    ]
    statistics = defers.statistics()
    assert (statistics.deferred, statistics.made, statistics.cancelled, statistics.held_requests) == (2, 3, 1, 1)


def test_no_more_agents_are_deferred_than_allowed(sessions, clock):
    defers = Defers(clock, max_defers=Limit("deferred agents", 3), max_of_a_session=Limit("of a session", 2))
    game = sessions.get("game")
    defers.defer(game, "a", 1_000)
    defers.defer(game, "b", 2_000)
    with pytest.raises(RefusedError) as caught:
        defers.defer(game, "c")
    assert caught.value.refusal.code is Code.QUEUE_FULL
    assert caught.value.refusal.retry_after_s == 1.0
    defers.defer(sessions.get("other"), "a")
    with pytest.raises(RefusedError):
        defers.defer(sessions.get("third"), "a")
    clock.advance(1)
    defers.defer(game, "c")


@pytest.mark.slow
def test_many_defers_leave_nothing(sessions, clock):
    defers, game = Defers(clock), sessions.get("game")
    for number in range(100_000):
        defers.defer(game, f"a{number % 900}", 10 + number % 7)
        if number % 3 == 0:
            defers.cancel(game, f"a{number % 900}")
        clock.advance(0.001)
    clock.advance(10)
    assert defers.listing() == ()
    assert not defers._due
    assert not defers._waits
    assert not defers._of_session
