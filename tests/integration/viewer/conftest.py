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
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tickmind.protocol import AgentState, AgentStatus, Direction, Interact, Move, Pickup, Say, Sleep, Thought, Wait
from tickmind.record import RunStore
from tickmind.server import Pace, ServerConfig, WorldServer
from tickmind.viewer.live import LiveSource
from tickmind.viewer.page import page_files
from tickmind.viewer.server import ViewerConfig, ViewerServer
from tickmind.wire import WorldClient
from tickmind.world import TileWorld, load_scenario

ROOT = Path(__file__).parents[3]
PICTURES = ROOT / "build" / "viewer-page"
WAIT_MS = 60_000
# Chromium without a GPU: it draws the page itself, and WebGL by its own software.
FLAGS = ["--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader", "--disable-dev-shm-usage"]
WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective));
"""


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


@dataclass
class Browsing:
    """A browser: `open` opens a page in it, and `complaints` are the errors and warnings of all of them."""

    open: Callable[..., Awaitable[Any]]
    complaints: list[str]

    async def show(self, url, **given):
        """Open a page and wait until the map is drawn."""
        return await self.ready(await self.open(url, **given))

    async def ready(self, page):
        """Wait until the map is drawn, in a way that the page's policy on scripts allows."""
        async with asyncio.timeout(60):
            while not await page.evaluate("Boolean(window.tickmindViewer && tickmindViewer.map.frames > 0)"):
                await page.wait_for_timeout(50)
        return page

    async def unharmed(self, page, width=900):
        """Nothing ran that should not, and nothing sticks out."""
        assert await page.evaluate("window.hacked") is None
        assert await page.evaluate("window.violations") == []
        assert await page.locator("img, iframe, #app script").count() == 0
        assert await page.evaluate("document.documentElement.scrollWidth") <= width
        assert self.complaints == []


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def program(chromium):
    """One browser for all tests of a module: to start it takes longer than most of them."""
    from playwright.async_api import async_playwright, expect

    expect.set_options(timeout=WAIT_MS)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        await browser.close()


@pytest.fixture
def browsing(program, page_built):
    """Open pages that share nothing with those of other tests: `async with browsing() as browser`."""

    @contextlib.asynccontextmanager
    async def browse():
        complaints: list[str] = []
        async with contextlib.AsyncExitStack() as stack:

            async def open_page(url, *, width=900, height=600):
                context = await program.new_context(
                    viewport={"width": width, "height": height}, reduced_motion="reduce"
                )
                stack.push_async_callback(context.close)
                page = await context.new_page()
                page.set_default_timeout(WAIT_MS)
                page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
                page.on("pageerror", lambda error: complaints.append(str(error)))
                await page.add_init_script(WATCH)
                await page.goto(url)
                return page

            yield Browsing(open_page, complaints)

    return browse


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

    @contextlib.asynccontextmanager
    async def live(*, controlled=6, record=False, seed=1, scenario=None, names=None, run_id=""):
        loaded = scenario or load_scenario(ROOT / "scenarios" / "village.yaml")
        world = TileWorld.from_scenario(loaded)
        log = RunStore(tmp_path / "runs").create(world.info, "village") if record else None
        pace = Pace(lockstep=True, controllers=controlled)
        async with (
            WorldServer(world, ServerConfig("127.0.0.1:0"), pace=pace, sink=log, reports=log, run_id=run_id) as server,
            WorldClient(server.address) as client,
            contextlib.AsyncExitStack() as stack,
        ):
            ids = [actor.entity_id for actor in world.info.actors][:controlled]
            sessions = {
                name: await stack.enter_async_context(client.control(name, f"test:{name}")) for name in names or ids
            }
            yield Village(server, client, sessions, random.Random(seed), log)

    return live


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


@pytest.fixture
def viewing(page_built):
    """A viewer before a world: `async with viewing(client) as (server, source)`."""

    @contextlib.asynccontextmanager
    async def show(client, **settings):
        async with LiveSource(client) as source, ViewerServer(source, ViewerConfig(port=0, **settings)) as server:
            assert await source.ready(30)
            yield server, source

    return show


@pytest.fixture
def until():
    """Wait until something is so."""

    async def wait(is_so, timeout_s=30.0):
        async with asyncio.timeout(timeout_s):
            while not is_so():  # noqa: ASYNC110  # what is waited for has no event
                await asyncio.sleep(0.01)

    return wait
