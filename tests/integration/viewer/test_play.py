"""A person takes a character in a real browser, plays it, and gives it back to its agent."""

import asyncio
import contextlib
import itertools

import pytest
from playwright.async_api import expect
from tests.integration.browser import becomes_true
from tests.kits.market import market_day
from tests.kits.willowbrook import TICK_S, VILLAGERS, village_day

from tickmind.adapters.websocket import WebSocketEndpoint
from tickmind.protocol import ActionType, ActorStatus
from tickmind.record import RunStore
from tickmind.viewer.server import ViewerConfig, ViewerServer
from tickmind.viewer.sources.live import LiveSource
from tickmind.viewer.sources.replay import ReplaySource
from tickmind.wire import WorldEndpoint

pytestmark = [pytest.mark.slow, pytest.mark.realtime, pytest.mark.asyncio(loop_scope="session")]
BACK_S = 2.0  # until an agent acts again
SEED, MORNING = 12, 74  # Gita is at the square by then, near the stalls
GREETINGS = 12
# The names of who is near enough for a talk, the nearest first.
NEAR = """(() => {
  const { me, people } = tickmindViewer.app.perceived();
  const far = (one) => Math.max(Math.abs(one.x - me.x), Math.abs(one.y - me.y));
  return people.filter((one) => far(one) <= 5).sort((a, b) => far(a) - far(b)).map((one) => one.id);
})()"""
HEARD = "tickmindViewer.app.game.value.heard.map((line) => [line.who, line.text])"


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


async def answer_of(page, panel):
    """Greet the villagers nearby, one after the other, until one of them answers; return what it said."""
    greeted = []
    for _ in range(GREETINGS):
        near = await page.evaluate(NEAR)
        name = next((name for name in near if name not in greeted), None) or next(iter(near), None)
        if name is None:
            await wait_ticks(page, 2)
            continue
        greeted.append(name)
        words = f"Hello {name.capitalize()}! How are you?"
        await panel.get_by_label("Say something").fill(words)
        await panel.get_by_label("Say something").press("Enter")
        await becomes_true(page, f"{HEARD}.some(([who, text]) => who === 'gita' && text === '{words}')")
        await wait_ticks(page, 4)
        lines = await page.evaluate(HEARD)
        last = max(place for place, (who, text) in enumerate(lines) if (who, text) == ("gita", words))
        for who, text in lines[last + 1 :]:
            if who == name and not any(other.capitalize() in text for other in VILLAGERS - {name, "gita"}):
                return text
    raise AssertionError(f"none of {greeted} answered: {await page.evaluate(HEARD)}")


async def step_aside(page):
    """Walk by the buttons until one step succeeds: people and stalls may stand in the way of some."""
    place = "JSON.stringify([tickmindViewer.app.perceived().me.x, tickmindViewer.app.perceived().me.y])"
    before = await page.evaluate(place)
    for direction in itertools.islice(itertools.cycle(("south", "west", "north", "east")), 20):
        await page.get_by_role("button", name=direction, exact=True).click()
        await wait_ticks(page, 2)
        if await page.evaluate(place) != before:
            return
    raise AssertionError("no step in any direction succeeded")


async def wait_ticks(page, ticks):
    now = await page.evaluate("tickmindViewer.app.perceived().tick")
    await becomes_true(page, f"tickmindViewer.app.perceived().tick >= {now + ticks}")


async def test_a_person_in_willowbrook_buys_bread_gets_an_answer_and_gives_the_character_back(browsing, keep, tmp_path):
    store = RunStore(tmp_path)
    async with (
        village_day(seed=SEED, ticks=MORNING, sink=store) as village,
        playable(village) as viewer,
        browsing() as browser,
    ):
        page = await take(browser, viewer.url, "gita", width=1000, height=700)
        panel = page.get_by_role("complementary", name="Play")
        first = await page.evaluate("tickmindViewer.app.perceived().tick")

        await panel.get_by_role("button", name="bread stall").click()
        buy = panel.get_by_role("button", name="Buy bread")
        await expect(buy).to_be_enabled()
        await buy.click()
        await expect(panel.get_by_role("status")).to_contain_text("+1 bread")
        await expect(panel.get_by_label("You carry")).to_contain_text("1 bread")
        answer = await answer_of(page, panel)
        await expect(panel.get_by_role("log")).to_contain_text(answer)
        await keep(page, "playing")
        await page.set_viewport_size({"width": 420, "height": 860})
        await keep(page, "playing-phone")
        await expect(page.get_by_role("group", name="Walk")).to_be_visible()
        await step_aside(page)
        last = await page.evaluate("tickmindViewer.app.perceived().tick")
        acted = village.accepted["gita"]
        assert not [tick for tick in acted if first < tick < last]
        assert "played" in village.refused["gita"]
        assert ActionType.BUY in village.perceived["gita"], "its agent perceives what the person did"

        before = len(acted)
        await panel.get_by_role("button", name="Leave").click()
        async with asyncio.timeout(60):
            while len(acted) == before:  # noqa: ASYNC110 - the agent has no event for it
                await asyncio.sleep(0.01)
        back = acted[before]
        await browser.unharmed(page, 420)

    run = store.open("willowbrook")
    records = {record.tick_id: record for record in run.records(MORNING + 1)}
    row = list(records[last].actor_ids).index("gita")
    played = {tick for tick, one in records.items() if one.actor_state.status_bits[row] & ActorStatus.PLAYED}
    assert set(range(first, last)) <= played
    assert MORNING + 1 not in played
    others = set.intersection(*(set(acted) for name, acted in village.accepted.items() if name != "gita"))
    assert len([tick for tick in range(max(played) + 1, back) if tick in others]) * TICK_S < BACK_S
    assert any(
        one.actor_id == "gita" and one.action_type is ActionType.BUY and one.ok
        for tick in played
        for one in records[tick].action_results()
    )
    async with (
        browsing() as browser,
        ReplaySource(lambda: store.open("willowbrook")) as source,
        ViewerServer(source, ViewerConfig(port=0)) as viewer,
    ):
        page = await browser.show(f"{viewer.url}#actor=gita&tick={last - 1}", width=1400, height=900)
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
