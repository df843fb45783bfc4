"""What providers answer to one request, and that it takes nothing away from the others."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tickmind.base import Secret
from tickmind.gateway.settings.config import ApiKey, GatewayConfig, Route
from tickmind.llm.testing import Break, Refuse, Respond

pytestmark = pytest.mark.asyncio
LARGE = "x" * 20_000


def reply(status: int, document: Any, **headers: str) -> bytes:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status} X\r\n{lines}Content-Length: {len(body)}\r\n\r\n".encode() + body


def completion(text: str = "Run!") -> bytes:
    usage = {"prompt_tokens": 1, "completion_tokens": 1}
    return reply(200, {"choices": [{"message": {"role": "assistant", "content": text}}], "usage": usage})


def failing(status: int, document: Any, when: Callable[[dict[str, Any]], bool] = lambda _body: True) -> Any:
    """A provider that answers so when it is asked for something certain, and else as it should."""

    async def answer(connection: Any) -> None:
        await connection.send(reply(status, document) if when(json.loads(connection.body)) else completion())

    return answer


def then_good(config: GatewayConfig) -> GatewayConfig:
    """Model `m` goes to the raw provider first and to the good one next."""
    return replace(config, exact={"m": Route((("raw", None), ("good", None)))})


TOO_LARGE = [
    (413, {"error": {"code": "rate_limit_exceeded", "message": "Request too large: Limit 6000, Requested 7000"}}),
    (429, {"error": {"code": "rate_limit_exceeded", "message": "On TPM: Limit 30000, Requested 54000"}}),
    (402, {"error": {"code": 402, "message": "You need more credits or fewer max_tokens: you can only afford 9"}}),
    (402, {"detail": "payment required"}),
    (403, b"<html>blocked by the firewall</html>"),
]


@pytest.mark.parametrize(("status", "document"), TOO_LARGE)
async def test_what_one_large_request_is_refused_for_is_not_held_against_others(
    raw_housing: Any, status: int, document: Any
) -> None:
    def is_large(body: dict[str, Any]) -> bool:
        return len(body["messages"][0]["content"]) > 1000

    async with raw_housing(failing(status, document, is_large)) as house:
        for _ in range(6):
            assert (await house.chat(LARGE)).status == status
            assert (await house.chat("small")).status == 200
        stats = (await house.get("/api/llm/stats")).json["raw"]
        assert (stats["rateLimited"], stats["circuit"], stats["retryInMs"]) == (False, "closed", 0)


@pytest.mark.parametrize(("status", "document"), TOO_LARGE)
async def test_what_one_provider_does_not_take_another_may(raw_housing: Any, status: int, document: Any) -> None:
    async with raw_housing(failing(status, document), change=then_good) as house:
        answer = await house.chat(LARGE)
        assert (answer.status, answer.headers["x-tickmind-provider"]) == (200, "good")
        assert [one["result"] for one in json.loads(answer.headers["x-tickmind-attempts"])] == ["declined", "ok"]


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/api/llm/generate"])
async def test_an_error_in_a_reply_with_status_200_falls_back(raw_housing: Any, path: str) -> None:
    document = {"error": {"code": 502, "message": "the model is away"}, "choices": [{"message": {"content": ""}}]}
    async with raw_housing(failing(200, document), change=then_good) as house:
        request = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "agentId": "a", "prompt": "Hi"}
        answer = await house.ask(path, request)
        assert (answer.status, answer.headers["x-tickmind-provider"]) == (200, "good")


async def test_an_error_in_a_reply_with_status_200_is_the_callers_error_if_nobody_else_is_left(
    raw_housing: Any,
) -> None:
    document = {"error": {"code": 429, "message": "slow down", "metadata": {}}, "choices": []}
    async with raw_housing(failing(200, document)) as house:
        answer = await house.chat(headers={"x_tickmind_timeout_ms": "500"})
        assert (answer.status, answer.json["error"]["code"]) == (429, "ALL_LIMITED")


async def test_a_null_error_in_a_reply_is_none(raw_housing: Any) -> None:
    async with raw_housing(failing(200, {"error": None, "choices": []})) as house:
        answer = await house.chat()
        assert (answer.status, answer.json) == (200, {"error": None, "choices": []})


@pytest.mark.parametrize("fall_back", [True, False])
async def test_a_refused_key_is_passed_over_for_the_providers_other_one(
    raw_housing: Any, with_provider: Any, fall_back: bool
) -> None:
    async def answer(connection: Any) -> None:
        refusal = reply(401, {"error": {"code": "invalid_api_key", "message": "Incorrect API key"}})
        await connection.send(refusal if connection.key.endswith("-old") else completion())

    keys = tuple(ApiKey(name, Secret(f"sk-canary-{name}")) for name in ("old", "new"))
    change = with_provider("raw", keys=keys, fall_back_on_errors=fall_back)
    async with raw_housing(answer, change=change) as house:
        for _ in range(3):
            assert (await house.chat()).status == 200
        asked = [head.split(b"sk-canary-")[1].split(b"\r\n")[0] for head in house.raw.heads]
        assert asked == [b"old", b"new", b"new", b"new"], "the refused one is left alone"


async def test_a_plain_reset_is_waited_for(raw_housing: Any) -> None:
    async def answer(connection: Any) -> None:
        await connection.send(reply(429, {"error": {"message": "slow down"}}, X_RateLimit_Reset="50"))

    async with raw_housing(answer) as house:
        refused = await house.chat(headers={"x_tickmind_timeout_ms": "2000"})
        assert refused.status == 429
        assert 45 <= int(refused.headers["retry-after"]) <= 50


async def test_an_open_circuit_is_no_rate_limit(housing: Any) -> None:
    async with housing(one=[Refuse(500)] * 5) as house:
        for _ in range(5):
            assert (await house.chat()).status == 500
        stats = (await house.get("/api/llm/stats")).json["one"]
        assert (stats["rateLimited"], stats["circuit"]) == (False, "open")
        assert stats["retryInMs"] > 0
        shown = (await house.get("/api/llm/overview")).json
        assert [event["kind"] for event in shown["events"]] == ["circuit_opened"]


async def test_retries_are_shown(housing: Any) -> None:
    async with housing(one=[Refuse(429, retry_after=30), Refuse(500)], two=[]) as house:
        assert (await house.chat()).status == 200
        shown = (await house.get("/api/llm/overview")).json
        assert (shown["retries"], shown["retriesRefused"], shown["retriesLeft"]) == (1, 0, 10.0)
        metrics = (await house.get("/metrics")).body.decode()
        assert "tickmind_gateway_retries_total 1" in metrics


@pytest.mark.parametrize("step", [Refuse(500), Refuse(503), Break(Respond("Cut."), ending="reset")])
async def test_errors_before_the_first_byte_fall_back_by_default(housing: Any, step: Any) -> None:
    async with housing(one=[step], two=["From two."]) as house:
        assert (await house.chat()).headers["x-tickmind-provider"] == "two"


async def test_a_provider_that_is_not_there_is_passed_over_by_default(housing: Any) -> None:
    async with housing(one=[], two=["From two."]) as house:
        await house.providers["one"].__aexit__()
        assert (await house.chat()).headers["x-tickmind-provider"] == "two"
