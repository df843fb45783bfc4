"""Runs that were recorded by earlier versions still open and say what they said."""

import importlib.util
import json
import shutil
import sys
from pathlib import Path

import pytest

from tickmind.record import RunState, RunStore

FOLDER = Path(__file__).parent
RUNS = sorted(folder.name for folder in FOLDER.glob("run_*"))


def load_maker():
    """The script beside this file, which knows how a run is written as JSON."""
    spec = importlib.util.spec_from_file_location("make_run", FOLDER / "make_run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


maker = load_maker()


@pytest.fixture(params=RUNS)
def golden(request, tmp_path):
    """A copy of one of them, and what is in it."""
    shutil.copytree(FOLDER / request.param, tmp_path / "runs")
    return RunStore(tmp_path / "runs"), json.loads((tmp_path / "runs" / "content.json").read_text(encoding="utf-8"))


def test_every_schema_version_has_its_run():
    assert RUNS == ["run_1", "run_2", "run_3"]


@pytest.mark.parametrize("run_id", ["finished", "crashed"])
def test_a_golden_run_is_read_as_it_was(golden, run_id):
    store, content = golden
    with store.open(run_id) as reader:
        assert maker.content(reader) == content


def test_a_golden_run_that_crashed_is_recovered(golden):
    store, content = golden
    assert store.summary("crashed").state is RunState.CRASHED
    assert store.recover("crashed").ticks == len(content["ticks"])
    with store.open("crashed") as reader:
        assert maker.content(reader) == content


def test_the_script_never_overwrites_a_golden_run(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["make_run.py", "1"])
    with pytest.raises(SystemExit, match="must not change"):
        maker.main()
