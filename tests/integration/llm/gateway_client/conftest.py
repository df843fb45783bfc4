"""Gateways for the client's tests: the real one before a fake provider, and a double that notes what it is told."""

import asyncio
import json
import threading
import time
from concurrent.futures import Future
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web

from tickmind.base import Secret
from tickmind.gateway.server import GatewayServer
from tickmind.gateway.settings.config import ApiKey, GatewayConfig, Limits, Provider, Route, SharingConfig
from tickmind.llm.testing import FakeProvider


@dataclass(frozen=True)
class Seen:
    """One request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class FakeGateway:
    """`strict` refuses a session that asks sooner than its share of `rpm` allows."""

    strict: bool = False
    rpm: float = 60_000.0
    reply: str = "Hello."
    provider: str = "groq"
    attempts: list[dict[str, Any]] = field(default_factory=list)
    url: str = ""
    seen: list[Seen] = field(default_factory=list)
    refusals: list[tuple[int, dict[str, Any], dict[str, str]]] = field(default_factory=list)  # status, body, headers
    _sessions: dict[str, float] = field(default_factory=dict)  # session -> when it may ask again
    _deferred: dict[str, float] = field(default_factory=dict)  # agent -> until when
    _counts: dict[str, int] = field(default_factory=dict)
    _runner: web.AppRunner | None = None

    @property
    def connections(self) -> int:
        """How many connections are open."""
        assert self._runner is not None
        assert self._runner.server is not None
        return len(self._runner.server.connections)

    def of(self, path: str) -> list[Seen]:
        return [one for one in self.seen if one.path == path]

    def refuse(self, code: str, status: int, *, wait_ms: float | None = None, retry_after: str | None = None) -> None:
        """Refuse the next chat in OpenAI's form."""
        body: dict[str, Any] = {"error": {"message": f"refused: {code}", "type": "gateway_error", "code": code}}
        if wait_ms is not None:
            body["cooldown"] = self._cooldown(wait_ms)
        self.refusals.append((status, body, {} if retry_after is None else {"Retry-After": retry_after}))

    def _cooldown(self, wait_ms: float) -> dict[str, Any]:
        games = max(1, len(self._sessions))
        return {
            "nextAllowedAt": int(time.time() * 1000 + wait_ms),
            "waitMs": wait_ms,
            "activeGames": games,
            "rateLimit": {"requestsPerMinute": self.rpm, "effectiveRPM": self.rpm / games},
        }

    def _admit(self, session: str) -> dict[str, Any] | None:
        """The cooldown that refuses it, if one does."""
        now = time.monotonic()
        left_ms = (self._sessions.get(session, 0.0) - now) * 1000
        if self.strict and left_ms > 0:
            return self._cooldown(left_ms)
        self._sessions[session] = now + 60.0 / self.rpm * max(1, len(self._sessions | {session: 0.0}))
        self._counts[session] = self._counts.get(session, 0) + 1
        return None

    def _after(self, session: str) -> dict[str, Any]:
        return self._cooldown(max(0.0, (self._sessions[session] - time.monotonic()) * 1000) if self.strict else 0.0)

    async def _note(self, http: web.Request) -> Any:
        text = await http.text()
        body = json.loads(text) if text else None
        headers = {name.lower(): value for name, value in http.headers.items()}
        self.seen.append(Seen(http.method, http.path, headers, body))
        return body

    async def chat(self, http: web.Request) -> web.StreamResponse:
        body = await self._note(http)
        if self.refusals:
            status, refusal, headers = self.refusals.pop(0)
            return web.json_response(refusal, status=status, headers=headers)
        session = http.headers.get("x-tickmind-session", "")
        timeout_s = int(http.headers.get("x-tickmind-timeout-ms", 120_000)) / 1000
        deferred_s = self._deferred.get(http.headers.get("x-tickmind-agent", ""), 0.0) - time.monotonic()
        if deferred_s > timeout_s:
            error = {"message": "the agent waits", "type": "gateway_error", "code": "DEFERRED"}
            headers = {"retry-after-ms": str(int(deferred_s * 1000))}
            return web.json_response({"error": error}, status=429, headers=headers)
        await asyncio.sleep(max(0.0, deferred_s))
        cooldown = self._admit(session)
        if cooldown is not None:
            error = {"message": "wait for your turn", "type": "gateway_error", "code": "RATE_LIMIT_COOLDOWN"}
            headers = {"retry-after-ms": str(int(cooldown["waitMs"]) + 1)}
            return web.json_response({"error": error, "cooldown": cooldown}, status=429, headers=headers)
        attempts = self.attempts or [{"provider": self.provider, "result": "ok"}]
        told = {
            "x-tickmind-provider": self.provider,
            "x-tickmind-attempts": json.dumps(attempts[:-1] if body.get("stream") else attempts),
            "x-tickmind-waited-ms": "12.5",
            "x-tickmind-cooldown": json.dumps(self._after(session), separators=(",", ":")),
        }
        usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
        base = {"id": "r1", "created": 1, "model": body["model"]}
        if not body.get("stream"):
            choice = {
                "index": 0,
                "message": {"role": "assistant", "content": self.reply},
                "finish_reason": "stop",
            }
            whole = {**base, "object": "chat.completion", "choices": [choice], "usage": usage}
            return web.json_response(whole, headers=told)
        stream = web.StreamResponse(headers={**told, "Content-Type": "text/event-stream"})
        await stream.prepare(http)
        for piece, finish in [*((self.reply[i : i + 4], None) for i in range(0, len(self.reply), 4)), ("", "stop")]:
            choice = {"index": 0, "delta": {"content": piece}, "finish_reason": finish}
            event = {**base, "object": "chat.completion.chunk", "choices": [choice]}
            await stream.write(f"data: {json.dumps(event)}\n\n".encode())
        await stream.write(f"data: {json.dumps({**base, 'choices': [], 'usage': usage})}\n\n".encode())
        await stream.write(b"data: [DONE]\n\n")
        await stream.write_eof()
        return stream

    async def generate(self, http: web.Request) -> web.StreamResponse:
        body = await self._note(http)
        cooldown = self._admit(body["sessionId"])
        if cooldown is not None:
            refusal = {"error": "RATE_LIMIT_COOLDOWN", "message": "wait for your turn", "cooldown": cooldown}
            return web.json_response(refusal, status=429)
        model = body.get("model") or body["customConfig"].get("model", "")
        said = {"text": self.reply, "model": model, "tokensUsed": 5, "provider": self.provider}
        return web.json_response({**said, "cooldown": self._after(body["sessionId"])})

    async def heartbeat(self, http: web.Request) -> web.StreamResponse:
        body = await self._note(http)
        self._sessions.setdefault(body["sessionId"], 0.0)
        return web.json_response({"success": True, "activeGames": len(self._sessions)})

    async def defer(self, http: web.Request) -> web.StreamResponse:
        body = await self._note(http)
        self._deferred[body["agentId"]] = time.monotonic() + body["durationMs"] / 1000
        return web.json_response({"success": True})

    async def stats(self, http: web.Request) -> web.StreamResponse:
        await self._note(http)
        return web.json_response({self.provider: {"length": 0, "rateLimited": False}})

    async def sessions(self, http: web.Request) -> web.StreamResponse:
        await self._note(http)
        return web.json_response({"sessions": [{"sessionId": name} for name in self._sessions]})

    async def costs(self, http: web.Request) -> web.StreamResponse:
        await self._note(http)
        return web.json_response({"sessions": {name: {"requests": count} for name, count in self._counts.items()}})

    def app(self) -> web.Application:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self.chat)
        app.router.add_post("/api/llm/generate", self.generate)
        app.router.add_post("/api/llm/heartbeat", self.heartbeat)
        app.router.add_post("/api/llm/defer", self.defer)
        app.router.add_get("/api/llm/stats", self.stats)
        app.router.add_get("/api/llm/sessions", self.sessions)
        app.router.add_get("/api/llm/costs", self.costs)
        return app

    @asynccontextmanager
    async def serving(self):
        self._runner = runner = web.AppRunner(self.app(), access_log=None, shutdown_timeout=0.2)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield self
        await runner.cleanup()


@dataclass
class RealGateway:
    """The real one. `rpm` is what its only provider allows, and None is no limit."""

    strict: bool = False
    rpm: float | None = None
    reply: str = "Hello."
    url: str = ""

    @asynccontextmanager
    async def serving(self):
        async with FakeProvider(default=self.reply) as provider:
            limits = Limits(requests_per_minute=self.rpm, burst=1000, concurrency=1000)
            groq = Provider("groq", provider.base_url, (ApiKey("key", Secret("sk-groq-0123456789")),), limits)
            routes = {name: Route((("groq", None),)) for name in ("qwen", "llama")}
            sharing = SharingConfig(mode="strict" if self.strict else "fair")
            config = GatewayConfig(providers={"groq": groq}, exact=routes, port=0, sharing=sharing)
            async with GatewayServer(config) as server:
                self.url = server.url
                yield self


@contextmanager
def running(served):
    """Serve it in a thread of its own, so that tests with and without a loop can use it."""
    ready: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()

    async def serve():
        stop = asyncio.Event()
        try:
            async with served.serving():
                ready.set_result((asyncio.get_running_loop(), stop))
                await stop.wait()
        except Exception as error:
            if ready.done():
                raise
            ready.set_exception(error)

    thread = threading.Thread(target=lambda: asyncio.run(serve()), name="gateway-of-a-test")
    thread.start()
    loop, stop = ready.result(30)
    try:
        yield served
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()


@pytest.fixture
def double():
    """Make a double that notes what it is told: `double(strict=True, rpm=600)`."""
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(running(FakeGateway(**options)))


@pytest.fixture(params=[FakeGateway, RealGateway], ids=["double", "real"])
def gateway(request):
    """Make a gateway, of which a test knows no more than its `url`: `gateway(strict=True, rpm=600)`."""
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(running(request.param(**options)))


@pytest.fixture
def until():
    """Wait until something is so; the time that may take is only there to end a test that would never end."""

    def wait(condition):
        waiter = threading.Event()
        for _ in range(12_000):
            if condition():
                return
            waiter.wait(0.005)
        raise AssertionError("it never came about")

    return wait
