"""Run the benchmarks: `python -m benchmarks [part ...]`; parts are the modules of this folder.

`LONG=1` in the environment measures for longer. `make bench LONG=1` then runs `make soak` too: the tests
that have a long form (`tests/long.py`), such as 20,000 simulated histories instead of 320.

`python -m benchmarks page` makes the page of the documentation from what was measured.
"""

import importlib
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.harness import Result
from benchmarks.ledger import Measured, Question, page_of, read_ledger, this_machine, today, write_ledger

PARTS = (
    *("engine", "client", "corpus", "strategy", "gateway", "goodput", "world", "world_load", "websocket", "learners"),
    *("tracing", "record", "record_restart", "viewer", "villagers", "mind", "minds", "mind_measures", "worded_minds"),
    *("ten_days", "experiments", "ray_hosts", "scale"),
)
TARGET = Path("build/bench.json")
KEPT = Path("docs/benchmarks.json")  # what the page was made from
PAGE = Path("docs/benchmarks.md")


def table_of(results: list[Result]) -> Table:
    """The results as a table for people."""
    table = Table(title="tickmind beside its peers")
    for column in ("benchmark", "ours", "peer", "peer's", "ratio", "spread", "bar", "holds"):
        table.add_column(column, justify="left" if column in ("benchmark", "peer") else "right", no_wrap=True)
    for result in results:
        table.add_row(
            result.name,
            f"{result.ours:,.3g} {result.unit}",
            result.peer_name,
            f"{result.peer:,.3g} {result.unit}",
            f"{result.ratio:.3f}",
            f"{result.spread[0]:.2f}-{result.spread[1]:.2f}",
            f"{result.bar:.3g}",
            "[green]yes" if result.holds else "[red]no",
        )
    return table


def main(wanted: list[str]) -> None:
    """Run the wanted parts, or all, and show and write what came out."""
    console = Console(width=None if sys.stdout.isatty() else 140)
    unknown = sorted(set(wanted) - set(PARTS))
    if unknown:
        console.print(f"There is no benchmark called {unknown[0]}; known: {', '.join(PARTS)}")
        sys.exit(2)
    ledger = read_ledger(TARGET)
    shown: list[Result] = []
    for part in wanted or PARTS:
        questions = []
        for benchmark in importlib.import_module(f"benchmarks.{part}").BENCHMARKS:
            text = benchmark.__doc__.splitlines()[0]
            console.print(f"{part}: {text}")
            questions.append(Question(text, tuple(benchmark())))
            shown += questions[-1].results
        ledger[part] = Measured(today(), this_machine(), tuple(questions))
        write_ledger(TARGET, ledger)  # what is measured stays, though a later part fails
    console.print(table_of(shown))
    console.print(f"written to {TARGET}; `make bench-page` makes a page of it")


def write_page() -> None:
    """Make the page of the documentation anew, with what was measured since."""
    ledger = {**read_ledger(KEPT), **read_ledger(TARGET)}
    write_ledger(KEPT, {part: ledger[part] for part in PARTS if part in ledger})
    PAGE.write_text(page_of(ledger, PARTS))
    print(f"{PAGE} has {', '.join(part for part in PARTS if part in ledger)}")


if __name__ == "__main__":
    write_page() if sys.argv[1:] == ["page"] else main(sys.argv[1:])
