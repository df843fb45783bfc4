"""A small market in lockstep, and its characters played by clients of the Model Context Protocol."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.kits.node_packages import installed_node_packages

from tickmind.adapters.mcp.playing import playing
from tickmind.agent import Assignment, Launch
from tickmind.agent.minds import PlainMindHost, Start
from tickmind.agent.process.agent_process import AgentProcess
from tickmind.protocol import Say, Wait
from tickmind.server import ServerConfig, TickPace, WorldServer
from tickmind.wire import Backoff
from tickmind.world import TileWorld, parse_scenario

PATIENCE_S = 60
AT_ONCE = Backoff(0.01, 0.05)
MARKET = """
world: market
seed: 5
rules: {tick_duration_ms: 1000, intent_deadline_ms: 500, sight_radius: 12, hearing_radius: 8}
floors:
  grass: {}
  rock: {walkable: false, opaque: true}
items:
  bread: {use: {hunger: -100}}
  coin: {}
kinds:
  oven: {states: {cold: {walkable: false, actions: {heat: {to: hot, work: 3}}}, hot: {walkable: false}}}
  stall: {holds: 50, sells: {bread: {coin: 2}}, walkable: false}
zones:
  square: {within: [9, 1, 11, 3]}
map: |
  .............
  .1....#......
  ..........2..
  ..S..........
  ............O
legend:
  "1": {floor: grass, actor: {id: ann, type: villager, inventory: {coin: 5}}}
  "2": {floor: grass, actor: {id: bob, type: villager}}
  "S": {floor: grass, object: stall, contents: {bread: 4}}
  "O": {floor: grass, object: oven}
  "#": rock
  ".": grass
"""


@dataclass
class Market:
    """A served world, and all that happened in it."""

    server: Any
    world: TileWorld
    records: list[Any] = field(default_factory=list)

    def results(self, entity_id, action):
        """The results of one kind of action of an actor."""
        return [
            one
            for record in self.records
            for one in record.action_results()
            if one.actor_id == entity_id and one.action_type == action
        ]

    def said(self):
        return [said.text for record in self.records for said in record.utterances]

    def controlled(self, entity_id):
        self.server.authority.leases.expire()
        return bool(self.server.authority.leases.controlled[self.world.row_of(entity_id)])

    def launch(self, entity_id="ann"):
        return Launch((Assignment(entity_id, f"mcp:{entity_id}"),), world_addr=self.server.address)


class Speaker:
    """Stands still, and answers all that it hears with the same words."""

    def __init__(self, words):
        self.words = words

    def act(self, observation):
        heard = [event for event in observation.events if type(event).__name__ == "Heard"]
        return Say(self.words) if heard else Wait()


@asynccontextmanager
async def market(answer="Thank you, ann."):
    """The market, in lockstep, with bob who answers what he hears."""
    world = TileWorld.from_scenario(parse_scenario(MARKET, "market.yaml"))
    found = Market(None, world)
    pace = TickPace(1.0, 0.5, lockstep=True, controllers=2)
    server = WorldServer(world, ServerConfig("127.0.0.1:0"), pace=pace, on_tick=found.records.append)
    found.server = server
    async with server:
        running = asyncio.create_task(server.run())
        host = PlainMindHost(lambda _start: Speaker(answer), Start)
        launch = Launch((Assignment("bob", "test:bob"),), world_addr=server.address)
        bob = AgentProcess(launch, host, backoff=AT_ONCE)
        life = asyncio.create_task(bob.live())
        try:
            yield found
        finally:
            server.stop()
            bob.stop()
            await asyncio.wait([running, life], timeout=PATIENCE_S)


@pytest.fixture
def open_market():
    return market


@pytest.fixture
def play():
    return playing


@pytest.fixture(scope="session")
def node_packages():
    return installed_node_packages()
