"""`/metrics` for Prometheus, on a port of its own."""

import asyncio
import socket
from typing import TYPE_CHECKING

from tickmind.base.browser_guard import LOOPBACK_NAMES, host_name, is_own_origin
from tickmind.base.exposition import CONTENT_TYPE, Exposition
from tickmind.server.authority import Authority
from tickmind.server.errors import AddressError

if TYPE_CHECKING:
    from tickmind.server.statistics import DurationHistogram

HOST = "127.0.0.1"
MAX_REQUEST_BYTES = 8192
READ_TIMEOUT_S = 5.0
BOUNDS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0)


def metrics_of(authority: Authority) -> str:
    """Return all figures of a world as text."""
    stats, tally = authority.statistics(), authority.tally
    page = Exposition()
    page.gauge("tickmind_world_tick", "The tick that is open or comes next.", [({}, stats.tick_id)])
    page.counter("tickmind_world_ticks_total", "Ticks that were resolved.", [({}, stats.ticks)])
    page.counter("tickmind_world_overruns_total", "Ticks that took too long.", [({}, stats.overruns)])
    page.counter("tickmind_world_overrun_seconds_total", "Seconds by which ticks were delayed.", [({}, tally.late_s)])
    page.gauge("tickmind_world_actors", "Actors in the world.", [({}, stats.actors)])
    page.gauge("tickmind_world_controlled_actors", "Actors that have a controller.", [({}, stats.controlled)])
    page.gauge("tickmind_world_leases", "Leases that are running.", [({}, stats.leases)])
    page.counter("tickmind_world_intents_accepted_total", "Intents that were accepted.", [({}, stats.accepted)])
    page.counter(
        "tickmind_world_intents_refused_total",
        "Intents that were refused.",
        [({"reason": reason.value}, count) for reason, count in sorted(stats.refused.items())],
    )
    page.gauge(
        "tickmind_world_streams",
        "Open streams.",
        [({"kind": kind}, count) for kind, count in sorted(stats.streams.items())],
    )
    page.counter(
        "tickmind_world_streams_cut_total", "Readers that stalled and were cut off.", [({}, stats.streams_cut)]
    )
    page.gauge("tickmind_world_unread_bytes", "Bytes unread by cut-off readers.", [({}, stats.unread_bytes)])
    page.counter(
        "tickmind_world_calls_refused_total",
        "Plain calls that were refused because too many waited.",
        [({}, stats.calls_refused)],
    )
    durations: list[tuple[str, str, DurationHistogram]] = [
        ("jitter", "How late ticks began.", tally.jitter),
        ("answer", "From the start of a tick to its intents.", tally.answers),
        ("step", "How long the rules took for a tick.", tally.steps),
        ("keep", "How long it took to store a tick.", tally.keeps),
        ("prepare", "How long it took to make the observations of a tick.", tally.prepares),
    ]
    for name, meaning, histogram in durations:
        page.histogram(
            f"tickmind_world_{name}_seconds", meaning, BOUNDS_S, [({}, histogram.buckets(BOUNDS_S), histogram.total_s)]
        )
    return page.text()


def check_metrics_port(port: int) -> None:
    """Raise `AddressError` for a port that another program listens on."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise _taken(port, error) from error


def _taken(port: int, error: OSError) -> AddressError:
    return AddressError(f"can't serve metrics on port {port}: {error.strerror}; choose another port (--metrics-port)")


class MetricsPage:
    """A tiny HTTP server with one page, for this machine only."""

    def __init__(self, authority: Authority) -> None:
        self._authority = authority
        self._server: asyncio.Server | None = None
        self.url = ""

    @classmethod
    async def open(cls, authority: Authority, port: int) -> "MetricsPage":
        """Serve the page; port 0 takes any free port."""
        page = cls(authority)
        try:
            page._server = await asyncio.start_server(page._answer, HOST, port, limit=MAX_REQUEST_BYTES)
        except OSError as error:
            raise _taken(port, error) from error
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
        elif words[:2] != ["GET", "/metrics"]:
            status, text = "404 Not Found", "Not found; use GET /metrics.\n"
        else:
            status, kind, text = "200 OK", CONTENT_TYPE, metrics_of(self._authority)
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
