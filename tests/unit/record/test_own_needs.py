"""Needs that a scenario declares are kept in the log and in `needs.parquet`."""

import dataclasses
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.unit.world.test_own_needs import COLD

from tickmind.record import DamagedRunError, LogOptions, RunStore, SyncPolicy
from tickmind.record.log.tick_codec import pack_tick, read_tick
from tickmind.record.testing import RandomRun, differences
from tickmind.world import TileWorld, parse_scenario

QUICK = LogOptions(sync=SyncPolicy.NEVER)


def test_a_run_with_own_needs_is_read_as_it_was_recorded(tmp_path):
    world = TileWorld.from_scenario(parse_scenario(COLD))
    store = RunStore(tmp_path)
    log = store.create(world.info, "cold", options=QUICK)
    records: list[Any] = [world.step({}) for _ in range(70)]
    for record in records:
        log.publish(record)
    for finished in (False, True):
        if finished:
            log.close()
        with store.open("cold") as run:
            assert run.meta.finished is finished
            assert run.info == world.info
            read = list(run.records())
            assert [differences(one, other) for one, other in zip(read, records, strict=True)] == [[]] * 70
            needs: Any = dict(run.needs(65, 65))[65]  # all actors are reported there
            assert needs.own.tolist() == records[64].needs.own.tolist()


def test_each_own_need_is_a_column_of_its_own_for_other_readers(tmp_path):
    run = RandomRun(3, 5, own_needs=("warmth", "joy of life"))
    store = RunStore(tmp_path)
    log = store.create(run.info, "random", options=QUICK)
    records: list[Any] = [run.tick() for _ in range(9)]
    for record in records:
        log.publish(record)
    log.close()
    table = pq.read_table(tmp_path / "random" / "needs.parquet")
    assert table.column_names[3:] == ["energy", "hunger", "own_warmth", "own_joy of life"]
    expected = np.concatenate([one.needs.own[:, 1] for one in records if one.needs is not None])
    assert table.column("own_joy of life").to_pylist() == expected.tolist()


def test_a_log_whose_own_needs_do_not_fit_its_actors_is_damaged():
    run = RandomRun(3, 5, own_needs=("warmth", "joy"))
    ticks: list[Any] = [run.tick() for _ in range(9)]
    record = next(tick for tick in ticks if tick.needs is not None and len(tick.needs.actor) > 1)
    spoilt = dataclasses.replace(record.needs, own=np.zeros((1, len(record.needs.actor) + 1), np.int16))
    content = pack_tick(dataclasses.replace(record, needs=spoilt), None)
    with pytest.raises(DamagedRunError, match="own needs"):
        read_tick(pa.py_buffer(content), None, run.actor_ids)


def test_needs_that_the_world_does_not_declare_are_not_sealed(tmp_path):
    run = RandomRun(3, 5, own_needs=("warmth",))
    store = RunStore(tmp_path)
    log = store.create(dataclasses.replace(run.info, own_needs=()), "random", options=QUICK)
    for _ in range(9):
        log.publish(run.tick())
    with pytest.raises(DamagedRunError, match="does not declare"):
        log.close()
