"""Pages in a real browser: how they are opened, when they are settled, and how a picture of them is taken."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, ConsoleMessage, Page, ViewportSize, expect

WAIT_MS = 120_000  # nothing here takes seconds on an idle machine; a busy one gets all the time that it needs
# Chromium without a GPU: it draws the page itself, and WebGL by its own software.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--enable-unsafe-swiftshader",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-partial-raster",  # tiles painted again in part keep soft edges of before
]
WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective));
"""
# Every text that is seen, with the contrast to what lies behind it, if that is too little (WCAG AA). A canvas turns
# each colour into bytes, in whatever form the style has it.
CONTRAST = """() => {
  const pen = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const seen = (...colours) => {
    pen.clearRect(0, 0, 1, 1);
    for (const colour of colours) { pen.fillStyle = colour; pen.fillRect(0, 0, 1, 1); }
    return [...pen.getImageData(0, 0, 1, 1).data];
  };
  const light = (rgb) => {
    const linear = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = rgb.map((value) => linear(value / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      layers.unshift(colour);
      if (seen(colour)[3] === 255) break;
    }
    return layers;
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let looked = 0;
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim();
    const element = walker.currentNode.parentElement;
    if (!text || !element.checkVisibility({ visibilityProperty: true })) continue;
    const style = getComputedStyle(element);
    if (style.textShadow !== "none") continue; // on a colour that may be any
    const under = ["white", ...behind(element)];
    const [a, b] = [light(seen(...under, element.closest("svg") ? style.fill : style.color)), light(seen(...under))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    looked += 1;
    if (ratio < 4.5) found.push(`${text.slice(0, 40)}: ${ratio.toFixed(2)}`);
  }
  return { looked, found };
}"""
# Every font is there, and what was drawn by now has been shown.
SHOWN = """async () => {
  await document.fonts.ready;
  for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame);
}"""


async def becomes_true(page: Page, expression: str) -> None:
    """Wait for something in the page, in a way that its policy on scripts allows; the page itself looks again."""
    async with asyncio.timeout(WAIT_MS / 1000):
        await page.evaluate(
            f"""new Promise((done, fail) => {{
              const look = () => {{
                try {{ ({expression}) ? done() : setTimeout(look, 50); }} catch (error) {{ fail(error); }}
              }};
              look();
            }})"""
        )


async def picture(page: Page, path: Path, *, full_page: bool = False) -> None:
    """Write a picture of the page for people to look at; CSS animations stand at their end in it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    await page.evaluate(SHOWN)
    await page.screenshot(path=path, full_page=full_page, animations="disabled")


@dataclass
class Browsing:
    """Pages of one test, which share nothing with those of others.

    What moves by itself is asked to stand still: the map then draws it at phase 0. `complaints` are the errors that any
    of the pages reported, with `warnings` the warnings as well.
    """

    program: Browser
    warnings: bool = False
    complaints: list[str] = field(default_factory=list)
    _stack: contextlib.AsyncExitStack = field(default_factory=contextlib.AsyncExitStack)

    async def open(self, url: str | None = None, *, width: int = 900, height: int = 600, scheme: Any = None) -> Page:
        size = ViewportSize(width=width, height=height)
        context = await self.program.new_context(viewport=size, reduced_motion="reduce", color_scheme=scheme)
        self._stack.push_async_callback(context.close)
        page = await context.new_page()
        page.set_default_timeout(WAIT_MS)
        page.on("console", self._note)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        await page.add_init_script(WATCH)
        if url:
            await page.goto(url)
        return page

    def _note(self, said: ConsoleMessage) -> None:
        if said.type == "error" or (self.warnings and said.type == "warning"):
            self.complaints.append(f"{said.text} ({said.location.get('url', '')})")

    async def show(self, url: str, **given: Any) -> Page:
        """Open the viewer's page and wait until the map is drawn."""
        return await self.ready(await self.open(url, **given))

    async def ready(self, page: Page) -> Page:
        await becomes_true(page, "window.tickmindViewer && tickmindViewer.map.frames > 0")
        return page

    async def unharmed(self, page: Page, width: int = 900) -> None:
        """Nothing ran that should not, and nothing sticks out."""
        assert await page.evaluate("window.hacked") is None
        assert await page.evaluate("window.violations") == []
        assert await page.locator("img, iframe, #app script").count() == 0
        assert await page.evaluate("document.documentElement.scrollWidth") <= width
        assert self.complaints == [], self.complaints

    async def close(self) -> None:
        await self._stack.aclose()


@contextlib.asynccontextmanager
async def browsing_with(program: Browser, *, warnings: bool = False) -> AsyncIterator[Browsing]:
    browsing = Browsing(program, warnings)
    try:
        yield browsing
    finally:
        await browsing.close()


async def at_tick(page: Page, tick: int) -> None:
    """Wait until the viewer's page shows a tick."""
    await expect(page.locator(".clock strong")).to_have_text(str(tick))


async def go_to(page: Page, tick: int) -> None:
    """Move the viewer's slider to a tick and wait until the page shows it."""
    await page.get_by_role("slider", name="Tick").fill(str(tick))
    await at_tick(page, tick)


async def still(page: Page, tick: int) -> bytes:
    """A picture of the map at a tick, when the page says that all of it is drawn and two in a row are equal."""
    await page.get_by_role("slider", name="Tick").fill(str(tick))
    await expect(page.locator(".map")).to_have_attribute("data-drawn-tick", str(tick))
    before = b""
    async with asyncio.timeout(WAIT_MS / 1000):
        while True:
            await page.evaluate(SHOWN)
            now = await page.locator(".map").screenshot(animations="disabled")
            if now == before:
                return now
            before = now
