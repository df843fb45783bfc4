"""Places, people and the clock of a world in a real browser."""

import io

import pytest
from playwright.async_api import expect
from tests.integration.browser import at_tick, go_to, still
from tests.unit.world.test_setting import VILLAGE

from tickmind.record import RunStore
from tickmind.viewer.server import ViewerConfig, ViewerServer
from tickmind.viewer.sources.replay import ReplaySource
from tickmind.world import TileWorld, parse_scenario

pytestmark = [pytest.mark.slow, pytest.mark.realtime, pytest.mark.asyncio(loop_scope="session")]


async def test_places_people_and_the_time_are_those_of_the_scenario_and_stay_text(browsing, keep, tmp_path):
    text = VILLAGE.replace("Ada came", "<img src=x onerror=window.hacked=1> came")
    world = TileWorld.from_scenario(parse_scenario(text))
    log = RunStore(tmp_path).create(world.info, "hamlet")
    for _ in range(72):
        log.publish(world.step({}))
    log.close()
    async with (
        browsing() as browser,
        ReplaySource(lambda: RunStore(tmp_path).open("hamlet")) as source,
        ViewerServer(source, ViewerConfig(port=0)) as server,
    ):
        page = await browser.show(f"{server.url}#tick=70", height=900)
        await at_tick(page, 70)
        await expect(page.get_by_text("Day 2, 00:00")).to_be_visible()
        await go_to(page, 1)
        await expect(page.get_by_text("Day 1, 06:45")).to_be_visible()
        names = page.locator(".zone")
        assert await names.all_text_contents() == ["square", "well", "ada house"]
        await expect(names.first).to_be_visible()
        await page.evaluate("tickmindViewer.app.select(tickmindViewer.app.world.rowOf.get('ada'))")
        panel = page.get_by_role("tabpanel")
        await expect(panel).to_contain_text("; at the ada house")
        assert "192, 64, 64" in await panel.locator(".who-is .face").evaluate(
            "face => getComputedStyle(face).background"
        )
        await expect(panel.locator(".person")).to_contain_text(
            "<img src=x onerror=window.hacked=1> came over the hills"
        )
        await expect(panel.locator(".person")).to_contain_text("Bram: her husband")
        await keep(page, "setting")
        await page.get_by_role("button", name="Places").click()
        await expect(names.first).to_be_hidden()
        await page.evaluate("tickmindViewer.app.select(tickmindViewer.app.world.rowOf.get('dov'))")
        await expect(panel.get_by_role("heading", level=2)).to_have_text("dov")
        await expect(panel.locator(".person")).to_have_count(0)
        await browser.unharmed(page)


@pytest.mark.parametrize("sprite", ["A", "\U0001f415", ""])
async def test_a_letter_or_an_emoji_is_drawn_on_a_disc_of_the_colour(browsing, keep, tmp_path, sprite):
    images = pytest.importorskip("PIL.Image", reason="reads the picture of the map")
    text = VILLAGE.replace("at: [3, 3], persona: {name: Bram}", 'at: [3, 3], persona: {colour: "#d02020", sprite: "A"}')
    text = text.replace('sprite: "A"', f'sprite: "{sprite}"' if sprite else "name: Bram")
    world = TileWorld.from_scenario(parse_scenario(text))
    with RunStore(tmp_path).create(world.info, "hamlet") as log:
        log.publish(world.step({}))
    async with (
        browsing() as browser,
        ReplaySource(lambda: RunStore(tmp_path).open("hamlet")) as source,
        ViewerServer(source, ViewerConfig(port=0)) as server,
    ):
        page = await browser.show(f"{server.url}#tick=1")
        drawn = images.open(io.BytesIO(await still(page, 1))).convert("RGB")
        await keep(page, f"sprite_{ord(sprite or ' ')}")
        at = await page.evaluate("tickmindViewer.map.camera.toScreen(3.5 - 0.36, 3.5)")
        red, green, blue = drawn.getpixel((round(at[0]), round(at[1])))
        assert (red > 2 * green and red > 2 * blue) == bool(sprite)  # beside a small person there is grass
        await browser.unharmed(page)
