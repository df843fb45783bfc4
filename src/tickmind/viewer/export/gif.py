"""GIFs: some ticks of a run as a small animation, for places where a page can't go."""

import io
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image

from tickmind.base import Limit
from tickmind.viewer.errors import NoSuchWindowError
from tickmind.viewer.export.browser import Tab, browsing
from tickmind.viewer.export.clip import chosen_ticks, clip_of
from tickmind.viewer.frames.tile_art import TileArt

if TYPE_CHECKING:
    from tickmind.record import RunReader

MAX_GIF_TICKS = Limit("number of ticks in an animation", 300)
MAX_GIF_PIXELS = Limit("width or height of an animation", 2000, "pixels")
_COLOURS = 160
_SAMPLES = 6  # pictures from which the palette is taken
_READY = "Boolean(window.tickmindViewer && tickmindViewer.map.frames > 0)"
_BEGIN = """((follow) => {
  const { app, map } = tickmindViewer;
  document.getElementById("app").classList.add("picture");
  app.sight.value = false;
  if (follow >= 0) app.select(follow);
  app.panel.value = false;
  return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(map.camera.fit()))));
})"""
# A place between two ticks is drawn when the frame after the next one begins.
_SHOW = """((position, follow, scale) => {
  const { app, map } = tickmindViewer;
  app.player.position = position;
  app.film.show(app.player.tick);
  const { camera } = map;
  const [x, y] = (follow >= 0 && map.placeOf(follow)) || [camera.x - 0.5, camera.y - 0.5]; // who is away has no place
  camera.go(x + 0.5, y + 0.5, scale || (follow >= 0 ? 34 : camera.scale), true);
  map.touch();
  return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))));
})"""


@dataclass(frozen=True, slots=True)
class GifLook:
    """The size and speed of an animation."""

    width: int = 640
    height: int = 400
    tick_ms: int = 480  # duration of a tick
    steps: int = 4  # pictures per tick
    follow: str = ""  # the actor in the middle; empty: the whole map is shown
    scale: float = 0.0  # pixels of a tile; 0: whatever fits


async def gif_of(
    reader: "RunReader",
    program: Path,
    first: int | None = None,
    last: int | None = None,
    look: GifLook | None = None,
    tile_art: TileArt | None = None,
) -> bytes:
    """Return these ticks as an animation, drawn by the page itself in the browser `program`."""
    look = look or GifLook()
    for side in (look.width, look.height):
        MAX_GIF_PIXELS.check(side)
    first, last = chosen_ticks(reader, first, last)
    MAX_GIF_TICKS.check(last - first + 1)
    rows = {actor.entity_id: row for row, actor in enumerate(reader.info.actors)}
    if look.follow and look.follow not in rows:
        raise NoSuchWindowError(f"run {reader.run_id} has no actor {look.follow[:100]!r} to follow")
    page = clip_of(reader, first, last, tile_art)
    with tempfile.TemporaryDirectory(prefix="tickmind-gif-") as folder:
        clip = Path(folder) / "clip.html"
        clip.write_bytes(page)
        async with browsing(program, clip.as_uri(), width=look.width, height=look.height) as tab:
            await tab.wait_for(_READY)
            row = rows.get(look.follow, -1)
            await tab.evaluate(f"{_BEGIN}({row})")
            return _animation([await _picture(tab, look, row, at) for at in _places(first, last, look.steps)], look)


def _places(first: int, last: int, steps: int) -> list[float]:
    """Return the playhead's position for each picture: on the way to each tick but the first, and at the end."""
    return [first, *(tick - 1 + step / steps for tick in range(first + 1, last + 1) for step in range(1, steps + 1))]


async def _picture(tab: Tab, look: GifLook, row: int, place: float) -> Image.Image:
    await tab.evaluate(f"{_SHOW}({place}, {row}, {float(look.scale)})")
    png = await tab.picture(0, 0, look.width, look.height)
    return Image.open(io.BytesIO(png), formats=["PNG"]).convert("RGB")


def _animation(pictures: list[Image.Image], look: GifLook) -> bytes:
    """Return one file of all pictures, in their most frequent colours."""
    samples = pictures[:: max(1, len(pictures) // _SAMPLES)]
    sheet = Image.new("RGB", (look.width, look.height * len(samples)))
    for place, sample in enumerate(samples):
        sheet.paste(sample, (0, place * look.height))
    palette = sheet.quantize(_COLOURS, method=Image.Quantize.MEDIANCUT)
    frames = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures]
    out = io.BytesIO()
    frames[0].save(
        out,
        format="GIF",
        save_all=True,
        append_images=frames[1:],
        duration=max(20, look.tick_ms // look.steps),
        loop=0,
        disposal=1,
    )
    return out.getvalue()
