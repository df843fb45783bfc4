"""The page of an experiment in a real browser: it fits a phone, and no word of it is cut."""

from dataclasses import replace

import pytest
from tests.integration.browser import CONTRAST, Browsing
from tests.kits.experiments import TINY, quiet_run
from tests.unit.lab.experiments.test_experiment_run import PlayedExecutor, planted

from tickmind.lab.experiments.experiment_file import read_experiment
from tickmind.lab.experiments.results.analysis import analyse
from tickmind.lab.experiments.results.page import experiment_page

pytestmark = [pytest.mark.slow, pytest.mark.realtime]

# Words of pictures that lie beyond the picture's own sides, and names of conditions that are cut within a word.
CUT = """() => {
  const cut = [];
  for (const svg of document.querySelectorAll(".plot svg")) {
    const frame = svg.getBoundingClientRect();
    for (const text of svg.querySelectorAll("text")) {
      const box = text.getBoundingClientRect();
      if (box.left < frame.left - 1 || box.right > frame.right + 1) cut.push(text.textContent);
    }
    if (frame.right > document.documentElement.clientWidth) cut.push(svg.getAttribute("aria-label"));
  }
  for (const cell of document.querySelectorAll("td:first-child")) {
    const range = document.createRange();
    range.selectNodeContents(cell);
    if (!cell.textContent.includes(" ") && range.getClientRects().length > 1) cut.push(cell.textContent);
  }
  return cut;
}"""


@pytest.fixture
def page(tmp_path):
    """The page of an experiment with planted values, each condition ten times."""
    file = tmp_path / "tiny.yaml"
    file.write_text(TINY)
    experiment = read_experiment(file)
    measures = tuple(one for one in experiment.measures if one.name in ("moves", "place"))
    larger = replace(experiment, seeds=tuple(range(1, 11)), measures=measures)
    path = tmp_path / "page.html"
    path.write_text(experiment_page(analyse(quiet_run(larger, tmp_path / "out", None, PlayedExecutor(planted)))))
    return path


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_the_page_of_an_experiment_fits_a_phone(browser_program, page, scheme):
    browsing = Browsing(browser_program, warnings=True)
    try:
        shown = await browsing.open(page.as_uri(), width=420, height=860, scheme=scheme)
        assert await shown.locator(".plot svg").count() >= 4
        assert await shown.evaluate(CUT) == []
        seen = await shown.evaluate(CONTRAST)
        assert seen["found"] == []
        await browsing.unharmed(shown, width=420)
    finally:
        await browsing.close()
