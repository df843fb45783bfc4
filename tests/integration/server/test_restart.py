"""A world that is stopped goes on where it was; what its agents held before is worth nothing."""

import asyncio

import pytest

from tickmind.protocol import Ack, Direction, Lease, Move, Reason, Wait
from tickmind.record import CheckpointFolder
from tickmind.wire import LeaseRefusedError

pytestmark = [pytest.mark.asyncio, pytest.mark.timeout(180)]
TICKS = 3


async def live(client, ticks):
    """Control an entity for some ticks, and end without giving it up."""
    async with client.control("entity:1", "me", release=False) as session:
        async for observation in session:
            ticks.append(observation.tick_id)
            await session.submit(observation.tick_id, Move(Direction.E))
            if len(ticks) % TICKS == 0:
                return session.lease
    raise AssertionError("the stream ended")


async def test_a_start_is_counted_before_anybody_can_ask_for_a_lease(serve, talk, lockstep, tmp_path):
    store = CheckpointFolder(tmp_path / "checkpoints")
    epochs = []
    for _ in range(3):  # each of them ends before its ticks begin
        async with serve(pace=lockstep, checkpoints=store, running=False) as server, talk(server) as client:
            epochs.append((await client.acquire("entity:1", "me")).epoch)
    assert epochs == sorted(set(epochs))


async def test_a_world_goes_on_from_its_checkpoint(serve, talk, lockstep, tmp_path):
    store = CheckpointFolder(tmp_path / "checkpoints")
    leases: list[Lease] = []
    ticks: list[int] = []
    state = None
    for _ in range(3):
        async with serve(pace=lockstep, checkpoints=store, running=False) as server, talk(server) as client:
            assert state in (None, server.authority.world.state_hash())
            for old in leases:
                assert await client.submit(old, 1, Wait()) == Ack(False, Reason.INVALID_LEASE)
                with pytest.raises(LeaseRefusedError):
                    await client.renew(old)
            done, lease = await asyncio.gather(server.run(TICKS), live(client, ticks))
            assert done == TICKS
            leases.append(lease)
            state = server.authority.world.state_hash()
    assert ticks == list(range(1, 3 * TICKS + 1))
    assert [lease.epoch for lease in leases] == sorted({lease.epoch for lease in leases})
