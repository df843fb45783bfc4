"""A runner with real characters: who is killed comes back, and nobody else misses an intent."""

import asyncio
import os
import random
import signal
import sys
import time
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.long import short_or_long

from tickmind.runner import AgentSpec, Match, RestartPolicy, Rule, RunnerMapping
from tickmind.server import TickPace
from tickmind.wire import ViewerEventType, ViewFilter, WorldClient

pytestmark = [pytest.mark.slow(weight=6), pytest.mark.realtime, pytest.mark.timeout(280)]
WALKER = AgentSpec(
    "walker", ("python", "-m", "tickmind.characters.random_walker"), Path("/"), restart=RestartPolicy(1000, (250,))
)
KILLS = short_or_long(3, 24)
SLOW = TickPace(2.0, 1.8)  # so that only who is dead misses a tick, and not who gets no processor for a while


def agent_pid(keeper):
    """The process that a keeper keeps."""
    return int(Path(f"/proc/{keeper}/task/{keeper}/children").read_text().split()[0])


class Audience:
    """Notes who did something in which tick, and when."""

    def __init__(self):
        self.acted = {}  # tick -> ids
        self.new_tick = asyncio.Condition()

    async def watch(self, client):
        world = await client.world()
        view = ViewFilter(types=(ViewerEventType.RESULT,))
        async for event in client.viewer_events(world, view):
            self.acted[event.tick_id] = {world.actors[row].entity_id for row in event.results.actor.tolist()}
            async with self.new_tick:
                self.new_tick.notify_all()

    async def until(self, condition):
        async with self.new_tick:
            await asyncio.wait_for(self.new_tick.wait_for(condition), 90)

    @property
    def last(self):
        return max(self.acted, default=0)


@asynccontextmanager
async def living(tools, actors, folder, spec=WALKER):
    """A world in which everybody acts."""
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3] / "src")}
    async with tools.serving(actors, pace=SLOW) as server, WorldClient(server.address) as client:
        mapping = RunnerMapping({spec.name: spec}, (Rule(Match(), spec.name),), world_addr=server.address)
        audience = Audience()
        watching = asyncio.create_task(audience.watch(client))
        try:
            async with tools.running(mapping, folder, environment=env) as runner:
                await audience.until(lambda: len(audience.acted.get(audience.last, ())) == actors)
                yield runner, audience, server
        finally:
            watching.cancel()


def epoch(server, entity_id):
    """It grows with each lease that is given."""
    world, leases = server.authority.world, server.authority.leases
    return int(leases._epoch[world.row_of(entity_id)])


@pytest.mark.asyncio
async def test_killed_agents_come_back_with_their_leases_and_nobody_else_misses_an_intent(tools, tmp_path):
    rng, back_s = random.Random(8), []
    victims: set[str] = set()
    async with living(tools, 4, tmp_path) as (runner, audience, server):
        everybody = {row.entity_id for row in runner.rows()}
        first = audience.last
        for _ in range(KILLS):
            victim = rng.choice(sorted(victims) if len(victims) == 2 else sorted(everybody))
            victims.add(victim)
            before, killed = epoch(server, victim), audience.last
            watch = tools.Stopwatch()
            os.kill(agent_pid(runner.unit_of(victim).pid), signal.SIGKILL)
            back_s.append(await watch.until(lambda victim=victim, before=before: epoch(server, victim) > before))
            await audience.until(
                lambda victim=victim, killed=killed: any(
                    victim in ids for tick, ids in audience.acted.items() if tick > killed + 1
                )
            )
        for tick in range(first, audience.last + 1):
            assert everybody - victims <= audience.acted[tick], f"somebody else missed tick {tick}"
        assert {row.restarts for row in runner.rows() if row.entity_id not in victims} == {0}
        assert sum(row.restarts for row in runner.rows()) == KILLS
    sys.stdout.write(f"under control again after {', '.join(f'{each:.2f}' for each in sorted(back_s))} s\n")
    assert max(back_s) < 2.0


@pytest.mark.asyncio
async def test_without_its_secret_a_killed_agent_is_back_when_the_lease_ran_out(tools, tmp_path):
    async with living(tools, 1, tmp_path) as (runner, _, server):
        (row,) = runner.rows()
        unit = runner.unit_of(row.entity_id)
        before = epoch(server, row.entity_id)
        watch, began_s = tools.Stopwatch(), time.monotonic()
        os.kill(agent_pid(unit.pid), signal.SIGKILL)
        (unit.log_path.parent / "state" / "lease.json").unlink()
        took_s = await watch.until(lambda: epoch(server, row.entity_id) > before)
        sys.stdout.write(f"under control again after {took_s:.2f} s\n")
        assert time.monotonic() - began_s > 5.0  # 10 s of the lease, which its last intent renewed
        assert took_s < 12.0
        assert unit.life.restarts == 1


@pytest.mark.asyncio
async def test_a_process_with_many_characters_is_stopped_and_found_hanging(tools, tmp_path):
    host = AgentSpec(
        "host", WALKER.cmd, Path("/"), per_process=4, heartbeat_timeout_ms=3000, missed_intents=0
    )  # fmt: skip
    async with living(tools, 4, tmp_path, host) as (runner, audience, _):
        assert runner.statistics().processes == 1
        unit = runner.unit_of(runner.rows()[0].entity_id)
        os.kill(agent_pid(unit.pid), signal.SIGSTOP)
        await tools.until(lambda: unit.life.restarts >= 1)
        assert "no heartbeat" in unit.life.trouble
        stopped = audience.last
        await audience.until(lambda: any(len(ids) == 4 for tick, ids in audience.acted.items() if tick > stopped))
