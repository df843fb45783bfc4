"""The Node agent of the examples lives in a world that waits for it: it misses no tick."""

import asyncio
import os
import shutil
import signal
from pathlib import Path

import pytest
from tests.kits.served_world import LOCKSTEP, serving
from tests.long import short_or_long

from tickmind.adapters.websocket import WebSocketConfig, WebSocketServer
from tickmind.wire import WorldEndpoint

ROOT = Path(__file__).parents[4]
AGENT = ROOT / "examples" / "node" / "agent.mjs"
BUILT = ROOT / "clients" / "typescript" / "dist" / "node.js"
TICKS = short_or_long(300, 1000)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(280),
    pytest.mark.asyncio,
    pytest.mark.skipif(
        not (shutil.which("node") and BUILT.exists()), reason="needs node, and `make client` to have built the client"
    ),
]


async def test_a_node_agent_answers_every_tick_and_gives_its_character_back(tmp_path):
    records = []
    over = asyncio.Event()

    def note(record):
        records.append(record)
        if len(records) == TICKS:
            over.set()

    async with (
        serving(1, pace=LOCKSTEP, on_tick=note) as server,
        WebSocketServer(WorldEndpoint(server.address), WebSocketConfig(port=0)) as socket,
    ):
        env = {"PATH": os.environ["PATH"], "WORLD_WS_URL": socket.url, "ENTITY_ID": "entity:1"}
        agent = await asyncio.create_subprocess_exec("node", str(AGENT), env=env, cwd=tmp_path)
        try:
            async with asyncio.timeout(240):
                await over.wait()
            statistics = server.statistics()
            agent.send_signal(signal.SIGTERM)
            assert await agent.wait() == 0
        finally:
            if agent.returncode is None:
                agent.kill()
                await agent.wait()
        assert not server.authority.leases.controlled.any()
    assert statistics.accepted >= TICKS
    assert not any(statistics.refused.values())
    assert all(len(record.intents) == 1 for record in records[:TICKS])
    assert sum(bool(record.results.action[0]) for record in records[:TICKS]) > TICKS // 2
