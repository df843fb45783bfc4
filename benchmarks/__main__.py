"""Run the benchmarks: `python -m benchmarks [part ...]`; parts are the modules of this folder."""

import importlib
import json
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.harness import Result

PARTS = (
    *("engine", "client", "corpus", "strategy", "gateway", "world", "world_load"),
    *("record", "record_restart", "viewer", "villagers"),
)
TARGET = Path("build/bench.json")


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
    results: list[Result] = []
    for part in wanted or PARTS:
        for benchmark in importlib.import_module(f"benchmarks.{part}").BENCHMARKS:
            console.print(f"{part}: {benchmark.__doc__.splitlines()[0]}")
            results.extend(benchmark())
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(json.dumps([result.as_json() for result in results], indent=2) + "\n")
    console.print(table_of(results))
    console.print(f"written to {TARGET}")


if __name__ == "__main__":
    main(sys.argv[1:])
