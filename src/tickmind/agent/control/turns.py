"""`TurnPlayer`: runs acts beside the event loop, each tick until its deadline; late acts don't count and block no one.

One thread plays the turns. If an entity's perceiving or acting does not return until the next turn, it keeps
the thread, another thread takes over for the other entities, and the stuck one is skipped until it is back.
If what follows the acts, describing the situation for models, takes a whole further turn, another thread takes
over in the same way: all act, and none thinks until it is back.
"""

import asyncio
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tickmind.agent.errors import AgentError
from tickmind.agent.guarded_host import GuardedHost
from tickmind.agent.minds import MindHost
from tickmind.base import Clock, Limit, SystemClock, get_logger
from tickmind.protocol import Intent, Observation
from tickmind.protocol.reports import TurnCode

MAX_STUCK = Limit("number of acts that never returned", 64)
LONGEST_QUIET_S = 1.0  # upper bound of the quiet period
_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Played:
    """The outcome of a turn at its deadline."""

    intents: dict[str, Intent] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)  # entity whose act raised or returned no intent -> why
    late: frozenset[str] = frozenset()  # entities whose act was not over, or not begun
    acting: str = ""  # the one of them whose act was under way
    missed: frozenset[str] = frozenset()  # those of them that did not even perceive

    def turn(self, entity_id: str) -> TurnCode:
        """Return what an entity did."""
        if entity_id not in self.late:
            return TurnCode.ACTED
        if entity_id == self.acting:
            return TurnCode.LATE
        return TurnCode.MISSED if entity_id in self.missed else TurnCode.PERCEIVED


class _Turn:
    """One tick's work for a thread."""

    def __init__(
        self,
        tick_id: int,
        observations: Sequence[Observation],
        until_s: float,
        loop: asyncio.AbstractEventLoop,
        *,
        lockstep: bool,
    ) -> None:
        self.tick_id = tick_id
        self.lockstep = lockstep  # the world waits, also for what follows the acts
        self.until_s = until_s  # end of the quiet period
        self.observations = observations
        self.intents: dict[str, Intent] = {}
        self.failed: dict[str, str] = {}  # entity id -> why
        self.begun = False
        self.acting = ""  # entity that perceives or acts now
        self.acts = False  # all have perceived
        self.acting_before = ""  # `acting` at the last check
        self.closed = False  # no further act is started
        self.ended = False
        self.given_up = False  # its thread was abandoned
        self.fatal: AgentError | None = None  # why the process can't go on
        self._loop = loop
        self.over = asyncio.Event()

    def wake(self) -> None:
        """Wake up the loop, if it still runs."""
        try:
            self._loop.call_soon_threadsafe(self.over.set)
        except RuntimeError:
            _log.debug("an act came back after the end")


class TurnPlayer:
    """Play turns of a host. One event loop awaits `play`, one turn at a time.

    `on_quiet` is called once a turn when all acts are over, from the thread of the acts.
    """

    def __init__(
        self,
        host: MindHost,
        *,
        max_stuck: Limit = MAX_STUCK,
        clock: Clock | None = None,
        on_quiet: Callable[[], None] = lambda: None,
    ) -> None:
        self._host = GuardedHost(host)
        self._on_quiet = on_quiet
        self._clock = clock or SystemClock()
        self._max_stuck = max_stuck
        self._lock = threading.Lock()  # guards what threads and the loop both change
        self._work: queue.SimpleQueue[_Turn | None] | None = None
        self._last: _Turn | None = None
        self._stuck: set[str] = set()  # entities whose act did not return
        self._behind: set[str] = set()  # entities not started last time; they go first now
        self._returned = 0  # acts so far
        self._lost_in_thought = False  # an abandoned thread still reflects

    @property
    def stuck(self) -> int:
        """How many acts have not returned yet."""
        return len(self._stuck)

    @property
    def returned(self) -> int:
        """How many acts have returned so far, in time or not, with an intent or without."""
        return self._returned

    @property
    def thinking(self) -> bool:
        """Whether reflecting works; False while an abandoned thread still does it."""
        return not self._lost_in_thought

    @property
    def idle(self) -> bool:
        """Whether no entity acts now."""
        return self._last is None or self._last.ended

    async def play(
        self, tick_id: int, observations: Sequence[Observation], timeout_s: float, *, lockstep: bool = False
    ) -> Played:
        """Let all entities act, until the time is over; in lockstep return when they have reflected, too.

        Raises the `AgentError` of a host that can't begin a tick and must not be asked again.
        """
        self._leave_stuck_thread()
        ready = [seen for seen in observations if seen.me.entity_id not in self._stuck]
        ready.sort(key=lambda seen: seen.me.entity_id not in self._behind)
        if not ready or (self._last is not None and not self._last.ended and not self._last.given_up):
            everybody = frozenset(seen.me.entity_id for seen in observations)
            return Played(late=everybody, missed=everybody)
        until_s = self._clock.monotonic() + min(timeout_s, LONGEST_QUIET_S)
        turn = self._last = _Turn(tick_id, ready, until_s, asyncio.get_running_loop(), lockstep=lockstep)
        self._thread().put(turn)
        try:
            async with asyncio.timeout(max(0.0, timeout_s)):
                await turn.over.wait()
        except TimeoutError:
            pass  # the intents so far count
        if turn.fatal is not None:
            raise turn.fatal
        with self._lock:
            turn.closed = True
            intents, failed = dict(turn.intents), dict(turn.failed)
            acting = turn.acting_before = turn.acting
            acts = turn.acts
        late = frozenset(seen.me.entity_id for seen in observations) - intents.keys() - failed.keys()
        self._behind = set(late) - {acting}
        missed = late - {seen.me.entity_id for seen in ready}
        return Played(intents, failed, late, acting if acts else "", missed)

    def close(self) -> None:
        """Let the thread end as soon as its act is over, without waiting for it."""
        with self._lock:
            if self._last is not None:
                self._last.closed = True
        if self._work is not None:
            self._work.put(None)
            self._work = None

    def _leave_stuck_thread(self) -> None:
        """Start another thread for the rest if something has taken the whole last turn and longer."""
        with self._lock:
            turn = self._last
            if turn is None or turn.ended or turn.given_up:
                return
            if not turn.begun:  # the thread still reflects on the turn before
                turn.given_up = self._lost_in_thought = True
                turn.ended = True
            elif turn.acting != turn.acting_before:  # slow, but making progress
                turn.acting_before = turn.acting
                return
            elif not turn.acting or not self._max_stuck.allows(len(self._stuck) + 1):
                return
            else:
                turn.given_up = True
                self._stuck.add(turn.acting)
            self._work = None
        if turn.acting:
            _log.warning("a character's act does not return; its entity waits until it does", entity_id=turn.acting)
        else:
            _log.warning("describing the situation for a model does not return; no character thinks until it does")

    def _thread(self) -> "queue.SimpleQueue[_Turn | None]":
        if self._work is None:
            self._work = queue.SimpleQueue()
            threading.Thread(target=self._serve, args=(self._work,), name="tickmind-act", daemon=True).start()
        return self._work

    def _serve(self, work: "queue.SimpleQueue[_Turn | None]") -> None:
        turn = work.get()
        while turn is not None and self._begin(turn):
            self._play(turn)
            if turn.lockstep and turn.fatal is None:
                self._host.reflect(turn.tick_id)
            with self._lock:
                turn.ended = True
                if turn.given_up:
                    self._stuck.discard(turn.acting)
                    return
            turn.wake()
            early = self._rest(work, turn.until_s)
            if not (turn.lockstep or self._lost_in_thought):
                self._host.reflect(turn.tick_id)
            if not early:
                self._on_quiet()
            turn = early[0] if early else work.get()

    def _begin(self, turn: _Turn) -> bool:
        """Return whether this thread may play a turn; it may have reflected too long on the one before."""
        with self._lock:
            if turn.given_up:
                self._lost_in_thought = False
                return False
            turn.begun = True
        return True

    def _rest(self, work: "queue.SimpleQueue[_Turn | None]", until_s: float) -> "list[_Turn | None]":
        """Leave the machine to acts of other processes until the deadline; return the work that comes before that."""
        try:
            return [work.get(timeout=max(0.0, until_s - self._clock.monotonic()))]
        except queue.Empty:
            return []

    def _play(self, turn: _Turn) -> None:
        try:
            why = self._host.begin(turn.tick_id, turn.observations)
        except AgentError as error:
            turn.fatal = error
            return
        if why:
            with self._lock:
                turn.failed.update({seen.me.entity_id: why for seen in turn.observations})
            return
        ready: list[Observation] = []
        for observation in turn.observations:  # all, even after the deadline, so that no entity misses an event
            entity_id = observation.me.entity_id
            with self._lock:
                if turn.given_up:
                    return
                turn.acting = entity_id
            if why := self._host.perceive(observation):
                with self._lock:
                    turn.failed[entity_id] = why
            else:
                ready.append(observation)
        for observation in ready:
            entity_id = observation.me.entity_id
            with self._lock:
                if turn.closed:
                    return
                turn.acts, turn.acting = True, entity_id
            intent = self._host.act(observation)
            with self._lock:
                self._returned += 1
                if turn.given_up:
                    return
                if isinstance(intent, str):
                    turn.failed[entity_id] = intent
                else:
                    turn.intents[entity_id] = intent
