"""The viewer's web server: the page, the frames, and the live stream. All of that is read-only, but for the lab's."""

import asyncio
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import orjson
from aiohttp import WSCloseCode, WSMsgType, web

from tickmind.base import Limit, LimitExceededError, TickmindError, get_logger, redact
from tickmind.base.access.token_file import Tokens
from tickmind.viewer.access import RequestGuard, access_for
from tickmind.viewer.errors import NoStoryError, NoSuchWindowError, NoWholeMindError, RunLabError, ViewerAddressError
from tickmind.viewer.lab_routes import LabRoutes
from tickmind.viewer.page import HEADERS, page_files
from tickmind.viewer.run_lab import RunLab
from tickmind.viewer.source_routes import SourceRoutes, json_response
from tickmind.viewer.sources.source import FrameSource
from tickmind.viewer.web_listener import RouteHandler, WebListener

DEFAULT_PORT = 8700
MAX_REQUEST_BYTES = Limit("size of a request to the viewer", 4096, "bytes")
MAX_STALL_S = Limit("time that a watcher takes for one frame", 20, "s")
MAX_CLOSE_S = Limit("time that a watcher takes to close", 1, "s")
MAX_HELLO_S = Limit("time until a watcher has sent its first request, and then its token", 10, "s")
RUN_PATH = "/run/{run}"  # other runs' requests are below it
PLAY_PATH = "/ws/v1"  # the page offers to play where something answers there
_log = get_logger(__name__)


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
    awaits: str = ""  # what the page says until the first answer of a model, as that one is loading


class ViewerServer:
    """Serves one source of frames to any number of browsers. Use it in `async with`; `url` is its address.

    async with LiveSource(WorldClient("127.0.0.1:50051")) as source, ViewerServer(source) as server:
        print(server.url)
    """

    def __init__(
        self,
        source: FrameSource,
        config: ViewerConfig | None = None,
        mounted: Sequence[MountedHandler] = (),
        lab: RunLab | None = None,
    ) -> None:
        self._source = source
        self._lab = lab
        self._mounted = tuple(mounted)
        self._config = config or ViewerConfig()
        self._access: RequestGuard = access_for(
            self._config.host,
            tokens=self._config.tokens,
            tls=self._config.tls is not None,
            hosts=self._config.more_hosts,
        )
        self._files = page_files()
        self._listener: WebListener | None = None
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
        self._add_requests(app.router)
        app.router.add_get("/live", self._live)
        for other in self._mounted:
            app.router.add_get(other.path, other.handle)
        config = self._config
        self._listener = WebListener(
            app, config.host, config.port, refusal=ViewerAddressError, tls=config.tls, first_request_s=MAX_HELLO_S
        )
        self._port = await self._listener.open()
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._listener is not None:
            await self._listener.stop_accepting()
        stopping = (
            self._close(socket, WSCloseCode.GOING_AWAY, b"the viewer is stopping") for socket in list(self._sockets)
        )
        await asyncio.gather(*stopping, *(other.close() for other in self._mounted))
        if self._listener is not None:
            await self._listener.close()

    @web.middleware
    async def _guard(self, request: web.Request, handler: RouteHandler) -> web.StreamResponse:
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

    def _api(self, answer: RouteHandler) -> RouteHandler:
        """Require a token, and turn errors into plain answers."""

        async def guarded(request: web.Request) -> web.StreamResponse:
            given = request.headers.get("Authorization", "").removeprefix("Bearer ")
            if not self._access.token_allowed(given):
                return _refuse(401, "missing or wrong token; send it as `Authorization: Bearer ...`")
            try:
                return await answer(request)
            except (NoStoryError, NoSuchWindowError, NoWholeMindError) as error:
                return _refuse(404, str(error))
            except (LimitExceededError, RunLabError) as error:
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

    async def _own_source(self, request: web.Request) -> FrameSource:  # noqa: ARG002 - the same for all
        return self._source

    async def _health(self, request: web.Request) -> web.StreamResponse:  # noqa: ARG002 - the same for all
        """Answer probes: the server runs. It needs no token, and says nothing of the world."""
        return json_response({"status": "ok"})

    async def _ready(self, request: web.Request) -> web.StreamResponse:  # noqa: ARG002 - the same for all
        """Answer probes: there is a world to show."""
        if not self._source.span().connected:
            return _refuse(503, "the world does not answer")
        return json_response({"status": "ready"})

    def _add_requests(self, router: web.UrlDispatcher) -> None:
        """Add the requests for frames, and for the lab if there is one, of the own run and of others."""
        play = any(other.path == PLAY_PATH for other in self._mounted)
        for name, handler in SourceRoutes(
            self._own_source, play=play, lab=self._lab is not None, awaits=self._config.awaits
        ):
            router.add_get(f"/api/{name}", self._api(handler))
        if self._lab is None:
            return
        lab, routes = self._lab, LabRoutes(self._lab, self._source.span().run_id)

        async def source_of(request: web.Request) -> FrameSource:
            return await lab.source(routes.run_of(request))

        for name, handler in SourceRoutes(source_of, lab=True):
            router.add_get(f"{RUN_PATH}/api/{name}", self._api(handler))
        for method, name, handler in routes:
            for begin in ("", RUN_PATH):
                router.add_route(method, f"{begin}/api/{name}", self._api(handler))

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


def _refuse(status: int, words: str) -> web.Response:
    body = orjson.dumps({"error": words})
    return web.Response(status=status, body=body, headers={**HEADERS, "Content-Type": "application/json"})
