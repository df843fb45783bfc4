"""Retake the pictures of the documents that seeded runs give: `make pictures`, by hand, with Chromium installed.

The runs stay in build/pictures; remove that folder to live them anew.
"""

import asyncio
import io
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from PIL import Image
from playwright.async_api import async_playwright, expect
from tests.integration.browser import FLAGS, SHOWN, WAIT_MS, Browsing, browsing_with

from tickmind.cli.lab.run_lab import FolderLab
from tickmind.record import RunStore
from tickmind.viewer.export.browser import find_chromium
from tickmind.viewer.server import ViewerConfig, ViewerServer
from tickmind.viewer.sources.replay import ReplaySource

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
RUNS = ROOT / "build" / "pictures"  # a folder for each run and its branches
COLOURS = 256
TICKMIND = [sys.executable, "-m", "tickmind.cli"]
REPEATABLE = ["--lockstep", "--seed", "7", "--any-ports"]
ORDERS = {
    "village": ["demo", "--scripted", "--no-browser", "--ticks", "320", *REPEATABLE],
    "fire": ["up", "willowbrook", "--ticks", "150", "--no-gateway", "--no-viewer", *REPEATABLE],
    "island": ["up", "island", "--ticks", "120", "--no-gateway", "--no-viewer", "--lockstep", "--any-ports"],
}
BRANCHES = {"fire": ["--tick", "90", "--say", "cleo=The mill is on fire!"]}


@dataclass(frozen=True)
class Shot:
    """One picture: the run, the tick, the place in the page, and what happens there before it is taken."""

    name: str
    runs: str
    tick: int
    place: str  # the rest of the address
    width: int = 1400
    height: int = 900
    scheme: str = "light"
    ready: str = ""  # what must be there before: a selector
    script: str = ""  # JavaScript


SHOTS = [
    Shot("island", "island", 100, "tab=inspector", 1280, 760),
    Shot("branches", "fire", 91, "tab=runs", script="tickmindViewer.map.camera.go(31, 15, 18, true)"),
    Shot(
        "viewer-mind",
        "village",
        231,
        "tab=inspector&actor=edda",
        scheme="dark",
        ready=".body .tree li",
        script="document.querySelector('.whole-mind').scrollIntoView({ block: 'end' })",
    ),
]


def live(name: str) -> RunStore:
    """Return the store of a run, and of its branch; a run that is not there is lived first."""
    store = RunStore(RUNS / name)
    folder = ["--runs", str(RUNS / name)]
    if not store.runs():
        subprocess.run([*TICKMIND, *ORDERS[name], *folder], check=True, cwd=ROOT)
    if name in BRANCHES and len(store.runs()) == 1:
        subprocess.run([*TICKMIND, "branch", store.runs()[0].run_id, *BRANCHES[name], *folder], check=True, cwd=ROOT)
    return store


async def take(browser: Browsing, shot: Shot, store: RunStore) -> None:
    """Open the replay of a run, or of its branch beside it, and write the picture."""
    parent, *branches = sorted(run.run_id for run in store.runs())
    shown = branches[0] if branches else parent
    lab = FolderLab(RUNS / shot.runs)
    try:
        async with (
            ReplaySource(lambda: store.open(shown)) as source,
            ViewerServer(source, ViewerConfig(port=0), lab=lab) as server,
        ):
            size = {"width": shot.width, "height": shot.height}
            page = await browser.show(f"{server.url}#tick={shot.tick}&{shot.place}", scheme=shot.scheme, **size)
            if branches:
                await page.get_by_role("button", name=f"Watch {parent} beside this run").click()
                await expect(page.locator(".comparison .chart")).to_be_visible()
            for drawn in await page.locator(".map").all():
                await expect(drawn).to_have_attribute("data-drawn-tick", str(shot.tick))
            if shot.ready:
                await expect(page.locator(shot.ready).first).to_be_visible()
            if shot.script:
                await page.evaluate(shot.script)
                await page.evaluate(SHOWN)
                for drawn in await page.locator(".map").all():
                    await expect(drawn).to_have_attribute("data-drawn-tick", str(shot.tick))
            await page.evaluate(SHOWN)
            picture = Image.open(io.BytesIO(await page.screenshot(animations="disabled"))).convert("RGB")
            small = picture.quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE)
            small.save(PICTURES / f"{shot.name}.png", optimize=True)
            await page.close()
    finally:
        await lab.close()


async def main() -> None:
    """Retake the pictures that are named in the arguments, or all of them."""
    expect.set_options(timeout=WAIT_MS)
    async with async_playwright() as playwright:
        program = await playwright.chromium.launch(executable_path=str(find_chromium()), args=FLAGS, timeout=WAIT_MS)
        for shot in SHOTS:
            if shot.name in sys.argv[1:] or not sys.argv[1:]:
                store = live(shot.runs)
                async with browsing_with(program) as browser:
                    await take(browser, shot, store)
                print(f"docs/pictures/{shot.name}.png")


if __name__ == "__main__":
    asyncio.run(main())
