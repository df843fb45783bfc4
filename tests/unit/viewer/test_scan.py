"""Reading a whole run in the background."""

import threading

import numpy as np

from tickmind.record import DamagedRunError, LogOptions, RunStore, SyncPolicy
from tickmind.record.testing import RandomRun
from tickmind.viewer.sources.digest import Digest
from tickmind.viewer.sources.minds import NeedsNow
from tickmind.viewer.sources.scan import Scan
from tickmind.viewer.sources.source import Span

TICKS = 30


def recorded(folder):
    store, run = RunStore(folder), RandomRun(5, 40, wild=0.3)
    with store.create(run.info, "r", options=LogOptions(sync=SyncPolicy.NEVER)) as log:
        for _ in range(TICKS):
            log.publish(run.tick())
    return lambda: store.open("r")


def test_a_scan_finds_the_numbers_that_whole_ticks_give(tmp_path):
    open_run = recorded(tmp_path)
    quiet = threading.Event()
    quiet.set()
    scan = Scan(open_run, Span(1, 0, growing=True), quiet)
    scan.run()
    wanted, needs = Digest(1), NeedsNow(40)
    with open_run() as reader:
        for record in reader.records():
            wanted.add_tick(record.tick_id, record.actor_state, record.results, len(record.utterances))
            away = np.flatnonzero(~record.actor_state.present).astype(np.int32)
            wanted.add_needs(record.tick_id, needs.take(record.needs, away))
        wanted.add_thoughts(reader.thoughts())
    assert scan.digest.shown() == wanted.shown()
    assert scan.digest.shown()["ticks"] == TICKS
    assert scan.span == Span(1, TICKS, growing=False, run_id="r")


def test_a_scan_makes_way_until_it_is_quiet_and_ends_when_it_is_stopped(tmp_path):
    class Asked(threading.Event):
        """Tells that somebody waits for it."""

        def __init__(self):
            super().__init__()
            self.asked = threading.Event()

        def wait(self, timeout=None):
            self.asked.set()
            return super().wait(30)

    quiet = Asked()
    scan = Scan(recorded(tmp_path), Span(1, 0, growing=True), quiet)
    thread = threading.Thread(target=scan.run)
    thread.start()
    assert quiet.asked.wait(30)
    assert len(scan.digest) <= 1
    scan.stop()
    quiet.set()
    thread.join(30)
    assert not thread.is_alive()
    assert len(scan.digest) <= 1


def test_a_run_that_can_not_be_read_on_is_told_in_the_log(caplog):
    def open_run():
        raise DamagedRunError("segment 3 is damaged")

    Scan(open_run, Span(1, 0, growing=True), threading.Event()).run()
    assert "the timeline ends here" in caplog.text
    assert "segment 3 is damaged" in caplog.text
