"""The endpoint on the viewer's own origin."""

from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest
from tests.kits.served_world import LOCKSTEP, serving
from tests.kits.socket_client import connected

import tickmind.viewer.server as viewer_server
from tickmind.adapters.websocket import WebSocketEndpoint
from tickmind.viewer.server import ViewerConfig, ViewerServer
from tickmind.wire import WorldEndpoint
from tickmind.wire.v1 import door_pb2

pytestmark = [pytest.mark.asyncio, pytest.mark.timeout(120)]
NO_FRAMES: Any = SimpleNamespace(watchers=None)


@pytest.fixture(autouse=True)
def no_page(monkeypatch):
    monkeypatch.setattr(viewer_server, "page_files", dict)


async def test_a_page_plays_a_character_on_the_viewers_origin():
    async with serving(pace=LOCKSTEP) as world:
        endpoint = WebSocketEndpoint(WorldEndpoint(world.address))
        async with ViewerServer(NO_FRAMES, ViewerConfig(port=0), (endpoint,)) as viewer:
            headers = {"Origin": viewer.url.rstrip("/")}
            async with connected(f"{viewer.url}ws/v1", headers=headers) as client:
                await client.open()
                observation = await client.receive_until("control.observation")
                assert (await client.intend(observation.tick_id, {"wait": {}})).accepted
                await viewer.__aexit__(None, None, None)
                answer = await client.receive()
                while answer is not None and answer.WhichOneof("frame") == "control":
                    answer = await client.receive()
                assert answer is not None
                assert answer.error.code == door_pb2.SOCKET_ERROR_CODE_STOPPING


async def test_a_viewer_without_the_endpoint_offers_no_play():
    async with (
        ViewerServer(NO_FRAMES, ViewerConfig(port=0)) as viewer,
        aiohttp.request("GET", f"{viewer.url}ws/v1") as answer,
    ):
        assert answer.status == 404
