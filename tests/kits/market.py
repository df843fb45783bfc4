"""A market of three people, for persons who play: one is played, one answers who greets her, one goes about."""

import asyncio
import contextlib
from dataclasses import dataclass, field

from tickmind.protocol import Heard, Move, Observation, Say, Wait
from tickmind.protocol.direction import Direction
from tickmind.server import ServerConfig, TickPace, WorldServer
from tickmind.wire import WorldClient
from tickmind.world import TileWorld, parse_scenario

MARKET = """
world: market
seed: 4
rules:
  sight_radius: 6
  hearing_radius: 6
  needs: {hunger_per_tick: 1, energy_per_tick: 1, rest_per_tick: 6, wake_energy: 200, starvation: false}
floors:
  grass: {}
  path: {}
items:
  bread: {use: {hunger: -400}}
  coin: {}
kinds:
  wall: {walkable: false, opaque: true}
  bread_stall: {walkable: false, holds: 60, sells: {bread: {coin: 2}}, buys: {bread: {coin: 1}}}
  bell: {actions: {ring: {}}}
map: |
  ...............
  ...............
  ..1::::S.......
  ...:...2.......
  ...:...:.......
  ...:::::.......
  .......w.......
  ..L....w....3..
  .......w.......
  ...............
legend:
  "1": {floor: path, actor: {id: "bo", type: villager, inventory: {coin: 5}, persona: {name: "Bo"}}}
  "2": {floor: path, actor: {id: "ada", type: villager, persona: {name: "Ada", colour: "#c8553d"}}}
  "3": {floor: grass, actor: {id: "cai", type: villager, persona: {name: "<b>Cai</b>", colour: "#2f7fb5"}}}
  "S": {floor: path, object: bread_stall, contents: {coin: 20, bread: 8}}
  "L": {floor: grass, object: bell}
  "w": {floor: grass, object: wall}
  ".": grass
  ":": path
"""
BACK_AND_FORTH = (Direction.S, Direction.N)


@dataclass
class Agent:
    """A scripted agent, and the ticks in which the world took its intents or refused them."""

    name: str
    accepted: list[int] = field(default_factory=list)
    refused: dict[int, str] = field(default_factory=dict)
    own: list[str] = field(default_factory=list)  # what it perceived as its own deeds

    def decide(self, observation: Observation):
        """Answer who says hello; Bo goes back and forth."""
        for event in observation.events:
            if isinstance(event, Heard) and "hello" in event.text.lower() and self.name == "ada":
                return Say("Good day! The bread is fresh.")
        return Move(BACK_AND_FORTH[observation.tick_id % 2]) if self.name == "bo" else Wait()

    async def live(self, client):
        async with client.control(self.name, f"agent:{self.name}") as session:
            async for observation in session:
                if observation.result is not None:
                    self.own.append(str(observation.result.action_type))
                ack = await session.submit(observation.tick_id, self.decide(observation))
                if ack.accepted:
                    self.accepted.append(observation.tick_id)
                else:
                    self.refused[observation.tick_id] = str(ack.reason)


@dataclass
class Market:
    server: WorldServer
    client: WorldClient
    agents: dict[str, Agent]


@contextlib.asynccontextmanager
async def market_day(*, sink=None, tick_s=0.8, lease_ttl_ms=60_000, agents=("bo", "ada")):
    """A market whose ticks go by the clock, with agents that keep their leases."""
    world = TileWorld.from_scenario(parse_scenario(MARKET, "market.yaml"))
    log = sink.create(world.info, "market") if sink is not None else None
    pace = TickPace(tick_s, 0.9 * tick_s)
    config = ServerConfig("127.0.0.1:0", lease_ttl_ms=lease_ttl_ms)
    async with (
        WorldServer(world, config, pace=pace, sink=log, reports=log, run_id="market") as server,
        WorldClient(server.address) as client,
    ):
        players = {name: Agent(name) for name in agents}
        living = [asyncio.create_task(agent.live(client)) for agent in players.values()]
        ticking = asyncio.create_task(server.run())
        try:
            yield Market(server, client, players)
        finally:
            for task in living:
                task.cancel()
            await asyncio.gather(*living, return_exceptions=True)
            server.stop()
            await ticking
            if log is not None:
                log.close()
