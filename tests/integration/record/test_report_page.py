"""The report of a run in a real browser: it tells what happened, and what agents said is text there."""

import re

import pytest
from tests.integration.browser import CONTRAST, Browsing
from tests.integration.record.test_report import live
from tests.integration.record.test_report_people import NASTY, VILLAGE, recorded

from tickmind.record import RunStore
from tickmind.record.report import OtherRun, page, read_figures
from tickmind.record.report.divergence import diverge
from tickmind.record.story import highlights, portraits, read_story
from tickmind.world import parse_scenario

pytestmark = [pytest.mark.slow, pytest.mark.realtime]
REPLAY = "http://127.0.0.1:8700/"


@pytest.fixture(scope="module")
def village(tmp_path_factory):
    store, scenario = RunStore(tmp_path_factory.mktemp("runs")), parse_scenario(VILLAGE)
    recorded(store, scenario, "hamlet")
    recorded(store, scenario, "other", seed=6)
    with store.open("hamlet") as one, store.open("other") as other:
        stories, parted = (read_story(one), read_story(other)), diverge(one, other)
    figures = read_figures(store.folder("other"))
    text = page(
        read_figures(store.folder("hamlet")),
        story=stories[0],
        other=OtherRun(figures, stories[1], parted, "http://127.0.0.1:8701/"),
    )
    path = store.folder("hamlet") / "report.html"
    path.write_text(text, encoding="utf-8")
    return stories[0], path


@pytest.mark.asyncio(loop_scope="session")
async def test_nothing_that_was_said_runs_in_the_report(tmp_path, browser_program):
    store = RunStore(tmp_path)
    live(store, "talk")
    path = tmp_path / "report.html"
    with store.open("talk") as reader:
        story = read_story(reader)
    path.write_text(page(read_figures(store.folder("talk")), story=story), encoding="utf-8")
    browsing = Browsing(browser_program, warnings=True)
    asked: list[str] = []
    try:
        shown = await browsing.open()
        shown.on("request", lambda request: asked.append(request.url))
        shown.on("dialog", lambda dialog: pytest.fail(f"a script ran: {dialog.message}"))
        await shown.goto(path.as_uri())
        text = await shown.inner_text("body")
        assert "<script>alert(1)</script>" in text  # as it was said
        assert await shown.locator("script").count() == 0
        assert await shown.locator("img").count() == 1  # the map, which is in the page itself
        assert await shown.evaluate("[...document.images].every(one => one.complete && one.naturalWidth > 0)")
        assert await shown.locator("svg").count() >= 3
        links = await shown.evaluate("[...document.links].map(one => one.href)")
        assert [link for link in links if not link.startswith((f"{REPLAY}#tick=", f"{path.as_uri()}#"))] == []
        assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
        assert await shown.evaluate("window.violations") == []
        assert browsing.complaints == []
        await shown.evaluate("document.body.insertAdjacentHTML('beforeend', '<b onclick=\"owned=1\" id=trap>trap</b>')")
        await shown.click("#trap")
        assert await shown.evaluate("window.owned") is None  # the policy stops what gets into the page all the same
        await shown.wait_for_function("window.violations.some(one => one.includes('script-src'))")
    finally:
        await browsing.close()


@pytest.mark.asyncio(loop_scope="session")
async def test_the_report_tells_what_happened_and_who_was_who_with_links_into_the_replay(village, browser_program):
    story, path = village
    browsing = Browsing(browser_program, warnings=True)
    try:
        shown = await browsing.open(path.as_uri())
        told = await shown.locator("#highlights .told span").all_inner_texts()
        assert told == [one.text for one in highlights(story)]
        links = await shown.locator("#highlights .told a").evaluate_all("all => all.map(one => one.href)")
        ticks = [int(link.partition("#tick=")[2].partition("&")[0]) for link in links]
        assert ticks == [one.tick_id for one in highlights(story)]
        names = await shown.locator("#characters article h3").all_inner_texts()
        assert names == [one.name for one in portraits(story, most=99, moments=1)]
        assert NASTY in names
        ada = shown.locator("#characters article").first
        assert "41 years old, works in square, lives in ada house" in await ada.inner_text()
        moment = await ada.locator(".told a").first.get_attribute("href")
        assert re.fullmatch(re.escape(REPLAY) + r"#tick=\d+&actor=\w+", moment or "")
        await shown.click("nav.contents a[href='#beside-other']")
        beside = shown.locator("#beside-other")
        assert "The worlds differ after tick 1" in await beside.inner_text()
        assert await beside.locator("tr:has-text('utterances') td").count() == 4
        heads = await beside.locator(".both h3").all_inner_texts()
        assert heads == ["Only in hamlet", "Only in other"]
        assert browsing.complaints == []
    finally:
        await browsing.close()


@pytest.mark.asyncio(loop_scope="session")
async def test_the_report_is_readable_light_and_dark_and_on_a_phone(village, browser_program):
    _, path = village
    browsing = Browsing(browser_program)
    backs = set()
    try:
        for scheme, width in (("light", 1400), ("dark", 420)):
            shown = await browsing.open(path.as_uri(), width=width, scheme=scheme)
            await shown.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
            assert await shown.evaluate("document.documentElement.scrollWidth <= innerWidth")
            seen = await shown.evaluate(CONTRAST)
            assert seen["looked"] > 100
            assert seen["found"] == []
            backs.add(await shown.evaluate("getComputedStyle(document.documentElement).backgroundColor"))
    finally:
        await browsing.close()
    assert len(backs) == 2
