"""Who held which items, from the beginning on: the table, and the same from the log of an unfinished run."""

import json
from dataclasses import replace

import polars as pl
import pytest
from tests.kits.item_world import QUICK, play, record_script

from tickmind.record import DamagedRunError, RecordError, RunStore
from tickmind.record.report import ItemFigures, page, read_figures
from tickmind.record.testing import RandomRun

EXPECTED = [
    (0, "entity:1", "berries", 2),
    (0, "entity:1", "coin", 3),
    (0, "entity:3", "wood", 1),
    (0, "bush:1", "berries", 3),
    (1, "entity:1", "coin", 1),
    (1, "entity:3", "wood", 0),
    (1, "entity:2", "coin", 2),
    (1, "ground:5,2", "wood", 1),
    (2, "entity:2", "coin", 7),
    (3, "entity:1", "berries", 1),
    (3, "entity:3", "wood", 1),
    (3, "ground:5,2", "wood", 0),
    (4, "entity:2", "berries", 2),
    (4, "bush:1", "berries", 1),
]


def plain(run, **bounds):
    return [(one.tick_id, one.holder_id, one.item, one.quantity) for one in run.inventories(**bounds)]


def test_the_table_has_the_beginning_and_each_change(tmp_path):
    record_script(tmp_path)
    table = pl.read_parquet(tmp_path / "items" / "inventories.parquet")
    assert table.columns == ["run_id", "tick_id", "holder_id", "item", "quantity"]
    assert table.drop("run_id").rows() == EXPECTED


@pytest.mark.parametrize("seal", [True, False])
def test_the_reader_has_them_in_every_state(tmp_path, seal):
    store, _ = record_script(tmp_path, seal=seal)
    with store.open("items") as run:
        assert plain(run) == EXPECTED
        assert plain(run, first=3) == EXPECTED[9:]
        assert plain(run, first=2, last=3) == EXPECTED[8:12]
        assert plain(run, last=0) == EXPECTED[:4]
        assert run.inventories_at(0)["entity:1"] == {"berries": 2, "coin": 3}
        assert run.inventories_at(3)["entity:3"] == {"wood": 1}
        assert "ground:5,2" not in run.inventories_at(3)
        with pytest.raises(RecordError, match="has ticks 1 to 5"):
            run.inventories_at(6)


def test_they_agree_with_the_world_itself(tmp_path):
    world, _ = play()
    store, _ = record_script(tmp_path)
    rows = range(len(world.info.actors))
    carried = {seen.me.entity_id: {one.kind: one.quantity for one in seen.me.inventory} for seen in world.observe(rows)}
    with store.open("items") as run:
        held = run.inventories_at(5)
    assert {name: held.get(name, {}) for name in carried} == carried


def test_without_a_known_beginning_there_are_none(tmp_path):
    world, records = play()
    store = RunStore(tmp_path)
    with store.create(replace(world.info, inventories=None), "old", options=QUICK) as log:
        for record in records:
            log.publish(record)
    with store.open("old") as run:
        assert run.info.inventories is None
        assert plain(run) == []


def test_what_actors_carried_at_the_beginning_is_read_back(tmp_path):
    world, _ = play()
    store, _ = record_script(tmp_path)
    with store.open("items") as run:
        assert run.info.inventories == world.info.inventories
        assert run.info.kinds == world.info.kinds


@pytest.mark.parametrize("text", ["[]", "3", '{"berries": 1e999}', '{"berries": "many"}', '{"gold": 1}', "{"])
def test_a_malformed_beginning_is_damage(tmp_path, monkeypatch, text):
    world, _ = play()
    monkeypatch.setattr("tickmind.record.tables.world_files._inventories_json", lambda info: [text] * len(info.actors))
    store = RunStore(tmp_path)
    store.create(world.info, "bad", options=QUICK).close(seal=False)
    with pytest.raises(DamagedRunError):
        store.open("bad")


def test_random_runs_read_alike_from_log_and_table(tmp_path):
    run = RandomRun(3, 20, wild=0.4)
    store = RunStore(tmp_path)
    log = store.create(run.info, "wild", options=QUICK)
    for _ in range(50):
        log.publish(run.tick())
    log.close(seal=False)
    with store.open("wild") as reader:
        live = plain(reader)
    store.recover("wild")
    with store.open("wild") as reader:
        assert plain(reader) == live
    assert json.loads((tmp_path / "wild" / "meta.json").read_text())["tables"]["inventories"]["rows"] == len(live) > 50


def test_a_report_has_what_actors_held_and_gave(tmp_path):
    record_script(tmp_path)
    figures = read_figures(tmp_path / "items")
    assert figures.items == (
        ItemFigures("entity:1", "coin", 3, 1, given=2, received=0),
        ItemFigures("entity:2", "coin", 0, 7, given=0, received=2),
        ItemFigures("entity:1", "berries", 2, 1, given=0, received=0),
        ItemFigures("entity:2", "berries", 0, 2, given=0, received=0),
        ItemFigures("entity:3", "wood", 1, 1, given=0, received=0),
    )
    assert "What they held" in page(figures)


def test_a_report_of_a_run_without_these_tables_has_no_items(tmp_path):
    record_script(tmp_path)
    for name in ("inventories", "gifts"):
        (tmp_path / "items" / f"{name}.parquet").unlink()
    figures = read_figures(tmp_path / "items")
    assert figures.items == ()
    assert "What they held" not in page(figures)
