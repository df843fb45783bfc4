"""The suite in phases: which test runs in which, what is tried again, and what the last lines of a run say."""

import json
import re

import pytest
from tests import phases
from tests.phases import SuiteResult, run_phases
from tests.unit.test_workers import INI

pytest_plugins = ["pytester"]

TESTS = """
import pytest

def test_plain():
    pass

@pytest.mark.realtime
def test_timed():
    pass

@pytest.mark.realtime(alone=True)
def test_exact():
    assert False

@pytest.fixture
def broken():
    raise OSError("no")

@pytest.mark.realtime
def test_not_set_up(broken):
    pass
"""
TIMED = {"timed", "not_set_up", "exact"}


@pytest.fixture
def tree(pytester):
    """A tree of tests of every phase; the function that is returned runs pytest there and returns its report."""
    pytester.makeini(INI)
    pytester.makeconftest("from tests.conftest import pytest_addoption, pytest_configure")
    pytester.makepyfile(test_all=TESTS)

    def run(*arguments):
        report = pytester.path / "reports" / "one.json"
        report.unlink(missing_ok=True)
        pytester.inline_run(f"--phase-report={report}", *arguments)
        return json.loads(report.read_text())

    return run


def names(outcomes):
    return {node.partition("::test_")[2] for node in outcomes}


def failed(report):
    return names(node for node, outcome in report["outcomes"].items() if outcome == "failed")


@pytest.mark.parametrize("workers", [0, 2])
def test_every_test_is_run_and_the_report_says_what_became_of_it(tree, workers):
    report = tree(f"--workers={workers}")
    assert names(report["outcomes"]) == {"plain", *TIMED}
    assert failed(report) == {"exact", "not_set_up"}
    assert names(report["timed"]) == TIMED
    assert report["seconds"].keys() == report["outcomes"].keys()


def test_the_phases_run_one_after_the_other(tree, capfd):
    tree("--workers=2", "-p", "no:terminal")
    assert re.findall("== (.*) tests", capfd.readouterr().out) == ["ordinary", "realtime", "alone"]


def test_a_file_that_can_not_be_collected_is_a_failure(tree, pytester):
    pytester.makepyfile(test_wrong="import nothing_of_this_name")
    assert tree("--workers=2")["outcomes"]["test_wrong.py"] == "failed"


# Second tries


class Runs:
    """Answers for `run_pytest`: exit code, outcomes and which may be tried again. Keeps what was run."""

    def __init__(self, monkeypatch, code, outcomes, timed=(), second=0):
        self.commands = []
        self._answer = code, outcomes, list(timed)
        self._second = second
        monkeypatch.setattr(phases, "run_pytest", self)

    def __call__(self, name, arguments):
        self.commands.append((name, arguments))
        if name == "second":
            outcomes = {arguments[0]: "failed" if self._second else "passed"}
            return self._second, {"timed": arguments, "outcomes": outcomes, "seconds": {arguments[0]: 1.0}}
        code, outcomes, timed = self._answer
        if outcomes is None:
            return code, None
        return code, {"timed": timed, "outcomes": outcomes, "seconds": dict.fromkeys(outcomes, 2.0)}

    def second_tries(self):
        return [arguments for name, arguments in self.commands if name == "second"]


def test_a_test_about_real_time_that_fails_is_run_again_by_itself(monkeypatch):
    outcomes = {"b.py::test_x": "failed", "b.py::test_y": "passed"}
    runs = Runs(monkeypatch, 1, outcomes, timed=outcomes)
    result = run_phases(3, [])
    assert runs.second_tries() == [["b.py::test_x"]]
    assert (result.ok(), result.second_tries) == (True, ["b.py::test_x"])
    assert "1 test needed a second try: b.py::test_x" in result.summary(1.0)


def test_a_second_try_that_fails_fails_the_run(monkeypatch):
    Runs(monkeypatch, 1, {"b.py::test_x": "failed"}, timed=["b.py::test_x"], second=1)
    result = run_phases(3, [])
    assert (result.ok(), result.failed(), result.second_tries) == (False, ["b.py::test_x"], [])


def test_an_ordinary_test_has_one_try(monkeypatch):
    runs = Runs(monkeypatch, 1, {"a.py::test_x": "failed"})
    result = run_phases(3, [])
    assert runs.second_tries() == []
    assert (result.ok(), result.failed()) == (False, ["a.py::test_x"])


@pytest.mark.parametrize(("code", "outcomes"), [(3, {}), (1, None), (3, {"a.py::test_x": "failed"})])
def test_a_run_that_breaks_is_a_failure(monkeypatch, code, outcomes):
    Runs(monkeypatch, code, outcomes)
    result = run_phases(3, [])
    assert not result.ok()
    assert f"FAILED the tests ended with exit code {code}" in result.summary(1.0)


def test_a_run_without_tests_is_no_failure(monkeypatch):
    Runs(monkeypatch, phases.NO_TESTS_COLLECTED, {})
    assert run_phases(3, []).ok()


def test_pytest_gets_the_workers_and_what_was_asked_for(monkeypatch):
    runs = Runs(monkeypatch, 0, {})
    run_phases(5, ["-m", "not slow", "tests/unit"])
    assert runs.commands == [("suite", ["--workers=5", "-m", "not slow", "tests/unit"])]


# The last lines


def test_the_last_lines_tell_what_was_slow_what_failed_and_how_many(monkeypatch):
    monkeypatch.setattr(phases, "SLOWEST", 2)
    result = SuiteResult(
        outcomes={"a": "passed", "b": "failed", "c": "skipped", "d": "passed"},
        seconds={"a": 1.0, "b": 30.25, "d": 2.0},
        second_tries=["a", "d"],
    )
    assert result.summary(125.9).splitlines() == [
        "2 slowest:",
        "    30.2 s  b",
        "     2.0 s  d",
        "2 tests needed a second try: a, d",
        "FAILED b",
        "took 2 min 5 s",
        "2 passed, 1 failed, 1 skipped",
    ]


def test_a_run_in_which_all_is_well_says_no_more_than_counts_and_time():
    result = SuiteResult(outcomes={"a": "passed"}, seconds={"a": 0.5})
    assert result.ok()
    assert result.summary(59.0).splitlines()[1:] == [
        "     0.5 s  a",
        "took 0 min 59 s",
        "1 passed, 0 failed, 0 skipped",
    ]


@pytest.mark.parametrize("command", ["--before", "--beside"])
def test_a_command_before_or_beside_the_tests_that_fails_fails_the_run(monkeypatch, capsys, tmp_path, command):
    monkeypatch.setattr(phases, "REPORTS", tmp_path)
    monkeypatch.setattr(phases, "run_phases", lambda workers, extra: SuiteResult({"test_one": "passed"}))
    monkeypatch.setattr("sys.argv", ["phases", command, "false"])
    assert phases.main() == 1
    said = capsys.readouterr().out
    assert "FAILED false" in said
    assert ("1 passed" in said) is (command == "--beside")
