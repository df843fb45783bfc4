"""What agents tell of themselves is bounded on its way into the record, and found again without reading all of it."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from tickmind.base import LimitExceededError, ManualClock
from tickmind.record import LogOptions, RunStore, live_log
from tickmind.record.limits import MAX_FRAME_BYTES, MAX_PENDING_CHARS
from tickmind.record.log import frame
from tickmind.record.parquet.file import TableFile
from tickmind.record.tables import sealing
from tickmind.record.testing import MemoryDisk, RandomRun, differences

OPTIONS = LogOptions(segment_ticks=2)


@pytest.fixture
def run():
    return RandomRun(1, 4)


@pytest.fixture
def store():
    return RunStore(Path("/runs"), MemoryDisk(), clock=ManualClock())


@pytest.fixture
def warnings(monkeypatch):
    """What the log warns of."""
    found: list[str] = []

    class Log:
        def warning(self, text, **_more):
            found.append(text)

    monkeypatch.setattr(live_log, "_log", Log())
    return found


def thought_with(run, **changes):
    report = run.thought()
    return replace(report, thought=replace(report.thought, **changes))


def read(store):
    with store.open("r") as reader:
        return list(reader.records()), [one.thought.directives for one in reader.thoughts()]


# Bounds


def test_directives_count_like_all_other_texts(store, run, warnings, monkeypatch):
    monkeypatch.setattr(live_log, "MAX_PENDING_CHARS", MAX_PENDING_CHARS.at(1000))
    with store.create(run.info, "r") as log:
        for _ in range(3):
            log.thought(thought_with(run, directives={"plan": ["x" * 600]}))
        log.publish(run.tick())
        _, directives = read(store)
    assert directives == [{"plan": ["x" * 600]}]
    assert len(warnings) == 1


def test_a_tick_that_reports_make_too_large_is_kept_without_them(store, run, warnings, monkeypatch):
    monkeypatch.setattr(frame, "MAX_FRAME_BYTES", MAX_FRAME_BYTES.at(8000))
    records = []
    with store.create(run.info, "r", options=OPTIONS) as log:
        for place in range(5):
            log.thought(thought_with(run, directives={"plan": "x" * (100 if place == 3 else 9000)}))
            records.append(run.tick())
            log.publish(records[-1])
        log.thought(thought_with(run, directives={"plan": "x" * 9000}))
    found, directives = read(store)
    assert [differences(one, other) for one, other in zip(found, records, strict=True)] == [[]] * 5
    assert directives == [{"plan": "x" * 100}]
    assert len(warnings) == 5
    assert all("too large" in text for text in warnings)


def test_a_tick_that_is_too_large_by_itself_is_refused_and_spoils_nothing(store, run, monkeypatch):
    first, second = run.tick(), run.tick()
    with store.create(run.info, "r", options=OPTIONS) as log:
        with monkeypatch.context() as patch:
            patch.setattr(frame, "MAX_FRAME_BYTES", MAX_FRAME_BYTES.at(150))
            with pytest.raises(LimitExceededError):
                log.publish(first)
        log.publish(first)
        log.publish(second)
    assert [one.tick_id for one in read(store)[0]] == [1, 2]


# Finding


TICKS = 40


@pytest.fixture(params=["log", "finished"])
def told(request, store, monkeypatch):
    """A run of several row groups and segments in which agents told much, some of it late; and what they thought."""
    for name in ("_FLUSH_TOLD", "_FLUSH_STATUSES", "_FLUSH_TICKS"):
        monkeypatch.setattr(sealing, name, 8)
    run, dice, thoughts = RandomRun(3, 4), random.Random(5), []
    log = store.create(run.info, "r", options=OPTIONS)
    for _ in range(TICKS):
        for _ in range(dice.choice((0, 1, 2))):
            report = run.thought()
            report = replace(report, tick_id=max(1, report.tick_id - dice.choice((0, 0, 1, 9))))
            thoughts.append(report)
            log.thought(report)
        log.status(run.status())
        log.publish(run.tick())
    thoughts.append(run.thought())
    log.thought(thoughts[-1])
    log.close(seal=request.param == "finished")
    with store.open("r") as reader:
        yield reader, thoughts


@pytest.fixture
def groups_read(monkeypatch):
    """The row groups that are read: table and number."""
    found: list[tuple[str, int]] = []
    group = TableFile.group

    def counted(file, number, columns, **given):
        found.append((file._spec.name, number))
        return group(file, number, columns, **given)

    monkeypatch.setattr(TableFile, "group", counted)
    return found


def test_the_newest_thoughts_of_an_actor_are_found(told):
    reader, thoughts = told
    for actor in {one.entity_id for one in thoughts}:
        for before in (-5, 1, 2, 11, 20, TICKS, TICKS + 1, TICKS + 2, 10**6):
            wanted = [one for one in thoughts if one.entity_id == actor and one.tick_id < before]
            wanted.sort(key=lambda one: one.tick_id)  # of one tick the one that came last is the newest
            for count in (0, 1, 3, 1000):
                newest = wanted[::-1][:count]
                assert reader.thoughts_of(actor, before, count) == newest
    assert reader.thoughts_of("nobody", TICKS, 5) == []


def test_thoughts_and_statuses_are_those_of_the_ticks(told):
    reader, thoughts = told
    assert list(reader.thoughts()) == thoughts
    assert len(list(reader.statuses())) == TICKS
    actor = thoughts[3].entity_id
    assert list(reader.thoughts(actors=[actor])) == [one for one in thoughts if one.entity_id == actor]
    assert [one.tick_id for one in reader.statuses(5, 9)] == [5, 6, 7, 8, 9]


@pytest.mark.parametrize("told", ["finished"], indirect=True)
def test_only_row_groups_with_the_ticks_asked_for_are_read(told, groups_read):
    reader, thoughts = told
    list(reader.statuses(5, 6))
    assert {name for name, _ in groups_read} == {"agent_statuses"}
    assert len(set(groups_read)) < 3
    groups_read.clear()
    list(reader.thoughts(5, 6))
    assert {name for name, _ in groups_read} == {"thoughts", "llm_calls"}
    assert len({number for _, number in groups_read}) < 4
    groups_read.clear()
    deltas = list(reader.object_deltas())
    groups = len(groups_read)
    assert groups > 3
    groups_read.clear()
    assert list(reader.object_deltas(9, 16)) == [one for one in deltas if 9 <= one[0] <= 16]
    assert len(groups_read) < groups
    groups_read.clear()
    assert reader.thoughts_of(thoughts[-1].entity_id, TICKS + 2, 1) == thoughts[-1:]
    assert len({number for _, number in groups_read}) == 1


def test_a_run_of_many_row_groups_is_read_as_it_was_published(store, monkeypatch):
    monkeypatch.setattr(sealing, "_FLUSH_TICKS", 8)
    run = RandomRun(3, 4)
    log = store.create(run.info, "r", options=OPTIONS)
    ticks = [run.tick() for _ in range(40)]
    for one in ticks:
        log.publish(one)
    log.close(seal=True)
    with store.open("r") as reader:
        assert [
            found for one, read in zip(ticks, reader.records(), strict=True) for found in differences(one, read)
        ] == []
