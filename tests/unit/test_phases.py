"""The suite in phases: which test runs in which, what is tried again, and what the last lines of a run say."""

import json

import pytest
from tests import phases
from tests.phases import SuiteResult, run_phases

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
OF_PHASE = {"ordinary": {"plain"}, "realtime": {"timed", "not_set_up"}, "alone": {"exact"}}


@pytest.fixture
def tree(pytester, monkeypatch):
    """A tree of tests of every phase; the function that is returned runs pytest there and returns its report."""
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    pytester.makeini("[pytest]\nmarkers = realtime\naddopts = -p no:asyncio -p no:xdist -p no:cacheprovider")
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


@pytest.mark.parametrize("phase", phases.PHASES)
def test_a_phase_runs_its_own_tests_and_reports_what_became_of_them(tree, phase):
    report = tree(f"--phase={phase}")
    assert names(report["outcomes"]) == OF_PHASE[phase]
    failed = {node for node, outcome in report["outcomes"].items() if outcome == "failed"}
    assert names(failed) == OF_PHASE[phase] & {"exact", "not_set_up"}
    assert report["seconds"].keys() == report["outcomes"].keys()


def test_without_a_phase_every_test_runs(tree):
    assert names(tree()["outcomes"]) == set().union(*OF_PHASE.values())


def test_a_collection_names_the_files_of_every_phase(tree, pytester):
    pytester.makepyfile(test_plain_only="def test_more():\n    pass")
    files = tree("--collect-only")["files"]
    assert files == {
        "ordinary": ["test_all.py", "test_plain_only.py"],
        "realtime": ["test_all.py"],
        "alone": ["test_all.py"],
    }


def test_a_file_that_can_not_be_collected_is_a_failure(tree, pytester):
    pytester.makepyfile(test_wrong="import nothing_of_this_name")
    assert tree()["outcomes"]["test_wrong.py"] == "failed"


# Second tries


class Runs:
    """Answers for `run_pytest`: name of the run -> exit code and outcomes. Keeps what was run."""

    def __init__(self, monkeypatch, second=0, **answers):
        self.commands = []
        self._answers = answers
        self._second = second
        monkeypatch.setattr(phases, "run_pytest", self)

    def __call__(self, name, arguments, *, quiet=False):
        self.commands.append((name, arguments))
        files = {"ordinary": ["a.py"], "realtime": ["b.py"], "alone": ["c.py"]}
        if name == "collected":
            return 0, {"files": files, "outcomes": {}, "seconds": {}}
        if name == "second":
            outcomes = {arguments[0]: "failed" if self._second else "passed"}
            return self._second, {"files": {}, "outcomes": outcomes, "seconds": {arguments[0]: 1.0}}
        code, outcomes = self._answers.get(name, (0, {}))
        if outcomes is None:
            return code, None
        return code, {"files": files, "outcomes": outcomes, "seconds": dict.fromkeys(outcomes, 2.0)}

    def second_tries(self):
        return [arguments for name, arguments in self.commands if name == "second"]


@pytest.mark.parametrize("phase", ["realtime", "alone"])
def test_a_test_about_real_time_that_fails_is_run_again_by_itself(monkeypatch, phase):
    runs = Runs(monkeypatch, **{phase: (1, {"b.py::test_x": "failed", "b.py::test_y": "passed"})})
    result = run_phases(3, [])
    assert runs.second_tries() == [["b.py::test_x"]]
    assert (result.ok(), result.second_tries) == (True, ["b.py::test_x"])
    assert "1 test needed a second try: b.py::test_x" in result.summary(1.0)


def test_a_second_try_that_fails_fails_the_run(monkeypatch):
    Runs(monkeypatch, second=1, realtime=(1, {"b.py::test_x": "failed"}))
    result = run_phases(3, [])
    assert (result.ok(), result.failed(), result.second_tries) == (False, ["b.py::test_x"], [])


def test_an_ordinary_test_has_one_try(monkeypatch):
    runs = Runs(monkeypatch, ordinary=(1, {"a.py::test_x": "failed"}))
    result = run_phases(3, [])
    assert runs.second_tries() == []
    assert (result.ok(), result.failed()) == (False, ["a.py::test_x"])


@pytest.mark.parametrize("answer", [(3, {}), (1, None), (3, {"a.py::test_x": "failed"})])
def test_a_phase_that_breaks_fails_the_run(monkeypatch, answer):
    Runs(monkeypatch, ordinary=answer)
    result = run_phases(3, [])
    assert not result.ok()
    assert f"FAILED the ordinary tests ended with exit code {answer[0]}" in result.summary(1.0)


def test_a_phase_without_tests_is_no_failure(monkeypatch):
    Runs(monkeypatch, alone=(phases.NO_TESTS_COLLECTED, {}))
    assert run_phases(3, []).ok()


def test_each_phase_has_its_workers_its_files_and_what_was_asked_for(monkeypatch):
    runs = Runs(monkeypatch)
    run_phases(5, ["-m", "not slow", "tests/unit"])
    given = {name: (arguments[arguments.index("-n") + 1], arguments[5:]) for name, arguments in runs.commands[1:]}
    assert given == {
        "ordinary": ("5", ["-m", "not slow", "tests/unit"]),
        "realtime": ("2", ["-m", "not slow", "b.py"]),
        "alone": ("0", ["-m", "not slow", "c.py"]),
    }


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
