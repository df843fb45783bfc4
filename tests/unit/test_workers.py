"""Workers that are forks: what each runs, what they keep apart, and what happens when one breaks."""

import json

import pytest

pytest_plugins = ["pytester"]
PLUGINS = ("asyncio", "cacheprovider", "hypothesispytest", "schemathesis", "valkey")  # which take time to start
INI = f"[pytest]\nmarkers = realtime\n  slow\naddopts = {' '.join(f'-p no:{name}' for name in PLUGINS)}"


@pytest.fixture
def run(pytester):
    """Run the files in workers, by pytest in this process; returns the report and the result."""
    pytester.makeini(INI)
    pytester.makeconftest("from tests.conftest import pytest_addoption, pytest_configure")

    def run_files(*, workers=2, **files):
        pytester.makepyfile(**files)
        report = pytester.path / "report.json"
        result = pytester.runpytest_inprocess(f"--phase-report={report}", f"--workers={workers}")
        return json.loads(report.read_text())["outcomes"], result

    return run_files


SHARED = """
import os
import pathlib
import time
import pytest

@pytest.fixture(scope="module")
def shared():
    with pathlib.Path("made").open("a") as made:
        made.write(f"{__name__} {os.getpid()}\\n")
    while len(pathlib.Path("made").read_text().splitlines()) < 2:
        time.sleep(0.01)  # for the other worker, which may be late
    yield
    with pathlib.Path("ended").open("a") as ended:
        ended.write(f"{__name__}\\n")

@pytest.mark.parametrize("number", range(3))
def test_one(shared, number):
    pass
"""


def test_the_tests_of_a_file_share_a_worker_and_what_it_set_up(run, pytester):
    outcomes, _ = run(test_a=SHARED, test_b=SHARED, test_c=SHARED)
    assert len(outcomes) == 9
    assert set(outcomes.values()) == {"passed"}
    made = [line.split() for line in (pytester.path / "made").read_text().splitlines()]
    assert sorted(name for name, _ in made) == ["test_a", "test_b", "test_c"]
    assert sorted((pytester.path / "ended").read_text().split()) == ["test_a", "test_b", "test_c"]
    assert len({pid for _, pid in made}) == 2


WEIGHED = """
import pathlib
import pytest

{mark}
def test_one():
    with pathlib.Path("order").open("a") as order:
        order.write(__name__[-1])
"""


def test_what_takes_long_by_its_marks_begins_first(run, pytester):
    marks = {"test_a": "", "test_b": "@pytest.mark.slow", "test_c": "@pytest.mark.slow(weight=2)"}
    run(workers=1, **{name: WEIGHED.format(mark=mark) for name, mark in marks.items()})
    assert (pytester.path / "order").read_text() == "cba"


OUTPUT = """
import pytest

@pytest.mark.parametrize("number", range(10))
def test_output(number, capfd, tmp_path):
    print(__name__, number)
    (tmp_path / "own").touch(exist_ok=False)
    assert capfd.readouterr().out == f"{__name__} {number}\\n"

def test_fails(tmp_path):
    print("said by", __name__)
    assert False
"""


def test_workers_do_not_share_captured_output_nor_temporary_files(run):
    outcomes, result = run(test_a=OUTPUT, test_b=OUTPUT)
    assert sorted(node for node, outcome in outcomes.items() if outcome == "failed") == [
        "test_a.py::test_fails",
        "test_b.py::test_fails",
    ]
    result.stdout.fnmatch_lines_random(["said by test_a", "said by test_b", "*2 failed, 20 passed*"])


CRASHES = """
import os

def test_before():
    pass

def test_crashes():
    os._exit(9)

def test_after():
    pass
"""


@pytest.mark.parametrize("workers", [1, 2])
def test_a_test_that_ends_its_worker_fails_and_the_others_still_run(run, workers):
    outcomes, result = run(workers=workers, test_a=CRASHES, test_b="def test_more():\n    pass")
    assert outcomes == {
        "test_a.py::test_before": "passed",
        "test_a.py::test_crashes": "failed",
        "test_a.py::test_after": "passed",
        "test_b.py::test_more": "passed",
    }
    result.stdout.fnmatch_lines(["the worker that ran this test ended with exit code 9"])
    assert result.ret == 1


LATE = """
import pytest

@pytest.fixture(scope="session")
def broken():
    yield
    raise OSError("too late")

def test_one(broken):
    pass
"""


def test_a_session_fixture_that_breaks_at_the_end_is_a_failure(run):
    outcomes, _ = run(test_a=LATE)
    assert outcomes == {"test_a.py::test_one": "failed"}


BREAKS = """
import os
from tests.conftest import pytest_addoption, pytest_configure

FIRST = os.getpid()

def pytest_unconfigure():
    if os.getpid() != FIRST:
        raise OSError("could not be raised before")
"""


@pytest.mark.usefixtures("run")
def test_a_worker_that_breaks_after_its_tests_breaks_the_run(pytester):
    pytester.makeconftest(BREAKS)
    pytester.makepyfile("def test_one():\n    pass")
    result = pytester.runpytest_inprocess("--workers=1")
    assert result.ret == pytest.ExitCode.INTERNAL_ERROR
    result.stdout.fnmatch_lines(["*a worker ended with exit code 1 after its tests"])


def test_files_with_slow_tests_come_first(run):
    slow = "import pytest\n@pytest.mark.slow\ndef test_slow():\n    pass"
    outcomes, _ = run(workers=1, test_a="def test_quick():\n    pass", test_b=slow)
    assert list(outcomes) == ["test_b.py::test_slow", "test_a.py::test_quick"]
