"""The scan: reads a whole run in the background for timeline and charts, yielding to requests for frames."""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from tickmind.base import Clock, SystemClock, TickmindError, get_logger
from tickmind.viewer.sources.digest import Digest
from tickmind.viewer.sources.minds import NeedsNow
from tickmind.viewer.sources.source import Span

if TYPE_CHECKING:
    from tickmind.record import RunReader

POLL_S = 0.5  # how often a growing run is checked
AT_MOST_S = 1.0  # longest time that it makes way
PIECE_S = 0.005  # it pauses after so much work
_log = get_logger(__name__)
REST = 1.0  # length of a pause, as a share of the work before


class Scan:
    """Grows `digest` and `span` while `run` runs, in its own thread and with its own reader.

    It works in small pieces, pauses after each as long as it took, and continues only while `quiet` is set: its work
    would keep both processor and interpreter from requests.
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
        self._since_s = 0.0  # when the current piece of work began

    def stop(self) -> None:
        """Let `run` end soon; thread-safe."""
        self._stopped.set()

    def run(self) -> None:
        """Read the whole run once, and then whatever is added; log what can't be read."""
        try:
            self._read()
        except TickmindError as error:
            _log.error(
                "can't read on; the timeline ends here",
                tick_id=self.span.last_tick_id,
                error=str(error),
            )

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
                    self.digest.add_needs(counts.tick_id, needs.take(counts.needs, counts.away))
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
    """Return which ticks a run has by now."""
    first, last = reader.first_tick_id, reader.last_tick_id
    return Span(
        first or 1,
        (first or 1) - 1 if last is None else last,
        growing=not reader.meta.finished,
        run_id=reader.run_id,
    )
