import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.base import ManualClock, Secret
from tickmind.gateway.fairness.activity import Active, Activity
from tickmind.gateway.fairness.cooldown import CooldownForecast, Cooldowns, group_of, rate_per_minute
from tickmind.gateway.fairness.sessions import Session, Sessions
from tickmind.gateway.refusal import Code
from tickmind.gateway.routing.plan import Plan, Target
from tickmind.gateway.settings.config import ApiKey, Limits, Provider, SharingConfig


def plan_of(*rates, limits=None, model="m"):
    return Plan(
        tuple(
            Target(
                Provider(f"p{number}", "http://127.0.0.1/v1", limits=limits or Limits(requests_per_minute=rate)),
                ApiKey(f"k{number}", Secret("")),
                model,
            )
            for number, rate in enumerate(rates)
        ),
        model,
    )


GROQ = plan_of(30)


class House:
    """Sessions and cooldowns on a clock that is set by hand."""

    def __init__(self, mode="strict", forecast=None, **sharing):
        self.clock = ManualClock(wall=1_700_000_000.0)
        config = SharingConfig(mode=mode, **sharing)
        self.sessions = Sessions(config, self.clock)
        self.cooldowns = Cooldowns(config, self.sessions, self.clock, forecast=forecast)

    def ask(self, name, caller="", plan=GROQ):
        """One request that is answered at once; the wait if it is refused, else None."""
        session = self.sessions.get(name, caller)
        refusal = self.cooldowns.admit(session, plan)
        if refusal is None:
            self.cooldowns.leave(session, plan, plan.targets[0])
            return None
        assert refusal.code is Code.RATE_LIMIT_COOLDOWN
        return refusal.retry_after_s

    def of(self, name, caller="", plan=GROQ):
        return self.cooldowns.of(self.sessions.get(name, caller), plan)


def test_thirty_a_minute_among_four_games_is_one_every_eight_seconds():
    house = House()
    for name in ("g1", "g2", "g3", "g4"):
        assert house.ask(name) is None
        house.clock.advance(2)
    assert house.ask("g1") is None
    assert house.of("g1") == CooldownForecast(1_700_000_016_000, 8000, 4, 30, 7.5)


def test_the_timeline_of_four_games():
    house = House()
    got = []
    for at, name in ((0, "g1"), (2, "g2"), (4, "g3"), (6, "g4"), (7, "g1"), (8, "g1"), (9, "g1")):
        house.clock.advance(at - house.clock.monotonic())
        got.append(house.ask(name))
    assert got == [None, None, None, None, pytest.approx(1.0), None, pytest.approx(7.0)]


def test_a_rejected_request_does_not_move_the_time():
    house = House()
    house.ask("g1")
    house.ask("g2")
    before = house.of("g1").next_allowed_ms
    for _ in range(100):
        house.clock.advance(0.01)
        assert house.ask("g1") is not None
    assert house.of("g1").next_allowed_ms == before


def test_the_refusal_says_how_long_and_the_cooldown_agrees():
    house = House()
    house.ask("g1")
    house.clock.advance(0.5)
    session = house.sessions.get("g1")
    refusal = house.cooldowns.admit(session, GROQ)
    assert refusal is not None
    assert refusal.status == 429
    assert refusal.retry_after_s == pytest.approx(1.5)
    assert "1500 ms" in refusal.message
    assert house.of("g1").wait_ms == 1500
    house.clock.advance(1.5)
    assert house.ask("g1") is None


def test_an_idle_session_takes_no_share():
    house = House()
    for name in ("g1", "idle1", "idle2", "idle3"):
        house.sessions.get(name)
    house.ask("g1")
    assert house.of("g1").wait_ms == 2000
    assert house.of("g1").active_games == 1


def test_a_session_on_another_key_takes_no_share():
    house = House()
    other = plan_of(30, model="x")
    elsewhere = Plan((Target(other.targets[0].provider, ApiKey("another", Secret("")), "x"),), "x")
    house.ask("g1")
    house.ask("g2", plan=elsewhere)
    assert house.of("g1").wait_ms == 2000


def test_a_game_that_went_silent_gives_its_share_back():
    house = House()
    house.ask("g1")
    house.clock.advance(2)
    house.ask("g2")
    assert house.of("g1").effective_rpm == 15
    for _ in range(28):
        house.clock.advance(2)
        house.ask("g2")
    assert house.of("g2").active_games == 2
    house.clock.advance(2)
    house.ask("g2")
    assert house.of("g2") == CooldownForecast(house.of("g2").next_allowed_ms, 2000, 1, 30, 30)


def test_shares_go_by_weight():
    house = House(weights={"big": 3.0})
    house.ask("big")
    house.clock.advance(2)
    house.ask("small")
    assert house.of("small").effective_rpm == 7.5
    assert house.of("big").effective_rpm == 22.5
    assert house.of("small").wait_ms == 8000


def test_an_unknown_session_is_not_let_through_at_once():
    house = House()
    assert house.ask("known") is None
    assert house.ask("unknown") == pytest.approx(2.0)
    house.clock.advance(2)
    assert house.ask("unknown") is None


def test_a_newcomer_gets_its_turn_beside_busy_sessions():
    house = House()
    busy = ["a", "b", "c"]
    served_at = None
    for _ in range(4000):
        if house.ask("newcomer") is None:
            served_at = house.clock.monotonic()
            break
        for name in busy:
            house.ask(name)
        house.clock.advance(0.01)
    assert served_at is not None
    assert served_at <= 8.1


@pytest.mark.parametrize("names", [1, 100])
@pytest.mark.slow
def test_forging_session_names_gains_nothing_when_keys_are_on(names):
    house = House()
    got = {"mallory": 0, "ann": 0}
    number = 0
    for _ in range(12_000):
        for _ in range(2):
            number += 1
            got["mallory"] += house.ask(f"forged-{number % names}", "mallory") is None
        got["ann"] += house.ask("game", "ann") is None
        house.clock.advance(0.05)
    assert got["ann"] >= 145  # half of 30 a minute for ten minutes
    assert got["mallory"] <= 155


@pytest.mark.slow
def test_ever_new_names_of_one_owner_gain_nothing():
    house = House()
    got = {"mallory": 0, "ann": 0}
    for number in range(12_000):
        got["mallory"] += house.ask(f"forged-{number}", "mallory") is None
        got["ann"] += house.ask("game", "ann") is None
        house.clock.advance(0.05)
    assert got["ann"] >= 145
    assert got["mallory"] <= 155


def test_without_contention_fair_sharing_lets_ask_again_at_once():
    house = House("fair")
    for _ in range(10):
        assert house.ask("g1") is None
    assert house.of("g1").wait_ms == 0


def test_fair_sharing_tells_when_the_queue_has_room():
    house = House("fair", forecast=lambda _session, _plan, now_s, _agent: now_s + 0.25)
    assert house.of("g1").wait_ms == 250
    assert house.of("g1").next_allowed_ms == 1_700_000_000_250


def test_under_contention_fair_sharing_tells_the_share():
    house = House("fair", forecast=lambda _session, _plan, now_s, _agent: now_s + 0.25)
    for name in ("g1", "g2", "g3", "g4"):
        house.ask(name)
    assert house.of("g1") == CooldownForecast(1_700_000_008_000, 8000, 4, 30, 7.5)
    house.clock.advance(7.9)
    assert house.of("g1").wait_ms == 250


def test_the_chain_counts_where_sharing_is_fair_and_its_first_key_where_it_is_strict():
    chain = plan_of(120, 240)
    assert House("fair").of("g1", plan=chain).requests_per_minute == 360
    assert House("strict").of("g1", plan=chain).requests_per_minute == 120


def test_who_was_served_elsewhere_is_active_there():
    house = House("fair")
    chain = plan_of(120, 240)
    session = house.sessions.get("g1")
    house.cooldowns.admit(session, chain)
    assert session.waiting == 1
    house.cooldowns.leave(session, chain, chain.targets[1])
    assert session.waiting == 0
    assert house.sessions.active("p0/k0").sessions == 1
    assert house.sessions.active("p1/k1").sessions == 1


def test_a_waiting_request_keeps_its_session_and_its_share():
    house = House("strict")
    session = house.sessions.get("slow")
    assert house.cooldowns.admit(session, GROQ) is None
    house.clock.advance(300)
    assert house.sessions.get("slow") is session
    assert house.sessions.active(house.cooldowns.group(GROQ)).sessions == 1
    house.cooldowns.leave(session, GROQ)
    house.clock.advance(60)
    assert len(house.sessions) == 0
    assert house.sessions.active(house.cooldowns.group(GROQ)).sessions == 0


def test_without_a_limit_there_is_no_cooldown():
    plan = plan_of(None)
    house = House("strict")
    for _ in range(5):
        assert house.ask("g1", plan=plan) is None
    assert json.loads(house.of("g1", plan=plan).as_json())["rateLimit"] == {
        "requestsPerMinute": None,
        "effectiveRPM": None,
    }


@given(
    st.integers(0, 10**13), st.integers(0, 10**9), st.integers(0, 10**5), st.none() | st.floats(0.001, 1e9), st.data()
)
def test_the_json_is_what_the_cooldown_says(next_ms, wait_ms, games, rpm, data):
    effective = None if rpm is None else data.draw(st.floats(1e-6, rpm))
    shown = json.loads(CooldownForecast(next_ms, wait_ms, games, rpm, effective).as_json())
    rates = shown.pop("rateLimit")
    assert shown == {"nextAllowedAt": next_ms, "waitMs": wait_ms, "activeGames": games}
    assert rates["requestsPerMinute"] == (None if rpm is None else pytest.approx(rpm))
    assert rates["effectiveRPM"] == (None if effective is None else pytest.approx(effective))


def test_the_tightest_limit_is_the_rate():
    provider = Provider(
        "p",
        "http://127.0.0.1/v1",
        limits=Limits(requests_per_minute=60, requests_per_second=0.75),
        model_limits={"small": Limits(requests_per_minute=10), "large": Limits(requests_per_minute=500)},
    )
    key = ApiKey("k", Secret(""), Limits(requests_per_minute=50))
    assert rate_per_minute(Target(provider, key, "any")) == 45
    assert rate_per_minute(Target(provider, key, "small")) == 10
    assert group_of(Target(provider, key, "any")) == "p/k"
    assert group_of(Target(provider, key, "small")) == "p/k/small"
    assert group_of(Target(provider, key, "large")) == "p/k"
    daily = Provider("d", "http://127.0.0.1/v1", limits=Limits(requests_per_day=1440))
    assert rate_per_minute(Target(daily, ApiKey("k", Secret("")), "m")) == 1


def test_a_jump_of_the_wall_clock_moves_no_turn():
    house = House()
    house.ask("g1")
    house.clock.jump_wall(-3600)
    assert house.of("g1").wait_ms == 2000
    house.clock.jump_wall(7200)
    assert house.of("g1").wait_ms == 2000


def test_many_plans_stay_bounded():
    house = House("fair")
    for number in range(5000):
        house.of("g1", plan=plan_of(30, model=f"m{number}"))
    assert len(house.cooldowns._rates) <= 4096


def test_many_sessions_of_one_address_divide_what_one_address_gets():
    activity = Activity("p/k", 60.0, 1000)
    forged = [activity.use(Session(f"f{number}", f"f{number}", group="10.0.0.1"), 0.0) for number in range(20)]
    honest = Session("h", "h", group="10.0.0.2")
    assert activity.share_with(honest) == pytest.approx(2)
    use = activity.use(honest, 0.0)
    assert activity.share(use) == pytest.approx(2)
    assert {round(activity.share(one), 6) for one in forged} == {40.0}
    heavy = Session("w", "w", 3.0, group="10.0.0.2")
    assert activity.share_with(heavy) == pytest.approx(activity.share(activity.use(heavy, 0.0))) == pytest.approx(2)
    assert sum(1 / activity.share(one) for one in (*forged, use, activity.use(heavy, 0.0))) == pytest.approx(1)
    activity.sweep(61.0)
    assert activity.active(61.0) == Active("p/k")


def test_sessions_of_a_single_address_share_as_if_they_were_alone():
    activity = Activity("p/k", 60.0, 1000)
    uses = [activity.use(Session(name, name, weight, group="here"), 0.0) for name, weight in (("a", 1.0), ("b", 3.0))]
    assert [activity.share(use) for use in uses] == pytest.approx([4, 4 / 3])
