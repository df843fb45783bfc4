"""Real worlds behind real gRPC servers on free ports, and lives in them."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from tickmind.agent import AgentProcess, Assignment, Launch
from tickmind.agent.minds import PlainMindHost, Start
from tickmind.server import ServerConfig, TickPace, WorldServer
from tickmind.server.testing import meadow
from tickmind.wire import Backoff
from tickmind.world import TileWorld

PATIENCE_S = 60
AT_ONCE = Backoff(0.01, 0.05)


@dataclass
class Watched:
    """A served world, and all that happened in it."""

    server: Any
    world: TileWorld
    records: list[Any] = field(default_factory=list)
    reports: list[Any] = field(default_factory=list)
    insights: list[Any] = field(default_factory=list)

    def thought(self, report):
        self.reports.append(report)

    def status(self, status):
        self.reports.append(status)

    def insight(self, insight):
        self.insights.append(insight)

    @property
    def address(self):
        return self.server.address

    def controlled(self, entity_id):
        self.server.authority.leases.expire()
        return bool(self.server.authority.leases.controlled[self.world.row_of(entity_id)])

    def results(self, entity_id):
        return [one for record in self.records for one in record.action_results() if one.actor_id == entity_id]

    def said(self):
        return [said.text for record in self.records for said in record.utterances]


@asynccontextmanager
async def serving(
    actors=4, *, address="127.0.0.1:0", tick_s=0.2, lockstep=False, controllers=1, ttl_ms=10_000, run_id="", **more
):
    """A world that is served and runs; `tick_s` has room for a busy machine."""
    world = TileWorld.from_scenario(more.pop("scenario", None) or meadow(actors, side=14, radius=5))
    config = ServerConfig(address, lease_ttl_ms=ttl_ms, **more)
    watched = Watched(None, world)
    pace = TickPace(tick_s, tick_s / 2, lockstep=lockstep, controllers=controllers)
    server = WorldServer(world, config, pace=pace, reports=watched, run_id=run_id, on_tick=watched.records.append)
    watched.server = server
    async with server:
        running = asyncio.create_task(server.run())
        try:
            yield watched
        finally:
            server.stop()
            await running


@asynccontextmanager
async def living(watched, host, entity_ids=("entity:1",), *, limits=None, **given):
    """A life in a world, in the background."""
    launch = Launch(
        tuple(Assignment(one, f"test:{entity_ids[0]}") for one in entity_ids), world_addr=watched.address, **given
    )
    life: Any = AgentProcess(launch, host, backoff=AT_ONCE, **(limits or {}))
    life.task = task = asyncio.create_task(life.live())
    try:
        yield life
    finally:
        life.stop()
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.wait([task])


async def until(condition):
    """Wait for something to become true, with much patience."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110  a server's inside tells nobody when it changes
            await asyncio.sleep(0.01)


class FromFunction:
    def __init__(self, act):
        self.act = act


@pytest.fixture
def serve():
    return serving


@pytest.fixture
def live():
    return living


@pytest.fixture
def eventually():
    return until


@pytest.fixture
def host_of():
    """A host that asks one function for everybody."""
    return lambda act: PlainMindHost(lambda _start: FromFunction(act), Start)
