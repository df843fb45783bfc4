"""The lifecycle of one agent's process: pure, with the time as an argument.

assigned -> starting -> running -> ... ended: -> backing off -> starting again
-> fallback    another spec takes over
-> failed      there is no fallback
stopping and stopped are for processes that are no longer needed.
"""

from collections import deque
from enum import StrEnum

from tickmind.runner.errors import StateChangeError
from tickmind.runner.spec import RESTART_WINDOW_S, AgentSpec

LEAST_MISSING_S = 5.0  # fast ticks are easily missed on a busy machine, which is no failure yet


class LifeState(StrEnum):
    """The states of a process."""

    ASSIGNED = "assigned"  # not started yet
    STARTING = "starting"  # started, without a sign of life
    RUNNING = "running"
    BACKING_OFF = "backing off"  # it ended, and is restarted after a delay
    FALLBACK = "fallback"  # it ended too often; its fallback has taken over
    FAILED = "failed"  # it ended too often, and there is no fallback
    STOPPING = "stopping"  # asked to end
    STOPPED = "stopped"


_NEXT: dict[LifeState, frozenset[LifeState]] = {
    LifeState.ASSIGNED: frozenset({LifeState.STARTING, LifeState.STOPPED}),
    LifeState.STARTING: frozenset(
        {LifeState.RUNNING, LifeState.BACKING_OFF, LifeState.FALLBACK, LifeState.FAILED, LifeState.STOPPING}
    ),
    LifeState.RUNNING: frozenset(
        {LifeState.BACKING_OFF, LifeState.FALLBACK, LifeState.FAILED, LifeState.STOPPING}
    ),
    LifeState.BACKING_OFF: frozenset({LifeState.STARTING, LifeState.STOPPED}),
    LifeState.FALLBACK: frozenset({LifeState.STOPPED}),
    LifeState.FAILED: frozenset({LifeState.STOPPED}),
    LifeState.STOPPING: frozenset({LifeState.STOPPED}),
    LifeState.STOPPED: frozenset(),
}  # fmt: skip
ALIVE = frozenset({LifeState.STARTING, LifeState.RUNNING, LifeState.STOPPING})  # there is a process


class ProcessLifecycle:
    """Decides when a process is started, when it counts as dead, and what follows its end.

    Report events to it, with monotonic seconds; `due_s` is when to check again, `may_start` and `verdict` what to do.
    """

    def __init__(self, spec: AgentSpec) -> None:
        self.spec = spec
        self.state = LifeState.ASSIGNED
        self.restarts = 0  # in total
        self.trouble = ""  # why it ended last
        self._recent: deque[float] = deque()  # times of restarts within the window
        self._in_row = 0  # restarts since it last ran long enough
        self._start_at_s: float | None = None  # the end of the backoff
        self._started_s = 0.0
        self._seen_s = 0.0  # the last sign of life
        self._missed = 0  # intents in a row
        self._missing_s: float | None = None  # since when

    def __repr__(self) -> str:
        return f"ProcessLifecycle({self.spec.name!r}, {self.state.value!r}, restarts={self.restarts})"

    def may_start(self, now_s: float) -> bool:
        """Whether it is ready to be started."""
        if self.state is LifeState.BACKING_OFF:
            assert self._start_at_s is not None
            return now_s >= self._start_at_s
        return self.state is LifeState.ASSIGNED

    def started(self, now_s: float) -> None:
        """Record the start of its process."""
        if self.state is LifeState.BACKING_OFF:
            self.restarts += 1
            self._in_row += 1
            self._recent.append(now_s)
        self._go(LifeState.STARTING)
        self._start_at_s = None
        self._started_s = self._seen_s = now_s
        self.missed(0, now_s)

    def seen(self, now_s: float) -> None:
        """Record a sign of life: a heartbeat or an intent."""
        if self.state is LifeState.STARTING:
            self._go(LifeState.RUNNING)
        self._seen_s = now_s

    def acted(self, opened_s: float, now_s: float) -> None:
        """Record an intent that the world accepted for one of its characters in a tick that opened at `opened_s`.

        That is a sign of life, unless the tick opened before the start: then it may be of the process before.
        """
        if opened_s >= self._started_s:
            self.seen(now_s)

    def excuse(self, now_s: float) -> None:
        """Reset the timeouts: the world does not tick, so no sign of life can be expected."""
        self._seen_s = now_s
        self.missed(0, now_s)

    def missed(self, intents: int, now_s: float) -> None:
        """Record for how many ticks in a row a controlled character did nothing."""
        if intents == 0:
            self._missing_s = None
        elif self._missing_s is None:
            self._missing_s = now_s
        self._missed = intents

    def verdict(self, now_s: float, tick_s: float = 0.0) -> str:
        """Return why its process must be killed, empty if it is fine; slow ticks make slow heartbeats."""
        silent_s = now_s - self._seen_s
        if self.state is LifeState.STARTING:
            if silent_s * 1000 >= self.spec.start_timeout_ms:
                return f"it gave no sign of life within {self.spec.start_timeout_ms:,} ms of its start"
        elif self.state is LifeState.RUNNING:
            if self.spec.heartbeat_timeout_ms and silent_s >= self._silence_limit_s(tick_s):
                return f"it sent no heartbeat and no intent for {silent_s:,.1f} s"
            missing_s = 0.0 if self._missing_s is None else now_s - self._missing_s
            if 0 < self.spec.missed_intents <= self._missed and missing_s >= LEAST_MISSING_S:
                return f"it missed {self._missed:,} intents in a row"
        return ""

    def _silence_limit_s(self, tick_s: float) -> float:
        return max(self.spec.heartbeat_timeout_ms / 1000, 3 * tick_s)

    def due_s(self, tick_s: float = 0.0) -> float | None:
        """Return when time alone changes something."""
        match self.state:
            case LifeState.BACKING_OFF:
                return self._start_at_s
            case LifeState.STARTING:
                return self._seen_s + self.spec.start_timeout_ms / 1000
            case LifeState.RUNNING if self.spec.heartbeat_timeout_ms:
                return self._seen_s + self._silence_limit_s(tick_s)
            case _:
                return None

    def ended(self, now_s: float, trouble: str) -> LifeState:
        """Record the end of its process; return the new state."""
        if self.state is LifeState.STOPPING:
            return self._go(LifeState.STOPPED)
        self.trouble = trouble
        restart = self.spec.restart
        while self._recent and now_s - self._recent[0] >= RESTART_WINDOW_S:
            self._recent.popleft()
        if len(self._recent) >= restart.max_restarts_per_10m:
            return self._go(LifeState.FALLBACK if self.spec.fallback else LifeState.FAILED)
        if self.state is LifeState.RUNNING and (now_s - self._started_s) * 1000 >= max(restart.backoff_ms):
            self._in_row = 0
        wait_ms = restart.backoff_ms[min(self._in_row, len(restart.backoff_ms) - 1)]
        self._start_at_s = now_s + wait_ms / 1000
        return self._go(LifeState.BACKING_OFF)

    def stop(self) -> bool:
        """Record that it is no longer needed; return whether there is a process to end first."""
        if self.state is LifeState.STOPPING:
            return True
        there = self.state in ALIVE
        if self.state is not LifeState.STOPPED:
            self._go(LifeState.STOPPING if there else LifeState.STOPPED)
        return there

    def _go(self, state: LifeState) -> LifeState:
        if state not in _NEXT[self.state]:
            raise StateChangeError(f"an agent that is {self.state} can't become {state}")
        self.state = state
        return state
