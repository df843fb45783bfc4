"""A world behind its real API, and two agents in it: one goes about, the other talks. Nobody waits for the clock.

python examples/20_world.py
"""

import argparse
import asyncio
import random

from tickmind.protocol import Direction, Heard, Intent, Move, Observation, Say
from tickmind.server import ServerConfig, TickPace, WorldServer
from tickmind.server.testing import meadow
from tickmind.wire import WorldClient
from tickmind.world import TileWorld


def wander(observation: Observation, dice: random.Random) -> Intent:
    """Go somewhere where one can walk."""
    me, tiles = observation.me, observation.visible_tiles
    ways = [way for way in Direction if tiles.can_walk(me.x + way.dx, me.y + way.dy)]
    return Move(dice.choice(ways or list(Direction)))


def chat(observation: Observation, _dice: random.Random) -> Intent:
    """Tell what there is to see."""
    others = len(observation.visible_entities)
    return Say(f"I see {others} others and {len(observation.visible_objects)} things.")


async def live(client: WorldClient, entity_id: str) -> None:
    """Control one entity over one stream: an observation down, an intent up, until somebody stops it."""
    decide = wander if entity_id == "entity:1" else chat
    dice = random.Random(entity_id)
    async with client.control(entity_id, f"example:{entity_id}") as session:
        async for observation in session:
            intent = decide(observation, dice)
            me = observation.me
            heard = [event.text for event in observation.events if isinstance(event, Heard)]
            print(
                f"tick {observation.tick_id:2}  {entity_id} at ({me.x:2}, {me.y:2})  {intent}"
                f"{f'  heard: {heard[0]}' if heard else ''}"
            )
            ack = await session.submit(observation.tick_id, intent)
            if not ack.accepted:
                print(f"tick {observation.tick_id:2}  {entity_id} was refused: {ack.reason}")


async def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ticks", type=int, default=8, help="how many ticks to run (default: 8)")
    options = parser.parse_args()

    world = TileWorld.from_scenario(meadow(6, side=12))
    pace = TickPace(lockstep=True, controllers=2)
    async with (
        WorldServer(world, ServerConfig("127.0.0.1:0"), pace=pace) as server,
        WorldClient(server.address) as client,
    ):
        agents = [asyncio.create_task(live(client, entity_id)) for entity_id in ("entity:1", "entity:2")]
        await server.run(options.ticks)
        for agent in agents:
            agent.cancel()
        await asyncio.gather(*agents, return_exceptions=True)
        stats = server.statistics()
        print(f"{stats.ticks} ticks, {stats.accepted} intents accepted, {sum(stats.refused.values())} refused.")


if __name__ == "__main__":
    asyncio.run(main())
