"""The dashboard in a real browser, before a real gateway with fake providers under traffic."""

import asyncio
import contextlib
import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from playwright.async_api import expect
from tests.integration.browser import CONTRAST, browsing_with, picture

from tickmind.gateway.fairness.caller_keys import hash_key, new_key
from tickmind.gateway.server import GatewayServer
from tickmind.gateway.settings.config import Caller, Limits, SharingConfig
from tickmind.llm.testing import Hang, Refuse, Respond

pytestmark = [pytest.mark.slow, pytest.mark.realtime, pytest.mark.asyncio(loop_scope="session")]

PICTURES = Path(__file__).parents[3] / "build" / "gateway-page"
SIZE = {"width": 1400, "height": 900}
LIMITED_S = 300
NASTY = "<img src=x onerror=window.hacked=1><script>window.hacked=1</script>"
BUSY = {"two": Limits(requests_per_minute=600, tokens_per_minute=100_000, burst=50, concurrency=1)}


# What can be reached by keyboard and has no name, and tables whose cells have no headings.
NAMELESS = """() => [...document.querySelectorAll("button, input, a, [tabindex='0']")]
  .filter((element) => element.checkVisibility())
  .filter((element) => !(element.ariaLabel || element.labels?.length || element.textContent.trim()
    || document.getElementById(element.getAttribute("aria-labelledby"))?.textContent.trim()))
  .map((element) => element.outerHTML.slice(0, 80))"""


@pytest.fixture
def browsing(browser_program):
    """Open pages that share nothing with those of other tests: `async with browsing() as browser`."""
    return partial(browsing_with, browser_program, warnings=True)


@contextlib.asynccontextmanager
async def traffic(house):
    """Provider one is limited, two has served some, is at one more, and others wait for it; an agent has deferred."""
    for session in ("village", "village", "arena"):
        assert (await house.generate(sessionId=session)).status == 200
    house.providers["two"].enqueue(Hang())
    asks = [asyncio.create_task(house.generate(sessionId="village"))]
    await house.providers["two"].wait_seen(4)
    asks += [asyncio.create_task(house.generate(sessionId=session)) for session in ("arena", "arena", "village")]
    await house.until(lambda: house.gateway.dispatcher.statistics().queued == 3)
    await house.ask("/api/llm/defer", {"agentId": "baker", "sessionId": "village", "durationMs": 200_000})
    try:
        yield
    finally:
        for ask in asks:
            ask.cancel()
        await asyncio.gather(*asks, return_exceptions=True)


def limited_and_busy(housing):
    return housing(one=[Refuse(429, retry_after=LIMITED_S)], two=[], limits=BUSY)


def row(page, table, name):
    return page.locator(f"#{table} tbody tr").filter(has=page.locator("th", has_text=re.compile(f"^{name}")))


async def test_the_page_shows_lanes_sessions_queues_and_events(housing, browsing):
    async with limited_and_busy(housing) as house, traffic(house), browsing() as browser:
        page = await browser.open(house.server.url, **SIZE)
        one, two = row(page, "lanes", "one"), row(page, "lanes", "two")
        await expect(one.locator(".pill")).to_have_text("limited")
        await expect(one.locator(".reason")).to_contain_text("rate limited, asked to wait 300 s")
        await expect(two.locator(".pill")).to_have_text("ready")
        await expect(two.locator("td[data-heading='In flight']")).to_have_text("1 / 1")
        await expect(two.locator("td[data-heading='Limits used']")).to_contain_text("4 / 600 per min")
        await expect(two.locator("td[data-heading='Limits used']")).to_contain_text("tokens per min")
        await expect(row(page, "sessions", "village")).to_contain_text("67 %, due 50 %")
        await expect(row(page, "sessions", "arena").locator("td[data-heading='Queued']")).to_have_text("2")
        await expect(page.locator("#deferred")).to_contain_text("baker of village deferred")
        await expect(page.locator("#chains")).to_contain_text("3 of 100 wait, about ")
        await expect(page.locator("#tiles")).to_contain_text("3 waiting, about ")
        await expect(page.locator("#chains .chips")).to_contain_text("arena 2")
        await expect(page.locator("#events li").first).to_contain_text(
            "to two after one/m: rate limited, asked by village"
        )
        await expect(page.locator("#events")).to_contain_text("one for 5 min")
        await expect(row(page, "costs", "two")).to_contain_text("no price")
        await expect(page.locator("#tiles")).to_contain_text("3 of 7 in all")
        await expect(page.locator("#status-text")).to_have_text("live")
        await expect(page.locator("#chart-wait .line").first).to_have_attribute("d", re.compile("L"))
        await picture(page, PICTURES / "traffic.png", full_page=True)
        assert await page.evaluate("window.violations") == []
        assert browser.complaints == []


async def test_a_countdown_moves_and_new_traffic_shows_by_itself(housing, browsing):
    async with limited_and_busy(housing) as house, browsing() as browser:
        page = await browser.open(house.server.url, **SIZE)
        await expect(page.get_by_text("No lane yet")).to_be_visible()
        await house.generate(sessionId="latecomer")
        await expect(row(page, "sessions", "latecomer")).to_be_visible()
        clock = row(page, "lanes", "one").locator(".countdown")
        before = await clock.text_content()
        assert re.fullmatch(r"4 min \d+ s|5 min", before or "")
        await expect(clock).not_to_have_text(before or "")


@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (1400, "dark"), (390, "light"), (390, "dark")])
async def test_everything_is_readable_and_reachable(housing, browsing, width, scheme):
    async with limited_and_busy(housing) as house, traffic(house), browsing() as browser:
        page = await browser.open(house.server.url, width=width, height=900, scheme=scheme)
        await expect(row(page, "lanes", "one")).to_be_visible()
        await expect(page.locator("#events li")).to_have_count(2)
        checked = await page.evaluate(CONTRAST)
        assert checked["looked"] > 80
        assert checked["found"] == []
        assert await page.evaluate(NAMELESS) == []
        assert await page.evaluate("document.documentElement.scrollWidth") <= width
        reached = set()
        for _ in range(8):
            await page.keyboard.press("Tab")
            reached.add(
                await page.evaluate("document.activeElement.closest('[id]')?.id ?? document.activeElement.className")
            )
        assert {"skip", "chart-served", "chart-wait", "chart-latency", "events"} <= reached
        await picture(page, PICTURES / f"{scheme}-{width}.png", full_page=True)


async def test_a_session_that_has_ended_keeps_its_cost_on_the_page(housing, browsing):
    brief = {"sharing": SharingConfig(session_timeout_s=0.05)}
    async with housing(one=[Respond("Run!")], settings=brief) as house, browsing() as browser:
        assert (await house.generate(sessionId="village", model="one/gpt-4o")).status == 200
        page = await browser.open(house.server.url, **SIZE)
        await expect(page.locator("#ended li")).to_have_text(re.compile(r"^village ended: \$.*, 1 served$"))
        await expect(page.get_by_text("No session is alive")).to_be_visible()


async def test_arrow_keys_read_single_points_of_a_chart(housing, browsing):
    async with housing() as house, browsing() as browser:
        await house.generate()
        page = await browser.open(house.server.url, **SIZE)
        chart = page.locator("#chart-latency")
        await expect(page.locator("#chart-latency .line").first).to_have_attribute("d", re.compile("L"))
        await chart.locator("svg").focus()
        await page.keyboard.press("ArrowLeft")
        await expect(chart.locator(".chart-head")).to_contain_text("s ago")
        await page.keyboard.press("Escape")
        await expect(chart.locator(".chart-head")).not_to_contain_text("s ago")


async def test_names_of_models_and_agents_stay_text(housing, browsing):
    async with housing() as house, browsing() as browser:
        await house.ask("/api/llm/defer", {"agentId": NASTY, "sessionId": "village", "durationMs": 200_000})
        assert (await house.chat(model=f"one/{NASTY}")).status == 200
        page = await browser.open(house.server.url, **SIZE)
        await expect(page.locator("#costs")).to_contain_text(NASTY)
        await expect(page.locator("#deferred")).to_contain_text(NASTY)
        assert await page.locator("img").count() == 1
        assert await page.evaluate("window.hacked") is None
        assert await page.evaluate("window.violations") == []
        assert browser.complaints == []


async def test_whatever_the_figures_say_stays_text(housing, browsing):
    def spoil(value):
        match value:
            case str():
                return NASTY
            case list():
                return [spoil(item) for item in value]
            case dict():
                return {name: spoil(item) for name, item in value.items()}
            case _:
                return value

    async with limited_and_busy(housing) as house, traffic(house), browsing() as browser:
        page = await browser.open(**SIZE)

        async def answer(route):
            reply = await route.fetch()
            await route.fulfill(response=reply, json=spoil(await reply.json()))

        await page.route("**/api/llm/overview", answer)
        await page.goto(house.server.url)
        for part in ("lanes", "sessions", "chains", "costs", "events", "deferred", "problem"):
            await expect(page.locator(f"#{part}")).to_contain_text(NASTY)
        assert await page.locator("img").count() == 1
        assert await page.locator("script").count() == 1
        assert await page.evaluate("window.hacked") is None
        assert await page.evaluate("window.violations") == []
        assert browser.complaints == []
        await page.unroute_all(behavior="ignoreErrors")


async def test_with_keys_on_the_page_asks_for_one_and_keeps_none(housing, browsing):
    key = new_key()
    callers = (Caller("root", hash_key(key), admin=True),)
    async with housing(settings={"callers": callers}) as house, browsing() as browser:
        page = await browser.open(house.server.url, **SIZE)
        field, shown, kept = page.get_by_label("Key"), page.locator("#tiles"), page.locator("main")
        await expect(field).to_be_focused()
        await expect(shown).to_be_hidden()
        for wrong, words in (("with space", "no spaces"), (new_key(), "does not know this key")):
            await field.fill(wrong)
            await page.keyboard.press("Enter")
            await expect(page.locator("#key-problem")).to_contain_text(words)
        await field.fill(key)
        await page.keyboard.press("Enter")
        await expect(shown).to_be_visible()
        await page.reload()
        await expect(shown).to_be_visible()
        stored = "[Object.values(sessionStorage), Object.values(localStorage), document.cookie]"
        assert await page.evaluate(stored) == [[], [], ""]
        assert key not in page.url
        (cookie,) = await page.context.cookies()
        assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
        assert await page.evaluate("fetch('/v1/models').then((reply) => reply.status)") == 401
        await page.get_by_role("button", name="Log out").click()
        await expect(field).to_be_visible()
        assert await page.context.cookies() == []
        assert await kept.locator(".value").all_text_contents() == [""] * 6
        for _ in range(6):
            await field.fill(new_key())
            await page.keyboard.press("Enter")
        await expect(page.locator("#key-problem")).to_contain_text("wait")
        assert [text for text in browser.complaints if not re.search("401|429", text)] == []


async def test_a_lost_gateway_is_told_and_found_again(housing, browsing):
    async with housing() as house, browsing() as browser:
        await house.generate(sessionId="village")
        page = await browser.open(house.server.url, **SIZE)
        await expect(row(page, "sessions", "village")).to_be_visible()
        port = house.server.port
        await house.server.stop(drain_s=0.0)
        await expect(page.locator("#status-text")).to_have_text("connection lost")
        await expect(page.locator("#status-more")).to_contain_text("next try in")
        await expect(row(page, "sessions", "village")).to_be_visible()
        again = page.get_by_role("button", name="Try now")
        await expect(again).to_be_visible()
        async with GatewayServer(replace(house.server.config, port=port)):
            await again.dispatch_event("click")  # the page may have tried by itself, which hides the button
            await expect(page.locator("#status-text")).to_have_text("live")
            await expect(page.get_by_role("button", name="Try now")).to_be_hidden()


async def test_a_page_that_nobody_sees_asks_seldom_and_a_seen_one_at_once(housing, browsing):
    async with housing() as house, browsing() as browser:
        page = await browser.open(**SIZE)
        asked: list[str] = []

        def note(request):
            if request.url.endswith("/overview"):
                asked.append(request.url)

        page.on("requestfinished", note)
        await page.clock.install()
        await page.goto(house.server.url)
        await house.until(lambda: len(asked) == 1)
        await expect(page.locator("#status-text")).to_have_text("live")
        await page.clock.run_for(1000)
        await house.until(lambda: len(asked) == 2)
        await page.evaluate("Object.defineProperty(document, 'hidden', {value: true, configurable: true})")
        await page.clock.run_for(1000)
        await house.until(lambda: len(asked) == 3)
        await page.clock.run_for(10_000)
        assert len(asked) == 3
        await page.evaluate("delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))")
        await house.until(lambda: len(asked) == 4)
