"""Spoilt JSON frames, thrown at a world through the endpoint: no crash, and no change but by the world's rules."""

import asyncio
import random
from collections import Counter

import orjson
import pytest
from google.protobuf import json_format
from tests.kits.raw_socket import RawSocket, raw_socket
from tests.kits.socket_client import SocketClient, connected
from tests.kits.socket_frames import JsonSpoiler, SocketSamples
from tests.long import short_or_long

from tickmind.adapters.websocket import SocketLimits, WebSocketConfig
from tickmind.adapters.websocket.limits import MAX_FRAMES_PER_S
from tickmind.base import ManualClock
from tickmind.protocol.direction import Direction
from tickmind.wire.v1 import action_pb2

pytestmark = [pytest.mark.asyncio, pytest.mark.slow, pytest.mark.timeout(short_or_long(600, 14_400))]
SEEDS, FRAMES = range(short_or_long(1, 20)), short_or_long(20_000, 50_000)
FRAMES_PER_TICK = 100  # written at once, and all read before the tick
SAMPLES = 40  # sets of legal frames that are spoilt
RELEASED = 0.05  # part of the ticks in which the control may be given up
ACTORS = 4
LAST = 2**31 - 2  # the number of the question after all frames of a tick
WAYS = [f"DIRECTION_{direction.name}" for direction in Direction]


class Thrower:
    """Throws frames at one actor of a world and counts what comes back."""

    def __init__(self, world, server, seed):
        self.world, self.server, self.rng = world, server, random.Random(seed)
        self.spoiler = JsonSpoiler(seed)
        frames = [frame for number in range(SAMPLES) for frame in SocketSamples(seed + number).up()]
        texts = [(frame, orjson.dumps(json_format.MessageToDict(frame))) for frame in frames]
        self.releases = [text for frame, text in texts if frame.control.HasField("release")]
        self.pool = [text for frame, text in texts if not frame.control.HasField("release")]
        self.thrown, self.ticks, self.connections = 0, 0, 0
        self.answers: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self.lease_id = ""
        self.hash = world.authority.world.state_hash()

    def text(self):
        """Make a frame: spoilt, or one that acts now."""
        rng = self.rng
        if rng.random() < 0.5:
            tick_id = self.world.authority.world.tick_id
            move = {"move": {"direction": rng.choice(WAYS)}}
            value = {"control": {"intent": {"tickId": str(tick_id), "intent": move}}}
        else:
            value = orjson.loads(rng.choice(self.pool))
        return self.spoiler.spoil_value(value) if rng.random() < 0.8 else orjson.dumps(value).decode()

    async def throw(self, frames):
        """Throw so many; only those count that were surely read."""
        while self.thrown < frames:
            self.connections += 1
            async with raw_socket(self.server.url) as socket:
                opening = {"entityId": "entity:2", "controllerId": "me", "previousLeaseId": self.lease_id}
                socket.write([orjson.dumps({"control": {"open": opening}}).decode()])
                while self.thrown < frames:
                    texts = [self.text() for _ in range(FRAMES_PER_TICK)]
                    if self.rng.random() < RELEASED:
                        texts.append(self.rng.choice(self.releases).decode())
                    socket.write([*texts, f'{{"describe":{{}},"requestId":{LAST}}}'])
                    is_there = await self.read(socket)
                    self.tick()
                    if not is_there:
                        break
                    self.thrown += FRAMES_PER_TICK

    async def read(self, socket: RawSocket):
        """Read until the last question is answered; return whether the connection is there still."""
        while (data := await socket.read()) is not None:
            answer = orjson.loads(data)
            kind = next(iter(answer.keys() - {"requestId"}))
            self.answers[kind] += 1
            if kind == "control" and "opened" in answer["control"]:
                self.lease_id = answer["control"]["opened"]["lease"]["leaseId"]
            if kind == "error":
                self.errors[answer["error"]["code"]] += 1
            if answer.get("requestId") == LAST:
                return True
        return False

    def tick(self):
        """Step the world, and see that nothing but the intents that it took has changed it."""
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


@pytest.mark.parametrize("seed", SEEDS)
async def test_no_spoilt_frame_changes_a_world_but_by_its_rules(serve, caplog, seed):
    door = WebSocketConfig(port=0, limits=SocketLimits(frames_per_s=MAX_FRAMES_PER_S.at(1e9)))
    async with serve(ACTORS, running=False, clock=ManualClock(), door=door) as (world, server):
        world.authority.begin()
        async with connected(server.url) as rightful:
            lease = (await rightful.open("entity:1", "rightful")).lease
            thrower = Thrower(world, server, SAMPLES * seed)
            reading = asyncio.create_task(read_on(rightful))
            await thrower.throw(FRAMES)
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
            assert reading.cancelled(), "the rightful controller was cut off"
            assert thrower.ticks >= FRAMES / FRAMES_PER_TICK
            assert thrower.errors["SOCKET_ERROR_CODE_BAD_FRAME"] > FRAMES / 20
            assert thrower.errors["SOCKET_ERROR_CODE_INTERNAL"] == 0
            assert thrower.answers["control"] > FRAMES / 20
            assert world.authority.tally.accepted > 0
            tick_id = world.authority.world.tick_id
            assert (await rightful.intend(tick_id, {"wait": {}})).accepted
            assert (await rightful.intend(tick_id, {"wait": {}})).reason == action_pb2.REASON_DUPLICATE_INTENT
            assert lease.entity_id == "entity:1"
    assert "failed" not in caplog.text
