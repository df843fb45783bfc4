"""The loop behind blocking faces: it works, refuses what would hang, and cancels what is left."""

import asyncio
import threading

import pytest

from tickmind.base.background import BackgroundLoop


class RefusedError(Exception):
    """It can't be asked."""


class CutShortError(Exception):
    """It was closed meanwhile."""


@pytest.fixture
def loop():
    made = BackgroundLoop("test-background", refuse=RefusedError, cancelled=CutShortError, instead="the async one")
    yield made
    made.close()


def test_work_is_done_in_a_thread_of_its_own(loop):
    async def name():
        return threading.current_thread().name

    assert loop.run(name()) == "test-background"


def test_errors_of_the_work_are_the_callers(loop):
    async def fail():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        loop.run(fail())


def test_a_blocking_call_from_its_own_loop_is_refused_instead_of_hanging(loop):
    async def inside():
        loop.run(asyncio.sleep(0))

    with pytest.raises(RefusedError, match="use the async one"):
        loop.run(inside())


def test_a_closed_one_refuses_and_what_was_under_way_is_cut_short(loop):
    began = threading.Event()
    ended: list[BaseException] = []

    async def forever():
        began.set()
        await asyncio.Event().wait()

    def ask():
        try:
            loop.run(forever())
        except CutShortError as error:
            ended.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    assert began.wait(30)
    loop.close()
    thread.join(30)
    assert len(ended) == 1
    loop.close()
    with pytest.raises(RefusedError, match="make a new one"):
        loop.run(asyncio.sleep(0))


def test_leaving_an_iteration_ends_the_stream(loop):
    ended = threading.Event()

    async def numbers():
        try:
            for number in range(100):
                yield number
        finally:
            ended.set()

    stream = loop.iterate(numbers())
    assert [next(stream), next(stream)] == [0, 1]
    stream.close()
    assert ended.is_set()
    assert list(loop.iterate(numbers())) == list(range(100))
