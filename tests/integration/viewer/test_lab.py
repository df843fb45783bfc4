"""The lab in a real browser: branch from here, watch both runs side by side, and ask a character of the past."""

import json
import shutil

import aiohttp
import pytest
from playwright.async_api import expect
from tests.integration.browser import WAIT_MS, at_tick, go_to
from tests.kits.lived_runs import AGENTS, record_villagers
from yarl import URL

from tickmind.cli.lab.run_lab import FolderLab
from tickmind.record import RunStore
from tickmind.viewer.server import ViewerConfig, ViewerServer
from tickmind.viewer.sources.replay import ReplaySource

pytestmark = [pytest.mark.slow, pytest.mark.realtime, pytest.mark.asyncio(loop_scope="session")]

TICKS, FORK = 24, 12
SHOUT = "The mill is on fire! <script>window.hacked=1</script>"
WIDE, PHONE = {"width": 1400, "height": 900}, {"width": 420, "height": 860}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded")
    record_villagers(folder, "parent", AGENTS, ticks=TICKS)
    return folder


@pytest.fixture
def runs(recorded, tmp_path, monkeypatch):
    monkeypatch.delenv("LLM_BASE_URL", raising=False)
    return shutil.copytree(recorded, tmp_path / "runs")


async def test_a_branch_is_ordered_watched_beside_its_parent_and_its_characters_are_asked(runs, browsing, keep):
    expect.set_options(timeout=WAIT_MS)
    lab = FolderLab(runs)
    try:
        async with (
            browsing() as browser,
            ReplaySource(lambda: RunStore(runs).open("parent")) as source,
            ViewerServer(source, ViewerConfig(port=0), lab=lab) as server,
        ):
            page = await browser.show(f"{server.url}#tick={FORK}", **WIDE)
            await at_tick(page, FORK)
            who = (await page.evaluate("tickmindViewer.app.world.actorIds"))[0]
            await ordered(page, who, keep)
            await compared(page, who, keep)
            await asked(page, keep)
            await page.set_viewport_size(PHONE)
            await page.locator(".interview").evaluate("section => section.scrollIntoView()")
            await keep(page, "lab-interview-phone")
            await page.get_by_role("tab", name="Runs").click()
            await keep(page, "lab-beside-phone")
            await page.get_by_role("button", name="Branch from here").click()
            await keep(page, "lab-order-phone")
            await browser.unharmed(page, PHONE["width"])
            await page.set_viewport_size(WIDE)
            await page.get_by_role("button", name="Close").click()
            await page.get_by_role("button", name=f"Show parent-at-{FORK}").click()
            await expect(page.locator(".top .state")).to_have_text(f"replay of parent-at-{FORK}")
            await browser.unharmed(page, WIDE["width"])
    finally:
        await lab.close()
    with RunStore(runs).open(f"parent-at-{FORK}") as branch:
        assert branch.meta.parent is not None
        (change,) = branch.meta.parent.changes
        assert (change.tick_id, change.kind, change.who, change.value) == (FORK, "say", who, SHOUT)


async def ordered(page, who, keep):
    """Order a branch in which somebody shouts, and wait until it is there."""
    await page.get_by_role("button", name="Branch from here").click()
    form = page.get_by_role("dialog", name="Branch from here")
    await form.get_by_label("Who or what").select_option(who)
    await form.get_by_label("Value").fill(SHOUT)
    await form.get_by_label("Replies of models").select_option("keep")
    await keep(page, "lab-order")
    await form.get_by_role("button", name="Branch", exact=True).click()
    await expect(form.get_by_role("button", name="Watch side by side")).to_be_visible()
    await form.get_by_role("button", name="Watch side by side").click()
    await expect(form).to_have_count(0)


async def compared(page, who, keep):
    """Look at both runs: the same past, and what differs after it."""
    await expect(page.locator(".map.beside .of-run")).to_have_text(f"parent-at-{FORK}")
    await page.get_by_role("tab", name="Runs").click()
    panel = page.get_by_role("tabpanel")
    await expect(panel).to_contain_text(f"The past is the same up to tick {FORK}.")
    await expect(panel).to_contain_text(f"The worlds differ from tick {FORK + 1} on.")
    await expect(panel).to_contain_text(f"Nobody and nothing differs at tick {FORK}.")
    await go_to(page, FORK + 1)
    await expect(panel.locator(".comparison")).to_contain_text(f"only there {who} {SHOUT}")
    await expect(page.locator(".map.beside")).to_have_attribute("data-drawn-tick", str(FORK + 1))
    await keep(page, "lab-beside")
    drawn = await page.evaluate(
        "[tickmindViewer.map.camera.x, tickmindViewer.app.bench.value.beside.value.player.tick]"
    )
    assert drawn[1] == FORK + 1


async def asked(page, keep):
    """Ask a character what nobody ever told it, and what it remembers; the second answer needs no life again."""
    await page.evaluate("tickmindViewer.app.select(0)")
    section = page.locator(".interview")
    for question, place in (("Who gave you a crown?", 0), ("What did you do today?", 0)):
        await section.get_by_role("textbox").fill(question)
        await section.get_by_role("button", name="Ask").click()
        answer = section.locator(".asked").nth(place)
        await expect(answer.locator(".question .said")).to_have_text(question)
        await expect(answer.locator(".reply:not(.draft)")).to_be_visible()
    replies = await section.locator(".reply").all_text_contents()
    assert replies[1] == "I do not know."
    assert replies[0] != replies[1]
    await expect(section.locator(".asked").first.locator(".memories .when").first).to_be_visible()
    await section.locator(".asked").first.scroll_into_view_if_needed()
    await keep(page, "lab-interview")


@pytest.mark.parametrize(
    ("path", "body", "status", "says"),
    [
        ("branch", {"tick": 999, "changes": []}, 400, "ends with tick 24"),
        ("branch", {"tick": 3, "changes": [{"kind": "sun", "who": "x"}]}, 400, "can't be made here"),
        ("branch", {"tick": "3"}, 400, "tick must be a whole number"),
        ("branch", {"tick": 3, "ticks": 0}, 400, "ticks must be a whole number from 1 on"),
        ("branch", {"tick": 3, "changes": [{"kind": "say", "who": "a\0"}]}, 400, "who must be a text on one line"),
        ("branch", {"tick": 3, "changes": [{"kind": "say", "who": "a", "value": "x" * 1001}]}, 400, "length of a text"),
        ("branch", ["tick"], 400, "post an object of JSON"),
        ("interview?tick=2", {"who": "ada"}, 400, "question must be a text"),
        ("interview?tick=0", {"who": "ada", "question": "Who?"}, 400, "a tick from 1 on"),
        ("interview?tick=2", {"who": "\ud800", "question": "Who?"}, 400, "who must be a text on one line"),
    ],
)
async def test_orders_that_mean_nothing_are_refused(runs, path, body, status, says):
    answer, told = await posted(runs, f"api/{path}", json.dumps(body))
    assert (answer, says in told) == (status, True), told


async def test_orders_of_other_sites_and_for_other_folders_are_refused(runs):
    order = json.dumps({"tick": 3, "changes": []})
    assert (await posted(runs, "api/branch", order, Origin="http://evil.example"))[0] == 403
    assert (await posted(runs, "api/branch", order, kind="text/plain"))[0] == 400
    assert (await posted(runs, "run/..%2Fparent/api/branch", order))[0] == 400
    assert [path.name for path in runs.iterdir()] == ["parent"]


async def posted(runs, path, body, kind="application/json", **headers):
    """The status and the text of the answer to what is posted to a viewer."""
    lab = FolderLab(runs)
    try:
        async with (
            ReplaySource(lambda: RunStore(runs).open("parent")) as source,
            ViewerServer(source, ViewerConfig(port=0), lab=lab) as server,
            aiohttp.ClientSession() as client,
            client.post(
                URL(f"{server.url}{path}", encoded=True), data=body, headers={"Content-Type": kind, **headers}
            ) as answer,
        ):
            return answer.status, await answer.text()
    finally:
        await lab.close()
