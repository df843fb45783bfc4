"""`MetricsPage`: `/metrics` for Prometheus on a port of its own, for this machine only."""

import asyncio
from collections.abc import Callable

from tickmind.base.access.browser_guard import LOOPBACK_NAMES, host_name, is_own_origin
from tickmind.base.telemetry.exposition import CONTENT_TYPE

HOST = "127.0.0.1"
MAX_REQUEST_BYTES = 8192
READ_TIMEOUT_S = 5.0


class MetricsPage:
    """A tiny HTTP server with one page, which is made anew for each request, and `/healthz` for probes."""

    def __init__(self, text: Callable[[], str]) -> None:
        self._text = text
        self._server: asyncio.Server | None = None
        self.url = ""

    @classmethod
    async def open(cls, text: Callable[[], str], port: int) -> "MetricsPage":
        """Serve the page; port 0 takes any free port. Raises `OSError` if it can't listen there."""
        page = cls(text)
        page._server = await asyncio.start_server(page._answer, HOST, port, limit=MAX_REQUEST_BYTES)
        page.url = f"http://{HOST}:{page._server.sockets[0].getsockname()[1]}/metrics"
        return page

    async def close(self) -> None:
        """Stop serving."""
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(READ_TIMEOUT_S):
                request = await reader.readuntil(b"\r\n\r\n")
            writer.write(self._reply(request))
            await writer.drain()
        except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
            pass  # malformed requests get no answer
        finally:
            writer.close()

    def _reply(self, request: bytes) -> bytes:
        first, *lines = request.decode("latin-1").split("\r\n")
        words = first.split(" ")
        kind, text = "text/plain; charset=utf-8", ""
        if not _is_from_here(lines):
            status, text = "403 Forbidden", "Use a host name of this machine; pages of other sites are refused.\n"
        elif words[:2] == ["GET", "/healthz"]:
            status, text = "200 OK", "ok\n"
        elif words[:2] != ["GET", "/metrics"]:
            status, text = "404 Not Found", "Not found; use GET /metrics or /healthz.\n"
        else:
            status, kind, text = "200 OK", CONTENT_TYPE, self._text()
        body = text.encode()
        head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        return head.encode() + body


def _is_from_here(lines: list[str]) -> bool:
    """Whether a request has one `Host`, a name of this machine, and no foreign `Origin`."""
    fields = [(name.lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines)]
    hosts = [value for name, value in fields if name == "host"]
    origins = [value for name, value in fields if name == "origin"]
    return (
        len(hosts) == 1
        and host_name(hosts[0]) in LOOPBACK_NAMES
        and all(is_own_origin(origin, hosts[0]) for origin in origins)
    )
