"""What was measured, part by part: kept as JSON, so that a part can be measured anew alone, and shown as a page."""

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.harness import Result

_PROSE = """\
# Benchmarks

This page is made from what `make bench` wrote; `make bench-page` makes it anew. Each line compares us with a peer, or
with a limit that we set ourselves, **in the same run, by turns**, so that a busy machine slows both. `ratio` says how
many times better we are; it holds when it reaches the `bar`. `spread` is the ratio's 10th to 90th percentile over the
rounds. Times of one machine say little about another: repeat them on yours, with `make bench`, or one part with
`make bench ONLY=engine`.
"""
_HEAD = "| benchmark | ours | beside | theirs | ratio | spread | bar | holds |"
_RULE = "|---|---:|---|---:|---:|---:|---:|---|"


@dataclass(frozen=True)
class Question:
    """What one benchmark asks, and the lines that answer it."""

    text: str
    results: tuple[Result, ...]


@dataclass(frozen=True)
class Measured:
    """All questions of one part, when they were asked and on what."""

    day: str
    machine: str
    questions: tuple[Question, ...]


Ledger: TypeAlias = Mapping[str, Measured]


def this_machine() -> str:
    """What the figures depend on, without a name of the machine."""
    memory_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} cores, {memory_gb:.0f} GiB, {platform.system()}, Python {platform.python_version()}"


def today() -> str:
    """The day of a measurement, in UTC."""
    return f"{datetime.now(UTC):%Y-%m-%d}"


def read_ledger(path: Path) -> dict[str, Measured]:
    """What was measured before, empty if nothing was."""
    if not path.exists():
        return {}
    return {part: _measured(plain) for part, plain in json.loads(path.read_text()).items()}


def _measured(plain: Mapping[str, Any]) -> Measured:
    questions = (
        Question(one["text"], tuple(Result(**{**line, "spread": tuple(line["spread"])}) for line in one["results"]))
        for one in plain["questions"]
    )
    return Measured(plain["day"], plain["machine"], tuple(questions))


def write_ledger(path: Path, ledger: Ledger) -> None:
    """Keep what was measured."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({part: asdict(one) for part, one in ledger.items()}, indent=2) + "\n")


def page_of(ledger: Ledger, order: Sequence[str]) -> str:
    """The page for people."""
    lines = [_PROSE]
    for part in (part for part in order if part in ledger):
        measured = ledger[part]
        lines += [f"## {part}", "", f"Measured on {measured.day}: {measured.machine}.", ""]
        for question in measured.questions:
            lines += [question.text, "", *_table(question.results), ""]
    return "\n".join(lines).rstrip() + "\n"


def _table(results: Sequence[Result]) -> list[str]:
    rows = [
        "| benchmark | ours | beside | theirs | ratio | spread | bar | holds |",
        "|---|---:|---|---:|---:|---:|---:|---|",
    ]
    for one in results:
        ours, theirs = (f"{_figure(value)} {one.unit}".strip() for value in (one.ours, one.peer))
        spread = f"{one.spread[0]:.2f} to {one.spread[1]:.2f}" if any(one.spread) else ""
        cells = (one.name, ours, one.peer_name, theirs, f"{one.ratio:.2f}", spread, f"{one.bar:.3g}")
        rows.append(f"| {' | '.join(cells)} | {'yes' if one.holds else '**no**'} |")
    return rows


def _figure(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
