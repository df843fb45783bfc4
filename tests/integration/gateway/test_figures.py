"""What the gateway shows of itself: statistics, the overview and metrics, over real HTTP."""

import asyncio

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tickmind.gateway.fairness.caller_keys import hash_key, new_key
from tickmind.gateway.settings.config import Budget, Caller, Limits, SharingConfig
from tickmind.gateway.surface.overview import MOST_ROWS
from tickmind.llm.testing import Hang, Refuse, Respond

LIMITED_S = 300


async def overview(house, **headers):
    return (await house.get("/api/llm/overview", **headers)).json


@pytest.mark.asyncio
async def test_stats_tell_for_each_provider_how_many_wait_and_whether_it_is_limited(housing):
    one_at_a_time = {"two": Limits(burst=1000, concurrency=1)}
    async with housing(one=[Refuse(429, retry_after=LIMITED_S)], two=[Hang()], limits=one_at_a_time) as house:
        asks = [asyncio.create_task(house.chat())]
        await house.providers["two"].wait_seen()
        asks += [asyncio.create_task(house.chat()) for _ in range(2)]
        await house.until(lambda: house.gateway.dispatcher.statistics().queued == 2)
        stats = (await house.get("/api/llm/stats")).json
        assert {name: (one["length"], one["rateLimited"]) for name, one in stats.items()} == {
            "one": (2, True),  # a request counts where its chain begins
            "two": (0, False),
        }
        assert LIMITED_S - 60 < stats["one"]["retryInMs"] / 1000 <= LIMITED_S
        for ask in asks:
            ask.cancel()
        await asyncio.gather(*asks, return_exceptions=True)


@pytest.mark.asyncio
async def test_a_provider_that_nobody_asked_is_neither_limited_nor_waited_for(housing):
    async with housing(one=[], two=[]) as house:
        stats = (await house.get("/api/llm/stats")).json
    assert stats == {
        name: {
            "length": 0,
            "rateLimited": False,
            "circuit": "closed",
            "retryInMs": 0,
            "inFlight": 0,
            "waitMs": 0,
            "serviceMs": 0,
        }
        for name in ("one", "two")
    }


@pytest.mark.asyncio
async def test_the_overview_tells_lanes_sessions_and_fallbacks(housing):
    async with housing(one=[Refuse(429, retry_after=LIMITED_S)], two=[]) as house:
        for session in ("village", "village", "arena"):
            assert (await house.generate(sessionId=session)).status == 200
        shown = await overview(house)
    lanes = {lane["provider"]: lane for lane in shown["lanes"]}
    assert (lanes["one"]["state"], lanes["two"]["state"]) == ("limited", "ready")
    assert lanes["one"]["limitedForMs"] > 1000 * (LIMITED_S - 60)
    assert "rate limited" in lanes["one"]["reason"]
    assert {one["session"]: (one["served"], one["servedLately"]) for one in shown["sessions"]} == {
        "village": (2, 2),
        "arena": (1, 1),
    }
    shares = {one["session"]: (round(one["share"], 3), one["dueShare"]) for one in shown["sessions"]}
    assert shares == {"village": (0.667, 0.5), "arena": (0.333, 0.5)}
    assert [event["kind"] for event in shown["events"]] == ["fell_back", "limited"]
    assert shown["events"][0]["detail"] == "one/m: rate limited"
    assert (shown["requests"], shown["answered"], shown["lately"]["served"], shown["fallbacks"]) == (3, 3, 3, 1)


@pytest.mark.asyncio
async def test_an_open_circuit_and_a_refused_account_are_states_of_their_own(housing):
    refused = Refuse(401, "this account is banned")
    async with housing(one=[Refuse(503)] * 5, two=[refused]) as house:
        for _ in range(5):
            await house.chat(model="one/x")
        await house.chat(model="two/x")
        states = {lane["provider"]: lane["state"] for lane in (await overview(house))["lanes"]}
    assert states == {"one": "open", "two": "paused"}


@pytest.mark.asyncio
async def test_limits_tell_how_much_of_them_is_used(housing, loop_clock):
    counted = Limits(requests_per_minute=600, tokens_per_minute=100_000, burst=10)
    spaced = Limits(requests_per_second=100, concurrency=5)
    async with housing(one=[], two=[], limits={"one": counted, "two": spaced}) as house:
        for _ in range(3):
            await house.chat(model="one/x")
            await house.chat(model="two/x")
        loop_clock.skip(5)
        with loop_clock.stopped():  # or the second of which it tells would be over
            await house.chat(model="two/x")
            lanes = {lane["provider"]: lane for lane in (await overview(house))["lanes"]}
    requests, tokens = lanes["one"]["limits"]
    assert (requests["unit"], requests["limit"], requests["perS"], requests["used"]) == ("requests", 600, 60, 3)
    assert tokens["unit"] == "tokens"
    assert 0 < tokens["used"] < 100_000
    assert [(one["limit"], one["perS"]) for one in lanes["two"]["limits"]] == [(100, 1)]
    assert 0 < lanes["two"]["limits"][0]["used"] <= 100
    assert (lanes["one"]["concurrency"], lanes["two"]["concurrency"]) == (None, 5)


@pytest.mark.asyncio
async def test_sessions_of_one_name_under_two_keys_are_told_apart(housing):
    keys = {name: new_key() for name in ("ada", "bob", "root")}
    callers = tuple(Caller(name, hash_key(key), admin=name == "root") for name, key in keys.items())
    async with housing(settings={"callers": callers}) as house:
        for name, times in (("ada", 2), ("bob", 1)):
            for _ in range(times):
                headers = {"Authorization": f"Bearer {keys[name]}", "X-Tickmind-Session": "game"}
                assert (await house.chat(headers=headers)).status == 200
        shown = await overview(house, Authorization=f"Bearer {keys['root']}")
        assert (await house.get("/api/llm/overview")).status == 401
    assert {one["session"]: one["served"] for one in shown["sessions"]} == {"ada/game": 2, "bob/game": 1}


@pytest.mark.asyncio
async def test_a_callers_key_shows_its_own_sessions_and_costs_and_an_admins_all(housing, with_provider):
    keys = {name: new_key() for name in ("ada", "bob", "root")}
    callers = tuple(
        Caller(name, hash_key(key), budget=Budget(requests=100), admin=name == "root") for name, key in keys.items()
    )
    change = with_provider("one", limits=Limits(concurrency=1))
    async with housing(
        one=[Refuse(429, retry_after=1), *[Respond("Run!")] * 3], settings={"callers": callers}, change=change
    ) as house:

        def headers(name):
            return {"Authorization": f"Bearer {keys[name]}"}

        for name in ("ada", "bob"):
            assert (
                await house.chat(model="one/gpt-4o", headers={**headers(name), "X-Tickmind-Session": "game"})
            ).status == 200
            document = {"agentId": name, "durationMs": 60_000}
            assert (await house.ask("/api/llm/defer", document, **headers(name))).status == 200

        async def seen_by(name):
            return {
                path: (await house.get(f"/api/llm/{path}", **headers(name))).json
                for path in ("sessions", "costs", "overview")
            }

        ada, root = await seen_by("ada"), await seen_by("root")
        metrics = {name: (await house.get("/metrics", **headers(name))).status for name in keys}
        stats = (await house.get("/api/llm/stats", **headers("ada"))).status
    assert (metrics, stats) == ({"ada": 403, "bob": 403, "root": 200}, 200)
    assert "bob" not in str(ada)
    assert {one["sessionId"] for one in ada["sessions"]["sessions"]} == {"game", "default"}
    assert list(ada["costs"]["bySession"]) == ["ada/game"]
    assert (ada["costs"]["byModel"], ada["costs"]["byProvider"], ada["overview"]["targets"]) == ({}, {}, [])
    assert [one["owner"] for one in ada["costs"]["budgets"]] == ["ada"]
    half = root["costs"]["total"]["usd"] / 2
    assert half > 0
    assert ada["costs"]["total"]["usd"] == ada["overview"]["total"]["usd"] == pytest.approx(half)
    assert ada["overview"]["lately"]["usd"] == pytest.approx(half)
    assert root["overview"]["lately"]["usd"] == pytest.approx(2 * half)
    assert {one["session"] for one in root["overview"]["sessions"]} >= {"ada/game", "bob/game"}
    assert {one["owner"] for one in root["costs"]["budgets"]} >= {"ada", "bob"}


@pytest.mark.asyncio
async def test_what_ended_sessions_cost_stays_in_the_overview_for_those_that_may_see_them(housing):
    keys = {name: new_key() for name in ("ada", "bob", "root")}
    callers = tuple(Caller(name, hash_key(key), admin=name == "root") for name, key in keys.items())
    settings = {"callers": callers, "sharing": SharingConfig(session_timeout_s=0.05)}
    async with housing(one=[Respond("Run!")] * 2, settings=settings) as house:
        for name in ("ada", "bob"):
            headers = {"Authorization": f"Bearer {keys[name]}", "X-Tickmind-Session": "game"}
            assert (await house.chat(model="one/gpt-4o", headers=headers)).status == 200
        await house.until(lambda: not house.gateway.sessions.alive())
        shown = {name: await overview(house, Authorization=f"Bearer {key}") for name, key in keys.items()}
    assert [one["session"] for one in shown["ada"]["ended"]] == ["ada/game"]
    assert [one["session"] for one in shown["root"]["ended"]] == ["ada/game", "bob/game"]
    assert [one["served"] for one in shown["root"]["ended"]] == [1, 1]
    assert sum(one["usd"] for one in shown["root"]["ended"]) == pytest.approx(shown["root"]["total"]["usd"]) != 0
    assert {name: one["counts"]["ended"] for name, one in shown.items()} == {"ada": 1, "bob": 1, "root": 2}
    assert shown["root"]["sessions"] == []


@pytest.mark.asyncio
async def test_deferred_agents_are_listed_and_counted(housing):
    async with housing() as house:
        for agent in ("ada", "bob"):
            await house.ask("/api/llm/defer", {"agentId": agent, "sessionId": "village", "durationMs": 60_000})
        shown = await overview(house)
    assert {(one["session"], one["agent"]) for one in shown["deferred"]} == {("village", "ada"), ("village", "bob")}
    assert shown["sessions"][0]["deferred"] == 2


@pytest.mark.asyncio
async def test_lists_are_bounded_and_say_how_long_they_are(housing):
    async with housing() as house:
        for number in range(MOST_ROWS + 10):
            await house.ask("/api/llm/heartbeat", {"sessionId": f"s{number}"})
        await house.generate(sessionId="busy")
        shown = await overview(house)
    assert len(shown["sessions"]) == MOST_ROWS
    assert shown["counts"]["sessions"] == MOST_ROWS + 11
    assert "busy" in [one["session"] for one in shown["sessions"]]


@pytest.mark.slow
@pytest.mark.asyncio
async def test_the_history_grows_by_points_of_equal_columns(housing, loop_clock):
    async with housing() as house:
        await house.generate()
        for count in (1, 2):
            loop_clock.skip(2)
            await house.until(lambda count=count: len(house.gateway.trend.points()) >= count)
        history = (await overview(house))["history"]
    assert len({len(column) for column in history.values()}) == 1
    assert sum(rate * span / 1000 for rate, span in zip(history["servedPerS"], history["spanMs"], strict=True)) == (
        pytest.approx(1, abs=0.1)
    )


@pytest.mark.asyncio
async def test_metrics_are_what_prometheus_reads(housing):
    async with housing(one=[Refuse(429, retry_after=LIMITED_S)], two=[]) as house:
        for _ in range(3):
            await house.chat()
        reply = await house.get("/metrics")
    assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
    families = {family.name: family for family in text_string_to_metric_families(reply.body.decode())}
    assert families["tickmind_gateway_requests"].samples[0].value == 3
    assert families["tickmind_gateway_fallbacks"].type == "counter"
    limited = {one.labels["provider"]: one.value for one in families["tickmind_gateway_limited_seconds"].samples}
    assert limited["one"] > LIMITED_S - 60
    assert limited["two"] == 0
    waits = families["tickmind_gateway_wait_seconds"]
    buckets = [sample.value for sample in waits.samples if sample.name.endswith("_bucket")]
    assert waits.type == "histogram"
    assert buckets == sorted(buckets)
    assert buckets[-1] == next(sample.value for sample in waits.samples if sample.name.endswith("_count")) == 3


@pytest.mark.asyncio
async def test_metrics_stay_readable_whatever_models_are_called(housing):
    hostile = 'one/a"} 1\\n{b="c\\'
    async with housing() as house:
        await house.chat(model=hostile)
        text = (await house.get("/metrics")).body.decode()
    models = {
        sample.labels["model"]
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if "model" in sample.labels
    }
    assert hostile.removeprefix("one/") in models


@pytest.mark.asyncio
async def test_the_page_and_its_files_are_served_with_a_strict_policy(housing):
    async with housing(settings={"callers": (Caller("ada", hash_key(new_key())),)}) as house:
        page = await house.get("/")
        parts = {
            path: await house.get(f"/dashboard/{path}")
            for path in (
                "dashboard.css",
                "dashboard.js",
                "charts.js",
                "elements.js",
                "panels.js",
                "theme.css",
                "words.js",
                "icon.svg",
            )
        }
    for reply in (page, *parts.values()):
        policy = reply.headers["content-security-policy"]
        assert reply.status == 200
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
        assert reply.headers["x-content-type-options"] == "nosniff"
    text = page.body.decode()
    assert "<style" not in text
    assert "style=" not in text
    assert text.count("<script") == 1
    assert "innerHTML" not in "".join(part.body.decode() for part in parts.values())
