"""The WebSocket endpoint before the world of a trial, for agents without gRPC."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from tickmind.base.access.tls_files import server_context

if TYPE_CHECKING:
    from tickmind.cli.conformance.credentials import TrialCredentials


@asynccontextmanager
async def open_socket(world_addr: str, credentials: "TrialCredentials | None" = None) -> AsyncIterator[str]:
    """Serve a world over WebSocket, behind TLS if it is, and yield the URL."""
    from tickmind.adapters.websocket import WebSocketConfig, WebSocketServer
    from tickmind.wire import Tls, WorldEndpoint

    world_tls = context = None
    if credentials is not None:
        world_tls, context = Tls.load(credentials.tls), server_context(credentials.server)
    world = WorldEndpoint(world_addr, tls=world_tls)
    async with WebSocketServer(world, WebSocketConfig(port=0, tls=context)) as server:
        yield server.url


def has_sockets() -> bool:
    """Whether this installation can serve WebSockets."""
    from importlib.util import find_spec

    return find_spec("aiohttp") is not None
