"""The phases of the whole suite: `python -m tests.phases` runs them, `tests/conftest.py` sorts the tests into them.

- `ordinary`: tests that do not depend on real time. All cores, one try.
- `realtime`: tests marked `realtime`, whose claim is about real time or a real browser. Two at a time.
- `alone`: tests marked `realtime(alone=True)`, whose claim is about milliseconds. One at a time.

A test of the last two phases that fails is run once more, by itself. The run passes if the second try does, and its
last lines name the test.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PHASES = ("ordinary", "realtime", "alone")
REPORTS = ROOT / "build" / "tests"  # one JSON file per phase, written by the plugin below
SLOWEST = 10
NO_TESTS_COLLECTED = 5  # pytest's exit code


def phase_of(item: pytest.Item) -> str:
    marker = item.get_closest_marker("realtime")
    if marker is None:
        return "ordinary"
    return "alone" if marker.kwargs.get("alone") else "realtime"


class PhasePlugin:
    """Select the tests of one phase and write what became of them, for `summary`."""

    def __init__(self, phase: str | None, report: Path | None) -> None:
        self._phase = phase
        self._report = report
        self._files: dict[str, list[str]] = {name: [] for name in PHASES}
        self._outcomes: dict[str, str] = {}
        self._seconds: dict[str, float] = {}

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        for item in items:
            self._files[phase_of(item)].append(item.nodeid.partition("::")[0])
        if self._phase is None:
            return
        others = [item for item in items if phase_of(item) != self._phase]
        items[:] = [item for item in items if phase_of(item) == self._phase]
        config.hook.pytest_deselected(items=others)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        node = report.nodeid
        self._seconds[node] = self._seconds.get(node, 0.0) + report.duration
        if report.failed or self._outcomes.get(node) != "failed":
            if report.when == "call" or report.outcome != "passed":
                self._outcomes[node] = report.outcome

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._outcomes[report.nodeid] = "failed"

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._report is None or os.environ.get("PYTEST_XDIST_WORKER"):
            return
        self._report.parent.mkdir(parents=True, exist_ok=True)
        found = {
            "files": {phase: sorted(set(files)) for phase, files in self._files.items()},
            "outcomes": self._outcomes,
            "seconds": self._seconds,
        }
        self._report.write_text(json.dumps(found))


@dataclass
class SuiteResult:
    """What became of every test, by node id, over all phases."""

    outcomes: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    second_tries: list[str] = field(default_factory=list)
    broken_phases: list[str] = field(default_factory=list)

    def add(self, report: dict[str, dict[str, str]] | None) -> None:
        if report is not None:
            self.outcomes.update(report["outcomes"])
            self.seconds.update({node: float(seconds) for node, seconds in report["seconds"].items()})

    def failed(self) -> list[str]:
        return sorted(node for node, outcome in self.outcomes.items() if outcome == "failed")

    def ok(self) -> bool:
        return not self.failed() and not self.broken_phases

    def summary(self, elapsed_s: float) -> str:
        """Return the last lines of a run: slowest, second tries, failures, counts and time."""
        lines = [f"{SLOWEST} slowest:"]
        slowest = sorted(self.seconds.items(), key=lambda pair: -pair[1])[:SLOWEST]
        lines += [f"  {seconds:6.1f} s  {node}" for node, seconds in slowest]
        if self.second_tries:
            count = len(self.second_tries)
            lines.append(f"{count} test{'s' if count > 1 else ''} needed a second try: {', '.join(self.second_tries)}")
        lines += [f"FAILED {node}" for node in self.failed()]
        lines += [f"BROKEN {what}" for what in self.broken_phases]
        counts = {kind: sum(outcome == kind for outcome in self.outcomes.values()) for kind in ("passed", "skipped")}
        lines.append(f"took {int(elapsed_s // 60)} min {int(elapsed_s % 60)} s")
        lines.append(f"{counts['passed']} passed, {len(self.failed())} failed, {counts['skipped']} skipped")
        return "\n".join(lines)


def run_pytest(name: str, arguments: list[str]) -> tuple[int, dict[str, dict[str, str]] | None]:
    """Run pytest in a child process; return its exit code and its report, if it wrote one."""
    report = REPORTS / f"{name}.json"
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", f"--phase-report={report}", *arguments]
    code = subprocess.run(command, cwd=ROOT, check=False).returncode
    return code, json.loads(report.read_text()) if report.exists() else None


def run_phases(workers: int, extra: list[str]) -> SuiteResult:
    """Run the three phases, then every failed test of the last two once more by itself."""
    result = SuiteResult()
    # One collection compiles every test file once instead of once per worker, and says which files have which phase.
    _, collected = run_pytest("collected", ["--collect-only", "-qq", "--no-header", "-p", "no:terminal", *extra])
    files: dict[str, list[str]] = collected["files"] if collected else {}  # type: ignore[assignment]  # one JSON document
    for phase, count in (("ordinary", workers), ("realtime", 2), ("alone", 0)):
        chosen = [] if phase == "ordinary" else files.get(phase, [])
        if phase != "ordinary" and not chosen:
            continue
        print(f"== {phase} tests", flush=True)  # noqa: T201  # progress of a command
        code, report = run_pytest(phase, [f"--phase={phase}", "-n", str(count), "--dist", "worksteal", *extra, *chosen])
        result.add(report)
        failed_here = [n for n, outcome in (report["outcomes"] if report else {}).items() if outcome == "failed"]
        if code not in {0, NO_TESTS_COLLECTED} and not failed_here:
            result.broken_phases.append(f"the {phase} tests ended with exit code {code}")
        for node in failed_here if phase != "ordinary" else ():
            print(f"== second try: {node}", flush=True)  # noqa: T201  # progress of a command
            code, again = run_pytest("second", [node])
            if code == 0:
                result.add(again)
                result.second_tries.append(node)
    return result


def main() -> int:
    """Run the suite from the command line; further arguments go to pytest."""
    parser = argparse.ArgumentParser(description="Run all phases of the test suite.")
    parser.add_argument("--workers", type=int, default=(os.cpu_count() or 2) + 1)
    arguments, extra = parser.parse_known_args()
    began_s = time.monotonic()
    result = run_phases(arguments.workers, extra)
    print(result.summary(time.monotonic() - began_s), flush=True)  # noqa: T201  # the command's result
    return 0 if result.ok() else 1


if __name__ == "__main__":
    sys.exit(main())
