"""A map from Tiled in a real browser is drawn with its own tiles."""

import shutil
from pathlib import Path

import pytest
from tests.integration.browser import at_tick
from tests.kits.tiled_files import tmx, write_village

from tickmind.cli.world.run import WorldRuns
from tickmind.cli.world.scenarios import TILE_ART
from tickmind.record import RunStore
from tickmind.viewer.frames.tile_art import read_tile_art
from tickmind.viewer.server import ViewerConfig, ViewerServer
from tickmind.viewer.sources.replay import ReplaySource
from tickmind.world import TileWorld

pytestmark = [pytest.mark.slow, pytest.mark.realtime, pytest.mark.asyncio(loop_scope="session")]

DRAWN = Path(__file__).parents[2] / "unit" / "world" / "tiled"
GRASS, SAND, ROCK = [90, 160, 70], [220, 200, 130], [110, 110, 110]  # in tiles.png
AT = """([x, y]) => {
  const { picture } = tickmindViewer.map.ground;
  const { width, height } = tickmindViewer.app.world.info;
  const [left, top] = [((x + 0.5) * picture.width) / width, ((y + 0.5) * picture.height) / height];
  return [...picture.getContext("2d").getImageData(left, top, 1, 1).data.slice(0, 3)];
}"""


@pytest.fixture
def runs(tmp_path):
    """The folder of a run with three ticks, whose map has a picture."""
    shutil.copy(DRAWN / "tiles.png", tmp_path)
    scenario = write_village(tmp_path, tmx("base64", "zlib"))
    run = WorldRuns(tmp_path / "runs").begin(scenario.read_text(), str(scenario), "hamlet", folder=tmp_path)
    world = TileWorld.from_scenario(run.scenario)
    for _ in range(3):
        run.log.publish(world.step({}))
    run.finish()
    return tmp_path / "runs"


async def test_the_ground_is_drawn_with_the_tiles_of_the_map(browsing, keep, runs):
    art = read_tile_art(runs / "hamlet" / TILE_ART)
    async with (
        browsing() as browser,
        ReplaySource(lambda: RunStore(runs).open("hamlet"), tile_art=art) as source,
        ViewerServer(source, ViewerConfig(port=0)) as server,
    ):
        page = await browser.show(f"{server.url}#tick=2", height=900)
        await at_tick(page, 2)
        assert [await page.evaluate(AT, place) for place in ([0, 0], [1, 1], [4, 1])] == [ROCK, GRASS, SAND]
        await keep(page, "tile-art")
        await browser.unharmed(page)


@pytest.mark.parametrize(
    "spoilt", [{"sets": [{"image": "AAAA"}]}, {"layers": ["AAAA"]}, {"layers": 7}, {"width": 9}], ids=str
)
async def test_a_picture_that_can_not_be_read_leaves_the_floors(browsing, runs, spoilt):
    art = read_tile_art(runs / "hamlet" / TILE_ART)
    assert art is not None
    async with (
        browsing() as browser,
        ReplaySource(lambda: RunStore(runs).open("hamlet"), tile_art={**art, **spoilt}) as source,
        ViewerServer(source, ViewerConfig(port=0)) as server,
    ):
        page = await browser.show(f"{server.url}#tick=2", height=900)
        await at_tick(page, 2)
        assert await page.evaluate(AT, [0, 0]) != ROCK
