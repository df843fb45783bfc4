"""`QueryPace`: how long a client's answers take and how many queries may be under way, learnt from its answers.

`QueryPace` keeps mean and deviation of the time from question to answer, as TCP does. A question that is
abandoned counts as a lower bound: the answer would have taken at least that long. The window holds as many questions
as the client works on and about one more, so that a model never idles and a prompt is never needlessly old.
"""

from dataclasses import dataclass

FIRST_PATIENCE_S = 300.0  # before the first answer: a local model may still be loading
LEAST_PATIENCE_S = 30.0
MOST_PATIENCE_S = 600.0  # also a gateway's longest timeout
GRACE = 12  # how many times slower a client may become before its questions time out
FIRST_WINDOW = 2
LARGEST_WINDOW = 1024
FEW_WAITING, MANY_WAITING = 0.5, 1.25  # questions waiting at the client: fewer widen the window, more narrow it
_MEAN_GAIN, _DEVIATION_GAIN = 0.125, 0.25
_ALONE_GAIN = 0.25


@dataclass(frozen=True, slots=True)
class PaceStatistics:
    """The measured pace of one client."""

    answers: int
    cut_off: int  # questions that timed out
    mean_s: float | None  # from question to answer; None before the first
    deviation_s: float
    patience_s: float
    window: int  # questions that may be under way at once


class QueryPace:
    """The pace of one client."""

    def __init__(self) -> None:
        self.answers = 0
        self.cut_off = 0
        self.mean_s: float | None = None
        self.deviation_s = 0.0
        self._alone_s: float | None = None  # time of an answer to the only question under way
        self._window = float(FIRST_WINDOW)

    @property
    def patience_s(self) -> float:
        """The timeout of a question."""
        if self.mean_s is None:
            return FIRST_PATIENCE_S
        return min(max(LEAST_PATIENCE_S, GRACE * (self.mean_s + self.deviation_s)), MOST_PATIENCE_S)

    @property
    def window(self) -> int:
        """The number of questions that may be under way."""
        return int(self._window)

    @property
    def spacing_s(self) -> float | None:
        """The time between two answers while the window is full; None before the first."""
        return None if self.mean_s is None else self.mean_s / self.window

    def note_answer(self, latency_s: float, in_flight: int, queued_s: float | None = None) -> None:
        """Add an answer to a question that was one of `in_flight` when it went out.

        `queued_s` is its wait at the client, if the client reports it; else that is estimated from the time of an
        answer to a question that is the only one.
        """
        self.answers += 1
        self._learn(latency_s)
        if self._alone_s is None:
            self._alone_s = latency_s if in_flight <= 1 else None
        elif in_flight <= 1 or latency_s < self._alone_s:
            self._alone_s += _ALONE_GAIN * (latency_s - self._alone_s)
        if queued_s is None:
            queued_s = 0.0 if in_flight <= 1 or self._alone_s is None else latency_s - self._alone_s
        waiting = in_flight * queued_s / latency_s if latency_s > 0 else 0.0
        if waiting > MANY_WAITING:
            self._window = max(1.0, self._window - (waiting - 1) / in_flight)
        elif waiting < FEW_WAITING and in_flight >= self.window:
            self._window = min(self._window + 1, LARGEST_WINDOW)

    def note_cut_off(self, after_s: float) -> None:
        """Add a question that timed out: its answer takes at least so long."""
        self.cut_off += 1
        if self.mean_s is None or after_s > self.mean_s:
            self._learn(after_s)
        self.narrow()

    def narrow(self) -> None:
        """Halve the window, because the client could not keep up."""
        self._window = max(1.0, self._window / 2)

    def statistics(self) -> PaceStatistics:
        """Return the measurements so far."""
        return PaceStatistics(self.answers, self.cut_off, self.mean_s, self.deviation_s, self.patience_s, self.window)

    def _learn(self, latency_s: float) -> None:
        if self.mean_s is None:
            self.mean_s, self.deviation_s = latency_s, latency_s / 2
            return
        self.deviation_s += _DEVIATION_GAIN * (abs(latency_s - self.mean_s) - self.deviation_s)
        self.mean_s += _MEAN_GAIN * (latency_s - self.mean_s)


class Paces:
    """The pace of each client, by name."""

    def __init__(self) -> None:
        self._known: dict[str, QueryPace] = {}

    def of(self, client: str) -> QueryPace:
        """Return a client's pace."""
        pace = self._known.get(client)
        if pace is None:
            pace = self._known[client] = QueryPace()
        return pace

    def spacing_s(self) -> float | None:
        """Return the time between two answers of all clients together; None before the first."""
        spacings = [pace.spacing_s for pace in self._known.values() if pace.spacing_s]
        return 1 / sum(1 / spacing_s for spacing_s in spacings) if spacings else None

    def statistics(self) -> dict[str, PaceStatistics]:
        """Return the measurements of each client."""
        return {name: pace.statistics() for name, pace in self._known.items()}
