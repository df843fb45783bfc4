"""Small programs as agents, real worlds, and a way to find every process that came from a test."""

import asyncio
import os
import sys
import time
import uuid
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path

import pytest
import pytest_asyncio
from tests.integration.stopwatch import Stopwatch

from tickmind.runner import Isolation, Runner, RunnerMapping, Warden
from tickmind.runner.warden import Command
from tickmind.server import ServerConfig, TickPace, WorldServer
from tickmind.server.testing import meadow
from tickmind.world import TileWorld

QUICK = TickPace(0.1, 0.05)
MARK = "TICKMIND_TEST_MARK"


def marked(mark):
    """The ids of all living processes whose environment has the mark in it."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if mark.encode() in (folder / "environ").read_bytes():
                    found.append(int(folder.name))
            except OSError:
                continue
    return found


def seconds_until_gone(mark, most_s=30.0):
    watch = Stopwatch()
    began_s = time.monotonic()
    left = marked(mark)
    while left := [pid for pid in left if is_there(pid)] or marked(mark):
        if time.monotonic() - began_s > most_s:
            raise AssertionError(f"still there after {most_s} s: {left}")
        watch.look()
    return watch.seconds


def is_there(pid):
    """Whether a process lives; one that has ended and waits to be buried does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2][:1] not in b"ZX"
    except OSError:
        return False


async def until(condition, most_s=60.0):
    """Wait for something that must come; how long it takes is the machine's business."""
    async with asyncio.timeout(most_s):
        while not condition():  # noqa: ASYNC110 - what is waited for is in other processes
            await asyncio.sleep(0.02)


def command(*argv, mark="", env=(), **given):
    return Command(argv, {"PATH": os.environ["PATH"], MARK: mark, **dict(env)}, Path("/"), **given)


@asynccontextmanager
async def serving(actors=4, *, pace=QUICK, address="127.0.0.1:0"):
    world = TileWorld.from_scenario(meadow(actors))
    server = WorldServer(world, ServerConfig(address), pace=pace)
    async with server:
        task = asyncio.create_task(server.run())
        try:
            yield server
        finally:
            server.stop()
            await task


@asynccontextmanager
async def running(mapping: RunnerMapping, folder, **given):
    """A runner at work; in the end all of its agents are gone."""
    runner = Runner(mapping, folder, **given)
    task = asyncio.create_task(runner.run())
    try:
        yield runner
    finally:
        runner.stop()
        await asyncio.wait_for(task, 60)


class Tools:
    """What the tests share."""

    Stopwatch = Stopwatch
    marked = staticmethod(marked)
    seconds_until_gone = staticmethod(seconds_until_gone)
    until = staticmethod(until)
    command = staticmethod(command)
    serving = staticmethod(serving)
    running = staticmethod(running)
    python = (sys.executable, "-I", "-S", "-c")

    @staticmethod
    def best():
        """The isolation that a runner takes here."""
        return next(each for each in Isolation if is_allowed_here(each))


@pytest.fixture
def tools():
    return Tools


@pytest.fixture
def mark():
    """A word that is in the environment of everything that the test starts; nothing of it may be left."""
    word = uuid.uuid4().hex
    yield word
    seconds_until_gone(word)


@pytest.fixture(params=list(Isolation), ids=str, scope="module")
def isolation(request):
    if not is_allowed_here(request.param):
        pytest.skip(f"{request.param} is not allowed on this machine")
    return request.param


@cache
def is_allowed_here(isolation):
    """Ask a warden, because a process with threads must not fork by itself."""

    async def ask():
        async with Warden(isolation) as warden:
            log = os.open(os.devnull, os.O_WRONLY)
            child = warden.launch(command("true"), [log], lambda _: None)
            os.close(log)
            await child.ended.wait()
            return child.ending is not None and child.ending.code == 0

    return asyncio.run(ask())


@pytest_asyncio.fixture
async def warden(isolation):
    async with Warden(isolation) as found:
        yield found
