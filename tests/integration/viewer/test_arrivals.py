"""Characters that come and go, in a real browser."""

import io
from pathlib import Path

import pytest
from playwright.async_api import expect
from tests.integration.browser import at_tick, go_to
from tests.unit.world.test_arrivals import GUEST, INN

from tickmind.protocol import Say
from tickmind.record import RunStore
from tickmind.viewer.server import ViewerConfig, ViewerServer
from tickmind.viewer.sources.replay import ReplaySource
from tickmind.world import TileWorld, parse_scenario

pytestmark = [pytest.mark.slow, pytest.mark.realtime, pytest.mark.asyncio(loop_scope="session")]

PICK = "([x, y]) => tickmindViewer.map.pick(...tickmindViewer.map.camera.toScreen(x + 0.5, y + 0.5))"
MIDDLE = "[tickmindViewer.map.camera.goalX, tickmindViewer.map.camera.goalY]"


@pytest.fixture
def inn(tmp_path):
    """Record a run whose guest is there after the ticks 2 to 4, and speaks; return a function that opens it."""
    world = TileWorld.from_scenario(parse_scenario(INN.replace("width: 5, height: 1", "width: 9, height: 6")))
    with RunStore(tmp_path).create(world.info, "inn") as log:
        for tick_id in range(1, 9):
            log.publish(world.step({GUEST: Say("Good evening")} if tick_id == 4 else {}))
    return lambda: RunStore(tmp_path).open("inn")


async def test_who_is_away_is_not_on_the_map_and_said_to_be_away(browsing, keep, inn):
    async with (
        browsing() as browser,
        ReplaySource(inn) as source,
        ViewerServer(source, ViewerConfig(port=0)) as server,
    ):
        page = await browser.show(f"{server.url}#tick=1&actor=guest")
        await at_tick(page, 1)
        panel, names = page.get_by_role("tabpanel"), page.locator(".label")
        await expect(panel).to_contain_text("is away")
        await expect(panel.locator(".chip")).to_have_text("away")
        await expect(panel.get_by_text("Sees")).to_have_count(0)
        await expect(names.get_by_text("guest")).to_have_count(0)
        assert await page.evaluate(PICK, [-1, -1]) == -1
        await page.get_by_role("button", name="Follow").click()
        before = await page.evaluate(MIDDLE)
        await page.get_by_label("Find a character").fill("g")
        await expect(page.locator("#found li")).to_have_text("guest" + "away")
        await page.get_by_label("Find a character").fill("")

        await go_to(page, 3)
        await expect(panel).to_contain_text("at 1, 0")
        await expect(names.get_by_text("guest")).to_be_visible()
        assert await page.evaluate(PICK, [1, 0]) == GUEST
        assert await page.evaluate(MIDDLE) == [1.5, 0.5] != before

        await go_to(page, 5)  # it has left, and what it said a tick ago went with it
        await expect(panel).to_contain_text("is away")
        await expect(names.get_by_text("guest")).to_have_count(0)
        await expect(page.locator(".bubble:not(.hidden)")).to_have_count(0)
        assert await page.evaluate(PICK, [1, 0]) == -1
        assert await page.evaluate(MIDDLE) == [1.5, 0.5]
        await keep(page, "away")
        await browser.unharmed(page)


async def test_an_animation_follows_a_character_as_long_as_it_is_there(chromium, page_built, inn):
    images = pytest.importorskip("PIL.Image", reason="animations need Pillow")
    from tickmind.viewer.export.gif import GifLook, gif_of  # it needs Pillow

    with inn() as run:
        data = await gif_of(run, Path(chromium), 1, 6, GifLook(width=240, height=160, steps=1, follow="guest"))
    with images.open(io.BytesIO(data), formats=["GIF"]) as moving:
        assert moving.size == (240, 160)
        assert moving.n_frames >= 3  # without it, with it, and without it
