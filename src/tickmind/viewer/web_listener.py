"""An address at which an aiohttp application is served, for the viewer and for other web servers of a world."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from aiohttp import web

from tickmind.base import Limit, TickmindError

MAX_FIRST_REQUEST_S = Limit("time until a web client has sent the headers of its first request", 10, "s")
BACKLOG = 1024  # connections that wait to be accepted, as after a restart
RouteHandler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]


class WebListener:
    """Serves an application at one address, and cuts off clients that never finish the headers of their first request.

    `refusal` is the error that is raised if the address can't be used.

        listener = WebListener(app, "127.0.0.1", 0, refusal=ViewerAddressError)
        port = await listener.open()
        ...
        await listener.stop_accepting()
        await listener.close()
    """

    def __init__(
        self,
        app: web.Application,
        host: str,
        port: int,
        *,
        refusal: type[TickmindError],
        tls: ssl.SSLContext | None = None,
        first_request_s: Limit = MAX_FIRST_REQUEST_S,
    ) -> None:
        # A client that disconnects cancels its request: a page that jumps on does not wait for its last position.
        app.middlewares.insert(0, self._note)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0, handler_cancellation=True)
        self._host = host
        self._port = port
        self._refusal = refusal
        self._tls = tls
        self._first_request_s = first_request_s.maximum
        self._silent: set[asyncio.BaseProtocol] = set()  # young connections without a request so far
        self._listening: asyncio.Server | None = None

    async def open(self) -> int:
        """Begin to listen, and return the port."""
        await self._runner.setup()
        loop = asyncio.get_running_loop()
        try:
            self._listening = await loop.create_server(
                self._accept,
                self._host,
                self._port,
                ssl=self._tls,
                ssl_handshake_timeout=None if self._tls is None else self._first_request_s,
                backlog=BACKLOG,
            )
        except OSError as error:
            await self._runner.cleanup()
            raise self._refusal(
                f"{self._host}:{self._port} can't be used: {error.strerror}; choose another port with --port"
            ) from error
        port: int = self._listening.sockets[0].getsockname()[1]
        return port

    async def stop_accepting(self) -> None:
        """Take no more connections: before those that are open are ended, as their clients could come again."""
        if self._listening is not None:
            self._listening.close()
            self._listening = None

    async def close(self) -> None:
        """End all connections."""
        await self.stop_accepting()
        await self._runner.cleanup()

    def _accept(self) -> asyncio.BaseProtocol:
        server = self._runner.server
        assert server is not None, "it is set up before it listens"
        protocol = server()
        self._silent.add(protocol)
        asyncio.get_running_loop().call_later(self._first_request_s, self._end_if_silent, protocol)
        return protocol

    def _end_if_silent(self, protocol: web.RequestHandler) -> None:
        if protocol in self._silent:
            self._silent.remove(protocol)
            protocol.force_close()

    @web.middleware
    async def _note(self, request: web.Request, handler: RouteHandler) -> web.StreamResponse:
        self._silent.discard(request.protocol)
        return await handler(request)
