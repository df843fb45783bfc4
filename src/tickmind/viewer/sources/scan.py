"""Reads a whole run in the background for timeline and charts, and makes way for whoever waits for frames."""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from tickmind.base import Clock, SystemClock, TickmindError, get_logger
from tickmind.viewer.sources.digest import Digest
from tickmind.viewer.sources.minds import NeedsNow
from tickmind.viewer.sources.source import Span

if TYPE_CHECKING:
    from tickmind.record import RunReader

POLL_S = 0.5  # how often a growing run is looked at
AT_MOST_S = 1.0  # that it makes way for others
PIECE_S = 0.005  # after so much work it rests
_log = get_logger(__name__)
REST = 1.0  # for so long, as a share of how long it worked


class Scan:
    """Grows `digest` and `span` while `run` runs, in a thread of its own and with a reader of its own.

    It works in small pieces, rests after each as long as it took, and goes on only while `quiet` is set: what it reads
    would keep both processor and interpreter from others.
    """

    def __init__(
        self, open_run: "Callable[[], RunReader]", span: Span, quiet: threading.Event, *, clock: Clock | None = None
    ) -> None:
        self.digest = Digest(span.first_tick_id)
        self.span = span
        self._open_run = open_run
        self._quiet = quiet
        self._clock = clock or SystemClock()
        self._stopped = threading.Event()
        self._since_s = 0.0  # when the piece of work at hand began

    def stop(self) -> None:
        """Let `run` end soon; from any thread."""
        self._stopped.set()

    def run(self) -> None:
        """Read the whole run once, and then whatever is added to it; what can't be read is told in the log."""
        try:
            self._read()
        except TickmindError as error:
            _log.error("the timeline ends here", tick_id=self.span.last_tick_id, error=str(error))

    def _read(self) -> None:
        with self._open_run() as reader:
            place = reader.first_tick_id or 1
            needs = NeedsNow(len(reader.info.actors))
            while not self._stopped.is_set():
                self.span = span_of(reader)
                finished, begun = reader.meta.finished, place
                self._since_s = self._clock.monotonic()
                for counts in reader.counts(place, None, between=self._make_way):
                    if self._stopped.is_set():
                        return
                    self.digest.add_counts(counts)
                    self.digest.add_needs(counts.tick_id, needs.take(counts.needs))
                    place = counts.tick_id + 1
                if place > begun:
                    for thought in reader.thoughts(begun, place - 1):
                        if self._stopped.is_set():
                            return
                        self.digest.add_thoughts([thought])
                        self._make_way()
                if finished:
                    return
                self._stopped.wait(POLL_S)
                reader.refresh()

    def _make_way(self) -> None:
        worked_s = self._clock.monotonic() - self._since_s
        if worked_s > PIECE_S:
            self._stopped.wait(worked_s * REST)
        elif self._quiet.is_set():
            return
        if not self._stopped.is_set():
            self._quiet.wait(AT_MOST_S)
        self._since_s = self._clock.monotonic()


def span_of(reader: "RunReader") -> Span:
    """Which ticks a run has by now."""
    first, last = reader.first_tick_id, reader.last_tick_id
    return Span(
        first or 1,
        (first or 1) - 1 if last is None else last,
        growing=not reader.meta.finished,
        run_id=reader.run_id,
    )
