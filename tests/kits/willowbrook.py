"""Willowbrook with its twelve villagers, none of whom asks a model: some ticks are over, then it is served."""

import asyncio
import contextlib
import random
from collections import defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path

from tickmind.agent import CharacterHost, Settings, Start
from tickmind.characters.villager import Villager
from tickmind.protocol import ActionType, Persona
from tickmind.server import ServerConfig, TickPace, WorldServer
from tickmind.wire import WorldClient
from tickmind.wire.messages.limits import MAX_DURATION_MS
from tickmind.world import TileWorld, load_scenario

SCENARIO = Path(__file__).parents[2] / "scenarios" / "willowbrook.yaml"
FOOD = Settings({"food": ["bread", "stew", "fish", "tea", "berries"]})
LEASE_MS = 60_000
TICK_S = 0.8
VILLAGERS = {"ada", "bram", "cleo", "dov", "edda", "finn", "gita", "hugo", "iris", "jon", "kaya", "liv"}


@dataclass
class Village:
    """The served village, and what became of the intents of each villager's agent."""

    server: WorldServer
    client: WorldClient
    accepted: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    refused: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))  # why the world took others not
    perceived: dict[str, set[ActionType]] = field(default_factory=lambda: defaultdict(set))  # as their own deeds


def villagers(world, seed):
    """Return the host of all villagers."""
    info = world.info
    personas = {actor.entity_id: actor.persona or Persona() for actor in info.actors}

    def start(who):
        chance = random.Random(f"{who}{seed}")
        return Start(who, FOOD, chance, personas[who], info.setting, info.kinds, items=info.items)

    return CharacterHost(Villager, start)


def live(world, host, ticks):
    """Let so many ticks pass at once, all villagers acting."""
    rows = range(len(world.info.actors))
    for _ in range(ticks):
        seen = [replace(one, deadline_ms=int(MAX_DURATION_MS.maximum)) for one in world.observe(rows)]
        host.begin(world.tick_id, seen)
        for one in seen:
            host.perceive(one)
        record = world.step({row: host.act(one) for row, one in enumerate(seen)})
        host.reflect(record.tick_id)


@contextlib.asynccontextmanager
async def village_day(*, seed, ticks, sink):
    """The village from a tick on, by the clock and on record."""
    world = TileWorld.from_scenario(load_scenario(SCENARIO, seed=seed))
    host = villagers(world, seed)
    live(world, host, ticks)
    log = sink.create(world.info, "willowbrook")
    pace = TickPace(TICK_S, 0.9 * TICK_S)
    config = ServerConfig("127.0.0.1:0", lease_ttl_ms=LEASE_MS)
    async with (
        WorldServer(world, config, pace=pace, sink=log, reports=log, run_id="willowbrook") as server,
        WorldClient(server.address) as client,
        contextlib.AsyncExitStack() as stack,
    ):
        village = Village(server, client)
        names = [actor.entity_id for actor in world.info.actors]
        sessions = [await stack.enter_async_context(client.control(name, f"agent:{name}")) for name in names]
        acting = asyncio.create_task(_act(village, host, dict(zip(names, sessions, strict=True))))
        ticking = asyncio.create_task(server.run())
        try:
            yield village
        finally:
            acting.cancel()
            await asyncio.gather(acting, return_exceptions=True)
            server.stop()
            await ticking
            host.close()
            log.close()


async def _act(village, host, sessions):
    """Let all villagers act in each tick of which all observations are there."""
    readers = {name: aiter(session) for name, session in sessions.items()}
    while True:
        seen = dict(zip(readers, await asyncio.gather(*map(anext, readers.values())), strict=True))
        tick_id = max(one.tick_id for one in seen.values())
        for name, reader in readers.items():
            while seen[name].tick_id < tick_id:  # it was read too late
                seen[name] = await anext(reader)
        host.begin(tick_id, list(seen.values()))
        for one in seen.values():
            host.perceive(one)
        acks = await asyncio.gather(
            *(session.submit(tick_id, host.act(seen[name])) for name, session in sessions.items())
        )
        host.reflect(tick_id)
        for name, ack in zip(sessions, acks, strict=True):
            if ack.accepted:
                village.accepted[name].append(tick_id)
            else:
                village.refused[name].add(str(ack.reason))
            if (result := seen[name].result) is not None:
                village.perceived[name].add(result.action_type)
