"""Calls through a real gateway: passed on, fallen back, queued, refused, shared and let go."""

import asyncio
import gc
import json
from typing import Any

import pytest
from tests.conftest import LoopClock

from tickmind.gateway.call import Call
from tickmind.gateway.fairness.caller_keys import hash_key
from tickmind.gateway.queue.ticket import Ticket
from tickmind.gateway.settings.config import CacheConfig, Caller, Limits, QueueConfig, SharingConfig, WireConfig
from tickmind.llm.testing import Break, Drip, EchoHeaders, Hang, Redirect, Refuse, Respond

pytestmark = pytest.mark.asyncio
CANARY = "sk-canary-0123456789abcdef"


async def test_a_chat_passes_through_unchanged_and_says_who_answered(housing: Any) -> None:
    async with housing(one=["Run!"]) as house:
        reply = await house.chat(temperature=0.0, headers={"x_tickmind_session": "game-1"})
        assert reply.status == 200
        assert reply.json["choices"][0]["message"]["content"] == "Run!"
        assert reply.headers["x-tickmind-provider"] == "one"
        (attempt,) = json.loads(reply.headers["x-tickmind-attempts"])
        assert (attempt["provider"], attempt["result"], attempt["status"]) == ("one", "ok", 200)
        cooldown = json.loads(reply.headers["x-tickmind-cooldown"])
        assert cooldown["activeGames"] == 1
        assert set(cooldown) == {"nextAllowedAt", "waitMs", "activeGames", "rateLimit"}
        (seen,) = house.providers["one"].seen
        assert seen.body["temperature"] == 0.0
        assert house.providers["one"].seen_keys == [f"{CANARY}-one"]
        assert not any(name.startswith("x-tickmind") for name in seen.headers)


async def test_a_streamed_chat_arrives_as_events_and_ends(housing: Any) -> None:
    async with housing(one=[Respond("One two three four.", cut=3)]) as house:
        reply = await house.chat(stream=True)
        events = [line[6:] for line in reply.body.decode().split("\n") if line.startswith("data: ")]
        assert events[-1] == "[DONE]"
        text = "".join(
            json.loads(event)["choices"][0]["delta"].get("content") or "" for event in events[:-1] if '"delta"' in event
        )
        assert text == "One two three four."
        assert reply.headers["x-tickmind-provider"] == "one"
        await house.settle()


def count_of_calls() -> int:
    return sum(isinstance(thing, Call | Ticket) for thing in gc.get_objects())


@pytest.mark.parametrize("stream", [False, True])
async def test_a_call_that_was_answered_is_gone_without_garbage_collection(housing: Any, stream: bool) -> None:
    async with housing(one=["Run!"]) as house:
        gc.collect()
        before = count_of_calls()
        gc.disable()
        try:
            assert (await house.chat(stream=stream)).status == 200
            await house.settle()
            assert count_of_calls() == before
        finally:
            gc.enable()


async def test_the_responses_form_passes_through_too(housing: Any) -> None:
    async with housing(one=["Run!"]) as house:
        reply = await house.ask("/v1/responses", {"model": "m", "input": "A dragon!"})
        assert reply.status == 200
        assert "Run!" in reply.body.decode()
        assert house.providers["one"].seen[0].wire == "responses"


async def test_generate_gives_text_tokens_provider_and_cooldown(housing: Any) -> None:
    limits = {"one": Limits(requests_per_minute=30, burst=5, concurrency=2)}
    async with housing(one=[Respond("<think>Hm.</think>I gather wood.")], limits=limits) as house:
        reply = await house.generate(sessionId="game-1", maxTokens=50, temperature=0.0, systemPrompt="Be brief.")
        assert reply.status == 200
        got = reply.json
        assert got["text"].strip() == "I gather wood."
        assert (got["provider"], got["tokensUsed"] > 0, got["thinking"].strip()) == ("one", True, "Hm.")
        assert got["cooldown"]["rateLimit"] == {"requestsPerMinute": 30, "effectiveRPM": 30}
        assert got["attempts"][0]["result"] == "ok"
        body = house.providers["one"].seen[0].body
        assert (body["temperature"], body["max_tokens"], body["messages"][0]["role"]) == (0.0, 50, "system")


async def test_the_first_429_moves_a_request_to_the_next_provider(housing: Any) -> None:
    async with housing(one=[Refuse(429, retry_after=30)], two=["From two."]) as house:
        reply = await house.chat()
        assert (reply.status, reply.headers["x-tickmind-provider"]) == (200, "two")
        assert [one["result"] for one in json.loads(reply.headers["x-tickmind-attempts"])] == ["rate_limited", "ok"]
        assert (await house.chat()).headers["x-tickmind-provider"] == "two"  # one is known to be limited
        assert len(house.providers["one"].seen) == 1
        assert house.providers["two"].seen_keys[0] == f"{CANARY}-two"


async def test_when_all_are_limited_the_request_waits_for_the_earliest(housing: Any) -> None:
    async with housing(one=[Refuse(429, retry_after=0.3), "At last."], two=[Refuse(429, retry_after=30)]) as house:
        reply = await house.chat()
        assert (reply.status, reply.json["choices"][0]["message"]["content"]) == (200, "At last.")


async def test_a_reset_beyond_the_deadline_fails_at_once(housing: Any) -> None:
    async with housing(one=[Refuse(429, retry_after=3000)]) as house:
        reply = await house.chat(headers={"x_tickmind_timeout_ms": "20000"})
        assert (reply.status, reply.json["error"]["code"]) == (429, "ALL_LIMITED")
        assert int(reply.headers["retry-after"]) > 1000
        assert (await house.chat()).status == 429
        assert len(house.providers["one"].seen) == 1


async def test_errors_are_the_callers_where_the_operator_says_so(housing: Any, with_provider: Any) -> None:
    steps = [Refuse(500, "boom"), Refuse(400, "bad field")]
    change = with_provider("one", fall_back_on_errors=False)
    async with housing(one=steps, two=["never"], change=change) as house:
        assert (await house.chat()).status == 500
        reply = await house.chat()
        assert (reply.status, "bad field" in reply.body.decode()) == (400, True)
        assert not house.providers["two"].seen


@pytest.mark.parametrize("step", [EchoHeaders(401), EchoHeaders(500), EchoHeaders(429), EchoHeaders(400)])
async def test_a_provider_that_echoes_the_key_does_not_give_it_away(housing: Any, step: Any, stepped_time: Any) -> None:
    async with housing(one=[step, step]) as house, stepped_time(60):
        for reply in (await house.chat(), await house.generate()):
            assert CANARY not in reply.body.decode() + str(reply.headers)


async def test_a_redirect_is_not_followed_and_the_key_stays(housing: Any) -> None:
    async with housing(one=[], two=[]) as house:
        house.providers["one"].enqueue(Redirect(house.providers["two"].base_url + "/chat/completions"))
        reply = await house.chat(model="one/x")
        assert (reply.status, reply.json["error"]["code"]) == (502, "PROVIDER_ERROR")
        assert not house.providers["two"].seen


async def test_a_full_queue_refuses_at_once_with_retry_after(housing: Any) -> None:
    limits = {"one": Limits(requests_per_minute=60, burst=1, concurrency=1)}
    settings = {"queue": QueueConfig(capacity=2)}
    async with housing(one=[Hang()], limits=limits, settings=settings) as house:
        asking = [asyncio.create_task(house.chat(headers={"x_tickmind_session": "s"})) for _ in range(3)]
        await house.until(lambda: house.gateway.dispatcher.statistics().queued >= 2)
        reply = await house.chat(headers={"x_tickmind_session": "s"})
        assert (reply.status, reply.json["error"]["code"]) == (503, "QUEUE_FULL")
        assert int(reply.headers["retry-after"]) >= 1
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
        await house.settle()


async def test_a_deadline_ends_a_call_that_hangs(housing: Any, loop_clock: LoopClock) -> None:
    async with housing(one=[Hang()]) as house:
        asking = asyncio.create_task(house.chat(headers={"x_tickmind_timeout_ms": "30000"}))
        await house.providers["one"].wait_seen(1)
        loop_clock.skip(30)
        reply = await asking
        assert (reply.status, reply.json["error"]["code"]) == (504, "DEADLINE")
        await house.settle()


async def test_a_stream_that_breaks_ends_with_an_error_event(housing: Any) -> None:
    async with housing(one=[Break(Respond("A long reply that breaks.", cut=2), events=6)]) as house:
        reply = await house.chat(stream=True)
        last = reply.body.decode().strip().rsplit("data: ", 1)[1]
        assert json.loads(last)["error"]["code"] == "PROVIDER_ERROR"
        await house.settle()


@pytest.mark.parametrize("step", [Hang(), Drip(Respond("word " * 400, cut=5), size_bytes=50, interval_s=0.02)])
async def test_a_caller_that_leaves_frees_its_slot_and_ends_the_providers_work(housing: Any, step: Any) -> None:
    limits = {"one": Limits(burst=10, concurrency=1)}
    async with housing(one=[step, "Next."], limits=limits) as house:
        reader, writer = await house.open()
        document = {"model": "m", "messages": [{"role": "user", "content": "x"}], "stream": True}
        writer.write(house.request("/v1/chat/completions", document))
        await house.providers["one"].wait_seen(1)
        writer.close()
        assert (await house.chat()).json["choices"][0]["message"]["content"] == "Next."
        await house.settle()
        del reader


async def test_callers_need_their_key_and_are_told_apart_by_it(housing: Any) -> None:
    callers = (Caller("ada", hash_key("tm-ada")), Caller("bob", hash_key("tm-bob")))
    async with housing(one=(), settings={"callers": callers}) as house:
        assert (await house.chat()).json["error"]["code"] == "UNAUTHORIZED"
        assert (await house.chat(headers={"authorization": "Bearer wrong"})).status == 401
        for key in ("tm-ada", "tm-bob"):
            assert (await house.chat(headers={"authorization": f"Bearer {key}"})).status == 200
        assert {session.owner for session in house.gateway.sessions.listing()} == {"ada", "bob"}
        assert set(house.providers["one"].seen_keys) == {f"{CANARY}-one"}


async def test_strict_sharing_refuses_what_comes_too_early_and_says_when(housing: Any) -> None:
    limits = {"one": Limits(requests_per_minute=0.5, burst=5, concurrency=2)}
    async with housing(one=(), limits=limits, settings={"sharing": SharingConfig(mode="strict")}) as house:
        first = await house.generate(sessionId="g")
        assert first.json["cooldown"]["waitMs"] <= 120_000
        second = await house.generate(sessionId="g")
        assert (second.status, second.json["error"]) == (429, "RATE_LIMIT_COOLDOWN")
        assert 0 < second.json["cooldown"]["waitMs"] <= 120_000


async def test_heartbeat_and_defer_answer_in_their_shapes(housing: Any, loop_clock: LoopClock) -> None:
    async with housing(one=()) as house:
        beat = await house.ask("/api/llm/heartbeat", {"sessionId": "game-1"})
        assert (beat.status, beat.json) == (200, {"success": True, "activeGames": 1})
        held = await house.ask("/api/llm/defer", {"agentId": "ada", "durationMs": 50_000, "sessionId": "game-1"})
        assert (held.status, held.json["success"], held.json["deferredMs"] <= 50_000) == (200, True, True)
        waiting = asyncio.create_task(house.generate(sessionId="game-1"))
        await house.until(lambda: len(house.gateway.holding) == 1 or waiting.done())
        assert not waiting.done()
        with loop_clock.stopped():
            loop_clock.skip(20)
            assert (await house.generate(sessionId="game-2")).status == 200
            assert not waiting.done()
            loop_clock.skip(30)
            assert (await waiting).status == 200
        assert (
            await house.ask("/api/llm/defer", {"agentId": "ada", "durationMs": 60_000, "sessionId": "game-1"})
        ).status == 200
        refused = await house.generate(sessionId="game-1", timeoutMs=1000)
        assert (refused.status, refused.json["error"]) == (429, "DEFERRED")


async def test_an_agent_that_ends_its_wait_is_served_at_once_and_one_that_leaves_is_forgotten(housing: Any) -> None:
    async with housing(one=()) as house:
        wait = {"agentId": "ada", "durationMs": 90_000, "sessionId": "game-1"}
        await house.ask("/api/llm/defer", wait)
        held = [asyncio.create_task(house.generate(sessionId="game-1")) for _ in range(2)]
        await house.until(lambda: len(house.gateway.holding) == 2)
        assert "tickmind_gateway_held 2" in (await house.get("/metrics")).body.decode()
        held.pop().cancel()
        await house.until(lambda: len(house.gateway.holding) == 1)
        await house.ask("/api/llm/defer", {**wait, "durationMs": 0})
        assert (await held[0]).status == 200
        await house.settle()


async def test_a_newer_request_of_an_agent_replaces_its_queued_one(housing: Any) -> None:
    limits = {"one": Limits(burst=10, concurrency=1)}
    answered = asyncio.Event()

    async def answer(request: Any) -> str:
        if request.messages[-1].text == "1":
            await answered.wait()
        return "Served."

    async with housing(one=answer, limits=limits) as house:
        headers = {"x_tickmind_agent": "ada", "x_tickmind_replace": "1"}
        first = asyncio.create_task(house.chat("1", headers=headers))
        await house.providers["one"].wait_seen(1)
        second = asyncio.create_task(house.chat("2", headers=headers))
        await house.until(lambda: house.gateway.dispatcher.statistics().queued >= 1)
        third = asyncio.create_task(house.chat("3", headers=headers))
        await house.until(lambda: second.done() or house.gateway.dispatcher.statistics().queued == 2)
        assert second.done()
        assert ((await second).status, (await second).json["error"]["code"]) == (409, "REPLACED")
        assert (await second).headers["x-should-retry"] == "false"  # or the official clients would send it again
        answered.set()
        assert ((await first).status, (await third).status) == (200, 200)


async def test_identical_requests_share_one_call_and_replies_are_kept(housing: Any) -> None:
    settings = {"cache": CacheConfig(deduplicate=True, keep_s=60.0)}
    answered = asyncio.Event()

    async def answer(request: Any) -> str:
        await answered.wait()
        return "Twice." if request.messages[-1].text == "Another." else "Once."

    async with housing(one=answer, settings=settings) as house:
        asking = [asyncio.create_task(house.chat()) for _ in range(5)]
        await house.until(lambda: house.gateway.cache.statistics().joined == 4)
        answered.set()
        replies = await asyncio.gather(*asking)
        assert {reply.json["choices"][0]["message"]["content"] for reply in replies} == {"Once."}
        assert (await house.chat()).json["choices"][0]["message"]["content"] == "Once."
        assert len(house.providers["one"].seen) == 1
        assert (await house.chat("Another.")).json["choices"][0]["message"]["content"] == "Twice."
        await house.settle()


async def test_the_same_prompt_by_two_surfaces_gets_each_its_own_form(housing: Any) -> None:
    async with housing(one=(), settings={"cache": CacheConfig(keep_s=60.0)}) as house:
        chat = {"messages": [{"role": "user", "content": "A dragon!"}]}
        assert "text" in (await house.generate("A dragon!")).json
        assert "choices" in (await house.ask("/v1/chat/completions", chat)).json
        assert "text" in (await house.generate("A dragon!")).json
        assert len(house.providers["one"].seen) == 2


async def test_bad_requests_are_told_what_is_wrong(housing: Any) -> None:
    async with housing(one=(), two=(), settings={"wire": WireConfig(max_request_bytes=5000)}) as house:
        for document, word in [
            (b"{", "JSON"),
            (b"[]", "object"),
            ({"model": "m"}, "messages"),
            ({"model": "m", "messages": []}, "messages"),
            ({"model": 5, "messages": [{}]}, "model"),
            ({"model": "nobody/knows", "messages": [{}]}, "nobody/knows"),
        ]:
            reply = await house.ask("/v1/chat/completions", document)
            assert 400 <= reply.status < 500
            assert word in reply.json["error"]["message"]
        assert (await house.chat("x" * 6000)).status == 413
        assert (await house.get("/v1/chat/completions")).status == 405
        assert (await house.get("/nowhere")).status == 404
        assert (await house.chat(headers={"x_tickmind_priority": "urgent"})).status == 400
        assert not house.providers["one"].seen


async def test_other_sites_pages_and_names_are_turned_away(housing: Any) -> None:
    async with housing(one=()) as house:
        assert (await house.chat(headers={"origin": "https://evil.example"})).status == 403
        reader, writer = await house.open()
        writer.write(b"GET /v1/models HTTP/1.1\r\nHost: evil.example\r\n\r\n")
        assert (await reader.readline()).startswith(b"HTTP/1.1 404")
        writer.close()
        for origin in ("http://localhost:3000", "http://127.0.0.1:3000"):
            denied = await house.chat(headers={"origin": origin})
            assert (denied.status, "`allowed_origins`" in denied.json["error"]["message"]) == (403, True)
            assert (await house.ask("/api/llm/generate", method="OPTIONS", origin=origin)).status == 403
        assert not house.providers["one"].seen
        own = f"http://127.0.0.1:{house.server.port}"
        assert (await house.chat(headers={"origin": own})).status == 200


async def test_listed_pages_may_use_the_gateway(housing: Any) -> None:
    async with housing(one=(), settings={"allowed_origins": ("http://localhost:3000",)}) as house:
        reply = await house.chat(headers={"origin": "http://localhost:3000"})
        assert (reply.status, reply.headers["access-control-allow-origin"]) == (200, "http://localhost:3000")
        pre = await house.ask("/api/llm/generate", method="OPTIONS", origin="http://localhost:3000")
        assert (pre.status, "POST" in pre.headers["access-control-allow-methods"]) == (204, True)
        assert (await house.chat(headers={"origin": "http://localhost:3001"})).status == 403


async def test_where_callers_have_keys_any_page_of_this_machine_may_ask_with_one(housing: Any) -> None:
    key, page = "sk-tm-0123456789abcdef", "http://localhost:3000"
    async with housing(one=(), settings={"callers": (Caller("ada", hash_key(key)),)}) as house:
        assert (await house.ask("/v1/chat/completions", method="OPTIONS", origin=page)).status == 204
        assert (await house.chat(headers={"origin": page})).status == 401
        assert (await house.chat(headers={"origin": page, "authorization": f"Bearer {key}"})).status == 200
        assert (await house.chat(headers={"origin": "https://evil.example", "authorization": key})).status == 403


@pytest.mark.parametrize("path", ["m", "one/qwen/qwen3-32b", "one%2Fqwen%2Fqwen3-32b"])
async def test_a_single_model_is_told_by_any_name_that_can_be_asked_for(housing: Any, path: str) -> None:
    async with housing(one=(), two=()) as house:
        reply = await house.get(f"/v1/models/{path}")
        name = path.replace("%2F", "/")
        assert (reply.status, reply.json) == (200, {"id": name, "object": "model", "created": 0, "owned_by": "one"})
        missing = await house.get("/v1/models/unheard-of")
        assert (missing.status, missing.json["error"]["code"]) == (404, "UNKNOWN_MODEL")
        assert (await house.get("/v1/models/%ff")).status == 400
        assert (await house.ask(f"/v1/models/{path}", {})).status == 405


async def test_an_unknown_model_goes_to_the_only_provider_that_has_a_key(housing: Any) -> None:
    async with housing(one=["Hello."]) as house:
        assert (await house.chat(model="brand-new")).status == 200
        assert house.providers["one"].seen[0].body["model"] == "brand-new"


async def test_models_are_listed(housing: Any) -> None:
    async with housing(one=()) as house:
        reply = await house.get("/v1/models")
        assert "m" in [entry["id"] for entry in reply.json["data"]]


async def test_fields_that_a_model_takes_otherwise_are_renamed_or_left_out(housing: Any, with_provider: Any) -> None:
    fields = {"*": {"max_tokens": "max_completion_tokens"}, "m*": {"temperature": None}}
    change = with_provider("one", request_fields=fields)
    async with housing(one=["Yes.", "Yes.", "Yes."], change=change) as house:
        chat = {"model": "m", "messages": [{"role": "user", "content": 'say "temperature"'}]}
        await house.ask("/v1/chat/completions", {**chat, "max_tokens": 7, "temperature": 0.3, "seed": 1})
        await house.ask("/v1/chat/completions", {**chat, "max_tokens": 7, "max_completion_tokens": 9})
        generate = {"agentId": "a", "sessionId": "s", "model": "m", "prompt": "Hi", "maxTokens": 5, "temperature": 0.2}
        await house.ask("/api/llm/generate", generate)
        bodies = [one.body for one in house.providers["one"].seen]
    assert [body.get("max_completion_tokens") for body in bodies] == [7, 9, 5]
    assert not any("max_tokens" in body or "temperature" in body for body in bodies)
    assert bodies[0]["seed"] == 1
    assert bodies[1]["messages"] == chat["messages"]
