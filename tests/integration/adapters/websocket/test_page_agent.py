"""The TypeScript client in a page of another site, in a browser: it misses no tick, and comes back after a break."""

import asyncio
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.integration.browser import browsing_with
from tests.kits.served_world import LOCKSTEP, serving
from tests.long import short_or_long

from tickmind.adapters.websocket import WebSocketConfig, WebSocketServer
from tickmind.cli.conformance.relay import Relay
from tickmind.wire import WorldEndpoint

BUILT = Path(__file__).parents[4] / "clients" / "typescript" / "dist"
TICKS = short_or_long(200, 1000)
BREAK = TICKS // 4
PAGE = """<!doctype html><meta charset="utf-8"><title>A game</title><link rel="icon" href="data:,">
<script type="module">
import { Agent, canWalk, STEPS } from "./index.js";
const agent = new Agent({ url: document.location.hash.slice(1), entityId: "entity:1" });
window.refused = [];
for await (const observation of agent.observations()) {
  const ways = Object.keys(STEPS).filter((way) => {
    const [dx, dy] = STEPS[way];
    return canWalk(observation, observation.me.x + dx, observation.me.y + dy);
  });
  const ack = await agent.act({ move: { direction: ways[observation.tickId % ways.length] } });
  if (!ack.accepted) window.refused.push(ack.reason);
}
</script>"""
pytestmark = [
    pytest.mark.slow,
    pytest.mark.realtime,
    pytest.mark.timeout(280),
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.skipif(not (BUILT / "index.js").exists(), reason="needs `make client` to have built the client"),
]


@asynccontextmanager
async def site():
    """The site of a game, which is not the endpoint's own."""

    async def show(_request: web.Request) -> web.Response:
        return web.Response(text=PAGE, content_type="text/html")

    app = web.Application()
    app.router.add_get("/", show)
    app.router.add_static("/", BUILT)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@pytest.mark.parametrize("breaks", [False, True], ids=["undisturbed", "with a break"])
async def test_a_page_of_a_listed_site_answers_every_tick(browser_program, breaks):
    records: list[Any] = []
    cuts: list[asyncio.Task[None]] = []
    over = asyncio.Event()

    def note(record: Any) -> None:
        records.append(record)
        if breaks and len(records) == BREAK:
            cuts.append(asyncio.create_task(relay.drop()))
        if len(records) == TICKS:
            over.set()

    async with (
        browsing_with(browser_program) as browser,
        site() as origin,
        serving(1, pace=LOCKSTEP, on_tick=note) as world,
        WebSocketServer(WorldEndpoint(world.address), WebSocketConfig(port=0, origins=(origin,))) as socket,
        Relay() as relay,
    ):
        relay.lead_to(socket.url.split("/")[2])
        page = await browser.open(f"{origin}/#ws://{relay.address}/ws/v1")
        async with asyncio.timeout(240):
            await over.wait()
        statistics = world.statistics()
        assert not any(statistics.refused.values())
        refused = await page.evaluate("window.refused")
        connections = relay.connections
    answered = [len(record.intents) == 1 for record in records[:TICKS]]
    if breaks:
        assert all(answered[:BREAK])
        assert all(answered[TICKS // 2 :])
        assert connections == 2
        assert set(refused) <= {"CONNECTION_LOST"}
    else:
        assert all(answered)
        assert (refused, browser.complaints, connections) == ([], [], 1)
