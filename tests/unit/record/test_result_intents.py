"""`action_results` says what each intent meant: its kind, verb, target, item and amount."""

from dataclasses import replace

import polars as pl
import pytest
from tests.kits.item_world import QUICK, play, record_script

from tickmind.protocol import ACTION_TYPES, ResultColumns
from tickmind.protocol.intent import OF_ITEMS
from tickmind.record import RunStore
from tickmind.record.testing import RandomRun, differences

MEANT = ("tick_id", "actor_id", "kind", "verb", "target", "item", "amount")
EXPECTED = [
    (1, "entity:1", "Give", None, "entity:2", "coin", 2),
    (1, "entity:3", "Drop", None, None, "wood", 1),
    (2, "entity:1", "Give", None, "entity:3", "coin", 1),
    (2, "entity:2", "Interact", "open", "chest:1", None, None),
    (2, "entity:3", "Say", None, None, None, None),
    (3, "entity:1", "Use", None, None, "berries", 1),
    (3, "entity:2", "Move", None, None, None, None),
    (3, "entity:3", "Pickup", None, None, "wood", 4),
    (4, "entity:2", "Pickup", None, None, "berries", 2),
    (4, "entity:3", "Interact", None, "chest:1", None, None),
    (5, "entity:1", "Give", None, None, None, 1),  # names that the world does not have are not recorded
    (5, "entity:3", "Interact", None, None, None, None),
]


def rows_of(root, run_id="items"):
    return pl.read_parquet(root / run_id / "action_results.parquet").select(MEANT).rows()


def test_a_result_says_what_its_intent_meant(tmp_path):
    record_script(tmp_path)
    assert rows_of(tmp_path) == EXPECTED


def test_a_recovered_run_has_the_same_columns(tmp_path):
    store, _ = record_script(tmp_path, seal=False)
    store.recover("items")
    assert rows_of(tmp_path) == EXPECTED


def test_the_ticks_of_a_run_read_as_before(tmp_path):
    store, records = record_script(tmp_path)
    with store.open("items") as run:
        for one, other in zip(run.records(), records, strict=True):
            assert differences(one, other) == []


def test_an_intent_is_found_by_its_actor_where_results_lack_some(tmp_path):
    world, records = play()
    whole = records[1]
    columns = [getattr(whole.results, name)[1:] for name in ("actor", "action", "reason")]
    few = replace(whole, results=ResultColumns(*columns))
    store = RunStore(tmp_path)
    with store.create(world.info, "few", options=QUICK) as log:
        log.publish(few)
    assert rows_of(tmp_path, "few") == EXPECTED[3:5]


def test_a_result_without_an_intent_has_nulls(tmp_path):
    world, records = play()
    none = world.compile({})
    store = RunStore(tmp_path)
    with store.create(world.info, "none", options=QUICK) as log:
        log.publish(replace(records[0], intents=none))
    assert rows_of(tmp_path, "none") == [(1, name, None, None, None, None, None) for name in ("entity:1", "entity:3")]


@pytest.mark.parametrize("seed", range(4))
def test_random_intents_are_named_only_where_the_world_has_the_name(tmp_path, seed):
    run = RandomRun(seed, 30, wild=0.5)
    items = {str(action) for action in OF_ITEMS}
    asked: list[tuple[int, int, int]] = []
    with RunStore(tmp_path).create(run.info, "wild", options=QUICK) as log:
        for _ in range(40):
            record = run.tick()
            log.publish(record)
            fields = (getattr(record.intents, name).tolist() for name in ("action", "kind", "amount"))
            asked += zip(*fields, strict=True)
    rows = rows_of(tmp_path, "wild")
    assert len(rows) == len(asked) > 100
    for (_, _, kind, verb, target, item, amount), (code, named, wanted) in zip(rows, asked, strict=True):
        assert (kind is None) == (code >= len(ACTION_TYPES))
        assert verb == ("open" if kind == "Interact" and named == 1 else None)
        if kind == "Build":
            assert item == ("door" if named == 0 else None)
        else:
            assert item == (run.info.item_kinds[named] if kind in items and named in (0, 1) else None)
        assert amount == (wanted if kind in items else None)
        assert target in (None, "door:1", "entity:0")
