"""The finished files: their columns, their encodings, and that any reader opens them."""

import itertools
import json

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from tickmind.record import Archive, LogOptions, NoSuchRunError, RunStore, SyncPolicy
from tickmind.record.tables.actor_state_writer import MOST_CELLS, Blocks
from tickmind.record.testing import RandomRun, differences

QUICK = LogOptions(sync=SyncPolicy.NEVER)

# Table -> columns, with a question mark where there may be none.
PUBLIC = {
    "ticks": "run_id:string tick_id:int64 sim_time_ms:int64 world_version:string left_out_reports:int64?",
    "actor_state": "run_id:string tick_id:int64 actor_id:string x:int32 y:int32 status_bits:int32 facing:int8?",
    "action_results": "run_id:string tick_id:int64 actor_id:string action_type:string target_id:string? ok:bool "
    "reason:string? effects_json:string? verb:string? kind:string? target:string? item:string? amount:int32?",
    "utterances": "run_id:string tick_id:int64 actor_id:string channel:string text:string x:int32 y:int32",
    "object_deltas": "run_id:string tick_id:int64 object_id:string field:string new_value_json:string",
}
OTHERS = {"replay", "thoughts", "llm_calls", "agent_statuses", "insights", "needs", "inventories", "gifts"}
OTHERS |= {"rule_events", "map", "actors", "objects"}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a finished run, and its ticks."""
    root = tmp_path_factory.mktemp("runs")
    run = RandomRun(4, 12)
    records = []
    with RunStore(root).create(run.info, "a-run", options=QUICK) as log:
        for _ in range(60):
            log.thought(run.thought())
            log.status(run.status())
            records.append(run.tick())
            log.publish(records[-1])
    return root / "a-run", records


def test_the_folder_holds_the_promised_files_and_nothing_else(finished):
    folder, _ = finished
    names = {f"{name}.parquet" for name in {*PUBLIC, *OTHERS}} | {"meta.json", "lock"}
    assert {path.name for path in folder.iterdir()} == names
    meta = json.loads((folder / "meta.json").read_text())
    assert meta["log_schema_version"] == "1.1.0"
    assert meta["api_version"] == "v1"
    assert meta["world_version"] == "1.0.0"
    assert meta["tables"].keys() == PUBLIC.keys() | (OTHERS - {"map", "actors", "objects"})


@pytest.mark.parametrize("name", PUBLIC)
def test_public_tables_have_exactly_their_columns(finished, name):
    schema = pq.read_schema(finished[0] / f"{name}.parquet")
    found = [f"{one.name}:{one.type}{'?' if one.nullable else ''}" for one in schema]
    assert found == PUBLIC[name].split()


def test_every_row_is_as_it_was_recorded(finished):
    folder, records = finished
    state = pl.read_parquet(folder / "actor_state.parquet").sort("tick_id", "actor_id")
    wanted = [
        (one.tick_id, one.actor_ids[row], *(int(getattr(one.actor_state, name)[row]) for name in ("x", "y", "facing")))
        for one in records
        for row in range(12)
    ]
    assert state.select("tick_id", "actor_id", "x", "y", "facing").rows() == sorted(wanted)
    results = pl.read_parquet(folder / "action_results.parquet")
    expected = [result for one in records for result in one.action_results()]
    assert results["actor_id"].to_list() == [one.actor_id for one in expected]
    assert results["action_type"].to_list() == [str(one.action_type) for one in expected]
    assert results["ok"].to_list() == [one.ok for one in expected]
    assert results["reason"].to_list() == [str(one.reason) or None for one in expected]
    assert results["target_id"].to_list() == [one.target_id or None for one in expected]
    said = pl.read_parquet(folder / "utterances.parquet")
    assert said["text"].to_list() == [said.text for one in records for said in one.utterances]
    deltas = pl.read_parquet(folder / "object_deltas.parquet")
    values = [json.loads(text) for text in deltas["new_value_json"]]
    assert values == [delta.new_value for one in records for delta in one.object_deltas]


@pytest.mark.parametrize("name", [*PUBLIC, *sorted(OTHERS)])
def test_duckdb_polars_and_pandas_open_every_table(finished, name):
    path = finished[0] / f"{name}.parquet"
    rows = pq.read_metadata(path).num_rows
    assert len(duckdb.execute(f"select * from '{path}'").fetchall()) == rows
    assert len(pl.read_parquet(path)) == rows
    frame = pd.read_parquet(path)
    assert len(frame) == rows
    if rows:
        assert set(frame["run_id"]) == {"a-run"}


def test_encodings_are_the_ones_that_were_chosen(finished):
    group = pq.ParquetFile(finished[0] / "actor_state.parquet").metadata.row_group(0)
    columns = {group.column(at).path_in_schema: group.column(at) for at in range(group.num_columns)}
    assert all(one.compression == "ZSTD" for one in columns.values())
    for name in ("tick_id", "x", "y"):
        assert "DELTA_BINARY_PACKED" in columns[name].encodings
        assert not columns[name].has_dictionary_page
    for name in ("run_id", "actor_id", "facing"):
        assert columns[name].has_dictionary_page
    assert columns["tick_id"].statistics.min == 1


@pytest.mark.parametrize("actors", [1, 10, 1000, 10_000, 49_999, 100_000, 1_000_000])
def test_blocks_are_neither_too_small_nor_too_large(actors):
    blocks = Blocks.of(actors)
    groups = blocks.groups(actors)
    assert groups[0][0] == 0
    assert groups[-1][1] == actors
    assert all(one[1] == other[0] for one, other in itertools.pairwise(groups))
    assert actors * blocks.ticks <= max(MOST_CELLS, 1 << 20)
    assert (groups[0][1] - groups[0][0]) * blocks.ticks <= 1 << 21
    assert blocks.ticks >= 16


@pytest.mark.slow
def test_a_crowd_takes_less_than_half_of_what_defaults_take(tmp_path):
    run = RandomRun(1, 3000, side=170, wild=0.0)
    with RunStore(tmp_path).create(run.info, "a-run", options=QUICK) as log:
        for _ in range(150):
            log.publish(run.tick())
    path = tmp_path / "a-run" / "actor_state.parquet"
    table = pq.read_table(path).sort_by([("tick_id", "ascending")])
    pq.write_table(table, tmp_path / "defaults.parquet")
    assert path.stat().st_size * 2 < (tmp_path / "defaults.parquet").stat().st_size


def test_finished_files_can_go_into_any_filesystem(tmp_path):
    archive = Archive(fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem()), "bucket/runs")
    store = RunStore(tmp_path / "local", archive=archive)
    run = RandomRun(2)
    records = []
    with store.create(run.info, "a-run", options=QUICK) as log:
        for _ in range(5):
            records.append(run.tick())
            log.publish(records[-1])
    local = {path.name for path in (tmp_path / "local" / "a-run").iterdir()}
    assert "meta.json" in local
    assert "actor_state.parquet" not in local
    assert "live" not in local
    for opened in (store.open("a-run"), archive.open("a-run")):
        with opened as reader:
            assert reader.info == run.info
            assert all(differences(one, two) == [] for one, two in zip(reader.records(), records, strict=True))
    assert store.summary("a-run").ticks == 5
    with pytest.raises(NoSuchRunError, match="bucket/runs/a-run"):
        RunStore(tmp_path / "local").open("a-run")
    with pytest.raises(NoSuchRunError, match="no run nothing"):
        archive.open("nothing")


def test_tables_stay_arrow_tables_for_those_who_want_them(finished):
    table = pq.read_table(finished[0] / "thoughts.parquet")
    assert isinstance(table, pa.Table)
    calls = pq.read_table(finished[0] / "llm_calls.parquet")
    assert table.column("thought").to_pylist() == calls.column("thought").to_pylist() == list(range(60))
