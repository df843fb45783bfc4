"""A person takes a character in a real browser, plays it, and gives it back to its agent."""

import asyncio
import contextlib
import time

import pytest
from playwright.async_api import expect
from tests.integration.browser import becomes_true
from tests.kits.market import market_day

from tickmind.adapters.websocket import WebSocketEndpoint
from tickmind.protocol import ActorStatus
from tickmind.record import RunStore
from tickmind.viewer.server import ViewerConfig, ViewerServer
from tickmind.viewer.sources.live import LiveSource
from tickmind.viewer.sources.replay import ReplaySource
from tickmind.wire import WorldEndpoint

pytestmark = [pytest.mark.slow, pytest.mark.realtime, pytest.mark.asyncio(loop_scope="session")]
BACK_S = 2.0  # until an agent acts again


@contextlib.asynccontextmanager
async def playable(market):
    """The viewer's page of a market, with the door through which persons come."""
    async with (
        LiveSource(market.client) as source,
        WebSocketEndpoint(WorldEndpoint(market.server.address)) as door,
        ViewerServer(source, ViewerConfig(port=0), (door,)) as viewer,
    ):
        assert await source.ready(120)
        yield viewer


async def take(browser, url, name, **size):
    """Open the page and begin to play a character."""
    page = await browser.show(f"{url}#actor={name}", **size)
    await page.get_by_role("button", name="Play as").click()
    await expect(page.get_by_text("You are")).to_be_visible()
    await becomes_true(page, "tickmindViewer.app.perceived()")
    return page


async def test_a_person_buys_bread_greets_a_villager_and_gives_the_character_back(browsing, keep, tmp_path):
    store = RunStore(tmp_path)
    async with market_day(sink=store) as market, playable(market) as viewer, browsing() as browser:
        bo = market.agents["bo"]
        page = await take(browser, viewer.url, "bo", width=1400, height=900)
        panel = page.get_by_role("complementary", name="Play")
        first = await page.evaluate("tickmindViewer.app.perceived().tick")

        await page.get_by_role("button", name="bread stall").click()
        buy = panel.get_by_role("button", name="Buy bread")
        await expect(buy).to_be_enabled()
        await buy.click()
        await expect(panel.get_by_role("status")).to_contain_text("+1 bread")
        await expect(panel.get_by_label("You carry")).to_contain_text("3 coin")

        await panel.get_by_label("Say something").fill("Hello Ada!")
        await panel.get_by_label("Say something").press("Enter")
        heard = panel.get_by_role("log")
        await expect(heard).to_contain_text("Hello Ada!")
        await expect(heard).to_contain_text("Ada Good day! The bread is fresh.")
        await keep(page, "playing")
        await page.set_viewport_size({"width": 420, "height": 860})
        await keep(page, "playing-phone")
        await expect(page.get_by_role("group", name="Walk")).to_be_visible()
        before = await page.evaluate("tickmindViewer.app.perceived().me.y")
        await page.get_by_role("button", name="south", exact=True).click()
        await becomes_true(page, f"tickmindViewer.app.perceived().me.y > {before}")
        last = await page.evaluate("tickmindViewer.app.perceived().tick")
        assert not [tick for tick in bo.accepted if first < tick < last]
        assert set(bo.refused.values()) == {"played"}
        assert "Buy" in bo.own, "its agent perceives what the person did"

        acted, left_s = len(bo.accepted), time.monotonic()
        await panel.get_by_role("button", name="Leave").click()
        async with asyncio.timeout(60):
            while len(bo.accepted) == acted:  # noqa: ASYNC110 - the agent has no event for it
                await asyncio.sleep(0.01)
        assert time.monotonic() - left_s < BACK_S
        await browser.unharmed(page, 420)

    run = store.open("market")
    row = list(next(iter(run.records(1))).actor_ids).index("bo")
    bits = {record.tick_id: int(record.actor_state.status_bits[row]) for record in run.records(1)}
    played = {tick for tick, status in bits.items() if status & ActorStatus.PLAYED}
    assert set(range(first, last)) <= played
    assert 1 not in played
    async with (
        browsing() as browser,
        ReplaySource(lambda: store.open("market")) as source,
        ViewerServer(source, ViewerConfig(port=0)) as viewer,
    ):
        page = await browser.show(f"{viewer.url}#actor=bo&tick={last - 1}", width=1400, height=900)
        await expect(page.get_by_text("played by a person").first).to_be_visible()
        await expect(page.get_by_role("button", name="Play as")).to_have_count(0)
        await keep(page, "played-replay")


async def test_two_persons_play_in_one_world_and_none_takes_the_character_of_the_other(browsing):
    async with market_day() as market, playable(market) as viewer, browsing() as browser:
        one = await take(browser, viewer.url, "bo")
        other = await take(browser, viewer.url, "cai")
        third = await browser.show(f"{viewer.url}#actor=bo")
        taken = third.get_by_role("button", name="Taken")
        await expect(taken).to_be_disabled()
        await third.evaluate("tickmindViewer.app.play(tickmindViewer.app.world.rowOf.get('bo'))")
        await expect(third.get_by_role("alert")).to_contain_text("Another person is playing this character")
        for page in (one, other):
            before = await page.evaluate("tickmindViewer.app.perceived().me.x")
            await page.locator(".map").press("d")
            await becomes_true(page, f"tickmindViewer.app.perceived().me.x > {before}")
        for page in (one, other, third):
            await browser.unharmed(page)


async def test_a_person_whose_page_is_gone_loses_the_character_after_the_lease(browsing):
    async with (
        market_day(lease_ttl_ms=6000) as market,
        playable(market) as viewer,
        browsing() as browser,
    ):
        bo = market.agents["bo"]
        page = await take(browser, viewer.url, "bo")
        await page.evaluate("WebSocket.prototype.send = () => {}")  # as of a laptop that is closed: no farewell
        acted = len(bo.accepted)
        async with asyncio.timeout(60):
            while len(bo.accepted) == acted:  # noqa: ASYNC110 - the agent has no event for it
                await asyncio.sleep(0.01)
        assert not market.server.authority.leases.played.any()
        await expect(page.get_by_role("alert")).to_contain_text("You were away too long")
