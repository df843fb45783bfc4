"""Those who live in the simulated world: agents over streams, over plain calls, hosts of many, and one who watches.

They use the real clients and do what agents are told to do: come back after every break, with the lease they had.
"""

import asyncio
import random
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
from tests.sim.network import Network, Node

from tickmind.base import Secret
from tickmind.protocol import Direction, Intent, Lease, Move, Pickup, Say, Thought, Wait, WorldInfo
from tickmind.protocol.compiling import WorldCodes, compile_intents
from tickmind.wire import LeaseRefusedError, WireError, WorldClient, WorldEndpoint
from tickmind.wire.client import async_client as wire_client

PATIENCE_S = 0.8  # of one plain call
LONGEST_WAIT_S = 0.5  # between two tries
HERE = WorldEndpoint("127.0.0.1:1", timeout_s=PATIENCE_S)


@contextmanager
def simulated_channels(network: Network) -> Iterator[None]:
    """Let clients that are made meanwhile talk over the simulated network, each from the node of its task."""
    with patch.object(wire_client, "open_channel", lambda _connection: network.channel(_nodes[-1])):
        yield


_nodes: list[Node] = []


def connect(node: Node, rng: random.Random) -> WorldClient:
    """A client at a node."""
    _nodes.append(node)
    try:
        return WorldClient(HERE, rng=rng)
    finally:
        _nodes.pop()


class Agent:
    """Controls entities for as long as it can, and takes them again when it has lost them."""

    def __init__(self, name: str, entity_ids: tuple[str, ...], rng: random.Random) -> None:
        self.name = name
        self.entity_ids = entity_ids
        self.node = Node(name)
        self.rng = rng
        self.accepted: list[str] = []  # for whom the world has taken intents
        self.thoughts = 0
        self._client = connect(self.node, rng)
        self._previous: Secret | None = None
        self._failures = 0

    async def run(self) -> None:
        """Live until cancelled."""
        while True:
            wait_s = self.rng.uniform(0.0, min(LONGEST_WAIT_S, 0.1 * 2**self._failures))
            try:
                await self.live()
            except LeaseRefusedError as refusal:
                wait_s = min(refusal.retry_after_ms / 1000 or wait_s, LONGEST_WAIT_S)
            except WireError:
                pass
            self._failures += 1
            await asyncio.sleep(wait_s)

    async def live(self) -> None:
        """Control the entities until that ends."""
        raise NotImplementedError

    def hold(self, lease_id: Secret) -> None:
        """It has a lease."""
        self._previous = lease_id
        self._failures = 0

    def choose(self, epoch: int) -> Intent:
        """What to do. What it says tells the record who acted, and by which lease."""
        chance = self.rng.random()
        if chance < 0.4:
            return Say(f"{self.name} {epoch}")
        if chance < 0.9:
            return Move(Direction(self.rng.randrange(8)))
        return Pickup("berries", 1) if chance < 0.95 else Wait()

    async def think(self, lease: Lease, tick_id: int) -> None:
        """Tell what it thought, at any time of the tick."""
        await asyncio.sleep(self.rng.uniform(0.0, 0.2))
        self.thoughts += 1
        thought = Thought(0, tick_id, tick_id, "", f"{self.name} {self.thoughts}")
        await self._client.report_thought(lease, tick_id, thought)


class StreamAgent(Agent):
    """Over one stream."""

    async def live(self) -> None:
        [entity_id] = self.entity_ids
        session = self._client.control(entity_id, self.name, previous=self._previous, release=self.rng.random() < 0.3)
        async with session:
            lease = session.lease
            self.hold(lease.lease_id)
            async for seen in session:
                if self.rng.random() < 0.1:
                    await asyncio.sleep(self.rng.uniform(0.0, 0.8))  # thinks, perhaps past the deadline
                if (await session.submit(seen.tick_id, self.choose(lease.epoch))).accepted:
                    self.accepted.append(entity_id)
                if self.rng.random() < 0.5:
                    await self.think(lease, seen.tick_id)
                if self.rng.random() < 0.03:
                    return


class PlainAgent(Agent):
    """Over plain calls, which the network may lose or bring twice."""

    async def live(self) -> None:
        [entity_id] = self.entity_ids
        lease = await self._client.acquire(entity_id, self.name, previous=self._previous)
        self.hold(lease.lease_id)
        seen_ticks = self._client.observations(lease, retry=None)
        async for seen in seen_ticks:
            intent = self.choose(lease.epoch)
            for _ in range(2):
                try:
                    if (await self._client.submit(lease, seen.tick_id, intent)).accepted:
                        self.accepted.append(entity_id)
                    break
                except WireError:
                    continue  # it may have arrived or not; a second one does no harm
            await self._client.renew(lease)
            if self.rng.random() < 0.5:
                await self.think(lease, seen.tick_id)
            if self.rng.random() < 0.03:
                await self._client.release(lease)
                return


class HostAgent(Agent):
    """Several entities over one stream. It is rude: now and then it acts for those, too, that it could not have."""

    _world: WorldInfo | None = None  # which never changes, so it asks once

    async def live(self) -> None:
        if self._world is None:
            self._world = await self._client.world()
        codes = WorldCodes.of(self._world)
        names = {codes.actor_row[entity_id]: entity_id for entity_id in self.entity_ids}
        session = self._client.control_batch(
            self._world,
            self.name,
            np.array(sorted(names), dtype=np.int32),
            previous=self._previous,
            release=self.rng.random() < 0.3,
        )
        async with session:
            opened = session.opened
            self.hold(opened.lease_id)
            epochs = dict(zip(opened.granted.tolist(), opened.epoch.tolist(), strict=True))
            async for part in session:
                if self.rng.random() < 0.1:
                    await asyncio.sleep(self.rng.uniform(0.0, 0.8))
                rows = [row for row in names if row in epochs or self.rng.random() < 0.5]
                intents = compile_intents(codes, {row: self.choose(epochs.get(row, 0)) for row in rows})
                ack = await session.submit(part.observations.tick_id, intents)
                self.accepted += [names[row] for row in rows if row not in ack.refused]
                if session.lost() or self.rng.random() < (0.03 if len(epochs) == len(names) else 0.3):
                    return  # and asks again for all of them


class Watcher:
    """Looks at everything: the stream of ticks, and now and then the whole world."""

    def __init__(self, rng: random.Random) -> None:
        self.node = Node("watcher")
        self.rng = rng
        self.last_tick = 0
        self._world: WorldInfo | None = None
        self._client = connect(self.node, rng)

    async def run(self) -> None:
        """Watch until cancelled."""
        while True:
            try:
                world = self._world = self._world or await self._client.world()
                await self._client.snapshot(world)
                async for event in self._client.viewer_events(world, retry=None):
                    self.last_tick = event.tick_id
                    if self.rng.random() < 0.4:
                        await asyncio.sleep(self.rng.uniform(0.0, 0.2))  # at any time of the tick
                        await self._client.snapshot(world)
            except WireError:
                pass
            await asyncio.sleep(self.rng.uniform(0.0, 0.2))
