import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.long import short_or_long

from tickmind.base import ManualClock, Secret
from tickmind.gateway.fairness.sessions import Session
from tickmind.gateway.reply_sharing.broadcast import Broadcast
from tickmind.gateway.reply_sharing.cache import CacheRole, Kept, ReplyCache, request_key
from tickmind.gateway.routing.plan import Plan, Target
from tickmind.gateway.settings.config import ApiKey, CacheConfig, Provider

OK = Kept(200, b"application/json", b'{"a": 1}')
KEY = b"k"


class Request:
    """A request that notes what it hears."""

    def __init__(self):
        self.heard = []

    def shared(self, reply):
        self.heard.append(reply)

    def lead(self):
        self.heard.append("lead")

    def join_stream(self, source, provider):
        self.heard.append((source, provider))

    def abandon(self):
        self.heard.append("abandon")


def plan_of(model="m", provider="p", key="k", surface="chat"):
    target = Target(Provider(provider, "http://127.0.0.1/v1"), ApiKey(key, Secret("")), model)
    return Plan((target,), model, surface)


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def cache(clock):
    return ReplyCache(CacheConfig(deduplicate=True), clock)


def test_both_are_off_by_default(clock):
    cache = ReplyCache(CacheConfig(), clock)
    assert not cache.enabled
    one, two = Request(), Request()
    assert cache.lookup(KEY, one) is CacheRole.LEADER
    assert cache.lookup(KEY, two) is CacheRole.LEADER
    cache.finish(KEY, one, OK)
    assert two.heard == []
    assert cache.lookup(KEY, Request()) is CacheRole.LEADER
    assert cache.statistics().in_flight == 0


def test_identical_requests_in_flight_share_one_call(cache):
    leader, followers = Request(), [Request() for _ in range(5)]
    assert cache.lookup(KEY, leader) is CacheRole.LEADER
    assert {cache.lookup(KEY, one) for one in followers} == {CacheRole.JOINED}
    assert cache.lookup(b"another", Request()) is CacheRole.LEADER
    cache.finish(KEY, leader, OK)
    assert [one.heard for one in followers] == [[OK]] * 5
    assert leader.heard == []
    assert cache.lookup(KEY, Request()) is CacheRole.LEADER
    statistics = cache.statistics()
    assert (statistics.lookups, statistics.joined, statistics.shared, statistics.hits) == (8, 5, 5, 0)


def test_the_call_goes_on_when_the_leaders_caller_goes(cache):
    leader, follower = Request(), Request()
    cache.lookup(KEY, leader)
    cache.lookup(KEY, follower)
    assert cache.leave(KEY, leader)
    cache.finish(KEY, leader, OK)
    assert follower.heard == [OK]


def test_the_call_ends_when_all_have_gone(cache):
    leader, follower = Request(), Request()
    cache.lookup(KEY, leader)
    cache.lookup(KEY, follower)
    assert cache.leave(KEY, leader)
    assert not cache.leave(KEY, follower)
    assert leader.heard == ["abandon"]
    assert cache.statistics().in_flight == 0


def test_a_leader_without_followers_just_goes(cache):
    leader = Request()
    cache.lookup(KEY, leader)
    assert not cache.leave(KEY, leader)
    assert not cache.leave(KEY, leader)
    assert leader.heard == []
    assert cache.lookup(KEY, Request()) is CacheRole.LEADER


def test_a_failure_that_is_not_final_hands_the_lead_over(cache):
    leader, second, third = Request(), Request(), Request()
    for one in (leader, second, third):
        cache.lookup(KEY, one)
    cache.finish(KEY, leader, Kept(504, b"", b""), final=False)
    assert (second.heard, third.heard) == (["lead"], [])
    cache.finish(KEY, second, None)
    assert third.heard == ["lead"]
    cache.finish(KEY, leader, OK)
    assert cache.statistics().in_flight == 1
    cache.finish(KEY, third, None)
    statistics = cache.statistics()
    assert (statistics.in_flight, statistics.handed_over) == (0, 2)


def test_a_final_failure_is_shared_but_not_kept(clock):
    cache = ReplyCache(CacheConfig(deduplicate=True, keep_s=60), clock)
    leader, follower = Request(), Request()
    cache.lookup(KEY, leader)
    cache.lookup(KEY, follower)
    bad = Kept(400, b"application/json", b"{}")
    cache.finish(KEY, leader, bad)
    assert follower.heard == [bad]
    assert cache.lookup(KEY, Request()) is CacheRole.LEADER


def test_a_follower_that_asks_anew_while_it_hears_leads(cache):
    leader = Request()
    roles = []

    class Eager(Request):
        def shared(self, reply):
            roles.append(cache.lookup(KEY, self))

    cache.lookup(KEY, leader)
    cache.lookup(KEY, Eager())
    cache.lookup(KEY, Eager())
    cache.finish(KEY, leader, OK)
    assert roles == [CacheRole.LEADER, CacheRole.JOINED]


def test_a_reply_is_kept_for_its_time(clock):
    cache = ReplyCache(CacheConfig(keep_s=10), clock)
    assert cache.enabled
    one = Request()
    assert cache.lookup(KEY, one) is CacheRole.LEADER
    cache.finish(KEY, one, OK)
    clock.advance(9.9)
    assert cache.lookup(KEY, Request()) is OK
    clock.advance(0.1)
    assert cache.lookup(KEY, Request()) is CacheRole.LEADER
    statistics = cache.statistics()
    assert (statistics.hits, statistics.entries, statistics.size_bytes) == (1, 0, 0)


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 3000)), max_size=100))
def test_what_is_kept_stays_within_its_bounds(replies):
    clock = ManualClock()
    cache = ReplyCache(CacheConfig(keep_s=10, max_entries=5, max_bytes=5000), clock)
    for number, size in replies:
        key, one = str(number).encode(), Request()
        if cache.lookup(key, one) is CacheRole.LEADER:
            cache.finish(key, one, Kept(200, b"", b"x" * size))
        clock.advance(0.5)
        statistics = cache.statistics()
        assert statistics.entries <= 5
        assert statistics.size_bytes <= 5000
    clock.advance(10)
    assert cache.statistics().size_bytes == 0


def test_a_reply_larger_than_all_is_not_kept(clock):
    cache = ReplyCache(CacheConfig(keep_s=10, max_bytes=1000), clock)
    cache.finish(b"small", Request(), OK)
    cache.finish(b"large", Request(), Kept(200, b"", b"x" * 1000))
    assert cache.lookup(b"small", Request()) is OK
    assert cache.lookup(b"large", Request()) is CacheRole.LEADER


@settings(max_examples=short_or_long(30, 60))
@given(st.lists(st.tuples(st.sampled_from(["ask", "ok", "fail", "final", "leave"]), st.integers(0, 9)), max_size=60))
def test_every_request_hears_its_end_exactly_once(steps):
    cache = ReplyCache(CacheConfig(deduplicate=True), ManualClock())
    asked: list[Request] = []
    leads: set[Request] = set()
    over: set[Request] = set()
    gone: set[Request] = set()

    class Live(Request):
        def shared(self, reply):
            assert self not in over | gone
            over.add(self)

        def lead(self):
            assert self not in over | gone
            leads.add(self)

        def abandon(self):
            assert self in gone
            leads.remove(self)

    for step, number in steps:
        if step == "ask":
            one = Live()
            asked.append(one)
            if cache.lookup(KEY, one) is CacheRole.LEADER:
                leads.add(one)
        elif step == "leave":
            waiting = [one for one in asked if one not in over | gone]
            if waiting:
                leaver = waiting[number % len(waiting)]
                gone.add(leaver)
                if not cache.leave(KEY, leaver):
                    leads.discard(leaver)
        elif leads:
            leader = leads.pop()
            if leader not in gone:
                over.add(leader)
            cache.finish(KEY, leader, None if step == "fail" else OK, final=step != "final")
        assert len(leads) <= 1
        waiting = [one for one in asked if one not in over | gone]
        assert bool(waiting) <= bool(leads)
        assert cache.statistics().in_flight == len(leads)


def test_spaces_and_the_order_of_fields_make_no_difference():
    one = request_key(
        "", plan_of(), "openai", b'{"model": "m", "messages": [{"role": "user", "content": "hi"}], "seed": 1}'
    )
    two = request_key("", plan_of(), "openai", b'{"seed":1,"model":"m","messages":[{"role":"user","content":"hi"}]}')
    assert one == two


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (b'{"a": {"x": 1, "y": 2}}', b'{"a": {"y": 2, "x": 1}}'),
        (b'{"seed": 12345678901234567890123}', b'{"seed": 12345678901234567890124}'),
        (b'{"t": 0.0}', b'{"t": 0.1}'),
        (b'{"a": "1"}', b'{"a": 1}'),
        (b"[1]", b"[2]"),
        (b"not json", b"not json either"),
    ],
)
def test_bodies_that_differ_have_different_keys(first, second):
    assert request_key("", plan_of(), "openai", first) != request_key("", plan_of(), "openai", second)


def test_another_target_surface_form_or_scope_is_another_request():
    plans = [plan_of(), plan_of("x"), plan_of(provider="q"), plan_of(key="l"), plan_of(surface="responses")]
    keys = {request_key(scope, plan, form, b"{}") for plan in plans for scope in ("", "ann") for form in ("a", "b")}
    assert len(keys) == 20


def test_only_sessions_of_one_caller_share(clock):
    cache = ReplyCache(CacheConfig(keep_s=1), clock)
    plan = plan_of()
    ann1, ann2 = Session("1", "ann", caller="ann"), Session("2", "ann", caller="ann")
    bob = Session("1", "bob", caller="bob")
    assert cache.key(ann1, plan, "a", b"{}") == cache.key(ann2, plan, "a", b"{}") != cache.key(bob, plan, "a", b"{}")
    assert cache.key(Session("1", "1"), plan, "a", b"{}") == cache.key(Session("2", "2"), plan, "a", b"{}")
    across = ReplyCache(CacheConfig(keep_s=1, across_callers=True), clock)
    assert across.key(ann1, plan, "a", b"{}") == across.key(bob, plan, "a", b"{}")


def test_those_who_joined_and_those_who_come_later_read_the_stream_from_its_source(cache):
    made = cache
    leader, early, late, apart = Request(), Request(), Request(), Request()
    source = Broadcast(10, lambda: None, lambda: None)
    assert made.lookup(b"k", leader) is CacheRole.LEADER
    assert made.lookup(b"k", early) is CacheRole.JOINED
    made.catch_up(b"k", early)
    assert early.heard == []
    made.begin_stream(b"k", leader, source, "p")
    assert made.lookup(b"k", late) is CacheRole.JOINED
    made.catch_up(b"k", late)
    assert early.heard == late.heard == [(source, "p")]
    source.add(b"more than ten bytes")
    assert made.lookup(b"k", apart) is CacheRole.LEADER, "the beginning is not there any more"
    made.begin_stream(b"k", apart, source, "p")
    made.end_stream(b"k", apart, None)
    assert made.statistics().in_flight == 1
    made.end_stream(b"k", leader, None)
    assert (made.statistics().in_flight, made.statistics().shared) == (0, 2)
