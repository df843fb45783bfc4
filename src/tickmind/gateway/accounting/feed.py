"""The event feed: what happened at the lanes, newest first; repeated events are merged into one line."""

from dataclasses import dataclass, replace
from typing import Final

from tickmind.base import Clock, redact
from tickmind.gateway.queue.reporting.statistics import QueueEvent, QueueEventKind

MOST_EVENTS: Final = 100
JOIN_S: Final = 10.0  # a repeated event within this time is merged
_RECENT_LINES: Final = 8  # lines that are searched for the same event


@dataclass(frozen=True, slots=True)
class FeedLine:
    """One event. `for_s` is how long its effect lasts, 0 if it has none; `count` how often it occurred."""

    at_s: float  # wall clock, of the last occurrence
    kind: QueueEventKind
    provider: str
    model: str
    session: str
    for_s: float
    detail: str
    count: int = 1


class Feed:
    """Keeps the most recent events."""

    def __init__(self, clock: Clock, *, most: int = MOST_EVENTS) -> None:
        self._clock = clock
        self._most = most
        self._lines: list[FeedLine] = []  # the newest last

    def add(self, event: QueueEvent) -> None:
        """Add an event."""
        wait_s = max(0.0, event.until_s - self._clock.monotonic()) if event.until_s else 0.0
        line = FeedLine(
            self._clock.wall(), event.kind, event.provider, event.model, event.session, wait_s, redact(event.detail)
        )
        same = self._same(line)
        if same is not None:
            line = replace(line, count=self._lines.pop(same).count + 1)
        elif len(self._lines) >= self._most:
            del self._lines[0]
        self._lines.append(line)

    def lines(self) -> list[FeedLine]:
        """Return the most recent events, newest first."""
        return self._lines[::-1]

    def _same(self, line: FeedLine) -> int | None:
        for number in range(len(self._lines) - 1, max(-1, len(self._lines) - 1 - _RECENT_LINES), -1):
            old = self._lines[number]
            if (old.kind, old.provider, old.model, old.session) == (
                line.kind,
                line.provider,
                line.model,
                line.session,
            ) and abs(line.at_s - old.at_s) <= JOIN_S:
                return number
        return None
