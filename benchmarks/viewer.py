"""The window: what a frame costs the page's script, a tick the wire, a jump its user, and watchers the world.

A crowd that walks at random is recorded and replayed in headless Chromium, which draws by software: script time is the
page's own, frames per second are this machine's. It needs the built page (`make page`), Playwright and Chromium.
"""

import asyncio
import os
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np

from benchmarks import world_load
from benchmarks.harness import Result
from tickmind.base.garbage import settle
from tickmind.protocol import ACTION_CODES, UNUSED, ActionType, IntentColumns
from tickmind.record import LogOptions, RunReader, RunStore, SyncPolicy
from tickmind.server.event_loop import run_on_quick_loop
from tickmind.server.testing import meadow
from tickmind.viewer.server import ViewerConfig, ViewerServer
from tickmind.viewer.sources.live import LiveSource
from tickmind.viewer.sources.replay import ReplaySource
from tickmind.wire import WorldClient
from tickmind.world import TileWorld

LONG = bool(os.environ.get("LONG"))
RUNS = Path("build/bench-runs")  # long runs are made once
SCRIPT_LIMIT_MS = {10_000: 4.0, 100_000: 8.0}
SCRIPT_TICKS = 32
PLAYED_S = 20 if LONG else 8
SEEK_TICKS = 10_000 if LONG else 1_000
SEEK_ACTORS = 10_000
SEEK_LIMIT_MS = 300.0
SEEKS = 15
WATCHED_ACTORS = 1_000
WATCHED_TICK_MS = 100
WATCHED_S = 10.0 if LONG else 4.0
FLAGS = ["--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader", "--disable-dev-shm-usage"]
# Everything is brought up to date and handed over, but the GPU draws none of it: one made of software would be waited
# for, and that is not the script's time.
DRAWING = "tickmindViewer.map.crowd.people.children[0].geometry.instanceCount"
SEEN = "tickmindViewer.map.frames"
FRAMES = 600 if LONG else 300
# Frames as a screen wants them, 60 a second in the time of the film, however slowly they come here.
SIXTY_A_SECOND = """async (frames) => {
  const { app, map } = tickmindViewer;
  const frame = map.frame.bind(map);
  map.frame = () => {};
  map.scriptMs.length = map.tickMs.length = 0;
  let now = performance.now();
  for (let at = 0; at < frames; at += 1) {
    frame((now += 1000 / 60));
    app.sync(now);
    await new Promise((go) => setTimeout(go, 2));
  }
  map.frame = frame;
  return [map.scriptMs.slice(), map.tickMs.slice()];
}"""
SMALL: Any = {"width": 320, "height": 200}  # the ground is drawn by software too
LARGE: Any = {"width": 1280, "height": 800}
READY = "Boolean(window.tickmindViewer && tickmindViewer.map.frames > 0)"
PLAY = "tickmindViewer.app.seek(1); tickmindViewer.app.player.playing = true"
JUMP = """async (tick) => {
  const { app } = tickmindViewer;
  const began = performance.now();
  app.seek(tick);
  while (app.film.scene.tick !== tick) await new Promise((go) => setTimeout(go, 1));
  return performance.now() - began;
}"""


def record(root: Path, actors: int, ticks: int) -> Callable[[], RunReader]:
    """Record a crowd that walks at random, unless it is there; the result opens the run."""
    store = RunStore(root)
    run_id = f"crowd-{actors}-{ticks}"
    if not (root / run_id / "actor_state.parquet").exists():
        shutil.rmtree(root / run_id, ignore_errors=True)
        world = TileWorld.from_scenario(meadow(actors))
        log = store.create(world.info, run_id, options=LogOptions(sync=SyncPolicy.NEVER))
        rng = np.random.default_rng(1)
        rows = np.arange(actors, dtype=np.int32)
        unused = np.full(actors, UNUSED, dtype=np.int32)
        moves = np.full(actors, ACTION_CODES[ActionType.MOVE], dtype=np.uint8)
        for _ in range(ticks):
            ways = rng.integers(0, 8, actors).astype(np.int8)
            log.publish(world.step(IntentColumns(rows, moves, ways, unused, unused, unused, {})))
        log.close()
    return lambda: store.open(run_id)


@asynccontextmanager
async def _browsing(open_run: Callable[[], RunReader]) -> AsyncIterator[Any]:
    """The page of a run in a browser."""
    from playwright.async_api import async_playwright

    program = shutil.which("chromium") or shutil.which("google-chrome")
    async with (
        ReplaySource(open_run) as source,
        ViewerServer(source, ViewerConfig(port=0)) as server,
        async_playwright() as playwright,
    ):
        browser = await playwright.chromium.launch(executable_path=program, args=FLAGS)
        try:
            page = await browser.new_page(viewport=SMALL)
            await page.goto(server.url)
            await _until(page, READY)
            settle()  # as `tickmind replay` does, but in the same process as the measurements before
            yield page
        finally:
            await browser.close()


async def _until(page: Any, expression: str) -> None:
    while not await page.evaluate(expression):  # noqa: ASYNC110  # the page can't set an event here
        await asyncio.sleep(0.1)


async def _script_s(session: Any) -> float:
    """CPU time that the page's main thread spent in scripts."""
    found = await session.send("Performance.getMetrics")
    return float(next(one["value"] for one in found["metrics"] if one["name"] == "ScriptDuration"))


async def _script_time(open_run: Callable[[], RunReader], actors: int) -> list[Result]:
    limit = SCRIPT_LIMIT_MS[actors]
    async with _browsing(open_run) as page:
        session = await page.context.new_cdp_session(page)
        await session.send("Performance.enable", {"timeDomain": "threadTicks"})
        await page.evaluate(f"{DRAWING} = 0")
        await _until(page, f"tickmindViewer.app.film.has({FRAMES // 60 + 2})")
        await page.evaluate(PLAY)
        began_s = await _script_s(session)
        times, ticks = map(sorted, await page.evaluate(SIXTY_A_SECOND, FRAMES))
        all_ms = (await _script_s(session) - began_s) / FRAMES * 1e3
        await page.set_viewport_size(LARGE)
        before, began = await page.evaluate(f"{DRAWING} = {actors}; {PLAY}; {SEEN}"), time.perf_counter()
        await asyncio.sleep(PLAYED_S)
        drawn = (await page.evaluate(SEEN) - before) / (time.perf_counter() - began)
    print(
        f"  {actors:,}: {drawn:.1f} frames/s drawn by software; script p50 {times[len(times) // 2]:.2f}, most "
        f"{times[-1]:.1f} ms of {len(times)} frames; {len(ticks)} of them with a new tick: most {ticks[-1]:.1f}"
    )
    return [
        Result(f"script a frame, {actors:,}: {what}", ours, "ms", "the limit", limit, limit / ours, 1.0)
        for what, ours in (
            ("mean", statistics.fmean(times)),
            ("p95", times[int(len(times) * 0.95)]),
            ("with a tick", ticks[len(ticks) // 2]),
            ("CPU, panels too", all_ms),
        )
    ]


def script_time() -> list[Result]:
    """Script time of a frame, interpolation and upload included, with 10,000 and 100,000 characters."""
    results: list[Result] = []
    for actors in SCRIPT_LIMIT_MS:
        results += asyncio.run(_script_time(record(RUNS, actors, SCRIPT_TICKS), actors))
    return results


def wire_bytes() -> list[Result]:
    """Bytes of a tick for each actor of a walking crowd, as they are sent."""

    async def measure(open_run: Callable[[], RunReader]) -> float:
        async with ReplaySource(open_run) as source:
            alone = len(await source.window(1, 1))
            return (len(await source.window(1, 33)) - alone) / 32 / SEEK_ACTORS

    with tempfile.TemporaryDirectory() as folder:
        each = asyncio.run(measure(record(Path(folder), SEEK_ACTORS, 40)))
    return [Result("a tick on the wire", each, "B/actor", "the limit", 1.0, 1.0 / each, 1.0)]


async def _seek(open_run: Callable[[], RunReader]) -> list[Result]:
    dice = random.Random(1)
    async with _browsing(open_run) as page:
        session = await page.context.new_cdp_session(page)
        await session.send("Performance.enable", {"timeDomain": "threadTicks"})
        await page.evaluate(f"{DRAWING} = 0")
        await asyncio.sleep(1)
        first = await page.evaluate(JUMP, SEEK_TICKS * 7 // 10 + 3)
        began_s, script_s = time.process_time(), await _script_s(session)
        hasty = [await page.evaluate(JUMP, dice.randrange(2, SEEK_TICKS)) for _ in range(SEEKS)]
        cpu_ms = (time.process_time() - began_s) / SEEKS * 1e3
        script_ms = (await _script_s(session) - script_s) / SEEKS * 1e3
        calm: list[float] = []
        for _ in range(SEEKS):
            await asyncio.sleep(1)
            calm.append(await page.evaluate(JUMP, dice.randrange(2, SEEK_TICKS)))
    limit, name = SEEK_LIMIT_MS, f"jump in {SEEK_ACTORS:,} x {SEEK_TICKS:,}"
    print(f"  jumps at once {[round(one) for one in hasty]}, a second apart {[round(one) for one in calm]} ms")
    print(f"  CPU of one: {cpu_ms:.0f} ms of the server, {script_ms:.0f} ms of the page's scripts")
    return [
        Result(f"{name}: {what}", ours, "ms", "the limit", limit, limit / ours, 1.0)
        for what, ours in (
            ("the first", first),
            ("median", statistics.median(hasty + calm)),
            ("worst", max(hasty + calm)),
        )
    ]


def seek() -> list[Result]:
    """How long it takes from a jump in a long run until the tick is shown, in the page."""
    return asyncio.run(_seek(record(RUNS, SEEK_ACTORS, SEEK_TICKS)))


async def _drain(session: aiohttp.ClientSession, url: str) -> None:
    """Watch as a page does, and look at nothing."""
    async with session.ws_connect(f"{url}live", max_msg_size=0) as socket:
        await socket.send_str("")
        async for _ in socket:
            pass


async def _cpu_ms(ask: Callable[[str], Awaitable[Any]]) -> float:
    """CPU time of the world for a tick."""
    await ask("reset")
    await asyncio.sleep(WATCHED_S)
    figures = await ask("figures")
    return float(figures.cpu_s / max(figures.ticks, 1) * 1e3)


async def _watched(address: str, ask: Callable[[str], Awaitable[Any]]) -> tuple[list[float], list[float]]:
    few: list[float] = []
    many: list[float] = []
    opened, stop = asyncio.Semaphore(0), asyncio.Event()
    async with (
        WorldClient(address) as client,
        LiveSource(client) as source,
        ViewerServer(source, ViewerConfig(port=0)) as server,
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session,
    ):
        assert await source.ready(30), "the world does not answer"
        load = [asyncio.ensure_future(one) for one in world_load.hosts(WATCHED_ACTORS, 1)(address, opened, stop)]
        await opened.acquire()
        try:
            for count, found in ((1, few), (100, many)) * 4:
                watching = [asyncio.create_task(_drain(session, server.url)) for _ in range(count)]
                while len(source.watchers) < count:  # noqa: ASYNC110  # joining sets no event
                    await asyncio.sleep(0.05)
                await asyncio.sleep(0.5)
                found.append(await _cpu_ms(ask))
                for task in watching:
                    task.cancel()
                await asyncio.gather(*watching, return_exceptions=True)
                while len(source.watchers):  # noqa: ASYNC110  # leaving sets no event
                    await asyncio.sleep(0.05)
        finally:
            stop.set()
            for task in load:
                task.cancel()
            await asyncio.gather(*load, return_exceptions=True)
    return few, many


def watchers() -> list[Result]:
    """CPU time of the world for a tick with 1 and with 100 watchers, by turns."""
    with world_load.world(WATCHED_ACTORS, WATCHED_TICK_MS) as (address, pipe):

        async def ask(what: str) -> Any:
            pipe.send(what)
            return await asyncio.to_thread(pipe.recv)

        few, many = run_on_quick_loop(_watched(address, ask))
    print(f"  ms a tick: 1 watcher {[round(one, 2) for one in few]}, 100 {[round(one, 2) for one in many]}")
    one, hundred = statistics.median(few), statistics.median(many)
    return [Result("the world with 100 watchers", hundred, "ms/tick", "1 watcher", one, one / hundred, 0.95)]


BENCHMARKS = (script_time, wire_bytes, seek, watchers)
