"""The window: what the page's script costs for each frame, what a tick costs on the wire, and how long a jump takes.

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
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Result
from tickmind.protocol import ACTION_CODES, UNUSED, ActionType, IntentColumns
from tickmind.record import LogOptions, RunReader, RunStore, SyncPolicy
from tickmind.server.testing import meadow
from tickmind.viewer.replay import ReplaySource
from tickmind.viewer.server import ViewerConfig, ViewerServer
from tickmind.world import TileWorld

SCRIPT_LIMIT_MS = {10_000: 4.0, 100_000: 8.0}
PLAYED_S = 20 if os.environ.get("LONG") else 8
SEEK_TICKS = 10_000 if os.environ.get("LONG") else 1_000
SEEK_ACTORS = 10_000
SEEK_LIMIT_MS = 300.0
SEEKS = 15
FLAGS = ["--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader", "--disable-dev-shm-usage"]
# Everything is brought up to date and handed over, but the GPU draws none of it: one made of software would be waited
# for, and that is not the script's time.
NO_DRAWING = "tickmindViewer.map.crowd.people.children[0].geometry.instanceCount = 0"
READY = "Boolean(window.tickmindViewer && tickmindViewer.map.frames > 3)"


def record(root: Path, actors: int, ticks: int) -> Callable[[], RunReader]:
    """Record a crowd that walks at random; the result opens the run."""
    world = TileWorld.from_scenario(meadow(actors))
    store = RunStore(root)
    run_id = f"crowd-{actors}"
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


async def _browse(open_run: Callable[[], RunReader], look: Callable[[Any], Awaitable[list[Result]]]) -> list[Result]:
    from playwright.async_api import async_playwright

    program = shutil.which("chromium") or shutil.which("google-chrome")
    async with (
        ReplaySource(open_run) as source,
        ViewerServer(source, ViewerConfig(port=0)) as server,
        async_playwright() as playwright,
    ):
        browser = await playwright.chromium.launch(executable_path=program, args=FLAGS)
        try:
            page = await browser.new_page(viewport={"width": 1280, "height": 800})
            await page.goto(server.url)
            while not await page.evaluate(READY):  # noqa: ASYNC110  # the page can't set an event here
                await asyncio.sleep(0.1)
            return await look(page)
        finally:
            await browser.close()


async def _watch(page: Any) -> tuple[int, float]:
    """How many frames there were, and in how many seconds."""
    before, began = await page.evaluate("tickmindViewer.map.frames"), time.perf_counter()
    await asyncio.sleep(PLAYED_S)
    return await page.evaluate("tickmindViewer.map.frames") - before, time.perf_counter() - began


def script_time() -> list[Result]:
    """Script time of a frame, interpolation and upload included, with 10,000 and 100,000 characters."""
    results: list[Result] = []
    for actors, limit in SCRIPT_LIMIT_MS.items():

        async def look(page: Any, actors: int = actors, limit: float = limit) -> list[Result]:
            await page.evaluate("tickmindViewer.app.toggle()")
            frames, took = await _watch(page)
            shown = f"{frames / took:.1f} frames/s drawn by software"
            await page.evaluate(NO_DRAWING)
            await page.evaluate("tickmindViewer.app.seek(1); tickmindViewer.app.player.playing = true")
            await asyncio.sleep(1)
            await page.evaluate("tickmindViewer.map.scriptMs.length = 0")
            frames, took = await _watch(page)
            times = sorted(await page.evaluate("tickmindViewer.map.scriptMs.slice()"))
            mean, late = statistics.fmean(times), times[int(len(times) * 0.95)]
            half = times[len(times) // 2]
            print(f"  {actors:,}: {shown}; script p50 {half:.2f} ms of {frames} frames, most {times[-1]:.1f}")
            return [
                Result(f"script a frame, {actors:,}: mean", mean, "ms", "the limit", limit, limit / mean, 1.0),
                Result(f"script a frame, {actors:,}: p95", late, "ms", "the limit", limit, limit / late, 1.0),
            ]

        with tempfile.TemporaryDirectory() as folder:
            results += asyncio.run(_browse(record(Path(folder), actors, 2 * PLAYED_S + 8), look))
    return results


def wire_bytes() -> list[Result]:
    """Bytes of a tick for each actor of a walking crowd, as they are sent."""

    async def measure(open_run: Callable[[], RunReader]) -> float:
        async with ReplaySource(open_run) as source:
            alone = len(await source.window(1, 1))
            return (len(await source.window(1, 33)) - alone) / 32 / SEEK_ACTORS

    with tempfile.TemporaryDirectory() as folder:
        each = asyncio.run(measure(record(Path(folder), SEEK_ACTORS, 40)))
    return [Result("a tick on the wire", each, "B/actor", "the limit", 1.01, 1.01 / each, 1.0)]


def seek() -> list[Result]:
    """How long it takes from a jump in a long run until the tick is shown, in the page."""

    async def look(page: Any) -> list[Result]:
        dice = random.Random(1)
        times: list[float] = []
        for _ in range(SEEKS):
            tick = dice.randrange(2, SEEK_TICKS)
            times.append(
                await page.evaluate(
                    """async (tick) => {
                      const { app, map } = tickmindViewer;
                      const began = performance.now();
                      app.seek(tick);
                      while (app.film.scene.tick !== tick) await new Promise((go) => setTimeout(go, 1));
                      return performance.now() - began;
                    }""",
                    tick,
                )
            )
        times.sort()
        median, worst = times[len(times) // 2], times[-1]
        name = f"jump in {SEEK_ACTORS:,} x {SEEK_TICKS:,}"
        return [
            Result(f"{name}: median", median, "ms", "the limit", SEEK_LIMIT_MS, SEEK_LIMIT_MS / median, 1.0),
            Result(f"{name}: worst", worst, "ms", "the limit", SEEK_LIMIT_MS, SEEK_LIMIT_MS / worst, 1.0),
        ]

    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_browse(record(Path(folder), SEEK_ACTORS, SEEK_TICKS), look))


BENCHMARKS = (script_time, wire_bytes, seek)
