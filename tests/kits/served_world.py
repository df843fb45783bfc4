"""Real worlds behind real gRPC servers on free ports, for tests."""

import asyncio
from contextlib import asynccontextmanager

from tickmind.server import ServerConfig, TickPace, WorldServer
from tickmind.server.testing import meadow
from tickmind.wire import WorldClient, WorldEndpoint
from tickmind.world import TileWorld

LOCKSTEP = TickPace(1.0, 0.5, lockstep=True)
QUICK = TickPace(0.1, 0.05)


@asynccontextmanager
async def serving(actors=4, *, pace=QUICK, config=None, running=True, radius=4, scenario=None, **given):
    """A world that is served, and runs if it is asked to."""
    world = TileWorld.from_scenario(scenario or meadow(actors, radius=radius))
    server = WorldServer(world, config or ServerConfig("127.0.0.1:0"), pace=pace, **given)
    async with server:
        task = asyncio.create_task(server.run()) if running else None
        try:
            yield server
        finally:
            server.stop()
            if task is not None:
                await task


@asynccontextmanager
async def talking(server, **given):
    """A client of a served world."""
    async with WorldClient(WorldEndpoint(server.address, timeout_s=60, **given)) as client:
        yield client


async def came_true(condition):
    """Wait until something is so on the other side, which has no event for it."""
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - a count on the other side has no event
            await asyncio.sleep(0.01)
