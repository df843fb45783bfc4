"""A gift is recorded for the giver and for the receiver."""

import polars as pl
import pytest
from tests.kits.item_world import record_script

from tickmind.record import EventKind, Gift

GIFT = Gift("entity:1", "entity:2", "coin", 2)


def test_the_table_has_both_sides_of_each_gift_that_was_taken(tmp_path):
    record_script(tmp_path)
    table = pl.read_parquet(tmp_path / "items" / "gifts.parquet")
    assert table.drop("run_id").rows() == [
        (1, "entity:1", "given", "entity:2", "coin", 2),
        (1, "entity:2", "received", "entity:1", "coin", 2),
    ]


@pytest.mark.parametrize("seal", [True, False])
def test_the_events_of_either_actor_have_it(tmp_path, seal):
    store, _ = record_script(tmp_path, seal=seal)
    with store.open("items") as run:
        for actor_id, place in (("entity:1", (1, 1)), ("entity:2", (2, 1))):
            (event,) = run.events(kinds={EventKind.GIFT}, actors={actor_id})
            assert (event.tick_id, event.subject_id, event.what) == (1, actor_id, GIFT)
            assert (event.x, event.y) == place
        assert not list(run.events(kinds={EventKind.GIFT}, actors={"entity:3"}))
        assert len(list(run.events(kinds={EventKind.GIFT}))) == 2


def test_gifts_come_after_the_other_events_of_a_tick(tmp_path):
    store, _ = record_script(tmp_path)
    with store.open("items") as run:
        kinds = [event.kind for event in run.events(1, 1)]
    assert kinds == [EventKind.ACTION, EventKind.ACTION, EventKind.OBJECT, EventKind.GIFT, EventKind.GIFT]
