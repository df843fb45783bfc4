"""A village with people in it, live and on record, the page that shows it, and a browser to look with."""

import asyncio
import contextlib
import fcntl
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from tests.integration.browser import browsing_with, picture

from tickmind.protocol import AgentState, AgentStatus, Direction, Interact, Move, Pickup, Say, Sleep, Thought, Wait
from tickmind.record import RunStore
from tickmind.server import ServerConfig, TickPace, WorldServer
from tickmind.viewer.page import page_files
from tickmind.viewer.server import ViewerConfig, ViewerServer
from tickmind.viewer.sources.live import LiveSource
from tickmind.wire import WorldClient
from tickmind.world import TileWorld, load_scenario

ROOT = Path(__file__).parents[3]
PICTURES = ROOT / "build" / "viewer-page"
WAIT_S = 120.0  # until something that takes no time on an idle machine counts as failed


@pytest.fixture(scope="session")
def page_built():
    """The built page, or a skip where there is no Node to build it."""
    if not (ROOT / "src/tickmind/viewer/page/index.html").exists():
        if not shutil.which("npm"):
            pytest.skip("the viewer's page is not built, and there is no Node to build it")
        with (Path(tempfile.gettempdir()) / "tickmind-viewer-page.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # test workers come all at once
            done = subprocess.run(["make", "page"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
        assert done.returncode == 0, done.stdout + done.stderr
    page_files.cache_clear()
    return page_files()


@pytest.fixture
def browsing(browser_program, page_built):
    """Open pages that share nothing with those of other tests: `async with browsing() as browser`."""
    return partial(browsing_with, browser_program)


HOSTILE = [
    "<script>window.hacked=1</script>",
    "<img src=x onerror=window.hacked=1>",
    "<svg/onload=window.hacked=1>",
    '"><iframe srcdoc="<script>parent.hacked=1</script>"></iframe>',
    "javascript:window.hacked=1",
    "</textarea></style></title><script>window.hacked=1</script>",
    "{{constructor.constructor('window.hacked=1')()}} ${window.hacked=1}",
    "\u202eright to left override \u2066isolated\u2069 \u202d forced",
    "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd " * 8,
    "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 \U0001f3f3\ufe0f\u200d\U0001f308 " * 10,
    "Z\u0351\u0343\u0352\u035b\u0367\u0346\u0345\u034da\u0353\u0339\u0349l\u0326\u0325\u033bg\u034e\u0333o " * 8,
    "unbroken" * 60,
    "\n\r\n" * 60 + "many lines",
]


@pytest.fixture(scope="session")
def hostile():
    """Texts that try to run, to break out or to break the layout."""
    return list(HOSTILE)


THOUGHT = Thought(
    1,
    3,
    9,
    "You are a villager.",
    "What do you do next?",
    reply="I will pick berries in the east.",
    thinking="They are hungry.",
    directives={"goal": "pick berries"},
    model="small-1.5b",
    prompt_tokens=412,
    completion_tokens=58,
    latency_s=1.5,
    cost_usd=0.00021,
)


@dataclass
class Village:
    """A world whose people act by chance, tick by tick as the test says, on record if it is given a store."""

    server: WorldServer
    client: WorldClient
    sessions: dict[str, Any]
    dice: random.Random
    log: object | None = None
    says: dict[int, str] = field(default_factory=dict)  # tick -> what the first of them says then
    thought: Thought = THOUGHT
    observations: dict[str, Any] = field(default_factory=dict)  # name -> what it perceives, in turn

    async def run(self, ticks):
        """Let so many ticks pass."""
        acting = [self._act(name, session, ticks) for name, session in self.sessions.items()]
        await asyncio.gather(self.server.run(ticks), *acting)

    async def _act(self, name, session, ticks):
        observations = self.observations.setdefault(name, aiter(session))
        for _ in range(ticks):
            observation = await anext(observations)
            tick, me = observation.tick_id, observation.me
            if tick == 5:
                await self.client.report_status(
                    session.lease, AgentStatus(name, tick, AgentState.DELIBERATING, "asks for a plan")
                )
            if tick == 8:
                await self.client.report_thought(session.lease, tick, self.thought)
                await self.client.report_status(session.lease, AgentStatus(name, tick, AgentState.RUNNING, "walks"))
            await session.submit(tick, self._choose(name, tick, me, observation))

    def _choose(self, name, tick, me, observation):
        first = name == next(iter(self.sessions))
        if first and tick in self.says:
            return Say(self.says[tick])
        near = [
            one.object_id
            for one in observation.visible_objects
            if one.kind == "door" and max(abs(one.x - me.x), abs(one.y - me.y)) <= 1
        ]
        match self.dice.randrange(12):
            case 0:
                return Say(f"{name} says hello at tick {tick}.")
            case 1 if near:
                return Interact(near[0])
            case 2:
                return Pickup("berries")
            case 3 if tick > 10 and not first:
                return Sleep()
            case 4:
                return Wait()
            case _:
                return Move(Direction(self.dice.randrange(8)))


@pytest.fixture
def village(tmp_path):
    """A village in lockstep: `async with village() as life: await life.run(20)`."""
    return partial(living, tmp_path / "runs")


@contextlib.asynccontextmanager
async def living(runs, *, controlled=6, record=False, run_id=""):
    world = TileWorld.from_scenario(load_scenario(ROOT / "scenarios" / "village.yaml"))
    log = RunStore(runs).create(world.info, "village") if record else None
    pace = TickPace(lockstep=True, controllers=controlled)
    async with (
        WorldServer(
            world,
            ServerConfig("127.0.0.1:0", lease_ttl_ms=600_000),  # no lease runs out however busy the machine is
            pace=pace,
            sink=log,
            reports=log,
            run_id=run_id,
        ) as server,
        WorldClient(server.address) as client,
        contextlib.AsyncExitStack() as stack,
    ):
        ids = [actor.entity_id for actor in world.info.actors][:controlled]
        sessions = {name: await stack.enter_async_context(client.control(name, f"test:{name}")) for name in ids}
        yield Village(server, client, sessions, random.Random(1), log)


@dataclass
class Morning:
    """The first 24 ticks of a village, over and on record. A viewer still shows the world live."""

    url: str
    source: LiveSource
    store: RunStore
    said: dict[int, str]  # tick -> what entity:1 said

    def open(self):
        return self.store.open("village")


MORNING_TICKS = 24
SAID = {9: "one of a kind", 13: "</script><script>window.hacked=1</script><!--"}


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def morning(tmp_path_factory, page_built):
    """A village that tests may look at but not go on with: to live through it takes longer than most looks."""
    runs = tmp_path_factory.mktemp("morning")
    async with living(runs, record=True) as life, watching(life.client) as (server, source):
        life.says = SAID
        await life.run(MORNING_TICKS)
        life.log.close()
        await waiting(lambda: source.span().last_tick_id == MORNING_TICKS)
        yield Morning(server.url, source, RunStore(runs), SAID)


@pytest.fixture
def processes():
    """Start parts of tickmind as processes of their own; they end with the test."""
    running: list[subprocess.Popen[str]] = []

    def start(*arguments, **env):
        process = subprocess.Popen(
            [sys.executable, *map(str, arguments)],
            env={**os.environ, "PYTHONPATH": str(ROOT / "src"), **env},
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        return process

    yield start
    for process in running:
        if process.poll() is None:
            process.kill()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()


@pytest.fixture
def world_process(processes):
    """A world as a process: gives it and its address."""

    async def start(*arguments):
        process = processes("-m", "tickmind.cli", "world", *arguments)
        address = await asyncio.to_thread(_address, process)
        threading.Thread(target=process.stderr.read, daemon=True).start()  # so that it never waits for a reader
        return process, address

    return start


def _address(process):
    said = []
    for line in process.stderr:
        said.append(line)
        if found := re.search(r"is at (\S+); Ctrl-C", line):
            return found[1]
    raise AssertionError("".join(said))


@contextlib.asynccontextmanager
async def watching(client, **settings):
    async with LiveSource(client) as source, ViewerServer(source, ViewerConfig(port=0, **settings)) as server:
        assert await source.ready(WAIT_S)
        yield server, source


@pytest.fixture
def viewing(page_built):
    """A viewer before a world: `async with viewing(client) as (server, source)`."""
    return watching


@pytest.fixture
def until():
    """Wait until something is so."""
    return waiting


async def waiting(is_so, timeout_s=WAIT_S):
    async with asyncio.timeout(timeout_s):
        while not is_so():  # noqa: ASYNC110  # what is waited for has no event
            await asyncio.sleep(0.01)


@pytest.fixture
def keep():
    """Keep a picture of a page for people to look at: `await keep(page, "live")`."""

    async def take(page, name):
        await picture(page, PICTURES / f"{name}.png")

    return take
