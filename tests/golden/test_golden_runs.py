"""Runs that were recorded by earlier versions still open and say what they said."""

import dataclasses
import importlib.util
import json
import shutil
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tickmind.record import EventKind, RunState, RunStore
from tickmind.record.meta import LOG_SCHEMA_VERSION
from tickmind.record.parquet.file import TableFile
from tickmind.record.parquet.schemas import ACTION_RESULTS
from tickmind.record.report import read_figures

FOLDER = Path(__file__).parent
NEW = ("run_4", "run_5", "run_6")  # with all that the present version records of items and intents
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
    assert RUNS == ["run_1", "run_2", "run_3", "run_4", "run_5", "run_6"]


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


@pytest.mark.parametrize("run", RUNS)
def test_a_golden_run_has_nulls_and_no_rows_for_what_its_version_did_not_record(run):
    is_new = run in NEW
    folder = FOLDER / run / "finished"
    added = ("verb", "kind", "target", "item", "amount")
    with TableFile(pa.OSFile(str(folder / ACTION_RESULTS.file_name)), ACTION_RESULTS) as file:
        table = file.group(0, ("actor_id", *added))
    assert table.num_rows > 0
    filled = {name for name in added if table.column(name).null_count < table.num_rows}
    assert filled >= {"kind", "item", "amount"} if is_new else not filled
    with RunStore(FOLDER / run).open("finished") as reader:
        assert bool(list(reader.inventories())) == (reader.info.inventories is not None) == is_new
        assert bool(reader.inventories_at(0)) == is_new
        assert bool(list(reader.events(kinds={EventKind.GIFT}))) == (run in ("run_5", "run_6"))
        assert (reader.meta.log_schema_version == LOG_SCHEMA_VERSION) == is_new
        assert (reader.meta.parent is not None, bool(reader.meta.begun_at), bool(reader.meta.ended_at)) == (is_new,) * 3


@pytest.mark.parametrize("run", RUNS)
def test_a_golden_run_has_needs_decay_building_and_placements_if_its_version_had(run):
    with RunStore(FOLDER / run).open("finished") as reader:
        records = list(reader.records())
        found = (
            any(record.needs is not None and record.needs.own is not None for record in records),
            any(event.name == "decay" for record in records for event in record.rule_events),
            any(delta.field == "tile" for record in records for delta in record.object_deltas),
            any(order.reason for record in records for order in record.placements),
        )
        assert found == (run == "run_6",) * 4


@pytest.mark.parametrize("run", RUNS)
def test_a_golden_run_has_a_report(run):
    assert bool(read_figures(FOLDER / run / "finished").items) == (run in NEW)


def test_the_log_of_an_earlier_version_is_finished_in_the_present_form(golden):
    store, content = golden
    store.recover("crashed")
    with store.open("crashed") as reader:
        assert reader.meta.log_schema_version == LOG_SCHEMA_VERSION
        assert [dataclasses.asdict(one) for one in reader.inventories()] == content.get("quantities", [])
    kinds = pq.read_table(store.folder("crashed") / ACTION_RESULTS.file_name, columns=["kind"]).column(0)
    assert kinds.null_count < len(kinds)


def test_the_script_never_overwrites_a_golden_run(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["make_run.py", "1"])
    with pytest.raises(SystemExit, match="must not change"):
        maker.main()
