"""What agents tell of themselves is bounded on its way into the record, and found again without reading all of it."""

from dataclasses import replace
from pathlib import Path

import pytest

from tickmind.base import LimitExceededError, ManualClock
from tickmind.record import LogOptions, RunStore, frame, live_log
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
    monkeypatch.setattr(live_log, "MAX_PENDING_CHARS", live_log.MAX_PENDING_CHARS.at(1000))
    with store.create(run.info, "r") as log:
        for _ in range(3):
            log.thought(thought_with(run, directives={"plan": ["x" * 600]}))
        log.publish(run.tick())
        _, directives = read(store)
    assert directives == [{"plan": ["x" * 600]}]
    assert len(warnings) == 1


def test_a_tick_that_reports_make_too_large_is_kept_without_them(store, run, warnings, monkeypatch):
    monkeypatch.setattr(frame, "MAX_FRAME_BYTES", frame.MAX_FRAME_BYTES.at(8000))
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
        with monkeypatch.context() as patch, pytest.raises(LimitExceededError):
            patch.setattr(frame, "MAX_FRAME_BYTES", frame.MAX_FRAME_BYTES.at(150))
            log.publish(first)
        log.publish(first)
        log.publish(second)
    assert [one.tick_id for one in read(store)[0]] == [1, 2]
