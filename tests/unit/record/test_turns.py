"""The turns of minds and late thoughts are kept with their reports, live and finished."""

import pyarrow.parquet as pq
import pytest

from tickmind.base import Limit
from tickmind.protocol import AgentState, AgentStatus, Thought, ThoughtReport
from tickmind.record import LogOptions, RunStore, SyncPolicy
from tickmind.record.testing import RandomRun

STATUSES = [
    AgentStatus("entity:0", 1, AgentState.RUNNING, turns="b1a1"),
    AgentStatus("entity:1", 1, AgentState.RUNNING, "waits"),
    AgentStatus("entity:2", 1, AgentState.DEGRADED, turns="b1l1", program="poet.py 12ab, tickmind 1"),
    AgentStatus("entity:0", 2, AgentState.RUNNING, turns="a1", dropped_reports=7),
]


@pytest.mark.parametrize("seal", [False, True], ids=["live", "finished"])
def test_turns_are_read_with_the_status_that_reported_them(tmp_path, seal):
    run = RandomRun(1, 4)
    log = RunStore(tmp_path).create(run.info, "run", options=LogOptions(sync=SyncPolicy.NEVER))
    for tick_id in (1, 2):
        for status in STATUSES:
            if status.tick_id == tick_id:
                log.status(status)
        log.publish(run.tick())
    log.close(seal=seal)
    with RunStore(tmp_path).open("run") as reader:
        assert list(reader.statuses()) == STATUSES


@pytest.mark.parametrize("seal", [False, True], ids=["live", "finished"])
def test_a_late_thought_is_read_as_late(tmp_path, seal):
    run = RandomRun(1, 4)
    log = RunStore(tmp_path).create(run.info, "run", options=LogOptions(sync=SyncPolicy.NEVER))
    for late in (False, True, False):
        log.thought(ThoughtReport("entity:1", 1, Thought(1, 1, 2, "You live here.", "Hm?", late=late)))
    log.publish(run.tick())
    log.close(seal=seal)
    with RunStore(tmp_path).open("run") as reader:
        assert [report.thought.late for report in reader.thoughts()] == [False, True, False]
        assert [call.late for call in reader.llm_calls()] == [False, True, False]


@pytest.mark.parametrize("crashed", [False, True])
def test_reports_that_could_not_be_kept_are_counted_in_their_tick(tmp_path, monkeypatch, crashed):
    monkeypatch.setattr("tickmind.record.live_log.MAX_PENDING_REPORTS", Limit("number of reports", 2))
    run = RandomRun(1, 4)
    store = RunStore(tmp_path)
    log = store.create(run.info, "run", options=LogOptions(sync=SyncPolicy.NEVER))
    for reports in (5, 0, 3):
        for _ in range(reports):
            log.status(AgentStatus("entity:1", 1, AgentState.RUNNING))
        log.publish(run.tick())
    log.close(seal=not crashed)
    if crashed:
        store.recover("run")
    assert pq.read_table(tmp_path / "run" / "ticks.parquet").column("left_out_reports").to_pylist() == [3, 0, 1]
    with store.open("run") as reader:
        assert len(list(reader.statuses())) == 4
