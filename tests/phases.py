"""The phases of the whole suite: `python -m tests.phases` runs them, all from one collection (see tests/workers.py).

- `ordinary`: tests that do not depend on real time. All cores, one try.
- `realtime`: tests marked `realtime`, whose claim is about real time or a real browser. Six at a time, as most of
  them wait most of the time.
- `alone`: tests marked `realtime(alone=True)`, whose claim is about milliseconds. One at a time.

Style, types and layers are checked by another command beside the ordinary tests (`--beside`), and beside what has to be
ready before them (`--before`).
A test of the last two phases that fails is run once more, by itself. The run passes if the second try does, and its
last lines name the test.
"""

import argparse
import gc
import json
import os
import shlex
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict

import pytest
from tests.warm import WarmPython
from tests.workers import Workers, freeze_collected

ROOT = Path(__file__).parents[1]
REPORTS = ROOT / "build" / "tests"  # one JSON file per run of pytest, written by the plugin below
WARM = pytest.StashKey[WarmPython]()  # what processes for tests are forked from: one for all workers
SLOWEST = 10
TESTS_FAILED, NO_TESTS_COLLECTED = 1, 5  # exit codes of pytest


class Report(TypedDict):
    """What the plugin writes at the end of one pytest session."""

    timed: list[str]  # node ids of the tests that may be tried again
    outcomes: dict[str, str]  # node id -> passed, failed or skipped
    seconds: dict[str, float]  # node id -> set-up, call and tear-down together


def phase_of(item: pytest.Item) -> str:
    marker = item.get_closest_marker("realtime")
    if marker is None:
        return "ordinary"
    return "alone" if marker.kwargs.get("alone") else "realtime"


class PhasePlugin:
    """Run what was collected, in workers phase by phase if there are any, and write what became of it."""

    def __init__(self, workers: int, report: Path | None) -> None:
        self._workers = workers
        self._report = report
        self._timed: list[str] = []
        self._unfreeze = False
        self._outcomes: dict[str, str] = {}
        self._seconds: dict[str, float] = {}

    def pytest_collection(self) -> None:
        gc.disable()  # all that a collection makes stays

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._unfreeze = gc.get_freeze_count() == 0  # not in a run inside of a test, where it is not all ours
        freeze_collected()
        gc.enable()
        self._timed = [item.nodeid for item in session.items if phase_of(item) != "ordinary"]

    def pytest_unconfigure(self) -> None:
        if self._unfreeze:
            gc.unfreeze()  # the end of the interpreter takes everything apart, or libraries complain of leaks

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        if not self._workers or session.config.option.collectonly or session.testsfailed:
            return None  # as usual
        if any("warm" in getattr(item, "fixturenames", ()) for item in session.items):
            session.config.stash[WARM] = WarmPython()
        workers = Workers(session)
        for phase, count in (("ordinary", self._workers), ("realtime", 6), ("alone", 1)):
            items = [item for item in session.items if phase_of(item) == phase]
            if items:
                say(f"\n== {phase} tests")
                workers.run(items, count)
        if WARM in session.config.stash:
            session.config.stash[WARM].close()
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        node = report.nodeid
        self._seconds[node] = self._seconds.get(node, 0.0) + report.duration
        decides = report.when == "call" or report.outcome != "passed"  # a set-up that passed decides nothing
        if decides and self._outcomes.get(node) != "failed":
            self._outcomes[node] = report.outcome

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._outcomes[report.nodeid] = "failed"

    def pytest_sessionfinish(self) -> None:
        if self._report is None:
            return
        self._report.parent.mkdir(parents=True, exist_ok=True)
        report: Report = {"timed": self._timed, "outcomes": self._outcomes, "seconds": self._seconds}
        self._report.write_text(json.dumps(report))


@dataclass
class SuiteResult:
    """What became of every test, by node id, over all phases."""

    outcomes: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    second_tries: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)  # failures that are not of one test

    def add(self, report: Report | None) -> None:
        if report is not None:
            self.outcomes.update(report["outcomes"])
            self.seconds.update(report["seconds"])

    def failed(self) -> list[str]:
        return sorted(node for node, outcome in self.outcomes.items() if outcome == "failed")

    def ok(self) -> bool:
        return not self.failed() and not self.problems

    def summary(self, elapsed_s: float) -> str:
        """Return the last lines of a run: slowest, second tries, failures, counts and time."""
        lines = [f"{SLOWEST} slowest:"]
        slowest = sorted(self.seconds.items(), key=lambda pair: -pair[1])[:SLOWEST]
        lines += [f"  {seconds:6.1f} s  {node}" for node, seconds in slowest]
        if self.second_tries:
            count = len(self.second_tries)
            lines.append(f"{count} test{'s' if count > 1 else ''} needed a second try: {', '.join(self.second_tries)}")
        lines += [f"FAILED {node}" for node in self.failed()]
        lines += [f"FAILED {problem}" for problem in self.problems]
        counts = {kind: sum(outcome == kind for outcome in self.outcomes.values()) for kind in ("passed", "skipped")}
        lines.append(f"took {int(elapsed_s // 60)} min {int(elapsed_s % 60)} s")
        lines.append(f"{counts['passed']} passed, {len(self.failed())} failed, {counts['skipped']} skipped")
        return "\n".join(lines)


def say(text: str) -> None:
    print(text, flush=True)  # noqa: T201  # the command's own output, in order with that of its children


def run_pytest(name: str, arguments: list[str]) -> tuple[int, Report | None]:
    """Run pytest in a child process; return its exit code and its report, if it wrote one."""
    report = REPORTS / f"{name}.json"
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", f"--phase-report={report}", *arguments]
    code = subprocess.run(command, cwd=ROOT, check=False).returncode
    return code, json.loads(report.read_text()) if report.exists() else None


def run_phases(workers: int, extra: list[str]) -> SuiteResult:
    """Run the three phases, then every failed test of the last two once more by itself."""
    result = SuiteResult()
    code, report = run_pytest("suite", [f"--workers={workers}", *extra])
    result.add(report)
    if code not in ({TESTS_FAILED} if result.failed() else {0, NO_TESTS_COLLECTED}):
        result.problems.append(f"the tests ended with exit code {code}")
    for node in result.failed():
        if report is not None and node in report["timed"]:
            say(f"== second try: {node}")
            code, again = run_pytest("second", [node])
            if code == 0:
                result.add(again)
                result.second_tries.append(node)
    return result


def main() -> int:
    """Run the suite from the command line; further arguments go to pytest."""
    parser = argparse.ArgumentParser(description="Run all phases of the test suite.")
    # Many tests wait for processes that they started, so more workers than cores.
    parser.add_argument("--workers", type=int, default=(os.cpu_count() or 2) + 4)
    parser.add_argument("--began", type=float, default=time.time(), help="when the set-up began, in seconds since 1970")
    parser.add_argument("--before", help="command to run before the tests; its failure ends the run")
    parser.add_argument("--beside", help="command to run beside all else; its failure fails the run")
    arguments, extra = parser.parse_known_args()
    REPORTS.mkdir(parents=True, exist_ok=True)
    with (REPORTS / "beside.log").open("w+") as log:
        beside = (
            subprocess.Popen(shlex.split(arguments.beside), cwd=ROOT, stdout=log, stderr=log)
            if arguments.beside
            else None
        )
        if arguments.before and subprocess.run(shlex.split(arguments.before), cwd=ROOT, check=False).returncode:
            result = SuiteResult(problems=[arguments.before])
        else:
            result = run_phases(arguments.workers, extra)
        if beside is not None:
            if beside.wait() != 0:
                result.problems.append(arguments.beside)
            log.seek(0)
            say(log.read())
    say(result.summary(time.time() - arguments.began))
    return 0 if result.ok() else 1


if __name__ == "__main__":
    sys.exit(main())
