"""The collector of garbage, which would delay frames, is the server's while it runs and Python's afterwards."""

import gc

import pytest

from tickmind.adapters.websocket import WebSocketConfig, WebSocketServer
from tickmind.adapters.websocket.server import GARBAGE_OBJECTS
from tickmind.wire import WorldEndpoint


@pytest.mark.asyncio
@pytest.mark.parametrize("kept", [True, False])
async def test_a_server_controls_the_collector_only_if_it_is_asked_to_and_gives_it_back(kept):
    before, frozen = gc.get_threshold(), gc.get_freeze_count()
    async with WebSocketServer(WorldEndpoint("127.0.0.1:1"), WebSocketConfig(port=0, keep_garbage=kept)):
        assert (gc.get_threshold()[0] == GARBAGE_OBJECTS) is kept
        assert (gc.get_freeze_count() > frozen) is kept
    assert gc.get_threshold() == before
    assert kept or gc.get_freeze_count() == frozen
