"""`meta.json` says where a run comes from, when it ran and at which pace."""

import json
from pathlib import Path

import pytest

from tickmind.base import ManualClock
from tickmind.record import DamagedRunError, LogOptions, RunChange, RunPace, RunParent, RunStore, SyncPolicy
from tickmind.record.testing import MemoryDisk, RandomRun

ROOT = Path("/runs")
OPTIONS = LogOptions(sync=SyncPolicy.NEVER, keep_log=True)
BEGUN, ENDED, LATER = (f"1970-01-01T00:0{minute}:00.000+00:00" for minute in (1, 2, 5))


class Recorded:
    """A store on a disk in memory, and the run that goes into it."""

    def __init__(self):
        self.disk, self.clock, self.run = MemoryDisk(1), ManualClock(), RandomRun(1)
        self.store = RunStore(ROOT, self.disk, clock=self.clock)
        self.clock.jump_wall(-self.clock.wall())

    def create(self, **given):
        return self.store.create(self.run.info, "one", options=OPTIONS, **given)

    def resume(self):
        return self.store.resume("one", options=OPTIONS)

    def wait_until(self, wall_s):
        self.clock.jump_wall(wall_s - self.clock.wall())

    def meta(self):
        return json.loads(self.disk.read_bytes(ROOT / "one" / "meta.json"))


@pytest.fixture
def recorded():
    return Recorded()


def test_a_run_has_no_parent_unless_it_is_given_one(recorded):
    recorded.create().abandon()
    assert recorded.meta()["parent"] is None
    with recorded.store.open("one") as reader:
        assert reader.meta.parent is None


def test_the_parent_of_a_run_is_kept_until_it_is_finished_and_resumed(recorded):
    parent = RunParent("spring", 120, (RunChange(120, "item", "ada", "bread", "3"),))
    kept = {
        "run_id": "spring",
        "tick_id": 120,
        "changes": [{"tick_id": 120, "kind": "item", "who": "ada", "what": "bread", "value": "3"}],
    }
    with recorded.create(parent=parent) as log:
        log.publish(recorded.run.tick())
    assert recorded.meta()["parent"] == kept
    log = recorded.resume()
    log.publish(recorded.run.tick())
    log.abandon()
    assert recorded.meta()["parent"] == kept
    with recorded.store.open("one", from_log=True) as reader:
        assert reader.meta.parent == parent


def test_wall_times_are_those_of_the_first_and_after_the_last_tick(recorded):
    log = recorded.create()
    assert recorded.meta()["begun_at"] == ""
    recorded.wait_until(60)
    log.publish(recorded.run.tick())
    assert (recorded.meta()["begun_at"], recorded.meta()["ended_at"]) == (BEGUN, "")
    recorded.wait_until(120)
    log.close()
    assert (recorded.meta()["begun_at"], recorded.meta()["ended_at"]) == (BEGUN, ENDED)


def test_a_resumed_run_keeps_its_begin_and_ends_anew(recorded):
    recorded.wait_until(60)
    with recorded.create() as log:
        log.publish(recorded.run.tick())
    log = recorded.resume()
    recorded.wait_until(300)
    log.publish(recorded.run.tick())
    assert (recorded.meta()["begun_at"], recorded.meta()["ended_at"]) == (BEGUN, "")
    log.close()
    assert (recorded.meta()["begun_at"], recorded.meta()["ended_at"]) == (BEGUN, LATER)


def test_when_a_crash_ended_a_run_is_not_known(recorded):
    recorded.wait_until(60)
    log = recorded.create()
    log.publish(recorded.run.tick())
    log.abandon()
    recorded.wait_until(300)
    recorded.store.recover("one")
    assert (recorded.meta()["begun_at"], recorded.meta()["ended_at"]) == (BEGUN, "")


def test_the_pace_is_that_of_the_last_start_with_a_tick(recorded):
    log = recorded.create()
    log.pace = RunPace(lockstep=False, tps=10.0)
    log.publish(recorded.run.tick())
    log.close()
    assert recorded.meta()["pace"] == {"lockstep": False, "tps": 10.0}
    log = recorded.resume()
    log.pace = RunPace(lockstep=True, tps=None)
    log.abandon()
    assert recorded.meta()["pace"] == {"lockstep": False, "tps": 10.0}
    log = recorded.resume()
    log.pace = RunPace(lockstep=True, tps=None)
    log.publish(recorded.run.tick())
    log.close()
    with recorded.store.open("one") as reader:
        assert reader.meta.pace == RunPace(lockstep=True, tps=None)


@pytest.mark.parametrize(
    "change",
    [
        {"parent": "spring"},
        {"parent": {"run_id": "../spring", "tick_id": 1}},
        {"parent": {"run_id": "spring"}},
        {"parent": {"run_id": 3, "tick_id": 1}},
        {"parent": {"run_id": "spring", "tick_id": "1"}},
        {"parent": {"run_id": "spring", "tick_id": 1, "changes": {}}},
        {"parent": {"run_id": "spring", "tick_id": 1, "changes": [{"tick_id": 1, "kind": "say"}]}},
        {"parent": {"run_id": "spring", "tick_id": 1, "changes": ["say"]}},
        {"pace": 10},
        {"pace": {"lockstep": 1, "tps": 2.0}},
        {"pace": {"lockstep": False, "tps": "fast"}},
        {"begun_at": None},
    ],
)
def test_a_meta_with_another_form_of_these_is_damage(recorded, change):
    recorded.create().abandon()
    document = {**recorded.meta(), **change}
    file = recorded.disk.create(ROOT / "one" / "meta.json")
    file.write(json.dumps(document).encode())
    with pytest.raises(DamagedRunError):
        recorded.store.open("one")


def test_a_meta_of_an_earlier_version_lacks_these(recorded):
    recorded.create().abandon()
    document = {
        key: value for key, value in recorded.meta().items() if key not in ("parent", "begun_at", "ended_at", "pace")
    }
    file = recorded.disk.create(ROOT / "one" / "meta.json")
    file.write(json.dumps({**document, "log_schema_version": "1.0.0"}).encode())
    with recorded.store.open("one") as reader:
        meta = reader.meta
    assert (meta.parent, meta.begun_at, meta.ended_at, meta.pace) == (None, "", "", None)
