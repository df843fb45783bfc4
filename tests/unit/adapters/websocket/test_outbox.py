import asyncio

import pytest

from tickmind.adapters.websocket.limits import MAX_UNSENT_FRAMES
from tickmind.adapters.websocket.outbox import SocketOutbox
from tickmind.wire.v1 import control_pb2, observation_pb2
from tickmind.wire.v1 import door_pb2 as pb


def numbered(number):
    return pb.SocketResponse(request_id=number)


def observation(tick_id):
    seen = observation_pb2.Observation(tick_id=tick_id)
    return pb.SocketResponse(control=control_pb2.ControlResponse(observation=seen))


@pytest.mark.asyncio
async def test_only_the_newest_observation_waits_and_all_other_frames_keep_their_order():
    outbox = SocketOutbox(MAX_UNSENT_FRAMES)
    outbox.put_newest(observation(1))
    outbox.put(numbered(1))
    outbox.put_newest(observation(2))
    outbox.put(numbered(2))
    assert [await outbox.next() for _ in range(3)] == [numbered(1), numbered(2), observation(2)]
    assert outbox.skipped == 1


@pytest.mark.asyncio
async def test_a_full_outbox_takes_no_more_and_a_patient_frame_waits_for_room():
    outbox = SocketOutbox(MAX_UNSENT_FRAMES.at(1))
    assert outbox.put(numbered(1))
    assert not outbox.put(numbered(2))
    waiting = asyncio.create_task(outbox.put_patiently(numbered(3)))
    await asyncio.sleep(0)
    assert not waiting.done()
    assert await outbox.next() == numbered(1)
    await waiting
    assert await outbox.next() == numbered(3)


@pytest.mark.asyncio
async def test_of_the_answers_only_one_waits_however_many_a_slow_client_asks_for():
    outbox = SocketOutbox(MAX_UNSENT_FRAMES)
    outbox.put(numbered(1))
    waiting = [asyncio.create_task(outbox.put_patiently(numbered(number))) for number in (2, 3)]
    await asyncio.sleep(0)
    assert [task.done() for task in waiting] == [False, False]
    assert await outbox.next() == numbered(1)
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    assert [task.done() for task in waiting] == [True, False]
    assert [await outbox.next() for _ in range(2)] == [numbered(2), numbered(3)]


@pytest.mark.asyncio
async def test_the_last_frame_is_the_last():
    outbox = SocketOutbox(MAX_UNSENT_FRAMES)
    outbox.put(numbered(1))
    outbox.put_newest(observation(1))
    outbox.end(numbered(2))
    outbox.put(numbered(3))
    outbox.put_newest(observation(2))
    outbox.end(numbered(4))
    assert [await outbox.next() for _ in range(3)] == [numbered(1), numbered(2), None]


@pytest.mark.asyncio
async def test_an_end_at_once_drops_what_waits():
    outbox = SocketOutbox(MAX_UNSENT_FRAMES.at(1))
    outbox.put(numbered(1))
    waiting = asyncio.create_task(outbox.put_patiently(numbered(2)))
    await asyncio.sleep(0)
    outbox.end(numbered(3), at_once=True)
    await waiting
    assert [await outbox.next() for _ in range(2)] == [numbered(3), None]
