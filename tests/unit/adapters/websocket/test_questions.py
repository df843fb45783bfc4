import asyncio

import pytest

from tickmind.adapters.websocket import SocketLimits
from tickmind.adapters.websocket.limits import MAX_WORLD_S
from tickmind.adapters.websocket.questions import Questions
from tickmind.wire.v1 import door_pb2 as pb
from tickmind.wire.v1 import entity_pb2


class WorldOfThreeParts:
    async def world(self, _request):
        for _ in range(3):
            yield entity_pb2.StreamWorldResponse()


@pytest.mark.asyncio
async def test_one_who_reads_the_world_too_slowly_is_cut_off_and_keeps_nobody_from_reading_it():
    readers = asyncio.Semaphore(1)
    cut_off: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def put(_frame):
        await asyncio.Event().wait()

    questions = Questions(
        WorldOfThreeParts(),  # type: ignore[arg-type]  # all that is asked of it
        put,
        SocketLimits(world_s=MAX_WORLD_S.at(0.01)),
        readers,
        lambda work: asyncio.create_task(work()),
        cut_off.set_result,
    )
    assert questions.ask(pb.SocketRequest(world=entity_pb2.StreamWorldRequest()), "")
    async with asyncio.timeout(60):
        assert await cut_off == "the world was not read within 0.01 s"
        async with readers:
            await questions.close()
