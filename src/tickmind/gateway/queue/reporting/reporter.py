"""The queue's reporter: all events go to watchers, and to the log what an operator must know."""

from collections.abc import Callable

from tickmind.base import get_logger, redact
from tickmind.gateway.queue.job import Job
from tickmind.gateway.queue.lane import Lane
from tickmind.gateway.queue.reporting.statistics import QueueEvent, QueueEventKind

AGAIN_S = 3600.0  # before the same trouble of a lane is logged again
MAX_LOGGED = 1024  # troubles that are remembered
_log = get_logger(__name__)
_LOGGED = frozenset({QueueEventKind.CIRCUIT_OPENED, QueueEventKind.CIRCUIT_CLOSED, QueueEventKind.ACCOUNT_REFUSED})


class QueueReporter:
    """Passes events to `on_event`, which must not raise, and counts retries and fallbacks."""

    __slots__ = ("_logged_s", "_monotonic", "_on_event", "fallbacks", "retries")

    def __init__(self, monotonic: Callable[[], float], on_event: Callable[[QueueEvent], None] | None) -> None:
        self._monotonic = monotonic
        self._on_event = on_event
        self._logged_s: dict[
            tuple[QueueEventKind, str, str, str], float
        ] = {}  # trouble of a lane -> when it was logged
        self.fallbacks = 0  # attempts after one at another target
        self.retries = 0  # attempts beyond the first of a job, at any target

    def report(self, kind: QueueEventKind, job: Job, lane: Lane, until_s: float = 0.0, detail: str = "") -> None:
        """Report an event; `until_s` is when its effect is over, 0 if it has none."""
        if kind in _LOGGED and self._is_news(kind, lane):
            source = lane.key.key.source
            hint = f"check the key in {source}" if source and kind is QueueEventKind.ACCOUNT_REFUSED else ""
            _log.warning(
                kind.value.replace("_", " "),
                provider=lane.key.provider.name,
                key=lane.key.key.id,
                model=lane.model or job.plan.model,
                for_s=round(max(0.0, until_s - self._monotonic()), 3) if until_s else 0.0,
                reason=redact(detail or lane.reason),
                **({"hint": hint} if hint else {}),
            )
        if self._on_event is not None:
            self._on_event(QueueEvent.of(kind, job, lane, until_s, detail))

    def _is_news(self, kind: QueueEventKind, lane: Lane) -> bool:
        """Return whether to log an event: trouble of a lane once an hour at most, until the lane answers again."""
        name, now_s = (lane.key.provider.name, lane.key.key.id, lane.model), self._monotonic()
        if kind is QueueEventKind.CIRCUIT_CLOSED:
            for trouble in (QueueEventKind.CIRCUIT_OPENED, QueueEventKind.ACCOUNT_REFUSED):
                self._logged_s.pop((trouble, *name), None)
            return True
        if now_s - self._logged_s.get((kind, *name), -AGAIN_S) < AGAIN_S:
            return False
        if len(self._logged_s) >= MAX_LOGGED:
            self._logged_s.clear()
        self._logged_s[kind, *name] = now_s
        return True

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
