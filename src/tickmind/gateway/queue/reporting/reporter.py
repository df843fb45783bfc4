"""The queue's reporter: all events go to watchers, and to the log what an operator must know."""

from collections.abc import Callable

from tickmind.base import get_logger, redact
from tickmind.gateway.queue.job import Job
from tickmind.gateway.queue.lane import Lane
from tickmind.gateway.queue.reporting.statistics import QueueEvent, QueueEventKind

_log = get_logger(__name__)
_LOGGED = frozenset({QueueEventKind.CIRCUIT_OPENED, QueueEventKind.CIRCUIT_CLOSED, QueueEventKind.ACCOUNT_REFUSED})


class QueueReporter:
    """Passes events to `on_event`, which must not raise, and counts retries and fallbacks."""

    __slots__ = ("_monotonic", "_on_event", "fallbacks", "retries")

    def __init__(self, monotonic: Callable[[], float], on_event: Callable[[QueueEvent], None] | None) -> None:
        self._monotonic = monotonic
        self._on_event = on_event
        self.fallbacks = 0  # attempts after one at another target
        self.retries = 0  # attempts beyond the first of a job, at any target

    def report(self, kind: QueueEventKind, job: Job, lane: Lane, until_s: float = 0.0, detail: str = "") -> None:
        """Report an event; `until_s` is when its effect is over, 0 if it has none."""
        if kind in _LOGGED:
            _log.warning(
                kind.value.replace("_", " "),
                provider=lane.key.provider.name,
                key=lane.key.key.id,
                model=lane.model or job.plan.model,
                for_s=round(max(0.0, until_s - self._monotonic()), 3) if until_s else 0.0,
                reason=redact(detail or lane.reason),
            )
        if self._on_event is not None:
            self._on_event(QueueEvent.of(kind, job, lane, until_s, detail))

    def closed(self, job: Job, lane: Lane) -> None:
        """Report that the provider answers again."""
        self.report(QueueEventKind.CIRCUIT_CLOSED, job, lane, detail="it answers again")

    def sent_again(self, job: Job, lane: Lane) -> None:
        """Count an attempt that is not the first of its job, and report it if its target differs from the last one."""
        self.retries += 1
        last, target = job.attempts[-1], job.target
        assert target is not None, "a job that is sent has a target"
        if (last.provider, last.key_id, last.model) != (target.provider.name, target.key.id, target.model):
            self.fallbacks += 1
            how = last.result.value.replace("_", " ")
            self.report(QueueEventKind.FELL_BACK, job, lane, detail=f"{last.provider}/{last.model}: {how}")
