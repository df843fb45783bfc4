import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.base import ManualClock, Secret
from tickmind.gateway.cluster.lane_limits import LaneLimit
from tickmind.gateway.cluster.merge import Merger
from tickmind.gateway.cluster.news import DeferNews, LimitNews, UseNews, decode, encode
from tickmind.gateway.fairness.cooldown import Cooldowns
from tickmind.gateway.fairness.defer import Defers
from tickmind.gateway.fairness.sessions import Sessions
from tickmind.gateway.routing.plan import Plan, Target
from tickmind.gateway.settings.config import ApiKey, Limits, Provider, SharingConfig

PROVIDER = Provider("p", "http://127.0.0.1/v1", limits=Limits(requests_per_minute=30))
PLAN = Plan((Target(PROVIDER, ApiKey("k", Secret("")), "m"),), "m")
NAMES = st.text("abc/é-", min_size=1, max_size=20)
TIMES = st.integers(0, 2**53)


class Lanes:
    """Lanes that note what they hear."""

    def __init__(self):
        self.now: list[LaneLimit] = []
        self.heard: list[LaneLimit] = []

    def limits(self):
        return self.now

    def limit(self, limit):
        self.heard.append(limit)

    def resize(self, gateways):
        pass


class Gateway:
    def __init__(self, clock, mode="fair", offset_s=0.0):
        config = SharingConfig(mode=mode)
        self.sessions = Sessions(config, clock)
        self.cooldowns = Cooldowns(config, self.sessions, clock)
        self.lanes = Lanes()
        strict = mode == "strict"
        self.defers = Defers(clock)
        self.merger = Merger(
            self.sessions, self.cooldowns, self.lanes, clock, timeout_s=60.0, strict=strict, defers=self.defers
        )
        self.merger.set_clock(clock.monotonic() + offset_s)

    def ask(self, name):
        session = self.sessions.get(name)
        refusal = self.cooldowns.admit(session, PLAN)
        if refusal is None:
            self.cooldowns.leave(session, PLAN)
        return refusal is None

    def tell(self, *others, all_uses=True):
        news = self.merger.collect(all_uses=all_uses)
        for one in decode(encode(news)):
            for other in others:
                other.merger.merge(one)
        return len(news)


@pytest.fixture
def clock():
    return ManualClock(monotonic=1000.0)


@given(
    st.lists(
        st.builds(UseNews, NAMES, NAMES, NAMES, st.floats(0.01, 1e6), TIMES, TIMES)
        | st.builds(LimitNews, NAMES, TIMES, st.text("ab c", max_size=30))
    )
)
@pytest.mark.slow
def test_news_are_read_as_they_were_written(news):
    assert list(decode(encode(news))) == news


@given(
    st.binary(max_size=200) | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(repr).map(str.encode)
)
@pytest.mark.slow
def test_any_message_can_be_read(message):
    assert isinstance(list(decode(message)), list)


def test_what_is_no_news_is_left_out():
    items = [["use", "g", "l", "o", -1.0, 1, 1], ["limit", "a\nb", 1, ""], ["limit", "l", 5, "why"], 7, ["use"]]
    assert list(decode(orjson.dumps(items))) == [LimitNews("l", 5, "why")]


def test_a_session_elsewhere_counts_here_for_its_time(clock):
    one, two = Gateway(clock, offset_s=1.7e9), Gateway(clock, offset_s=1.7e9)
    one.ask("a")
    two.ask("b")
    one.tell(two)
    assert two.sessions.active("p/k").sessions == 2
    clock.advance(59)
    assert two.sessions.active("p/k").sessions == 2
    clock.advance(2)
    assert two.sessions.active("p/k").sessions == 0


def test_an_active_session_is_told_of_now_and_then_and_a_heard_one_never(clock):
    one, two = Gateway(clock), Gateway(clock)
    told = 0
    for _ in range(100):
        one.ask("a")
        told += one.tell(two)
        assert two.tell(one) == 0
        clock.advance(1)
    assert 10 <= told <= 15
    assert two.sessions.active("p/k").sessions == 1


def test_a_strict_turn_holds_everywhere(clock):
    one, two = Gateway(clock, "strict"), Gateway(clock, "strict")
    assert one.ask("game")
    one.tell(two, all_uses=False)
    clock.advance(1)
    assert not two.ask("game")
    clock.advance(1.01)
    assert two.ask("game")
    two.tell(one, all_uses=False)
    assert not one.ask("game")


def test_hearing_never_shortens_a_turn(clock):
    one, two = Gateway(clock, "strict"), Gateway(clock, "strict")
    one.ask("game")
    clock.advance(2)
    assert two.ask("game")
    one.tell(two)
    clock.advance(1)
    assert not two.ask("game")


def test_a_waiting_request_keeps_its_session_known_elsewhere(clock):
    one, two = Gateway(clock), Gateway(clock)
    one.cooldowns.admit(one.sessions.get("slow"), PLAN)
    for _ in range(30):
        one.tell(two)
        clock.advance(10)
        assert two.sessions.active("p/k").sessions == 1


def test_a_limit_is_told_once_and_again_when_it_is_extended(clock):
    one, two = Gateway(clock, offset_s=5.0), Gateway(clock, offset_s=5.0)
    one.lanes.now = [LaneLimit("p/k", 1030.0, "rate limited")]
    assert one.tell(two) == 1
    assert one.tell(two) == 0
    assert two.lanes.heard == [LaneLimit("p/k", 1030.0, "rate limited")]
    two.lanes.now = [LaneLimit("p/k", 1030.0, "rate limited")]
    assert two.tell(one) == 0
    one.lanes.now = [LaneLimit("p/k", 1060.0, "rate limited")]
    assert one.tell(two) == 1
    assert two.lanes.heard[-1].until_s == 1060.0
    clock.advance(100)
    assert one.tell(two) == 0


@given(NAMES, NAMES, TIMES, TIMES, TIMES)
def test_defers_come_back_as_they_were(label, agent, until, made, ended):
    news = DeferNews(label, agent, until, made, ended)
    assert list(decode(encode([news]))) == [news]


def test_an_agent_that_deferred_at_one_gateway_is_held_at_the_others_until_it_ends_its_wait():
    clock = ManualClock()
    one, two = Gateway(clock, offset_s=1000.0), Gateway(clock, offset_s=1000.0)
    session = one.sessions.get("village")
    one.defers.defer(session, "ash", 60_000)
    one.tell(two)
    assert two.defers.held_until(session, "ash") == pytest.approx(clock.monotonic() + 60, abs=0.01)
    one.defers.defer(session, "ash", 5_000)
    one.tell(two)
    assert two.defers.held_until(session, "ash") == pytest.approx(clock.monotonic() + 60, abs=0.01)
    two.defers.cancel(session, "ash")
    assert two.tell(one) == 1
    assert one.defers.held_until(session, "ash") is None
    clock.advance(700)
    assert one.defers.listing() == two.defers.listing() == ()
    assert one.tell(two) == 0


def test_old_news_of_a_defer_that_was_cancelled_do_not_revive_it():
    clock = ManualClock()
    one, two = Gateway(clock, offset_s=1000.0), Gateway(clock, offset_s=1000.0)
    session = one.sessions.get("village")
    one.defers.defer(session, "ash", 5_000)
    one.defers.defer(session, "ash", 600_000)
    old = one.merger.collect(all_uses=False)
    for news in old:
        two.merger.merge(news)
    two.defers.cancel(session, "ash")
    clock.advance(20)
    two.merger.set_clock(clock.monotonic() + 999.9)  # as a slow answer makes it
    for news in old:
        two.merger.merge(news)
    assert two.defers.held_until(session, "ash") is None
    two.defers.defer(session, "ash", 30_000)
    assert two.defers.held_until(session, "ash") == clock.monotonic() + 30


def test_a_cancel_that_is_heard_between_two_defers_ends_the_first_only():
    clock = ManualClock()
    one, two = Gateway(clock, offset_s=1000.0), Gateway(clock, offset_s=1000.0)
    session = one.sessions.get("village")
    one.defers.defer(session, "ash", 600_000)
    two.defers.defer(session, "ash", 1_000)
    clock.advance(0.01)
    two.defers.cancel(session, "ash")
    cancelled = two.merger.collect(all_uses=False)
    clock.advance(0.01)
    two.defers.defer(session, "ash", 20_000)
    told = [*cancelled, *one.merger.collect(all_uses=False), *two.merger.collect(all_uses=False)]
    for gateway in (one, two):
        for news in (*told, *reversed(told)):
            gateway.merger.merge(news)
    assert one.defers.held_until(session, "ash") == pytest.approx(clock.monotonic() + 20, abs=0.01)
    assert two.defers.held_until(session, "ash") == clock.monotonic() + 20


def test_a_cancel_that_is_heard_before_its_defer_ends_it_too():
    clock = ManualClock()
    one, two = Gateway(clock, offset_s=1000.0), Gateway(clock, offset_s=1000.0)
    session = one.sessions.get("village")
    one.defers.defer(session, "ash", 600_000)
    made = one.merger.collect(all_uses=False)
    one.defers.cancel(session, "ash")
    for news in (*one.merger.collect(all_uses=False), *made):
        two.merger.merge(news)
    assert two.defers.held_until(session, "ash") is None


MOVES = st.lists(st.tuples(st.integers(0, 1), st.sampled_from([0, 0, 1_000, 20_000, 600_000])), max_size=8)


@given(MOVES, st.randoms(use_true_random=False))
def test_gateways_agree_on_defers_in_whichever_order_and_however_often_they_hear_of_them(moves, random):
    clock = ManualClock()
    both = Gateway(clock, offset_s=1000.0), Gateway(clock, offset_s=1000.0)
    session = both[0].sessions.get("village")
    told = []
    for number, duration_ms in moves:
        both[number].defers.defer(session, "ash", duration_ms)
        if random.random() < 0.7:
            told += both[number].merger.collect(all_uses=False)
        if told and random.random() < 0.7:
            both[1 - number].merger.merge(random.choice(told))
        clock.advance(random.choice([0, 0.01, 1, 5]))
    for gateway in both:
        told += gateway.merger.collect(all_uses=False)
    for gateway in both:
        for news in random.sample(told, len(told)) + random.sample(told, len(told)):
            gateway.merger.merge(news)
    one, two = (gateway.defers.held_until(session, "ash") or 0 for gateway in both)
    assert one == pytest.approx(two, abs=0.01)
