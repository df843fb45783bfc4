"""`tickmind runner --on ray` with real villagers on two nodes, one of which is killed."""

import asyncio
import json
import os
import re
import signal
import sys
import time
from contextlib import asynccontextmanager, suppress

import pytest
from tests.long import short_or_long

from tickmind.server import ServerConfig, TickPace, WorldServer
from tickmind.wire import ViewerEventType, ViewFilter, WorldClient
from tickmind.world import TileWorld, parse_scenario
from tickmind.world.generators import generate_village

pytestmark = [pytest.mark.slow(weight=8), pytest.mark.realtime, pytest.mark.timeout(280)]
VILLAGERS, PROCESSES = short_or_long((8, 2), (200, 4))
BACK_S = short_or_long(60.0, 15.0)  # the short form runs beside other tests, on any machine
WAIT_S = 120.0
TICK = short_or_long(TickPace(0.2, 0.15), TickPace(0.5, 0.3))
MAPPING = """
world_addr: "{address}"
agents:
  villager:
    cmd: [python, -m, tickmind.characters.villager]
    per_process: {each}
    place: {{cpus: 1, memory_mb: 200}}
    missed_intents: 0
assignments:
  - match: {{}}
    use: villager
"""


class Audience:
    """Notes who acted in each tick that the world published."""

    def __init__(self):
        self.acted: dict[int, set[str]] = {}
        self.seen = asyncio.Condition()

    async def watch(self, address):
        async with WorldClient(address) as client:
            world = await client.world()
            async for event in client.viewer_events(world, ViewFilter(types=(ViewerEventType.RESULT,))):
                self.acted[event.tick_id] = {world.actors[row].entity_id for row in event.results.actor.tolist()}
                async with self.seen:
                    self.seen.notify_all()

    async def until_all_act(self, after=0):
        def done():
            last = max(self.acted, default=0)
            return last > after and len(self.acted[last]) == VILLAGERS

        async with self.seen:
            await asyncio.wait_for(self.seen.wait_for(done), WAIT_S)
        return max(self.acted)


@asynccontextmanager
async def village():
    """A village that ticks, and its audience."""
    world = TileWorld.from_scenario(parse_scenario(generate_village(7, width=60, height=60, actors=VILLAGERS)))
    async with WorldServer(world, ServerConfig("127.0.0.1:0"), pace=TICK) as server:
        audience = Audience()
        tasks = [asyncio.create_task(server.run()), asyncio.create_task(audience.watch(server.address))]
        try:
            yield server, audience
        finally:
            server.stop()
            await tasks[0]
            tasks[1].cancel()
            with suppress(asyncio.CancelledError):
                await tasks[1]


@asynccontextmanager
async def runner_on(cluster, folder, address, on="ray"):
    """The command, as an operator gives it; its output is what the context gives."""
    mapping = folder / "agents.yaml"
    mapping.write_text(MAPPING.format(address=address, each=VILLAGERS // PROCESSES), "utf-8")
    output = folder / "runner.log"
    with output.open("wb") as file:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tickmind.cli", "runner", str(mapping), "--on", on),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            env={**os.environ, **cluster.environment},
        )
    try:
        yield output
    finally:
        process.send_signal(signal.SIGINT)
        try:
            await asyncio.wait_for(process.wait(), WAIT_S)
        finally:
            with suppress(ProcessLookupError):
                process.kill()


def memories(folder, pattern="*"):
    """The memories that the runner has of villagers: entity -> (tick, entries by number)."""
    found = {}
    for path in folder.glob(f".tickmind/agents/{pattern}/state/memory-*.json"):
        kept = json.loads(path.read_bytes())
        found[kept["entity_id"]] = (kept["tick"], {entry[0]: entry[3] for entry in kept["entries"]})
    return found


def on_node(folder, node):
    """The villagers whose process was last started on a node."""
    found = set()
    for log in folder.glob(".tickmind/agents/*/agent.log"):
        places = re.findall(r"--- on node .*\((\w+)\)", log.read_text("utf-8"))
        if places and node.startswith(places[-1]):
            found |= memories(folder, log.parent.name).keys()
    return found


async def until(condition, what):
    end_s = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < end_s, f"in vain: {what}"
        await asyncio.sleep(0.1)


@pytest.mark.asyncio
async def test_a_killed_node_costs_villagers_neither_their_memories_nor_the_world_a_tick(ray_cluster, tmp_path):
    async with village() as (server, audience), runner_on(ray_cluster, tmp_path, server.address) as output:
        first = await audience.until_all_act()
        await until(lambda: len(memories(tmp_path)) == VILLAGERS, "everybody has a memory that the runner knows")
        await until(lambda: all(entries for _, entries in memories(tmp_path).values()), "and something is in it")
        lost = on_node(tmp_path, ray_cluster.nodes[0])
        assert 0 < len(lost) < VILLAGERS, "both nodes have villagers"
        before = memories(tmp_path)
        killed_s, killed = time.monotonic(), max(audience.acted)
        await asyncio.to_thread(ray_cluster.kill, 0)
        await until(lambda: len(audience.acted[max(audience.acted)]) < VILLAGERS, "the loss is seen")
        back = await audience.until_all_act(after=killed)
        took_s = time.monotonic() - killed_s
        sys.stdout.write(f"{VILLAGERS} villagers act again {took_s:.1f} s after the loss of a node\n")
        assert took_s < BACK_S
        await until(lambda: all(memories(tmp_path)[name][0] > back for name in lost), "memories of a later tick")
        after = memories(tmp_path)
        for name in lost:
            assert before[name][1].items() <= after[name][1].items(), f"{name} forgot something"
        assert not on_node(tmp_path, ray_cluster.nodes[0])
        ticks = sorted(audience.acted)
        assert ticks == list(range(ticks[0], ticks[-1] + 1)), "no tick is missing"
        assert first >= ticks[0]
        text = output.read_text("utf-8")
        assert "kept by Ray at" in text
        assert "its node or its actor was lost" in text
    assert f"{VILLAGERS} characters" in output.read_text("utf-8")
