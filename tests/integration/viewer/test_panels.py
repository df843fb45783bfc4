"""The panels around the map in a real browser: who asks a model, the keyboard, and a list that grows."""

import pytest
from playwright.async_api import expect
from tests.integration.browser import at_tick, go_to

from tickmind.record import RunStore
from tickmind.viewer.server import ViewerConfig, ViewerServer
from tickmind.viewer.sources.replay import ReplaySource

pytestmark = [pytest.mark.slow, pytest.mark.realtime, pytest.mark.asyncio(loop_scope="session")]

ASKING = "[...tickmindViewer.app.thinking()].sort().join()"
EVERYBODY = "0,1,2,3,4,5"


async def asking_at(page, ticks):
    """Who asks a model at some ticks, one after the other."""
    found = []
    for tick in ticks:
        await go_to(page, tick)
        found.append(await page.evaluate(ASKING))
    return found


async def test_live_and_replay_show_the_same_of_who_asks_a_model(village, viewing, browsing, tmp_path):
    ticks = (12, 4, 6, 5, 7, 9, 8)
    async with browsing() as browser:
        async with village(record=True) as life, viewing(life.client) as (server, _):
            await life.run(7)
            late = await browser.show(server.url)  # in the middle of a thought
            await at_tick(late, 7)
            assert await late.evaluate(ASKING) == EVERYBODY
            await life.run(7)
            await at_tick(late, 14)
            assert await late.evaluate(ASKING) == ""
            live = await asking_at(late, ticks)
            life.log.close()
        async with (
            ReplaySource(lambda: RunStore(tmp_path / "runs").open("village")) as source,
            ViewerServer(source, ViewerConfig(port=0)) as server,
        ):
            page = await browser.show(server.url)
            assert await asking_at(page, ticks) == live == ["", "", EVERYBODY, EVERYBODY, EVERYBODY, "", ""]


async def test_a_line_of_a_full_log_keeps_the_focus_while_others_come(village, viewing, browsing):
    async with village() as life, viewing(life.client) as (server, _), browsing() as browser:
        page = await browser.show(server.url)
        await life.run(120)
        await at_tick(page, 120)
        await expect(page.locator("#log li")).to_have_count(150)
        line = page.locator("#log li").nth(10)
        said = await line.inner_text()
        await line.locator(".when").focus()
        await page.evaluate("window.line = document.activeElement.closest('li')")
        await life.run(3)
        await at_tick(page, 123)
        assert await page.locator("#log li").nth(10).inner_text() != said
        assert await page.evaluate("document.activeElement.closest('li') === window.line")
        assert await page.evaluate("window.line.innerText") == said


async def test_characters_are_found_and_chosen_with_the_arrow_keys(morning, browsing):
    async with browsing() as browser:
        page = await browser.show(f"{morning.url}#tick=2")
        await at_tick(page, 2)
        press, find = page.keyboard.press, page.get_by_role("combobox", name="Find a character")
        await press("/")
        await find.press_sequentially("entity:1")
        chosen = page.locator("#found [aria-selected=true]")
        await expect(chosen).to_have_text("entity:1")
        for key in ("ArrowDown", "ArrowDown", "ArrowUp"):
            await press(key)
        await expect(chosen).to_have_text("entity:10")
        assert await find.get_attribute("aria-activedescendant") == await chosen.get_attribute("id")
        await press("ArrowUp")
        await press("ArrowUp")
        last = await page.locator("#found li").last.inner_text()
        await expect(chosen).to_have_text(last)
        await press("Enter")
        await expect(page.locator(".inspector h2")).to_have_text(last)
        await at_tick(page, 2)  # the arrows were for the list alone


async def test_the_name_of_the_chosen_one_lies_above_all_other_names(morning, browsing):
    async with browsing() as browser:
        page = await browser.show(f"{morning.url}#tick=2&actor=entity:1")
        await at_tick(page, 2)
        await page.evaluate("tickmindViewer.map.camera.go(12, 8, 40, true)")
        await expect(page.locator(".label.strong")).to_have_text("entity:1")
        await expect(page.locator(".label:not(.strong)").first).to_be_attached()
        ranks = "(query) => [...document.querySelectorAll(query)].map((one) => Number(one.style.zIndex))"
        strong, others = await page.evaluate(f"[({ranks})('.label.strong'), ({ranks})('.label:not(.strong)')]")
        assert strong[0] > max(others)


async def test_the_inspector_has_the_words_that_a_character_says_in_whole(morning, browsing):
    async with browsing() as browser:
        page = await browser.show(f"{morning.url}#tick=9")
        await at_tick(page, 9)
        row = await page.evaluate("tickmindViewer.app.speechAt(9).find((one) => one.text === 'one of a kind').row")
        await page.evaluate(f"tickmindViewer.app.select({row})")
        now = page.locator(".inspector .now")
        await expect(now).to_contain_text("says “one of a kind”")
        await expect(now).to_have_css("white-space", "normal")  # long words wrap


async def test_the_help_has_the_keyboard_for_itself_and_gives_the_focus_back(morning, browsing):
    async with browsing() as browser:
        page = await browser.show(f"{morning.url}#tick=3")
        await at_tick(page, 3)
        press, help_ = page.keyboard.press, page.get_by_role("dialog", name="Keys")
        keys = page.get_by_role("button", name="Keys", exact=True)
        for close in ("Escape", "Enter"):
            await keys.focus()
            await press("Enter")
            await expect(help_.get_by_role("button", name="Close")).to_be_focused()
            for key in (".", "]", "Tab", "Tab", "Shift+Tab"):
                await press(key)
                assert await page.evaluate("Boolean(document.activeElement.closest('dialog')) || !document.hasFocus()")
            await help_.get_by_role("button", name="Close").focus()
            await press(close)
            await expect(help_).to_be_hidden()
            await expect(keys).to_be_focused()
        await at_tick(page, 3)
        assert await page.evaluate("tickmindViewer.app.selected.value") == -1


TYPE_AT_ONCE = """(close) => {
  document.querySelector("dialog.help")[close === "button" ? "querySelector" : "closest"](close).click();
  document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "/", bubbles: true }));
  return document.activeElement.id;
}"""


async def test_the_keyboard_is_free_as_soon_as_the_help_is_closed(morning, browsing):
    """The browser reports a closed dialog some time after it closed it; no key may get lost in between."""
    async with browsing() as browser:
        page = await browser.show(f"{morning.url}#tick=3")
        for closed_by in ("button", "dialog"):  # the dialog itself is clicked at where nothing is in it
            await page.evaluate("document.activeElement.blur()")
            await page.keyboard.press("?")
            await expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
            assert await page.evaluate(TYPE_AT_ONCE, closed_by) == "find"


OPEN_AGAIN = """async (pause) => {
  const help = document.querySelector("dialog.help");
  help.querySelector("button").click();
  if (pause === "microtasks") for (let at = 0; at < 9; at++) await null;
  if (pause === "task") await new Promise((done) => setTimeout(done));
  document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "?", bubbles: true }));
  for (let at = 0; at < 5; at++) await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return [help.open, tickmindViewer.app.help.value];
}"""


@pytest.mark.parametrize("pause", ["none", "microtasks", "task"])
async def test_the_help_opens_again_however_soon_after_it_was_closed(morning, browsing, pause):
    """Nothing that comes late of its closing, an effect of the page or an event of the browser, closes it again."""
    async with browsing() as browser:
        page = await browser.show(f"{morning.url}#tick=3")
        await page.keyboard.press("?")
        await expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
        assert await page.evaluate(OPEN_AGAIN, pause) == [True, True]
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("dialog", name="Keys")).to_be_hidden()
        await page.keyboard.press("/")
        await expect(page.get_by_role("combobox", name="Find a character")).to_be_focused()


async def test_thoughts_that_can_not_be_had_are_asked_for_again(morning, browsing):
    async with browsing() as browser:
        page = await browser.show(f"{morning.url}#tick=12&tab=log")
        await at_tick(page, 12)
        cut = True

        async def answer(route):
            await (route.abort() if cut else route.continue_())

        await page.route("**/api/thoughts**", answer)
        await page.route("**/api/mind**", answer)
        await page.evaluate("tickmindViewer.app.select(0)")
        panel = page.get_by_role("tabpanel")
        await expect(panel).to_contain_text("Its thoughts are not loaded yet.")
        cut = False
        await expect(panel).to_contain_text("I will pick berries in the east.")
        await expect(panel.get_by_role("meter", name="Energy")).to_be_visible()
        cut = True
        await go_to(page, 8)
        await expect(panel).to_contain_text("I will pick berries in the east.")  # what is known stays
