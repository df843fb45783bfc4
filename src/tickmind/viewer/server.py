"""The viewer's web server: the page, the frames, and the live stream. All of that is read-only."""

import asyncio
import re
import ssl
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol

import orjson
from aiohttp import WSCloseCode, WSMsgType, web

from tickmind.base import Limit, LimitExceededError, TickmindError, get_logger, redact
from tickmind.base.access.token_file import Tokens
from tickmind.viewer.access import RequestGuard, access_for
from tickmind.viewer.errors import NoSuchWindowError, NoWholeMindError, ViewerAddressError
from tickmind.viewer.page import HEADERS, page_files
from tickmind.viewer.sources.source import MAX_THOUGHTS, MAX_WINDOW_TICKS, FrameSource

DEFAULT_PORT = 8700
MAX_REQUEST_BYTES = Limit("size of a request to the viewer", 4096, "bytes")
MAX_STALL_S = Limit("time that a watcher takes for one frame", 20, "s")
MAX_CLOSE_S = Limit("time that a watcher takes to close", 1, "s")
MAX_HELLO_S = Limit("time until a watcher has sent its token", 10, "s")
_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,17}")
PLAY_PATH = "/ws/v1"  # the page offers to play where something answers there
_FRAMES = "application/vnd.tickmind.frames"
_log = get_logger(__name__)
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class MountedHandler(Protocol):
    """Another part's answers to requests for one path, behind the viewer's checks of `Host` and `Origin`."""

    @property
    def path(self) -> str:
        """The path."""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer a request."""

    async def close(self) -> None:
        """End the answers that go on, as the viewer stops."""


@dataclass(frozen=True, slots=True)
class ViewerConfig:
    """Where the viewer listens. Port 0 takes any free port; beyond this machine it needs TLS and tokens."""

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    tokens: Tokens = ()  # a file's may change while the viewer runs
    tls: ssl.SSLContext | None = None
    more_hosts: tuple[str, ...] = ()  # other host names for browsers


class ViewerServer:
    """Serves one source of frames to any number of browsers. Use it in `async with`; `url` is its address.

    async with LiveSource(WorldClient("127.0.0.1:50051")) as source, ViewerServer(source) as server:
        print(server.url)
    """

    def __init__(
        self, source: FrameSource, config: ViewerConfig | None = None, mounted: Sequence[MountedHandler] = ()
    ) -> None:
        self._source = source
        self._mounted = tuple(mounted)
        self._config = config or ViewerConfig()
        self._access: RequestGuard = access_for(
            self._config.host,
            tokens=self._config.tokens,
            tls=self._config.tls is not None,
            hosts=self._config.more_hosts,
        )
        self._files = page_files()
        self._runner: web.AppRunner | None = None
        self._site: web.TCPSite | None = None  # while it accepts connections
        self._sockets: dict[web.WebSocketResponse, asyncio.Transport | None] = {}
        self._port = self._config.port

    @property
    def url(self) -> str:
        """The address of the page."""
        host = f"[{self._config.host}]" if ":" in self._config.host else self._config.host
        return f"{'https' if self._config.tls else 'http'}://{host}:{self._port}/"

    async def __aenter__(self) -> "ViewerServer":
        app = web.Application(middlewares=[self._guard], client_max_size=int(MAX_REQUEST_BYTES.maximum))
        app.router.add_get("/", self._file)
        for path in self._files:
            app.router.add_get(path, self._file)
        app.router.add_get("/healthz", self._health)
        app.router.add_get("/readyz", self._ready)
        app.router.add_get("/api/hello", self._api(self._hello))
        app.router.add_get("/api/span", self._api(self._span))
        app.router.add_get("/api/window", self._api(self._window))
        app.router.add_get("/api/state", self._api(self._state))
        app.router.add_get("/api/digest", self._api(self._digest))
        app.router.add_get("/api/thoughts", self._api(self._thoughts))
        app.router.add_get("/api/mind", self._api(self._mind))
        app.router.add_get("/api/whole-mind", self._api(self._whole_mind))
        app.router.add_get("/live", self._live)
        for other in self._mounted:
            app.router.add_get(other.path, other.handle)
        # A browser that disconnects cancels its request: a page that jumps on does not wait for its last position.
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0, handler_cancellation=True)
        await self._runner.setup()
        config = self._config
        site = web.TCPSite(self._runner, config.host, config.port, ssl_context=config.tls)
        try:
            await site.start()
        except OSError as error:
            await self._runner.cleanup()
            raise ViewerAddressError(
                f"{config.host}:{config.port} can't be used: {error.strerror}; choose another port with --port"
            ) from error
        self._site = site
        self._port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._site is not None:
            await self._site.stop()  # first: closed watchers could reconnect, and would never be closed again
            self._site = None
        stopping = (
            self._close(socket, WSCloseCode.GOING_AWAY, b"the viewer is stopping") for socket in list(self._sockets)
        )
        await asyncio.gather(*stopping, *(other.close() for other in self._mounted))
        if self._runner is not None:
            await self._runner.cleanup()

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse requests for another host or from another page, and set the headers of every answer."""
        host, origin = request.headers.get("Host"), request.headers.get("Origin")
        if not self._access.host_allowed(host):
            return _refuse(
                403,
                "this is no host name of the viewer; open its own address, or use --allow-host",
            )
        if not self._access.origin_allowed(origin, host):
            return _refuse(403, "pages of other sites may not use the viewer")
        try:
            response = await handler(request)
        except web.HTTPException as error:
            return _refuse(error.status, error.reason)
        if not response.prepared:
            response.headers.update({**HEADERS, **response.headers})
        return response

    def _api(self, answer: Handler) -> Handler:
        """Require a token, and turn errors into plain answers."""

        async def guarded(request: web.Request) -> web.StreamResponse:
            given = request.headers.get("Authorization", "").removeprefix("Bearer ")
            if not self._access.token_allowed(given):
                return _refuse(401, "missing or wrong token; send it as `Authorization: Bearer ...`")
            try:
                return await answer(request)
            except (NoSuchWindowError, NoWholeMindError) as error:
                return _refuse(404, str(error))
            except LimitExceededError as error:
                return _refuse(400, str(error))
            except TickmindError as error:  # e.g. a damaged run
                _log.error("can't answer a request", path=request.path, error=str(error))
                return _refuse(500, redact(str(error)))

        return guarded

    async def _file(self, request: web.Request) -> web.StreamResponse:
        file = self._files["/index.html" if request.path == "/" else request.path]
        headers = {"Content-Type": file.kind}
        if file.path == "/icon.svg":  # or browsers fetch it with every jump, as the address contains the tick
            headers["Cache-Control"] = "max-age=3600"
        response = web.Response(body=file.data, headers=headers)
        response.enable_compression()
        return response

    async def _health(self, request: web.Request) -> web.StreamResponse:  # noqa: ARG002 - the same for all
        """Answer probes: the server runs. It needs no token, and says nothing of the world."""
        return _json({"status": "ok"})

    async def _ready(self, request: web.Request) -> web.StreamResponse:  # noqa: ARG002 - the same for all
        """Answer probes: there is a world to show."""
        if not self._source.span().connected:
            return _refuse(503, "the world does not answer")
        return _json({"status": "ready"})

    async def _hello(self, request: web.Request) -> web.StreamResponse:  # noqa: ARG002 - the same for all
        return _frames(self._source.hello())

    async def _span(self, request: web.Request) -> web.StreamResponse:  # noqa: ARG002 - the same for all
        live = self._source.watchers is not None
        play = live and any(other.path == PLAY_PATH for other in self._mounted)
        return _json({**self._source.span().shown(), "live": live, "play": play})

    async def _window(self, request: web.Request) -> web.StreamResponse:
        first, last = _number(request, "first"), _number(request, "last")
        MAX_WINDOW_TICKS.check(last - first + 1)
        return _frames(await self._source.window(first, last))

    async def _state(self, request: web.Request) -> web.StreamResponse:
        return _frames(await self._source.state(_number(request, "tick")))

    async def _digest(self, request: web.Request) -> web.StreamResponse:  # noqa: ARG002 - the same for all
        return _json(self._source.digest())

    async def _thoughts(self, request: web.Request) -> web.StreamResponse:
        count = max(0, _number(request, "count"))
        MAX_THOUGHTS.check(count)
        return _json(await self._source.thoughts(_number(request, "actor"), _number(request, "last"), count))

    async def _mind(self, request: web.Request) -> web.StreamResponse:
        return _json(await self._source.mind(_number(request, "actor"), _number(request, "last")))

    async def _whole_mind(self, request: web.Request) -> web.StreamResponse:
        return _json(await self._source.whole_mind(_number(request, "actor"), _number(request, "tick")))

    async def _live(self, request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse(heartbeat=15.0, max_msg_size=int(MAX_REQUEST_BYTES.maximum), compress=False)
        if not socket.can_prepare(request):
            return _refuse(400, "this address is a WebSocket")
        await socket.prepare(request)
        self._sockets[socket] = request.transport
        try:
            await self._watch(socket)
        except (ConnectionError, TimeoutError):
            _log.debug("a watcher disconnected")
        finally:
            await self._close(socket)
            del self._sockets[socket]
        return socket

    async def _close(self, socket: web.WebSocketResponse, code: int = WSCloseCode.OK, message: bytes = b"") -> None:
        """End a watcher's stream, without waiting for one that stalls."""
        try:
            async with asyncio.timeout(MAX_CLOSE_S.maximum):
                await socket.close(code=code, message=message, drain=False)
        except (ConnectionError, TimeoutError):
            transport = self._sockets.get(socket)
            if transport is not None:
                transport.abort()

    async def _watch(self, socket: web.WebSocketResponse) -> None:
        """Check the token in the first message; then send frames, and ignore further messages."""
        first = await socket.receive(timeout=MAX_HELLO_S.maximum)
        if first.type is not WSMsgType.TEXT or not self._access.token_allowed(first.data):
            await self._close(socket, WSCloseCode.POLICY_VIOLATION, b"send a token of this viewer first")
            return
        watchers = self._source.watchers
        if watchers is None:
            await self._close(socket, WSCloseCode.TRY_AGAIN_LATER, b"a recorded run has no live stream")
            return
        try:
            joined = watchers.join()
            with joined as watcher:
                reading = asyncio.create_task(_drain(socket))
                upcoming = asyncio.create_task(watcher.next())
                try:
                    while True:
                        await asyncio.wait({upcoming, reading}, return_when=asyncio.FIRST_COMPLETED)
                        if reading.done():
                            break
                        if not self._access.token_allowed(first.data):
                            await self._close(socket, WSCloseCode.POLICY_VIOLATION, b"the token was withdrawn")
                            break
                        await asyncio.wait_for(socket.send_bytes(upcoming.result()), MAX_STALL_S.maximum)
                        upcoming = asyncio.create_task(watcher.next())
                finally:
                    for task in (reading, upcoming):
                        task.cancel()
                    await asyncio.gather(reading, upcoming, return_exceptions=True)
        except LimitExceededError as error:
            await self._close(socket, WSCloseCode.TRY_AGAIN_LATER, str(error).encode()[:120])


async def _drain(socket: web.WebSocketResponse) -> None:
    """Read until the watcher disconnects."""
    async for _ in socket:
        pass


def _number(request: web.Request, name: str) -> int:
    text = request.query.get(name, "")
    if _WHOLE_NUMBER.fullmatch(text) is None:
        raise web.HTTPBadRequest(reason=f"{name} must be a whole number")
    return int(text)


def _frames(data: bytes) -> web.Response:
    response = web.Response(body=data, headers={"Content-Type": _FRAMES})
    if len(data) > 1024:
        response.enable_compression(web.ContentCoding.deflate)
    return response


def _json(value: object) -> web.Response:
    return web.Response(body=orjson.dumps(value), headers={"Content-Type": "application/json"})


def _refuse(status: int, words: str) -> web.Response:
    body = orjson.dumps({"error": words})
    return web.Response(status=status, body=body, headers={**HEADERS, "Content-Type": "application/json"})
