"""The gateway's server: listens, answers, and stops without cutting replies off."""

import asyncio
import gc
import signal
import socket
import ssl
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

from tickmind.base import Clock, ConfigError, SystemClock, get_logger
from tickmind.base.background import close_listener
from tickmind.base.garbage import settle
from tickmind.gateway.fairness.caller_keys import check_exposure
from tickmind.gateway.gateway import Gateway
from tickmind.gateway.http.exchange import Head
from tickmind.gateway.http.head_memo import HeadMemo
from tickmind.gateway.http.inbound import InboundConnection
from tickmind.gateway.settings.config import GatewayConfig
from tickmind.gateway.surface.calls import CallEndpoints
from tickmind.gateway.surface.pages import Pages
from tickmind.gateway.surface.routes import Routes
from tickmind.llm.safety import is_loopback

CHECK_EVERY_S = 1.0
GARBAGE_OBJECTS = 20_000  # new objects before the collector looks for cycles; a request leaves no cycle behind
DRAIN_S = 10.0  # how long replies in flight may take when the gateway stops
SAY_S = 1.0  # how long a caller may then take to read the rest of a reply
_log = get_logger("tickmind.gateway")


def assemble_routes(gateway: Gateway, port: int) -> Routes:
    """Return the table of all endpoints. A local gateway answers to its own names only, against DNS rebinding."""
    config = gateway.config
    local = is_loopback(config.host)
    routes = Routes(origins=config.allowed_origins, local_pages=bool(config.callers) and local)
    CallEndpoints(gateway).add_to(routes)
    Pages(gateway).add_to(routes)
    if local:
        routes.answer_to({"127.0.0.1", "localhost", "[::1]", config.host}, port)
    return routes


class GatewayServer:
    """A listening gateway; use it as `async with GatewayServer(config) as server`. Port 0 takes any free port.

    `listener` is a socket that already listens, instead of the config's address.

        async with GatewayServer(load_config("gateway.yaml")) as server:
            print(server.url)
    """

    def __init__(
        self,
        config: GatewayConfig,
        *,
        clock: Clock | None = None,
        tls: ssl.SSLContext | None = None,
        listener: socket.socket | None = None,
    ) -> None:
        if listener is not None:
            host, port = listener.getsockname()[:2]
            config = replace(config, host=host, port=port)
        check_exposure(config, has_tls=tls is not None)
        self.config = config
        self._listener = listener
        self._clock = clock or SystemClock()
        self._tls = tls
        self._connections: set[InboundConnection] = set()
        self._heads: HeadMemo[Head] = HeadMemo()
        self._server: asyncio.Server | None = None
        self._check: asyncio.TimerHandle | None = None
        self._gateway: Gateway | None = None
        self._routes: Routes | None = None
        self._turned_away = 0  # since it was last logged
        self._closed_idle = 0

    async def __aenter__(self) -> "GatewayServer":
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.stop(drain_s=0.0)

    @property
    def gateway(self) -> Gateway:
        """The gateway; available once the server has started."""
        assert self._gateway is not None, "start() makes it"
        return self._gateway

    @property
    def port(self) -> int:
        """The port it listens on."""
        assert self._server is not None, "start() opens it"
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    @property
    def url(self) -> str:
        """The server's base URL."""
        host = f"[{self.config.host}]" if ":" in self.config.host else self.config.host
        return f"{'https' if self._tls else 'http'}://{host}:{self.port}"

    async def start(self) -> None:
        """Begin to listen; raises `ConfigError` if the port is taken."""
        loop = asyncio.get_running_loop()
        gateway = Gateway(self.config, loop=loop, clock=self._clock)
        self._gateway = gateway
        await gateway.start()
        try:
            where: dict[str, Any] = (
                {"sock": self._listener} if self._listener else {"host": self.config.host, "port": self.config.port}
            )
            self._server = await loop.create_server(
                self._accept, **where, ssl=self._tls, backlog=1024, start_serving=False
            )
            self._routes = assemble_routes(gateway, self.port)
            await self._server.start_serving()
        except OSError as exc:
            if self._server is not None:
                self._server.close()
            await gateway.stop()
            raise ConfigError(
                f"can't listen on {self.config.host}:{self.config.port} ({exc.strerror or exc}); "
                "is a gateway running there already? Choose another port with --port"
            ) from exc
        self._check = loop.call_later(CHECK_EVERY_S, self._check_connections)

    async def stop(self, *, drain_s: float = DRAIN_S) -> None:
        """Refuse new calls, let calls in flight end, then close."""
        loop = asyncio.get_running_loop()
        if self._server is not None:
            await close_listener(self._server)
        if self._check is not None:
            self._check.cancel()
        if self._gateway is not None:
            self._gateway.refuse_new()
            until_s = loop.time() + drain_s
            while loop.time() < until_s and any(connection.serving for connection in self._connections):  # noqa: ASYNC110
                await asyncio.sleep(0.02)  # any of the connections may be the last to end
            self._gateway.refuse_waiting()
        await self._let_go()
        if self._gateway is not None:
            await self._gateway.stop()
        await asyncio.sleep(0)  # let the loop drop the sockets

    async def _let_go(self) -> None:
        """Close the connections: idle ones after their last bytes are sent, the others now."""
        loop = asyncio.get_running_loop()
        until_s = loop.time() + SAY_S
        for connection in list(self._connections):
            if connection.serving:
                connection.abort()
            else:
                connection.close()
        while self._connections and loop.time() < until_s:  # noqa: ASYNC110 - each of many may be the last
            await asyncio.sleep(0.005)
        for connection in list(self._connections):
            connection.abort()

    def _accept(self) -> asyncio.Protocol:
        if len(self._connections) >= self.config.wire.max_connections and not self._make_room():
            self._turned_away += 1
            return _Closed()
        assert self._routes is not None, "start() assembles them before it serves"
        connection = InboundConnection(
            self._routes.handle, self.config.wire, self._clock, self._connections.discard, self._heads
        )
        self._connections.add(connection)
        return connection

    def _make_room(self) -> bool:
        """Close the connection idle for longest in favour of a new one; return False if all are in use."""
        idle = (connection for connection in self._connections if connection.idle)
        oldest = min(idle, key=lambda connection: connection.idle_since_s, default=None)
        if oldest is None:
            return False
        self._connections.discard(oldest)
        oldest.close()
        self._closed_idle += 1
        return True

    def _check_connections(self) -> None:
        if self._turned_away or self._closed_idle:
            limit, idle, newest = self.config.wire.max_connections, self._closed_idle, self._turned_away
            _log.warning("too many connections; some were closed", limit=limit, idle=idle, newest=newest)
            self._turned_away = self._closed_idle = 0
        now_s = self._clock.monotonic()
        for connection in list(self._connections):
            connection.check(now_s)
        self.gateway.watch()
        self._check = asyncio.get_running_loop().call_later(CHECK_EVERY_S, self._check_connections)


class _Closed(asyncio.Protocol):
    """A connection that is refused for lack of room."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Close it."""
        cast("asyncio.Transport", transport).abort()


def warn_of_keys(config: GatewayConfig) -> None:
    """Warn if no provider has a key: then only models that need none can be asked."""
    providers = config.providers.values()
    if not any(key.secret for provider in providers for key in provider.keys):
        missing = ", ".join(dict.fromkeys(name for provider in providers for name in provider.missing_keys))
        local = ", ".join(provider.name for provider in providers if provider.keys)
        hint = f"set one of {missing}" if missing else "give a provider a key in the settings"
        _log.warning("no provider has a key", without_key=local or "none", hint=hint)


def serve(
    config: GatewayConfig,
    *,
    tls: ssl.SSLContext | None = None,
    listener: socket.socket | None = None,
    on_ready: Callable[[str], None] = lambda _url: None,
) -> None:
    """Serve until Ctrl-C or SIGTERM; calls `on_ready` with the address."""

    async def run() -> None:
        stopped = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stopped.set)
        server = GatewayServer(config, tls=tls, listener=listener)
        await server.start()
        settle()
        gc.set_threshold(GARBAGE_OBJECTS)
        on_ready(server.url)
        warn_of_keys(config)
        await stopped.wait()
        await server.stop()

    import uvloop

    uvloop.run(run())
