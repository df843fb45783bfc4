"""The Node agent of the examples lives in a world that waits for it: it misses no tick."""

import shutil
from pathlib import Path

import pytest
from tests.kits.socket_agents import live
from tests.long import short_or_long

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
    life = await live(["node", str(AGENT)], TICKS, tmp_path)
    life.assert_it_missed_no_tick()
    assert (life.exit_code, life.is_released) == (0, True), life.output
