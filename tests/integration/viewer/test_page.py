"""The page in a real browser: a live village, its replay, a clip, and whoever tries to break in."""

import asyncio
import re
from pathlib import Path

import pytest
from playwright.async_api import expect
from tests.integration.browser import SHOWN, WAIT_MS, at_tick, becomes_true, go_to, still

from tickmind.base import Secret
from tickmind.protocol import Say, Thought
from tickmind.record import LogOptions, RunStore, SyncPolicy
from tickmind.server.testing import meadow
from tickmind.viewer.export.clip import clip_of
from tickmind.viewer.server import ViewerConfig, ViewerServer
from tickmind.viewer.sources.live import LiveSource
from tickmind.viewer.sources.replay import ReplaySource
from tickmind.world import TileWorld

pytestmark = [pytest.mark.slow, pytest.mark.realtime, pytest.mark.asyncio(loop_scope="session")]

AXE = Path(__file__).parents[3] / "viewer" / "node_modules" / "axe-core" / "axe.min.js"


async def test_live_village_is_shown_and_scrubbed_and_led_back_to_now(village, viewing, browsing, keep):
    async with village() as life, viewing(life.client) as (server, _), browsing() as browser:
        life.says = {20: "Has anybody seen my berries?"}
        page = await browser.show(server.url)
        await expect(page.get_by_role("status")).to_have_text("live")
        await life.run(20)
        await at_tick(page, 20)
        await expect(page.locator(".bubble").filter(has_text="Has anybody seen my berries?")).to_be_visible()
        await expect(page.locator("#log")).to_contain_text("Has anybody seen my berries?")
        await keep(page, "live")
        await go_to(page, 6)
        now = page.get_by_role("button", name="Back to now")
        await expect(now).to_be_visible()
        await life.run(5)
        await expect(page.locator(".clock")).to_contain_text("/ 25")
        await at_tick(page, 6)
        await now.click()
        await at_tick(page, 25)
        await browser.unharmed(page)


async def test_live_and_replay_show_the_same_picture_at_the_same_tick(village, viewing, browsing, tmp_path):
    async with browsing() as browser:
        async with village(record=True) as life, viewing(life.client) as (server, _):
            page = await browser.show(server.url)
            await life.run(24)
            await at_tick(page, 24)
            live = [await still(page, tick) for tick in (7, 19)]
            life.log.close()
        async with (
            ReplaySource(lambda: RunStore(tmp_path / "runs").open("village")) as source,
            ViewerServer(source, ViewerConfig(port=0)) as server,
        ):
            page = await browser.show(server.url)
            replayed = [await still(page, tick) for tick in (7, 19)]
        if live != replayed:
            pictures = zip(("live-7", "live-19", "replay-7", "replay-19"), (*live, *replayed), strict=True)
            for name, png in pictures:
                (tmp_path / f"{name}.png").write_bytes(png)
            pytest.fail(f"the pictures differ: see {tmp_path}/*.png")


# The small map is drawn once, and again too soon; then nothing moves any more.
TOO_SOON = """() => {
  const { app, map } = tickmindViewer;
  const small = document.querySelector(".minimap");
  const pictures = [];
  let now = performance.now() + 200;
  for (const [tick, laterMs] of [[2, 0], [19, 20], [19, 20], [19, 200]]) {
    if (app.player.tick !== tick) app.seek(tick);
    now += laterMs;
    map.frame(now);
    pictures.push(small.toDataURL());
  }
  return pictures;
}"""


async def test_the_small_map_shows_the_last_tick_though_nothing_moves_after_it(morning, browsing):
    async with browsing() as browser:
        page = await browser.show(f"{morning.url}#tick=19")
        await expect(page.locator(".map")).to_have_attribute("data-drawn-tick", "19")
        await page.evaluate("() => { tickmindViewer.map.camera.go(4, 4, 90, true); tickmindViewer.map.touch(); }")
        await expect(page.locator(".minimap")).to_be_visible()
        right = await page.evaluate("document.querySelector('.minimap').toDataURL()")
        earlier, too_soon, waiting, at_last = await page.evaluate(TOO_SOON)
        assert earlier == too_soon == waiting != right
        assert at_last == right


# What bubbles say, from the lowest to the one that lies over all others.
STACK = """[...document.querySelectorAll(".bubble")]
  .map((bubble, at) => [Number(getComputedStyle(bubble).zIndex) || 0, at, bubble.textContent])
  .sort((one, other) => one[0] - other[0] || one[1] - other[1])
  .map(([, , text]) => text)"""


async def test_bubbles_lie_over_one_another_alike_however_one_came_to_a_tick(browsing, page_built, tmp_path):
    store, world = RunStore(tmp_path / "runs"), TileWorld.from_scenario(meadow(2))
    said = {2: {0: Say("A")}, 3: {1: Say("B")}, 22: {1: Say("B")}, 23: {0: Say("A")}}
    with store.create(world.info, "talk", options=LogOptions(sync=SyncPolicy.NEVER)) as log:
        for tick in range(1, 31):
            log.publish(world.step(said.get(tick, {})))
    with store.open("talk") as reader:
        (tmp_path / "clip.html").write_bytes(clip_of(reader))
    async with browsing() as browser:
        page = await browser.show((tmp_path / "clip.html").as_uri())
        for tick in (3, 23):
            stacks = []
            for way in ((1, tick), (1, tick - 1, tick)):
                for step in way:
                    await page.get_by_role("slider", name="Tick").fill(str(step))
                    await expect(page.locator(".map")).to_have_attribute("data-drawn-tick", str(step))
                stacks.append(await page.evaluate(STACK))
            assert sorted(stacks[0]) == ["A", "B"]
            assert stacks[0] == stacks[1]


async def test_a_tick_counts_as_drawn_only_with_what_was_said_before_it(browsing, tmp_path, monkeypatch):
    """Among many characters the tick of a jump comes first, and the ticks before it later."""
    monkeypatch.setattr("tickmind.viewer.sources.replay.window_ticks", lambda _actors: 16)
    store, world = RunStore(tmp_path / "runs"), TileWorld.from_scenario(meadow(501))
    with store.create(world.info, "crowd", options=LogOptions(sync=SyncPolicy.NEVER)) as log:
        for tick in range(1, 41):
            log.publish(world.step({0: Say("It is time.")} if tick == 38 else {}))
    async with (
        browsing() as browser,
        ReplaySource(lambda: store.open("crowd")) as source,
        ViewerServer(source, ViewerConfig(port=0)) as server,
    ):
        page = await browser.show(f"{server.url}#tick=1")
        held, go_on = asyncio.Event(), asyncio.Event()

        async def hold(route):
            held.set()
            await go_on.wait()
            await route.continue_()

        await page.route("**/api/window**", hold)
        await go_to(page, 40)
        async with asyncio.timeout(WAIT_MS / 1000):
            await held.wait()
        await page.evaluate(SHOWN)
        assert await page.locator(".map").get_attribute("data-drawn-tick") is None
        assert await page.locator(".bubble").count() == 0
        go_on.set()
        await expect(page.locator(".map")).to_have_attribute("data-drawn-tick", "40")
        assert await page.locator(".bubble").all_inner_texts() == ["It is time."]


async def test_a_clip_of_several_windows_is_shown_to_its_end_and_every_event_in_it_is_found(
    browsing, page_built, tmp_path, monkeypatch
):
    monkeypatch.setattr("tickmind.viewer.export.clip.window_ticks", lambda _actors: 16)
    monkeypatch.setattr("tickmind.viewer.export.clip.MOST_BUCKETS", 20)  # several ticks each, as in a long run
    store, world = RunStore(tmp_path / "runs"), TileWorld.from_scenario(meadow(3))
    said = (41, 43, 44, 77)
    with store.create(world.info, "long", options=LogOptions(sync=SyncPolicy.NEVER)) as log:
        for tick in range(1, 91):
            log.publish(world.step({0: Say("It is time.")} if tick in said else {}))
    with store.open("long") as reader:
        (tmp_path / "clip.html").write_bytes(clip_of(reader))
    async with browsing() as browser:
        page = await browser.show((tmp_path / "clip.html").as_uri())
        await at_tick(page, 1)
        await page.keyboard.press("End")
        await at_tick(page, 90)
        await page.keyboard.press("Home")
        await at_tick(page, 1)
        for tick in said:
            await page.keyboard.press("n")
            await at_tick(page, tick)
        for tick in reversed(said[:-1]):
            await page.keyboard.press("p")
            await at_tick(page, tick)
        await expect(page.locator(".bubble")).to_be_visible()
        await browser.unharmed(page)


async def test_an_open_page_stays_with_its_run_and_begins_anew_with_another_at_the_same_address(
    village, browsing, until, page_built
):
    async with browsing() as browser:
        async with village(run_id="the first") as life:
            async with LiveSource(life.client) as source, ViewerServer(source, ViewerConfig(port=0)) as server:
                url = server.url
                page = await browser.show(url)
                await life.run(20)
                await at_tick(page, 20)
                await page.evaluate("window.stayed = true")
            status = page.get_by_role("status")
            await expect(status).to_have_text("connection lost")
            config = ViewerConfig(port=int(url.rsplit(":", 1)[1].strip("/")))
            async with LiveSource(life.client) as source, ViewerServer(source, config):
                await until(lambda: len(source.watchers), 60)
                await life.run(2)
                await at_tick(page, 22)
                assert await page.evaluate("window.stayed") is True
        await expect(status).to_have_text("connection lost")
        async with village() as life, LiveSource(life.client) as source, ViewerServer(source, config):
            await life.run(3)
            await at_tick(page, 3)
            await expect(status).to_have_text("live")
            await life.run(2)
            await at_tick(page, 5)
            assert await page.evaluate("window.stayed") is None


async def test_the_inspector_tells_what_a_character_saw_did_and_thought(morning, browsing, keep):
    async with browsing() as browser:
        page = await browser.show(f"{morning.url}#tick=10")
        await at_tick(page, 10)
        find = page.get_by_role("combobox", name="Find a character")
        await find.fill("entity:1")
        await page.keyboard.press("Enter")
        panel = page.get_by_role("tabpanel")
        await expect(panel.get_by_role("heading", level=2)).to_have_text("entity:1")
        await expect(panel).to_contain_text("I will pick berries in the east.")
        await expect(panel).to_contain_text("412 asked, 58 answered")
        await expect(panel).to_contain_text("$0.00021")
        await expect(panel.locator(".board")).to_contain_text("pick berries")
        await expect(panel).to_contain_text("tiles, ")
        await panel.get_by_text("User message").click()
        await expect(panel.get_by_text("What do you do next?")).to_be_visible()
        await becomes_true(page, "location.hash.includes('actor=entity:1')")
        await keep(page, "inspector")
        await page.get_by_role("slider", name="Tick").fill("6")
        await expect(panel).to_contain_text("No model has answered it up to this tick.")
        await expect(panel.locator(".chip.thinking")).to_be_visible()
        await page.locator("canvas").first.click(position={"x": 3, "y": 3})
        await expect(panel).to_contain_text("Choose a character")
        await browser.unharmed(page)


async def test_filters_narrow_the_log_and_stay_in_the_address(morning, browsing, keep):
    async with browsing() as browser:
        page = await browser.show(f"{morning.url}#tick=15")
        log = page.locator("#log li")
        await expect(log.filter(has_text="one of a kind")).to_be_visible()
        await page.get_by_role("button", name="Speech", exact=True).click()
        await expect(page.locator("#log li:not(.speech)")).to_have_count(0)
        await page.get_by_role("searchbox", name="Only characters").fill("entity:1")
        await becomes_true(page, "location.hash.includes('types=speech') && location.hash.includes('who=entity:1')")
        await page.reload()
        await browser.ready(page)
        await expect(log.filter(has_text="one of a kind")).to_be_visible()
        assert await page.locator("#log li:not(.speech)").count() == 0
        await page.get_by_role("button", name="Only on screen").click()
        await becomes_true(page, "/region=\\d+,\\d+,\\d+,\\d+/.test(location.hash)")
        await log.filter(has_text="one of a kind").get_by_role("button", name="9", exact=True).click()
        await at_tick(page, 9)
        await keep(page, "filters")


SCRUB = """async (last) => {
  tickmindViewer.app.toggle(); // it stands still
  const { app } = tickmindViewer;
  const began = performance.now();
  const replace = history.replaceState.bind(history);
  let changes = 0;
  history.replaceState = (...given) => { changes += 1; replace(...given); };
  for (let at = 0; at < 40; at += 1) {
    app.seek(1 + (at % last));
    await new Promise(requestAnimationFrame);
  }
  app.seek(last);
  for (let at = 0; at < 1000 && location.hash !== `#tick=${last}`; at += 1) await new Promise(requestAnimationFrame);
  return [location.hash, changes, performance.now() - began];
}"""


async def test_the_address_tells_the_tick_once_it_stays_however_quickly_one_scrubs(morning, browsing):
    """Browsers refuse an address that changes a hundred times in half a minute."""
    async with browsing() as browser:
        page = await browser.show(morning.url)
        told, changes, took_ms = await page.evaluate(SCRUB, 14)
        assert told == "#tick=14"
        assert 1 <= changes <= 1 + took_ms / 300
        await browser.unharmed(page)


async def test_everything_can_be_done_from_the_keyboard(morning, browsing, keep):
    async with browsing() as browser:
        page = await browser.show(f"{morning.url}#tick=3")
        await at_tick(page, 3)
        press = page.keyboard.press
        await press(".")
        await at_tick(page, 4)
        await press("Shift+ArrowRight")
        await at_tick(page, 14)
        await press("Home")
        await at_tick(page, 1)
        await press("]")
        await expect(page.locator(".inspector h2")).to_have_text("entity:1")
        await press("f")
        await expect(page.get_by_role("button", name="Follow")).to_have_attribute("aria-pressed", "true")
        for key, tab in (("2", "Events"), ("3", "Talk"), ("4", "Charts"), ("1", "Characters")):
            await press(key)
            await expect(page.get_by_role("tab", name=tab)).to_have_attribute("aria-selected", "true")
            await keep(page, f"tab-{tab.lower()}")
        await press("?")
        await expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
        await press("Escape")
        await expect(page.get_by_role("dialog", name="Keys")).to_be_hidden()
        await press("/")
        await expect(page.get_by_role("combobox", name="Find a character")).to_be_focused()
        await press("Escape")
        await press("Escape")
        await expect(page.get_by_text("Choose a character")).to_be_visible()
        await press("l")
        await expect(page.get_by_role("button", name="Live")).to_be_visible()
        await press(" ")
        await expect(page.get_by_role("button", name="Play")).to_be_visible()


async def choose_tab(page, tab):
    """Open a panel and wait until it is there."""
    await page.evaluate(f"tickmindViewer.app.tab.value = '{tab}'")
    await expect(page.get_by_role("tabpanel")).to_have_attribute("aria-labelledby", f"tab-{tab}")
    await expect(page.locator(PANELS[tab]).first).to_be_visible()


PANELS = {"inspector": ".thought", "log": "#log li", "talk": ".talk article", "charts": ".chart svg"}


@pytest.mark.parametrize("width", [1300, 600])
async def test_axe_finds_nothing_to_complain_of(morning, browsing, keep, width):
    if not AXE.exists():
        pytest.skip("axe-core comes with viewer/node_modules, which is not there")
    async with browsing() as browser:
        page = await browser.show(f"{morning.url}#tick=12&actor=entity:1", width=width)
        await expect(page.locator(".thought")).to_be_visible()
        await page.evaluate(AXE.read_text(encoding="utf-8"))
        for state in ("inspector", "log", "talk", "charts", "found", "help"):
            if state == "found":
                await page.get_by_role("combobox", name="Find a character").fill("entity")
                await expect(page.locator("#found li").first).to_be_visible()
            elif state == "help":
                await page.evaluate("tickmindViewer.app.help.value = true")
                await expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
            else:
                await choose_tab(page, state)
            found = await page.evaluate("axe.run(document, {resultTypes: ['violations']})")
            problems = [
                (one["id"], node["target"], node.get("failureSummary"))
                for one in found["violations"]
                for node in one["nodes"]
            ]
            assert problems == [], state
        await keep(page, f"width-{width}")


@pytest.mark.parametrize("width", [760, 900, 1050])
async def test_the_bar_shows_the_whole_name_of_the_world_beside_the_search(morning, browsing, width):
    async with browsing() as browser:
        page = await browser.show(morning.url, width=width)
        parts = "[...document.querySelectorAll('.top h1, .top button')]"
        assert await page.evaluate(f"{parts}.filter((one) => one.scrollWidth > one.clientWidth).length") == 0
        assert await page.evaluate("document.querySelector('#find').clientWidth") > 150
        assert await page.evaluate("document.querySelector('.top').scrollWidth") <= width
        await browser.unharmed(page, width)


async def test_no_text_of_a_character_runs_or_breaks_the_layout(village, viewing, browsing, hostile, keep):
    async with village(controlled=1) as life, viewing(life.client) as (server, _), browsing() as browser:
        life.says = {tick: text[:480] for tick, text in enumerate(hostile, start=1)}
        nasty = " ".join(hostile)
        board = {nasty[:200]: nasty, "__proto__": {"x": nasty}}
        life.thought = Thought(
            1, 1, 2, nasty, nasty, nasty, nasty, board, client=hostile[0], model=hostile[1], provider=hostile[2]
        )
        page = await browser.show(server.url)
        await life.run(len(hostile))
        await at_tick(page, len(hostile))
        for tick, text in life.says.items():
            await go_to(page, tick)
            bubble = page.locator(".bubble")
            await expect(bubble.locator("span")).to_have_text(text, use_inner_text=False)
            box = await bubble.bounding_box()
            assert box is not None
            assert box["width"] <= 232
            assert box["height"] <= 120
        await page.evaluate("tickmindViewer.app.select(0)")
        await expect(page.locator(".thought .reply")).to_contain_text("window.hacked=1")
        for fold in await page.locator(".fold summary").all():
            await fold.click()
        await keep(page, "hostile")
        for tab in ("log", "talk", "charts", "inspector"):
            await choose_tab(page, tab)
            assert await page.locator(".side").evaluate("side => side.scrollWidth <= side.clientWidth"), tab
        await browser.unharmed(page)


async def test_with_tokens_the_page_asks_for_one_and_keeps_it_in_the_tab(village, viewing, browsing):
    token = "a-token-of-some-length"
    async with village() as life, viewing(life.client, tokens=(Secret(token),)) as (server, _), browsing() as browser:
        await life.run(3)
        page = await browser.open(server.url)
        field = page.get_by_label("Token")
        await field.fill("wrong")
        await page.keyboard.press("Enter")
        await expect(page.get_by_text("This viewer requires a token")).to_be_visible()
        await field.fill(token)
        await page.keyboard.press("Enter")
        await browser.ready(page)
        await at_tick(page, 3)
        await life.run(2)
        await at_tick(page, 5)
        assert token not in page.url
        assert await page.evaluate("[Object.values(sessionStorage), localStorage.length, document.cookie]") == [
            [token],
            0,
            "",
        ]


async def test_a_clip_opens_without_a_server(morning, browsing, keep, tmp_path):
    with morning.open() as reader:
        page_bytes = clip_of(reader, 5, 15)
    clip = tmp_path / "clip.html"
    clip.write_bytes(page_bytes)
    async with browsing() as browser:
        page = await browser.show(clip.as_uri())
        await at_tick(page, 5)
        await expect(page.locator(".clock")).to_contain_text(re.compile(r"/ 15"))
        await page.get_by_role("slider", name="Tick").fill("13")
        await expect(page.locator("#log")).to_contain_text("window.hacked=1")
        await page.evaluate("tickmindViewer.app.visit(0)")
        await expect(page.locator(".thought .reply")).to_have_text("I will pick berries in the east.")
        await keep(page, "clip")
        assert await page.evaluate("window.hacked") is None
        assert await page.evaluate("window.violations") == []
        assert browser.complaints == []
