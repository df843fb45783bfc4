"""`Goal`, `Watch` and `GoalDesk`: what calls of a slow client want of a character that acts every tick."""

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from tickmind.ai import Status
from tickmind.base import Limit, TickmindError

MAX_WAITING = Limit("number of calls that wait for the character", 64)
MAX_GOAL_TICKS = Limit("time for which a character pursues a goal", 3000, "ticks")
T = TypeVar("T")


class Pursuer(Protocol):
    """Who pursues goals."""

    @property
    def tick(self) -> int:
        """The tick in which it is."""
        ...


C = TypeVar("C", bound=Pursuer)


class CharacterGoneError(TickmindError):
    """The character is not played any more; the message says why."""


class GoalStatus(StrEnum):
    """How a call ended."""

    DONE = "done"
    FAILED = "failed"
    GOING_ON = "going_on"  # the call has ended, and the character goes on
    REPLACED = "replaced"  # another call gave the character another goal


@dataclass(frozen=True, slots=True)
class GoalRefusal:
    """Why a goal can't be reached, in a sentence for the client."""

    why: str


Step: TypeAlias = Callable[[C], Status | GoalRefusal]
Until: TypeAlias = Callable[[C], str]
"""Returns why a call ends in this tick; empty if it goes on."""


class Goal(Generic[C]):
    """Something to do in several ticks: `step` is called in each until it succeeds, and what it did last has worked.

    A character that sleeps wakes up for it, unless it can be pursued `asleep`.
    """

    def __init__(self, what: str, step: Step[C], *, asleep: bool = False) -> None:
        self.what = what
        self.step = step
        self.asleep = asleep
        self.began_tick = 0
        self.status = GoalStatus.GOING_ON
        self.why = ""

    def end(self, status: GoalStatus, why: str) -> None:
        """Note how it ended; what was noted first stays."""
        if self.status is GoalStatus.GOING_ON:
            self.status, self.why = status, why


@dataclass(frozen=True, slots=True)
class GoalOutcome:
    """How a call ended, in which tick, and after how many."""

    status: GoalStatus
    why: str
    what: str
    tick: int
    ticks: int


class DeskRequest(Generic[C, T]):
    """Something that the character's own thread does at its next turn, such as reading what the character knows."""

    def __init__(self, answer: Callable[[C], T]) -> None:
        self._answer = answer
        self.done: Future[T] = Future()

    def run(self, character: C) -> None:
        """Answer the caller, unless it has gone."""
        if self.done.set_running_or_notify_cancel():
            try:
                self.done.set_result(self._answer(character))
            except Exception as error:  # noqa: BLE001  the caller gets it, and the character lives on
                self.done.set_exception(error)


class Watch(Generic[C, T]):
    """A call that waits until its goal is over, `until` returns a reason, or some ticks have passed."""

    def __init__(
        self,
        goal: Goal[C] | None,
        ticks: int,
        report: Callable[[C, GoalOutcome], T],
        *,
        until: Until[C] = lambda _character: "",
    ) -> None:
        self.goal = goal
        self.ticks = ticks
        self.until = until
        self.done: Future[T] = Future()
        self.began_tick = 0
        self._report = report

    def outcome(self, character: C) -> GoalOutcome | None:
        """Return how the call ends in this tick; None if it goes on."""
        goal, passed = self.goal, character.tick - self.began_tick
        what = "" if goal is None else goal.what
        if goal is not None and goal.status is not GoalStatus.GOING_ON:
            return GoalOutcome(goal.status, goal.why, what, character.tick, passed)
        why = self.until(character)
        if not why and passed >= self.ticks:
            why = f"{passed} ticks are over"
        return GoalOutcome(GoalStatus.GOING_ON, why, what, character.tick, passed) if why else None

    def finish(self, character: C, outcome: GoalOutcome) -> None:
        """Answer the caller."""
        if self.done.set_running_or_notify_cancel():
            try:
                self.done.set_result(self._report(character, outcome))
            except Exception as error:  # noqa: BLE001  as above
                self.done.set_exception(error)


class GoalDesk(Generic[C]):
    """Hands what any thread asks for to the one thread in which the character lives, and answers from there.

    A world in lockstep waits for minds: there `attend` blocks while no call is under way, for `patience_s` at most.
    """

    def __init__(self, *, patience_s: float = 600.0, max_waiting: Limit = MAX_WAITING) -> None:
        self.goal: Goal[C] | None = None
        """What the character pursues now; only its own thread touches it."""
        self._patience_s = patience_s
        self._max_waiting = max_waiting
        self._changed = threading.Condition()
        self._posted: deque[DeskRequest[C, Any] | Watch[C, Any]] = deque()  # not yet seen by the character
        self._watches: list[Watch[C, Any]] = []  # under way
        self._closed = False

    def post(self, asked: DeskRequest[C, T] | Watch[C, T]) -> Future[T]:
        """Hand over a request or a call; raises `LimitExceededError` if too many wait."""
        with self._changed:
            self._max_waiting.check(len(self._posted) + len(self._watches) + 1)
            self._posted.append(asked)
            self._changed.notify()
        return asked.done

    def close(self) -> None:
        """Let the character go: a world in lockstep waits for calls no longer."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def abandon(self, why: str) -> None:
        """End all calls with an error, because the character is not played any more."""
        with self._changed:
            left = [*self._posted, *self._watches]
            self._posted.clear()
        for asked in left:
            if asked.done.set_running_or_notify_cancel():
                asked.done.set_exception(CharacterGoneError(why))

    def begin_anew(self) -> None:
        """Drop the goal: in another run of the world nothing of it holds."""
        if self.goal is not None:
            self.goal.end(GoalStatus.FAILED, "another run of the world has begun")
            self.goal = None

    def attend(self, character: C, *, lockstep: bool) -> None:
        """Take up what was posted and answer the calls that end in this tick, before the character decides."""
        self._answer(character)
        self._take(character)
        while lockstep and self._waits_for_call():
            self._take(character)

    def note_decision(self, character: C) -> None:
        """Answer the calls that the decision of this tick ended, such as a goal that turned out to be impossible."""
        self._answer(character)

    def _waits_for_call(self) -> bool:
        with self._changed:
            if self._watches or self._closed:
                return False
            return self._changed.wait_for(lambda: bool(self._posted) or self._closed, self._patience_s)

    def _take(self, character: C) -> None:
        with self._changed:
            posted = list(self._posted)
            self._posted.clear()
        for asked in posted:
            if isinstance(asked, DeskRequest):
                asked.run(character)
                continue
            if asked.done.cancelled():
                continue
            asked.began_tick = character.tick
            if asked.goal is not None:
                asked.goal.began_tick = character.tick
                if self.goal is not None:
                    self.goal.end(GoalStatus.REPLACED, f"the next goal is to {asked.goal.what}")
                self.goal = asked.goal
            self._watches.append(asked)
        self._answer(character)

    def _answer(self, character: C) -> None:
        under_way: list[Watch[C, Any]] = []
        for watch in self._watches:
            if watch.done.cancelled() and watch.goal is not None:
                watch.goal.end(GoalStatus.FAILED, "the call was cancelled")
        if self.goal is not None and self.goal.status is not GoalStatus.GOING_ON:
            self.goal = None  # before the answers, which say what is pursued now
        for watch in self._watches:
            if watch.done.cancelled():
                continue
            outcome = watch.outcome(character)
            if outcome is None:
                under_way.append(watch)
            else:
                watch.finish(character, outcome)
        self._watches = under_way
