"""Agents that know nothing of the kit: no heartbeat pipe, no lease file, only the world's plain calls."""

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tickmind.base import ManualClock
from tickmind.protocol import Wait
from tickmind.runner import AgentSpec, LifeState, Match, RestartPolicy, Rule, RunnerMapping
from tickmind.wire import WorldClient

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240), pytest.mark.asyncio]

PLAIN_AGENT = """
import os, sys
import grpc
from tickmind.wire.client.service_calls import service_calls
from tickmind.wire.v1 import action_pb2, lease_pb2, tick_pb2

entity_id = os.environ["ENTITY_ID"]
with grpc.insecure_channel(os.environ["WORLD_ADDR"]) as channel:
    leases, actions, ticks = (service_calls(channel, file.DESCRIPTOR) for file in (lease_pb2, action_pb2, tick_pb2))
    asked = lease_pb2.AcquireLeaseRequest(entity_id=entity_id, controller_id=os.environ["CONTROLLER_ID"])
    answer = leases.AcquireLease(asked, wait_for_ready=True)
    if not answer.lease.lease_id:
        sys.exit("the lease is held")
    lease_id = answer.lease.lease_id
    for event in ticks.StreamTicks(tick_pb2.StreamTicksRequest()):
        leases.RenewLease(lease_pb2.RenewLeaseRequest(lease_id=lease_id))
        intent = action_pb2.Intent(wait=action_pb2.Wait())
        actions.SubmitIntent(action_pb2.SubmitIntentRequest(
            lease_id=lease_id, entity_id=entity_id, tick_id=event.tick.tick_id, intent=intent))
"""


def plain(folder: Path, **given) -> AgentSpec:
    """An agent that acts in every tick."""
    program = folder / "plain_agent.py"
    program.write_text(PLAIN_AGENT)
    return AgentSpec("plain", (sys.executable, str(program)), folder, **given)


def mapping(server, spec):
    return RunnerMapping({spec.name: spec}, (Rule(Match(), spec.name),), world_addr=server.address)


@pytest.fixture
def env(mark):
    return {"PATH": os.environ["PATH"], "LC_TEST": mark}


async def acting_until(tools, runner, clock, end_s, step_s):
    """Let time pass by one step for each tick in which the character acted, until a time."""
    seen = 0
    while clock.monotonic() < end_s:
        await tools.until(lambda: runner.rows() and runner.rows()[0].last_tick > seen)  # noqa: B023 - awaited at once
        seen = runner.rows()[0].last_tick
        clock.advance(step_s)


async def test_an_agent_without_a_pipe_that_acts_is_kept_for_good(tools, env, tmp_path):
    clock, spec = ManualClock(), plain(tmp_path, start_timeout_ms=6_000, heartbeat_timeout_ms=3_000)
    async with (
        tools.serving(1) as server,
        tools.running(mapping(server, spec), tmp_path, environment=env, clock=clock) as runner,
    ):
        await acting_until(tools, runner, clock, 15.0, 0.75)
        (row,) = runner.rows()
    assert (row.state, row.restarts, row.trouble) == (LifeState.RUNNING, 0, "")


async def test_an_agent_without_a_pipe_that_stops_acting_is_started_again(tools, env, tmp_path):
    """What lived by intents alone dies by their absence, also where missed intents are nobody's business."""
    spec = AgentSpec("mute", ("sleep", "600"), tmp_path, heartbeat_timeout_ms=3_000, missed_intents=0)
    clock = ManualClock()
    async with (
        tools.serving(1) as server,
        WorldClient(server.address) as client,
        tools.running(mapping(server, spec), tmp_path, environment=env, clock=clock) as runner,
    ):
        await tools.until(lambda: runner.rows() and runner.rows()[0].state is LifeState.STARTING)
        lease = await client.acquire(runner.rows()[0].entity_id, "in place of the process")
        async for event in client.ticks():
            await client.submit(lease, event.tick_id, Wait())
            if runner.rows()[0].state is LifeState.RUNNING:
                break
        await client.release(lease)
        while runner.rows()[0].restarts == 0:
            tick_id = runner.sight.tick_id
            await tools.until(lambda: runner.sight.tick_id > tick_id)  # noqa: B023 - awaited at once
            clock.advance(0.75)
    assert "it sent no heartbeat and no intent for" in runner.rows()[0].trouble


async def test_the_lease_of_a_dead_process_is_waited_out_before_the_next_starts(tools, env, tmp_path):
    starts = tmp_path / "starts"
    spec = AgentSpec("brief", ("sh", "-c", f"echo x >> {starts}; exec sleep 600"), tmp_path)
    spec = replace(spec, restart=RestartPolicy(3, (0,)))
    async with (
        tools.serving(1) as server,
        WorldClient(server.address) as client,
        tools.running(mapping(server, spec), tmp_path, environment=env, poll_s=0.1) as runner,
    ):
        await tools.until(starts.exists)
        lease = await client.acquire(runner.rows()[0].entity_id, "in place of the process")
        await tools.until(lambda: runner.rows()[0].controlled)
        runner.unit_of(lease.entity_id).kill("the test ended it")
        await tools.until(lambda: runner.rows()[0].state is LifeState.BACKING_OFF)
        tick_id = runner.sight.tick_id
        await tools.until(lambda: runner.sight.tick_id > tick_id + 5)
        await client.renew(lease)  # it was held all the time
        assert starts.read_text().count("x") == 1
        await client.release(lease)
        await tools.until(lambda: starts.read_text().count("x") == 2)
        assert runner.rows()[0].restarts == 1
