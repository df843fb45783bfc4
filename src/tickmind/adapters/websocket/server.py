"""A web server with the endpoint and nothing else."""

import ssl
from dataclasses import dataclass

from aiohttp import web

from tickmind.adapters.websocket.endpoint import WebSocketEndpoint
from tickmind.adapters.websocket.errors import WebSocketAddressError
from tickmind.adapters.websocket.limits import SocketLimits
from tickmind.base.access.browser_guard import LOOPBACK_NAMES, host_name
from tickmind.base.access.token_file import Tokens
from tickmind.base.garbage import GarbageKeeper
from tickmind.viewer.access import RequestGuard, is_loopback
from tickmind.viewer.web_listener import RouteHandler, WebListener
from tickmind.wire import WorldEndpoint

DEFAULT_PORT = 8701
GARBAGE_OBJECTS = 50_000  # new objects before the collector looks for cycles; a frame leaves no cycle behind


@dataclass(frozen=True, slots=True)
class WebSocketConfig:
    """Where the server listens. Port 0 takes any free port; beyond this machine it needs TLS and tokens."""

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    tokens: Tokens = ()
    tls: ssl.SSLContext | None = None
    more_hosts: tuple[str, ...] = ()  # other host names for clients
    origins: tuple[str, ...] = ()  # of pages that may connect, as http://localhost:3000
    limits: SocketLimits = SocketLimits()  # noqa: RUF009 - frozen
    keep_garbage: bool = False  # True: control this process's garbage collector, which would delay frames


class WebSocketServer:
    """Serves a world's calls over WebSocket. Use it in `async with`; `url` is its address.

    async with WebSocketServer(WorldEndpoint("127.0.0.1:50051")) as server:
        print(server.url)
    """

    def __init__(self, world: WorldEndpoint, config: WebSocketConfig | None = None) -> None:
        self._config = config = config or WebSocketConfig()
        if not is_loopback(config.host):
            needed = (("TLS (--tls)", config.tls is not None), ("tokens (--token-file)", bool(config.tokens)))
            missing = [what for what, there in needed if not there]
            if missing:
                raise WebSocketAddressError(
                    f"{config.host} can be reached from other machines, so the endpoint needs "
                    f"{' and '.join(missing)}; or stay on 127.0.0.1"
                )
        own = f"[{config.host}]" if ":" in config.host else config.host
        self._own_host = own
        self._guard = RequestGuard(LOOPBACK_NAMES | {own.lower()} | {host_name(host) for host in config.more_hosts})
        self._origins = {origin.lower().rstrip("/") for origin in config.origins}
        self._world = world
        self._endpoint: WebSocketEndpoint | None = None
        self._listener: WebListener | None = None
        self._port = config.port
        self._garbage = GarbageKeeper(most_young=GARBAGE_OBJECTS) if config.keep_garbage else None

    @property
    def url(self) -> str:
        """The address of the endpoint."""
        return f"{'wss' if self._config.tls else 'ws'}://{self._own_host}:{self._port}{WebSocketEndpoint.path}"

    @property
    def endpoint(self) -> WebSocketEndpoint:
        """The endpoint; it is there inside of `async with`."""
        if self._endpoint is None:
            raise WebSocketAddressError("the server is not running; use it in `async with`")
        return self._endpoint

    async def __aenter__(self) -> "WebSocketServer":
        config = self._config
        endpoint = self._endpoint = WebSocketEndpoint(self._world, tokens=config.tokens, limits=config.limits)
        app = web.Application(middlewares=[self._check])
        app.router.add_get(endpoint.path, endpoint.handle)
        self._listener = WebListener(
            app,
            config.host,
            config.port,
            refusal=WebSocketAddressError,
            tls=config.tls,
            first_request_s=config.limits.first_frame_s,
        )
        self._port = await self._listener.open()
        if self._garbage is not None:
            self._garbage.start()
            self._garbage.collect()
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._garbage is not None:
            self._garbage.stop()
        if self._listener is not None:
            await self._listener.stop_accepting()
        if self._endpoint is not None:
            await self._endpoint.close()
        if self._listener is not None:
            await self._listener.close()

    @web.middleware
    async def _check(self, request: web.Request, handler: RouteHandler) -> web.StreamResponse:
        """Refuse requests for another host or from a page that is not listed."""
        hosts, origins = request.headers.getall("Host", []), request.headers.getall("Origin", [])
        if len(hosts) != 1 or not self._guard.host_allowed(hosts[0]):
            return web.json_response({"error": "this is no host name of the endpoint; add --allow-host"}, status=403)
        is_listed = len(origins) == 1 and origins[0].lower() in self._origins
        if origins and not is_listed and not (len(origins) == 1 and self._guard.origin_allowed(origins[0], hosts[0])):
            return web.json_response({"error": "pages of that site may not connect; add --allow-origin"}, status=403)
        return await handler(request)
