"""Keys of the server, of callers and of callers' own endpoints go where they belong and are found nowhere else."""

import asyncio
import io
import logging
import traceback
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tickmind.base import ConfigError, Secret, configure_logging, get_logger
from tickmind.gateway.fairness.caller_keys import CallerKeys, hash_key
from tickmind.gateway.settings.config import Caller, GatewayConfig

# None of them has a shape that is masked by itself: what keeps them secret is that nobody writes them down.
SERVER, HEADER = "plain-canary-7f3e9b1d5a", "header-canary-22aa44cc66"
CALLER, WRONG, CUSTOM = "caller-canary-90ab12cd", "wrong-canary-55ff00ee", "custom-canary-31de77b2"
ALL = (SERVER, HEADER, CALLER, WRONG, CUSTOM)
PAGES = (
    "/", "/dashboard.js", "/api/llm/stats", "/api/llm/sessions", "/api/llm/costs", "/api/llm/overview", "/metrics",
    "/openapi.json", "/healthz", "/v1/models", "/nowhere",
)  # fmt: skip


@pytest.fixture(params=["console", "json"])
def log(request: pytest.FixtureRequest) -> Iterator[io.StringIO]:
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    stream = io.StringIO()
    configure_logging(request.param, level="DEBUG", stream=stream)
    yield stream
    root.handlers, root.level = before, level


async def echo(connection: Any) -> None:
    """Answer by what is asked: everything comes back with the key in it."""
    key, body = connection.key.encode(), connection.body
    text = b'{"choices":[{"message":{"content":"' + key + b'"}}],"error":{"message":"' + key + b'"}}'
    for word, line in ((b"deny", b"401 No"), (b"limit", b"429 No"), (b"fail", b"500 No"), (b"reject", b"400 No")):
        if word in body:
            await connection.send(b"HTTP/1.1 %b\r\nContent-Length: %d\r\n\r\n%b" % (line, len(text), text))
            return
    if b"garble" in body:
        await connection.send(key + b" is not HTTP\r\n\r\n")
        return
    if b"break" in body:
        await connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\nX-Key: " + key + b"\r\n\r\n" + text)
        connection.writer.close()
        return
    await connection.send(b"HTTP/1.1 200 OK\r\nX-Key: %b\r\nContent-Length: %d\r\n\r\n%b" % (key, len(text), text))


def with_secrets(config: GatewayConfig) -> GatewayConfig:
    raw = replace(config.providers["raw"], secret_headers={"x-secret": Secret(HEADER)})
    return replace(config, providers={**config.providers, "raw": raw}, callers=(Caller("ada", hash_key(CALLER)),))


@pytest.mark.asyncio
async def test_no_key_is_found_in_any_reply_page_log_or_error(
    raw_housing: Any, log: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []
    own = {"authorization": f"Bearer {CALLER}"}
    async with raw_housing(echo, key=SERVER, change=with_secrets) as house:

        async def ask(path: str, document: Any = None, **headers: str) -> None:
            reply = await house.ask(path, document, method="GET" if document is None else "POST", **headers)
            shown.append(f"{reply.headers}{reply.body.decode()}")

        async def generate(text: str, custom: dict[str, Any] | None = None) -> None:
            document = {"agentId": "a", "prompt": text, "timeoutMs": 2000, "customConfig": custom}
            await ask("/api/llm/generate", document, **own)

        at_provider = {"baseUrl": house.raw.base_url, "apiKey": CUSTOM, "model": "x"}
        elsewhere = {"baseUrl": f"http://{CUSTOM}@169.254.169.254/v1?key={CUSTOM}", "apiKey": CUSTOM, "model": "x"}
        for word in ("hello", "reject", "garble", "break", "fail", "limit", "deny"):
            chat = {"model": "m", "messages": [{"role": "user", "content": word}]}
            await ask("/v1/chat/completions", chat, **own)
            await ask("/v1/chat/completions", {**chat, "stream": True}, **own)
            await generate(word)
            await generate(word, at_provider)
        await generate("hello", elsewhere)
        await generate("hello", {**at_provider, "model": ""})
        await ask("/v1/chat/completions", chat, authorization=f"Bearer {WRONG}")
        await ask("/v1/chat/completions", b"{", **own)
        for page in PAGES:
            await ask(page, **own)
            await ask(page, authorization=f"Bearer {WRONG}")

        def fail(*_args: Any) -> Any:
            raise RuntimeError("a fault of ours")

        monkeypatch.setattr("tickmind.gateway.surface.openai.OpenAIForm.request", fail)
        await ask("/v1/chat/completions", {**chat, "model": "good/x"}, **own)
        monkeypatch.setattr(house.gateway.router, "plan", fail)
        await ask("/v1/chat/completions", chat, **own)
        gateway = house.gateway
        targets = [target for queue in gateway.dispatcher._lanes.queues.values() for target in queue.plan.targets]
        shown += [repr(gateway.config), str(gateway.config.providers), repr(targets), str(gateway.feed.lines())]
        get_logger("test").debug("everything", config=gateway.config, targets=targets)
        await asyncio.sleep(0)
        heads = b"".join(house.raw.heads).decode()
    for key in (SERVER, HEADER, CUSTOM):
        assert key in heads
    assert not any(CUSTOM in head.decode() and HEADER in head.decode() for head in house.raw.heads)
    written = log.getvalue()
    assert "a fault of ours" in written
    for key in ALL:
        assert [text for text in shown if key in text] == []
        assert key not in written


def test_no_key_is_in_the_error_of_a_gateway_that_can_not_start() -> None:
    with pytest.raises(ConfigError) as error:
        CallerKeys((Caller("ada", f"plain:{CALLER}"),))
    assert CALLER not in "".join(traceback.format_exception(error.value))
