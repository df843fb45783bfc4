"""Spoilt JSON frames, thrown at a world through the endpoint: no crash, and no change but by the world's rules."""

import asyncio
import random
from collections import Counter
from contextlib import suppress
from typing import Any

import pytest
from google.protobuf import json_format
from tests.kits.socket_client import SocketClient, connected
from tests.kits.socket_frames import JsonSpoiler, SocketSamples
from tests.long import short_or_long

from tickmind.adapters.websocket import SocketLimits, WebSocketConfig
from tickmind.adapters.websocket.limits import MAX_FRAMES_PER_S
from tickmind.base import ManualClock
from tickmind.wire.v1 import action_pb2, control_pb2
from tickmind.wire.v1 import door_pb2 as pb

pytestmark = [pytest.mark.asyncio, pytest.mark.slow, pytest.mark.timeout(short_or_long(600, 14_400))]
FRAMES = short_or_long(1_000, 1_000_000)
FRAMES_PER_CONNECTION, FRAMES_PER_TICK = 25, 20
ACTORS = 4
LAST = 2**31 - 2  # the number of the last question of a connection


class Thrower:
    """Throws frames at one actor of a world and counts what comes back."""

    def __init__(self, world, server, seed=0):
        self.world, self.server, self.rng = world, server, random.Random(seed)
        self.samples, self.spoiler = SocketSamples(seed), JsonSpoiler(seed)
        self.thrown, self.ticks = 0, 0
        self.answers: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self.lease_id = ""
        self.pool: list[pb.SocketRequest] = []  # legal frames, renewed for each connection
        self.hash = world.authority.world.state_hash()

    def frame(self):
        """Make a frame: spoilt, or one that acts now."""
        if self.rng.random() < 0.5:
            direction: Any = self.rng.randint(1, 8)
            move = action_pb2.Intent(move=action_pb2.Move(direction=direction))
            intent = control_pb2.ControlIntent(tick_id=self.world.authority.world.tick_id, intent=move)
            frame = pb.SocketRequest(control=control_pb2.ControlRequest(intent=intent))
        else:
            frame = self.rng.choice(self.pool)
        return self.spoiler.spoil(frame) if self.rng.random() < 0.8 else json_format.MessageToJson(frame)

    async def throw(self, frames):
        while self.thrown < frames:
            self.pool = list(self.samples.up())
            async with connected(self.server.url) as client:
                opening = {"entityId": "entity:2", "controllerId": "me", "previousLeaseId": self.lease_id}
                await client.send(control={"open": opening})
                reading = asyncio.create_task(self.read(client))
                with suppress(ConnectionError):  # the endpoint may have ended it, as after a release
                    for _ in range(FRAMES_PER_CONNECTION):
                        await client.socket.send_str(self.frame())
                        self.thrown += 1
                        if self.thrown % FRAMES_PER_TICK == 0:
                            await self.tick()
                    await client.send(describe={}, requestId=LAST)
                await reading

    async def read(self, client: SocketClient):
        while (answer := await client.receive()) is not None:
            if answer.request_id == LAST:
                await client.socket.close()
            kind = answer.WhichOneof("frame")
            self.answers[kind] += 1
            if kind == "control" and answer.control.WhichOneof("frame") == "opened":
                self.lease_id = answer.control.opened.lease.lease_id
            if kind == "error":
                self.errors[pb.SocketErrorCode.Name(answer.error.code)] += 1

    async def tick(self):
        await asyncio.sleep(0.001)  # let some of what was sent arrive
        authority = self.world.authority
        assert authority.world.state_hash() == self.hash, "a frame changed the world outside of a tick"
        answered = authority.inbox.answered.copy()
        record = authority.resolve()
        authority.publish(record)
        for _ in authority.prepare():
            pass
        authority.begin()
        self.hash = authority.world.state_hash()
        self.ticks += 1
        assert set(record.results.actor.tolist()) == set(answered.nonzero()[0].tolist())
        state = record.actor_state
        assert len(set(zip(state.x.tolist(), state.y.tolist(), strict=True))) == ACTORS


async def read_on(client: SocketClient):
    """Read observations, or the endpoint takes the client for one that stalls."""
    while not client.socket.closed:
        await client.socket.receive()


async def test_no_spoilt_frame_changes_a_world_but_by_its_rules(serve, caplog):
    door = WebSocketConfig(port=0, limits=SocketLimits(frames_per_s=MAX_FRAMES_PER_S.at(1e9)))
    async with serve(ACTORS, running=False, clock=ManualClock(), door=door) as (world, server):
        world.authority.begin()
        async with connected(server.url) as rightful:
            lease = (await rightful.open("entity:1", "rightful")).lease
            thrower = Thrower(world, server)
            reading = asyncio.create_task(read_on(rightful))
            await thrower.throw(FRAMES)
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
            assert reading.cancelled(), "the rightful controller was cut off"
            assert thrower.ticks >= FRAMES / FRAMES_PER_TICK - 1
            assert thrower.errors["SOCKET_ERROR_CODE_BAD_FRAME"] > FRAMES / 20
            assert thrower.errors["SOCKET_ERROR_CODE_INTERNAL"] == 0
            assert thrower.answers["control"] > FRAMES / 20
            assert world.authority.tally.accepted > 0
            tick_id = world.authority.world.tick_id
            assert (await rightful.intend(tick_id, {"wait": {}})).accepted
            assert (await rightful.intend(tick_id, {"wait": {}})).reason == action_pb2.REASON_DUPLICATE_INTENT
            assert lease.entity_id == "entity:1"
    assert "failed" not in caplog.text
