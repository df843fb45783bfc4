from pathlib import Path

from benchmarks.__main__ import PARTS
from benchmarks.harness import Result
from benchmarks.ledger import Measured, Question, page_of, read_ledger, write_ledger

DOCS = Path(__file__).parents[2] / "docs"
FAST = Result("engine/iterate", 1.5, "ms", "esper", 3.0, 2.0, 1.0, (1.8, 2.2))
SLOW = Result("world/tick", 70.0, "ms", "the limit", 67.0, 0.957, 1.0)


def measured(*results):
    return Measured("2026-11-15", "2 cores", (Question("How fast is it?", results),))


def test_a_ledger_reads_back_as_it_was_written(tmp_path):
    ledger = {"engine": measured(FAST), "world": measured(SLOW, FAST)}
    write_ledger(tmp_path / "new" / "bench.json", ledger)
    assert read_ledger(tmp_path / "new" / "bench.json") == ledger
    assert read_ledger(tmp_path / "none.json") == {}


def test_the_page_says_plainly_which_bar_does_not_hold():
    page = page_of({"world": measured(SLOW), "engine": measured(FAST)}, ("engine", "world"))
    assert page.index("## engine") < page.index("## world")
    assert "| engine/iterate | 1.5 ms | esper | 3 ms | 2.00 | 1.80 to 2.20 | 1 | yes |" in page
    assert "| world/tick | 70 ms | the limit | 67 ms | 0.96 |  | 1 | **no** |" in page


def test_the_page_in_the_documentation_is_made_from_the_figures_beside_it():
    ledger = read_ledger(DOCS / "benchmarks.json")
    assert set(ledger) <= set(PARTS)
    assert (DOCS / "benchmarks.md").read_text() == page_of(ledger, PARTS)
