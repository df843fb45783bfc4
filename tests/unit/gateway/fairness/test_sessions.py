import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.base import ManualClock
from tickmind.gateway.fairness.sessions import Sessions
from tickmind.gateway.refusal import Code, RefusedError
from tickmind.gateway.settings.config import SharingConfig
from tickmind.llm.gateway_contract import MAX_NAME_CHARS


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def sessions(clock):
    return Sessions(SharingConfig(), clock)


def test_a_session_registers_by_its_first_use(sessions):
    first = sessions.get("game-1")
    assert (first.id, first.owner, first.label, first.weight) == ("game-1", "game-1", "game-1", 1.0)
    assert sessions.get("game-1") is first
    assert len(sessions) == 1


def test_silence_of_a_minute_ends_a_session(sessions, clock):
    first = sessions.get("game-1")
    clock.advance(59.9)
    assert len(sessions) == 1
    clock.advance(0.1)
    assert len(sessions) == 0
    assert sessions.get("game-1") is not first


def test_use_keeps_a_session_alive(sessions, clock):
    used = sessions.get("used")
    sessions.get("silent")
    for _ in range(5):
        clock.advance(40)
        assert sessions.get("used") is used
    assert {info.id for info in sessions.listing()} == {"used"}


def test_a_jump_of_the_wall_clock_ends_no_session(sessions, clock):
    sessions.get("game-1")
    clock.jump_wall(86_400)
    assert len(sessions) == 1
    clock.jump_wall(-10 * 86_400)
    clock.advance(60)
    assert len(sessions) == 0


def test_two_callers_with_one_session_name_are_two(sessions):
    one, two = sessions.get("main", "ann", 2.0), sessions.get("main", "bob")
    assert one is not two
    assert (one.owner, one.label, one.weight, one.caller) == ("ann", "ann/main", 2.0, "ann")
    assert (two.owner, two.label, two.weight) == ("bob", "bob/main", 1.0)


def test_weights_come_from_the_configuration(clock):
    sessions = Sessions(SharingConfig(weights={"vip": 3.0}, default_weight=0.5), clock)
    assert sessions.get("vip").weight == 3.0
    assert sessions.get("any").weight == 0.5


def test_who_names_no_session_gets_one_by_caller_or_peer(sessions):
    assert sessions.get("", "ann").label == "ann/default"
    assert sessions.get("", peer="127.0.0.1") is sessions.get("", peer="127.0.0.1")
    assert sessions.get("", peer="127.0.0.1") is not sessions.get("", peer="127.0.0.2")
    assert sessions.get("", peer="fe80::1%eth0").id == "peer:fe80::1-eth0"
    assert sessions.get("").id == "default"


@pytest.mark.parametrize("bad", ["a b", "a/b", "-a", "a\n", "ä", "x" * 129, "<script>", "a\x00", '"'])
def test_what_is_no_session_id_is_refused(sessions, bad):
    with pytest.raises(RefusedError) as caught:
        sessions.get(bad)
    assert caught.value.refusal.code is Code.BAD_REQUEST
    assert "UUID" in caught.value.refusal.message
    assert len(sessions) == 0


@given(st.text(max_size=200))
def test_a_session_id_is_short_and_plain_or_refused(text):
    sessions = Sessions(SharingConfig(), ManualClock())
    with contextlib.suppress(RefusedError):
        label = sessions.get(text).label
        assert len(label) <= MAX_NAME_CHARS.maximum
        assert label.isascii()
        assert label.isprintable()
        assert " " not in label


def test_the_longest_idle_gives_way_when_there_are_too_many(clock):
    sessions = Sessions(SharingConfig(max_sessions=3), clock)
    for name in ("a", "b", "c"):
        sessions.get(name)
        clock.advance(1)
    sessions.get("a")
    sessions.get("d")
    assert {info.id for info in sessions.listing()} == {"a", "c", "d"}


def test_a_session_that_waits_never_gives_way(clock):
    sessions = Sessions(SharingConfig(max_sessions=2), clock)
    waiting = sessions.get("waits")
    waiting.waiting = 1
    clock.advance(1)
    sessions.get("idle")
    sessions.get("new")
    assert {info.id for info in sessions.listing()} == {"waits", "new"}
    clock.advance(1000)
    assert [info.id for info in sessions.listing()] == ["waits"]
    waiting.waiting = 0
    waiting.last_seen_s = clock.monotonic()
    clock.advance(60)
    assert len(sessions) == 0


def test_when_all_are_busy_a_new_one_is_refused(clock):
    sessions = Sessions(SharingConfig(max_sessions=2), clock)
    for name in ("a", "b"):
        sessions.get(name).waiting = 1
    with pytest.raises(RefusedError) as caught:
        sessions.get("c")
    assert caught.value.refusal.code is Code.QUEUE_FULL
    assert caught.value.refusal.retry_after_s == 1.0


@pytest.mark.slow
def test_a_hundred_thousand_names_leave_no_more_than_the_limit(clock):
    sessions = Sessions(SharingConfig(max_sessions=100), clock)
    for number in range(100_000):
        sessions.get(f"s{number}")
        if number % 10 == 0:
            sessions.get("steady")
            clock.advance(0.01)
    assert len(sessions) == 100
    assert len(sessions._due) == 100
    assert "steady" in {info.id for info in sessions.listing()}


def test_only_who_used_a_key_is_active_on_it(sessions, clock):
    sessions.activity("groq/k1").use(sessions.get("a"), clock.monotonic())
    sessions.activity("groq/k1").use(sessions.get("b", "bob", 2.0), clock.monotonic())
    sessions.activity("groq/k2").use(sessions.get("c"), clock.monotonic())
    sessions.get("idle")
    active = sessions.active("groq/k1")
    assert (active.sessions, active.owners, active.weight) == (2, 2, 3.0)
    assert sessions.active("groq/k2").sessions == 1
    assert sessions.active("unknown").sessions == 0
    for _ in range(3):
        clock.advance(30)
        for name, caller in (("a", ""), ("b", "bob"), ("c", "")):
            sessions.get(name, caller)
        sessions.activity("groq/k1").use(sessions.get("a"), clock.monotonic())
    active = sessions.active("groq/k1")
    assert (active.sessions, active.owners, active.weight) == (1, 1, 1.0)
    assert sessions.active("groq/k2").sessions == 0
    groups = {info.id: info.groups for info in sessions.listing()}
    assert groups == {"a": ("groq/k1",), "b": (), "c": ()}


def test_who_waits_for_a_key_is_active_on_it(sessions, clock):
    use = sessions.activity("k").use(sessions.get("a"), clock.monotonic())
    use.waiting = 1
    clock.advance(500)
    assert sessions.active("k").sessions == 1
    use.waiting = 0
    clock.advance(60)
    assert sessions.active("k").sessions == 0
    assert sessions.active("k").weight == 0.0


def test_many_sessions_of_one_owner_have_one_weight(sessions, clock):
    activity = sessions.activity("k")
    mallory = [activity.use(sessions.get(f"forged-{n}", "mallory"), clock.monotonic()) for n in range(100)]
    honest = activity.use(sessions.get("game", "ann"), clock.monotonic())
    assert sessions.active("k").weight == 2.0
    assert activity.share(honest) == 2.0
    assert sum(1 / activity.share(use) for use in mallory) == pytest.approx(0.5)


def test_keys_without_active_sessions_are_forgotten_first(sessions, clock):
    for number in range(2048):
        sessions.activity(f"k{number}")
    use = sessions.activity("k0").use(sessions.get("a"), clock.monotonic())
    sessions.activity("one more")
    assert len(sessions.activities()) == 2
    assert not use.gone


def test_a_forgotten_key_is_joined_again(sessions, clock):
    session = sessions.get("a")
    use = sessions.activity("k").use(session, clock.monotonic())
    sessions.activity("k").close()
    assert sessions.activity("k").use(session, clock.monotonic()) is not use
    assert sessions.active("k").sessions == 1


def test_a_session_that_uses_ever_new_keys_keeps_few(clock):
    sessions = Sessions(SharingConfig(), clock)
    session = sessions.get("a")
    for number in range(10_000):
        sessions.activity(f"k{number % 2000}").use(session, clock.monotonic())
        clock.advance(10)
    assert len(session.uses) <= 40


def test_sessions_without_keys_belong_to_the_address_that_they_came_from(sessions):
    assert sessions.get("game-1", peer="127.0.0.1").group == sessions.get("game-2", peer="::1").group != ""
    assert sessions.get("game-3", peer="10.0.0.1").group == "10.0.0.1"
    assert sessions.get("game-4", "ann", peer="10.0.0.1").group == ""
