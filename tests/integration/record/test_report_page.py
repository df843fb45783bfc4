"""The report of a run in a real browser: what agents said is text there, and nothing is fetched or run."""

import pytest
from tests.integration.browser import Browsing
from tests.integration.record.test_report import live

from tickmind.record import RunStore
from tickmind.record.report import page, read_figures

pytestmark = pytest.mark.slow


@pytest.mark.realtime
@pytest.mark.asyncio(loop_scope="session")
async def test_nothing_that_was_said_runs_in_the_report(tmp_path, browser_program):
    store = RunStore(tmp_path)
    live(store, "talk")
    path = tmp_path / "report.html"
    path.write_text(page(read_figures(store.folder("talk"))), encoding="utf-8")
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
        assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
        assert await shown.evaluate("window.violations") == []
        assert browsing.complaints == []
        await shown.evaluate("document.body.insertAdjacentHTML('beforeend', '<b onclick=\"owned=1\" id=trap>trap</b>')")
        await shown.click("#trap")
        assert await shown.evaluate("window.owned") is None  # the policy stops what gets into the page all the same
        await shown.wait_for_function("window.violations.some(one => one.includes('script-src'))")
    finally:
        await browsing.close()
