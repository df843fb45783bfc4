"""`FakeProvider`: a model provider on this machine, with real HTTP and scripted answers."""

import asyncio
import inspect
import json
import socket
import struct
import threading
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from tickmind.base.background import close_listener
from tickmind.llm.errors import LLMConfigError
from tickmind.llm.scripted.pieces import Cut
from tickmind.llm.testing.answers import Answer, AskedRequest, answer
from tickmind.llm.testing.behaviours import Step
from tickmind.llm.testing.seeded import SeededTransport
from tickmind.llm.testing.wire import ThinkingForm, Wire, WireStyle, encode
from tickmind.llm.testing.wire_anthropic import ANTHROPIC
from tickmind.llm.testing.wire_chat import CHAT
from tickmind.llm.testing.wire_responses import RESPONSES
from tickmind.llm.transport import ModelRequest

if TYPE_CHECKING:
    from aiohttp import web
    from aiohttp.web_runner import AppRunner

ProviderScript = Iterable[Step] | Callable[[ModelRequest], Step | Awaitable[Step]]
WIRES: tuple[Wire, ...] = (CHAT, RESPONSES, ANTHROPIC)
DEFAULT_TEXT = "Hello from the fake provider."
_KEY_HEADERS = ("authorization", "x-api-key", "api-key")
_MOST_REQUEST_BYTES = 64 * 1024 * 1024
_SHUTDOWN_S = 0.5


@dataclass(frozen=True, slots=True)
class SeenRequest:
    """One request as it arrived, without its key."""

    method: str
    path: str
    headers: Mapping[str, str]  # names in lower case; those that carry keys are left out
    body: Any  # as JSON, or None
    wire: str = ""  # chat, responses or anthropic
    request: ModelRequest | None = None  # None if it could not be read as one
    streams: bool = False


class ProviderOptions(TypedDict, total=False):
    """The keyword arguments of `FakeProvider`."""

    default: Step | None
    seed: int
    cut: Cut
    thinking: ThinkingForm
    models: tuple[str, ...]
    accept_keys: Iterable[str] | None
    strict_fields: bool
    remember: int | None
    host: str
    port: int


class FakeProvider:
    """An HTTP server that speaks Chat Completions, Responses and Anthropic Messages, whole and streamed.

    It does the steps of its script in turn (or what the function says), then `default`; with neither it gives an object
    that fits the schema where one is asked for, a valid call where a tool must be used, else a greeting.
    `accept_keys` refuses other keys with 401; `strict_fields` refuses fields that the provider doesn't know with 400;
    `remember` is how many of the last requests are kept to be looked at, all if it is None.

        async with FakeProvider(["Hi.", Refuse(429, retry_after=2)]) as server:
            ...  # server.base_url, server.seen, server.seen_keys
    """

    def __init__(
        self,
        script: ProviderScript = (),
        *,
        default: Step | None = None,
        seed: int = 0,
        cut: Cut = 12,
        thinking: ThinkingForm = "reasoning_content",
        models: tuple[str, ...] = ("fake-1",),
        accept_keys: Iterable[str] | None = None,
        strict_fields: bool = False,
        remember: int | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        self.seen: list[SeenRequest] = []
        self.seen_keys: list[str] = []  # one for each request; empty if it brought none
        self._function = script if callable(script) else None
        self._queue: deque[Step] = deque(() if callable(script) else script)
        self._default = default
        self._seeded = SeededTransport(seed, tool_rate=0.0)
        self._style = WireStyle(cut=cut, thinking=thinking)
        self._models = models
        self._accept_keys = None if accept_keys is None else frozenset(accept_keys)
        self._strict_fields = strict_fields
        self._remember = remember
        self._host = host
        self._port = port
        self._number = 0
        self._waiters: list[asyncio.Future[None]] = []
        self._running: _Running | None = None

    def __repr__(self) -> str:
        return f"FakeProvider({self.origin if self._running else 'not running'}, {len(self.seen)} requests)"

    @property
    def origin(self) -> str:
        """Scheme, host and port; the `anthropic` client's base URL."""
        if self._running is None:
            raise LLMConfigError("the fake provider runs inside `async with`, or `with FakeProvider.in_thread(...)`")
        return f"http://{self._host}:{self._running.port}"

    @property
    def base_url(self) -> str:
        """The base URL of the wire forms, as for the `openai` client."""
        return f"{self.origin}/v1"

    def enqueue(self, *steps: Step) -> None:
        """Put more steps behind those that are still to do."""
        self._queue.extend(steps)

    async def wait_seen(self, count: int = 1) -> None:
        """Wait until that many requests have arrived; from the event loop that it runs in."""
        while len(self.seen) < count:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            await waiter

    async def __aenter__(self) -> "FakeProvider":
        try:
            from aiohttp import web  # a test that needs no server doesn't load one
        except ImportError as error:
            raise LLMConfigError("the fake provider needs aiohttp; run: pip install 'tickmind[testing]'") from error
        app = web.Application(client_max_size=_MOST_REQUEST_BYTES)
        for wire in WIRES:
            app.router.add_post(f"/v1{wire.path}", self._handler(wire))
        app.router.add_get("/v1/models", self._list_models)
        app.router.add_get("/v1/models/{model}", self._show_model)
        app.router.add_route("*", "/{path:.*}", self._not_found)
        app.on_response_prepare.append(_drop_empty_type)
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=_SHUTDOWN_S)
        await runner.setup()
        try:
            assert runner.server is not None, "setup() makes it"
            server = await asyncio.get_running_loop().create_server(runner.server, self._host, self._port)
        except OSError as error:
            await runner.cleanup()
            raise LLMConfigError(
                f"{self._host}:{self._port} can't be used: {error.strerror}; pass port 0 for a free one"
            ) from error
        self._running = _Running(runner, server, int(server.sockets[0].getsockname()[1]))
        return self

    async def __aexit__(self, *_exc: object) -> None:
        running, self._running = self._running, None
        if running is not None:
            running.closing.set()
            await close_listener(running.server)
            await running.runner.cleanup()

    @classmethod
    @contextmanager
    def in_thread(cls, script: ProviderScript = (), **options: Unpack[ProviderOptions]) -> "Iterator[FakeProvider]":
        """Run it in a thread of its own, for tests that have no event loop."""
        server = cls(script, **options)
        ready: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()

        async def serve() -> None:
            stop = asyncio.Event()
            async with server:
                ready.set_result((asyncio.get_running_loop(), stop))
                await stop.wait()

        def run() -> None:
            try:
                asyncio.run(serve())
            except Exception as error:
                if ready.done():
                    raise
                ready.set_exception(error)

        thread = threading.Thread(target=run, name="fake-provider")
        thread.start()
        try:
            loop, stop = ready.result()
            try:
                yield server
            finally:
                loop.call_soon_threadsafe(stop.set)
        finally:
            thread.join()

    def _handler(self, wire: Wire) -> "Callable[[web.Request], Awaitable[web.StreamResponse]]":
        async def handle(http: "web.Request") -> "web.StreamResponse":
            return await self._serve(http, wire)

        return handle

    async def _serve(self, http: "web.Request", wire: Wire) -> "web.StreamResponse":
        data = await http.read()
        body = _as_json(data)
        request = self._read(body, wire, http)
        streams = isinstance(body, Mapping) and body.get("stream") is True
        key = self._note(http, body, wire.name, None if isinstance(request, str) else request, streams=streams)
        self._number += 1
        if isinstance(request, str):
            return await self._send(http, _error(wire, 400, request))
        if self._accept_keys is not None and key not in self._accept_keys:
            return await self._send(http, _error(wire, 401, "the API key is not valid"))
        style = _numbered(self._style, self._number, body)
        seen = AskedRequest(wire, request, streams, dict(http.headers))
        return await self._send(http, answer(await self._step(request), seen, style))

    def _read(self, body: Any, wire: Wire, http: "web.Request") -> ModelRequest | str:
        """Read the request, or return what is wrong with it."""
        if not isinstance(body, Mapping):
            return "the body must be a JSON object"
        unknown = sorted(set(body) - wire.fields) if self._strict_fields else []
        if unknown:
            return f"unknown parameter: {unknown[0]!r}"
        if wire is ANTHROPIC and "anthropic-version" not in http.headers:
            return "the header anthropic-version is required"
        try:
            return wire.read(body)
        except LLMConfigError as error:
            return str(error)

    def _note(self, http: "web.Request", body: Any, wire: str, request: ModelRequest | None, *, streams: bool) -> str:
        headers = {name.lower(): value for name, value in http.headers.items()}
        carried = [headers.pop(name) for name in _KEY_HEADERS if name in headers]
        key = carried[0].removeprefix("Bearer ") if carried else ""
        self.seen_keys.append(key)
        self.seen.append(SeenRequest(http.method, http.path_qs, headers, body, wire, request, streams))
        if self._remember is not None:
            del self.seen[: -self._remember or None], self.seen_keys[: -self._remember or None]
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)
        return key

    async def _step(self, request: ModelRequest) -> Step:
        if self._function is not None:
            step = self._function(request)
            return await step if inspect.isawaitable(step) else step
        if self._queue:
            return self._queue.popleft()
        if self._default is not None:
            return self._default
        return plain_step(request, self._seeded)

    async def _list_models(self, http: "web.Request") -> "web.StreamResponse":
        self._note(http, None, "", None, streams=False)
        models = [self._model(name) for name in self._models]
        ends = {"has_more": False, "first_id": self._models[0], "last_id": self._models[-1]} if models else {}
        return await self._send(http, _json(200, {"object": "list", "data": models, **ends}))

    async def _show_model(self, http: "web.Request") -> "web.StreamResponse":
        self._note(http, None, "", None, streams=False)
        name = http.match_info["model"]
        if name not in self._models:
            return await self._send(http, _error(CHAT, 404, f"there is no model {name!r}"))
        return await self._send(http, _json(200, self._model(name)))

    def _model(self, name: str) -> dict[str, Any]:
        """Return a model in OpenAI's form and in Anthropic's at once."""
        openai = {"id": name, "object": "model", "created": self._style.created_s, "owned_by": "fake"}
        anthropic = {"type": "model", "display_name": name, "created_at": "2023-11-14T22:13:20Z", "lifecycle": "active"}
        return openai | anthropic

    async def _not_found(self, http: "web.Request") -> "web.StreamResponse":
        await http.read()
        self._note(http, None, "", None, streams=False)
        return await self._send(http, _error(CHAT, 404, f"there is nothing at {http.method} {http.path}"))

    async def _send(self, http: "web.Request", plan: Answer) -> "web.StreamResponse":
        from aiohttp import web  # loaded by now

        running = self._running
        response = web.StreamResponse(status=plan.status, headers=dict(plan.headers))
        response.headers["x-request-id"] = f"req_{self._number:06d}"
        if running is None:
            return response
        with suppress(ConnectionError):  # the caller left
            await running.pause(plan.headers_after_s)
            if plan.ending == "hang" and not plan.chunks:
                await self._end(http, plan, running)
                return response
            if plan.size_bytes is not None:
                response.content_length = plan.size_bytes
            await response.prepare(http)
            async for chunk in _paced(plan, running):
                await response.write(chunk)
            await self._end(http, plan, running)
            if plan.ending == "done":
                await response.write_eof()
        return response

    async def _end(self, http: "web.Request", plan: Answer, running: "_Running") -> None:
        if plan.ending == "hang":
            await running.closing.wait()
        transport = http.transport
        if plan.ending == "done" or transport is None:
            return
        if plan.ending == "reset":
            plug: socket.socket = transport.get_extra_info("socket")
            plug.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            transport.abort()
        else:
            transport.close()


@dataclass(frozen=True, slots=True)
class _Running:
    runner: "AppRunner"
    server: asyncio.Server
    port: int
    closing: asyncio.Event = field(default_factory=asyncio.Event)

    async def pause(self, seconds: float) -> None:
        """Wait, but not beyond the server's own end."""
        if seconds > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self.closing.wait()


async def _drop_empty_type(_http: "web.Request", response: "web.StreamResponse") -> None:
    """Send no content type where the plan has an empty one; the server would add one of its own."""
    if response.headers.get("Content-Type") == "":
        del response.headers["Content-Type"]


async def _paced(plan: Answer, running: _Running) -> AsyncIterator[bytes]:
    first = True
    for chunk in plan.chunks:
        if not first:
            await running.pause(plan.interval_s)
        if running.closing.is_set():
            return
        first = False
        yield chunk


def _numbered(style: WireStyle, number: int, body: Mapping[str, Any]) -> WireStyle:
    options = body.get("stream_options")
    wants = isinstance(options, Mapping) and options.get("include_usage") is True
    return replace(style, number=number, stream_usage=wants)


def plain_step(request: ModelRequest, seeded: SeededTransport, text: str = DEFAULT_TEXT) -> Step:
    """Return the least surprising step: an object for a schema, a call where a tool must be used, else a text."""
    if request.output or (request.tools and request.tool_choice == "required"):
        return seeded.reply(request)
    return text


def _as_json(data: bytes) -> Any:
    try:
        return json.loads(data, parse_constant=_refuse_constant)
    except ValueError:
        return None


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _json(status: int, value: Any) -> Answer:
    data = encode(value)
    return Answer(status, {"Content-Type": "application/json"}, (data,), len(data))


def _error(wire: Wire, status: int, message: str) -> Answer:
    return _json(status, wire.error(status, message))
