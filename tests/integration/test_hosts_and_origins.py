"""Which `Host` and `Origin` each listener serves: its own names and its own page, and the pages of no other site."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

import tickmind.viewer.server as viewer_server
from tickmind.adapters.websocket import WebSocketConfig, WebSocketEndpoint, WebSocketServer
from tickmind.gateway.fairness.caller_keys import hash_key
from tickmind.gateway.server import GatewayServer
from tickmind.gateway.settings.config import Caller, GatewayConfig
from tickmind.server import ServerConfig, WorldServer
from tickmind.server.testing import meadow
from tickmind.viewer.page import PageFile
from tickmind.viewer.server import ViewerConfig, ViewerServer
from tickmind.wire import WorldEndpoint
from tickmind.world import TileWorld

pytestmark = pytest.mark.asyncio
KEY = "sk-tm-0123456789abcdef0123456789abcdef"


@dataclass(frozen=True)
class Listener:
    """Something that listens: where, what it serves, and what a caller must bring."""

    port: int
    paths: tuple[str, ...]
    headers: tuple[str, ...] = ()
    other_local_pages: bool = False  # whether pages of this machine's other ports are served, too
    status: int = 200  # of what is served


class NoFrames:
    """A viewer's source without anything in it."""

    watchers = None

    def digest(self) -> dict[str, Any]:
        return {}


@asynccontextmanager
async def gateway() -> AsyncIterator[Listener]:
    async with GatewayServer(GatewayConfig(port=0)) as server:
        yield Listener(server.port, ("/", "/v1/models", "/api/llm/stats", "/metrics"))


@asynccontextmanager
async def gateway_with_listed_origin() -> AsyncIterator[Listener]:
    async with GatewayServer(GatewayConfig(port=0, allowed_origins=("http://localhost:3000",))) as server:
        yield Listener(server.port, ("/v1/models", "/api/llm/stats"), other_local_pages=True)


@asynccontextmanager
async def gateway_with_keys() -> AsyncIterator[Listener]:
    config = GatewayConfig(port=0, callers=(Caller("ada", hash_key(KEY)),))
    async with GatewayServer(config) as server:
        yield Listener(server.port, ("/v1/models",), (f"Authorization: Bearer {KEY}",), other_local_pages=True)


@asynccontextmanager
async def world_metrics() -> AsyncIterator[Listener]:
    world = TileWorld.from_scenario(meadow(2, radius=2))
    async with WorldServer(world, ServerConfig("127.0.0.1:0", metrics_port=0)) as server:
        yield Listener(int(server.metrics_url.split(":")[2].split("/")[0]), ("/metrics",))


@asynccontextmanager
async def world() -> AsyncIterator[Listener]:
    """A world's calls go over HTTP/2 without a handshake, which no browser speaks; plain HTTP gets nothing."""
    async with WorldServer(TileWorld.from_scenario(meadow(2, radius=2)), ServerConfig("127.0.0.1:0")) as server:
        yield Listener(int(server.address.split(":")[1]), ())


@asynccontextmanager
async def viewer() -> AsyncIterator[Listener]:
    source: Any = NoFrames()
    async with ViewerServer(source, ViewerConfig(port=0)) as server:
        yield Listener(int(server.url.split(":")[2].strip("/")), ("/", "/api/digest"))


HANDSHAKE = (
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
    "Sec-WebSocket-Protocol: tickmind.v1.json",
)


@asynccontextmanager
async def websocket() -> AsyncIterator[Listener]:
    async with WebSocketServer(WorldEndpoint("127.0.0.1:1"), WebSocketConfig(port=0)) as server:
        yield Listener(int(server.url.split(":")[2].split("/")[0]), ("/ws/v1",), HANDSHAKE, status=101)


@asynccontextmanager
async def websocket_beside_the_page() -> AsyncIterator[Listener]:
    source: Any = NoFrames()
    endpoint = WebSocketEndpoint(WorldEndpoint("127.0.0.1:1"))
    async with ViewerServer(source, ViewerConfig(port=0), (endpoint,)) as server:
        yield Listener(int(server.url.split(":")[2].strip("/")), ("/ws/v1",), HANDSHAKE, status=101)


@asynccontextmanager
async def websocket_with_listed_origin() -> AsyncIterator[Listener]:
    config = WebSocketConfig(port=0, origins=("http://localhost:3000",))
    async with WebSocketServer(WorldEndpoint("127.0.0.1:1"), config) as server:
        port = int(server.url.split(":")[2].split("/")[0])
        yield Listener(port, ("/ws/v1",), HANDSHAKE, other_local_pages=True, status=101)


LISTENERS = (gateway, gateway_with_listed_origin, gateway_with_keys, world, world_metrics, viewer, websocket,
             websocket_with_listed_origin, websocket_beside_the_page)  # fmt: skip


def allowed(port: int) -> list[list[str]]:
    """Headers of requests that a listener serves: the names of this machine, from no page or from its own."""
    hosts = (f"127.0.0.1:{port}", f"localhost:{port}", f"LOCALHOST:{port}", f"[::1]:{port}")
    return [[f"Host: {host}"] for host in hosts] + [
        [f"Host: {host}", f"Origin: http://{host}"] for host in (f"127.0.0.1:{port}", f"localhost:{port}")
    ]


def refused(port: int) -> list[list[str]]:
    """Headers of requests that no listener serves: names of others (DNS rebinding), and pages of others."""
    own = f"Host: 127.0.0.1:{port}"
    hosts = ("evil.example", f"evil.example:{port}", f"127.0.0.1.evil.example:{port}", f"localhost.evil.example:{port}",
             "", f"127.0.0.1:{port}@evil.example", f"evil.example#127.0.0.1:{port}", "[::1", "0.0.0.0")  # fmt: skip
    origins = ("https://evil.example", f"http://evil.example:{port}", "null", "", "file://", "http://[bad",
               f"http://127.0.0.1:{port}.evil.example", f"http://evil.example@127.0.0.1:{port}",
               f"http://127.0.0.1.evil.example:{port}", f"chrome-extension://127.0.0.1:{port}")  # fmt: skip
    return [
        [],
        [own, "Host: evil.example"],
        ["Host: evil.example", own],
        *([f"Host: {host}"] for host in hosts),
        [f"Host: evil.example:{port}", f"Origin: http://evil.example:{port}"],
        *([own, f"Origin: {origin}"] for origin in origins),
        [own, "Origin: http://evil.example", f"Origin: http://127.0.0.1:{port}"],
    ]


async def ask(port: int, path: str, headers: list[str]) -> tuple[int, bytes]:
    """Send one plain request; a connection that is closed without an answer counts as 400."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    ending = [] if set(HANDSHAKE) & set(headers) else ["Connection: close"]
    lines = [f"GET {path} HTTP/1.1", *headers, *ending]
    writer.write("\r\n".join([*lines, "", ""]).encode())
    try:
        async with asyncio.timeout(60):
            data = await reader.read(65_536)
            if not data.startswith(b"HTTP/1.1 101 "):
                writer.write_eof()
                data += await reader.read()
    finally:
        writer.close()
    return (int(data.split(b" ", 2)[1]) if data.startswith(b"HTTP/1.1 ") else 400), data


@pytest.mark.parametrize("listening", LISTENERS, ids=lambda made: made.__name__)
async def test_only_its_own_names_and_its_own_page_are_served(
    listening: Callable[[], AbstractAsyncContextManager[Listener]], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = {"/index.html": PageFile("/index.html", "text/html", b"<p>the page")}
    monkeypatch.setattr(viewer_server, "page_files", lambda: page)
    wrong = []
    async with listening() as listener:
        port, brought = listener.port, list(listener.headers)
        local = [[f"Host: 127.0.0.1:{port}", "Origin: http://localhost:3000"]]
        served = allowed(port) + (local if listener.other_local_pages else [])
        for path in listener.paths:
            for headers in served:
                status, _ = await ask(port, path, headers + brought)
                wrong += [] if status == listener.status else [(path, headers, status)]
        for path in listener.paths or ("/",):
            for headers in refused(port) + ([] if listener.other_local_pages else local):
                status, data = await ask(port, path, headers + brought)
                shown = status not in {400, 403, 404} or b"access-control" in data.lower() or len(data) > 1000
                wrong += [(path, headers, status)] if shown else []
    assert wrong == []
