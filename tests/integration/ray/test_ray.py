"""Ray with real processes: the trials of an experiment, and villagers on two nodes, one of which is killed.

All in one file, so that they share one cluster: it takes longer to start than any of them.
"""

import asyncio
import json
import os
import re
import signal
import sys
import time
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from tests.acceptance.test_documents import RUN_CLI
from tests.long import short_or_long

from tickmind.base import Secret
from tickmind.base.access.small_ca import SmallCa
from tickmind.base.access.tls_files import TlsFiles
from tickmind.server import ServerConfig, TickPace, WorldServer
from tickmind.server.exposure import ServerTls
from tickmind.wire import Tls, ViewerEventType, ViewFilter, WorldClient, WorldEndpoint
from tickmind.world import TileWorld, parse_scenario
from tickmind.world.generators import generate_village

pytestmark = [pytest.mark.slow(weight=8), pytest.mark.realtime, pytest.mark.timeout(580)]
VILLAGERS, PROCESSES = short_or_long((8, 2), (200, 4))
BACK_S = short_or_long(60.0, 15.0)  # the short form runs beside other tests, on any machine
WAIT_S = 240.0
TICK = short_or_long(TickPace(0.2, 0.15), TickPace(0.5, 0.3))
TOKEN = "a-token-of-this-village"
SMALL_STUDY = """
experiment: small
scenario: clearing
ticks: 10
seeds: 1
factors: {limit: {low: {rules.inventory_limit: 2}, high: {rules.inventory_limit: 9}}}
measures:
  moves: {sql: "SELECT count(*) FROM action_results WHERE action_type = 'Move' AND ok"}
  place: {sql: "SELECT tick_id, avg(x) FROM actor_state GROUP BY 1", curve: true}
  lines said: {sql: SELECT count(*) FROM utterances}
"""
LARGE_STUDY = (Path(__file__).parents[3] / "examples" / "market_and_news.yaml").read_text("utf-8")
SIZE = short_or_long((), ("--seeds", "3", "--ticks", "100"))
TABLES = ("trials.parquet", "curves.parquet", "experiment.json")
MAPPING = """
world_addr: "{address}"
tls: {{ca: certificates/ca.pem}}
world_token: {{file: token}}
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

    async def watch(self, endpoint):
        async with WorldClient(endpoint) as client:
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
async def village(folder):
    """A village that ticks behind TLS, and its audience."""
    ca = SmallCa.make(folder / "certificates")
    ca.issue_server(["127.0.0.1"])
    (folder / "token").write_text(f"{TOKEN}\n", "utf-8")
    (folder / "token").chmod(0o600)
    config = ServerConfig(
        "127.0.0.1:0", tls=ServerTls.load(folder / "certificates" / "server"), tokens=(Secret(TOKEN),)
    )
    world = TileWorld.from_scenario(parse_scenario(generate_village(7, width=60, height=60, actors=VILLAGERS)))
    async with WorldServer(world, config, pace=TICK) as server:
        audience = Audience()
        tls = Tls.load(TlsFiles(folder / "certificates" / "ca.pem"))
        endpoint = WorldEndpoint(server.address, tls=tls, token=Secret(TOKEN), timeout_s=60)
        tasks = [asyncio.create_task(server.run()), asyncio.create_task(audience.watch(endpoint))]
        try:
            yield server, audience
        finally:
            server.stop()
            await tasks[0]
            tasks[1].cancel()
            with suppress(asyncio.CancelledError):
                await tasks[1]


@asynccontextmanager
async def command(warm, cluster, output, *words):
    """A command of the program, as a user gives it."""
    env = {**os.environ, **cluster.environment}
    with output.open("wb") as file:
        process = warm.start(["-c", RUN_CLI, *words], cwd=Path.cwd(), env=env, stdout=file, stderr=file)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        try:
            await asyncio.to_thread(process.wait, WAIT_S)
        finally:
            process.kill()


@asynccontextmanager
async def runner_on(warm, cluster, folder, address, on="ray"):
    """A runner of all villagers; its output is what the context gives."""
    mapping, output = folder / "agents.yaml", folder / "runner.log"
    mapping.write_text(MAPPING.format(address=address, each=VILLAGERS // PROCESSES), "utf-8")
    async with command(warm, cluster, output, "runner", str(mapping), "--on", on):
        yield output


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


async def experiment(warm, cluster, study, folder, *words):
    """Run a study as a user does; return what is in its results."""
    output = folder.with_suffix(".log")
    async with command(warm, cluster, output, "experiment", str(study), *SIZE, "--out", str(folder), *words) as process:
        assert await asyncio.to_thread(process.wait, WAIT_S) == 0, output.read_text("utf-8")
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.name in TABLES}


@pytest.mark.asyncio
async def test_on_one_process_and_on_ray_the_tables_are_the_same_byte_for_byte(warm, ray_cluster, tmp_path):
    study = tmp_path / "study.yaml"
    study.write_text(short_or_long(SMALL_STUDY, LARGE_STUDY), "utf-8")
    here, there = await asyncio.gather(
        experiment(warm, ray_cluster, study, tmp_path / "here", "--workers", "1"),
        experiment(warm, ray_cluster, study, tmp_path / "there", "--on", "ray"),
    )
    assert "trials.parquet" in here
    assert there == here


@pytest.mark.asyncio
async def test_a_killed_node_costs_villagers_neither_their_memories_nor_the_world_a_tick(warm, ray_cluster, tmp_path):
    async with (
        village(tmp_path) as (server, audience),
        runner_on(warm, ray_cluster, tmp_path, server.address) as output,
    ):
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
        # The node's processes end in any order: the last that is heard may be that the agent was killed.
        assert re.search(r"\((its node or its actor was lost|the warden was killed)", text), text
    assert f"{VILLAGERS} characters" in output.read_text("utf-8")
