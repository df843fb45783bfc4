"""The WebSocket endpoint before the world of a trial, for agents without gRPC."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


@asynccontextmanager
async def open_socket(world_addr: str) -> AsyncIterator[str]:
    """Serve a world over WebSocket, and yield the URL."""
    from tickmind.adapters.websocket import WebSocketConfig, WebSocketServer
    from tickmind.wire import WorldEndpoint

    async with WebSocketServer(WorldEndpoint(world_addr), WebSocketConfig(port=0)) as server:
        yield server.url


def has_sockets() -> bool:
    """Whether this installation can serve WebSockets."""
    from importlib.util import find_spec

    return find_spec("aiohttp") is not None
