"""`Errands`: actions that another thread requests of a character, done tick by tick."""

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future

from tickmind.agent import Character
from tickmind.ai import Status
from tickmind.base import Limit

MAX_ERRANDS = Limit("number of errands that wait", 16)
LONGEST_TICKS = 120


class Errand:
    """One action: `step(character)` each tick until it succeeds or fails."""

    def __init__(self, what: str, step: Callable[[Character], Status]) -> None:
        self.what = what
        self.step = step
        self.done: Future[str] = Future()
        self.began_tick = 0


class Errands:
    """The errands of one character, one after another. Any thread may request one; the character's own does them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[Errand] = deque()
        self._now: Errand | None = None
        self._intent_sent = False

    def ask(self, what: str, step: Callable[[Character], Status]) -> "Future[str]":
        """Request an action; the future holds its outcome in words."""
        errand = Errand(what, step)
        with self._lock:
            if MAX_ERRANDS.allows(len(self._waiting) + 1):
                self._waiting.append(errand)
            else:
                errand.done.set_result(f"You have too much to do to {what} as well.")
        return errand.done

    def do_one(self, character: Character) -> bool:
        """Do a step of the current errand and return whether there was one."""
        errand = self._next(character.tick)
        if errand is None:
            return False
        if self._intent_sent:
            result = character.observation.result
            self._finish("done." if result is None or result.ok else f"it failed: {result.reason}.")
            return self.do_one(character)
        if character.tick - errand.began_tick > LONGEST_TICKS:
            self._finish("given up, it took too long.")
            return False
        before = character.decided
        status = errand.step(character)
        if status is Status.FAILURE:
            self._finish("not possible from here.")
        elif status is Status.SUCCESS:
            self._intent_sent = character.decided and not before
            if not self._intent_sent:
                self._finish("done.")
        return True

    def _next(self, tick: int) -> Errand | None:
        if self._now is not None and self._now.done.cancelled():
            self._now, self._intent_sent = None, False
        if self._now is None:
            with self._lock:
                while self._waiting and self._waiting[0].done.cancelled():
                    self._waiting.popleft()
                self._now = self._waiting.popleft() if self._waiting else None
            if self._now is not None:
                self._now.began_tick = tick
        return self._now

    def _finish(self, how: str) -> None:
        errand, self._now, self._intent_sent = self._now, None, False
        if errand is not None and errand.done.set_running_or_notify_cancel():
            errand.done.set_result(f"{errand.what}: {how}")
