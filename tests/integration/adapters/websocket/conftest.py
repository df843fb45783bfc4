"""Worlds over WebSocket on free ports."""

from contextlib import asynccontextmanager

import pytest
from tests.kits.served_world import LOCKSTEP, came_true, serving

from tickmind.adapters.websocket import WebSocketConfig, WebSocketServer
from tickmind.wire import WorldEndpoint


@asynccontextmanager
async def serving_sockets(actors=4, *, door=None, **given):
    """A world that is served in lockstep, and its WebSocket server."""
    given.setdefault("pace", LOCKSTEP)
    async with serving(actors, **given) as world:
        endpoint = WorldEndpoint(world.address, timeout_s=60)
        async with WebSocketServer(endpoint, door or WebSocketConfig(port=0)) as server:
            yield world, server


@pytest.fixture
def serve():
    return serving_sockets


@pytest.fixture
def until():
    return came_true
