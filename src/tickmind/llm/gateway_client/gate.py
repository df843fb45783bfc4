"""When the next request may go out, as far as the gateway has said so: one gate for each model of a session.

A gate is open until a reply or a refusal closes it for a time. While the gateway asks to wait, requests go through one
at a time, at the pace that it named; nobody polls, for one timer wakes the first who waits.

Where models are too slow for all that is asked, the gateway tells each caller a turn of its own. The gate keeps these
turns, and lets one request through for each of them, whoever was told it.
"""

import asyncio
from bisect import insort
from collections import OrderedDict
from typing import TypeAlias

from tickmind.base import Clock, Limit
from tickmind.base.background import is_over
from tickmind.llm.errors import LLMCancelledError, LLMCooldownError, LLMRateLimitError, LLMResponseError
from tickmind.llm.gateway_contract import Code
from tickmind.llm.served import MAX_COOLDOWN_S, Served, SessionCooldown
from tickmind.llm.transport import ModelRequest

MAX_WAITERS = Limit("number of requests that wait for one cooldown", 10_000)
MAX_TURNS = Limit("number of turns that are kept for one model", 1000)
MAX_GATES = Limit("number of models whose cooldowns are kept", 1024)
DEFAULT_REFUSED_S = 1.0  # after a refusal that does not say how long
DEFAULT_SPACING_S = 0.05  # between those who waited out a refusal, where no pace is known
SLACK_RATIO, MOST_SLACK_S = 0.02, 0.01  # the way there may take a little longer for one request than for the next
_NEXT_S = 0.001  # what is said to those who would overtake the ones who wait
_OF_ONE_AGENT = frozenset({Code.DEFERRED})  # refusals that say nothing about others


_Waiters: TypeAlias = "OrderedDict[asyncio.Future[None], None]"  # the first to come first


class Gate:
    """One model's turn. It belongs to one event loop; `ready_in_s` and `cooldown` may be read from any thread.

    Those who wait in a loop that is over count no more, so that the next loop has its turn.
    """

    def __init__(self, model: str, clock: Clock) -> None:
        self.cooldown: SessionCooldown | None = None  # what was last said
        self._model = model
        self._clock = clock
        self._open_s = 0.0  # monotonic
        self._spacing_s = 0.0
        self._turns: list[float] = []  # monotonic times at which one request each may go out
        self._turn_s = 0.0  # the first of them, 0 if there is none
        self._need_s = 0.0  # that an answer takes
        self._waiters: _Waiters = OrderedDict()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def waiting(self) -> int:
        """How many wait for their turn."""
        return len(self._line())

    def ready_in_s(self) -> float:
        """How long it is closed; 0 if a request may go out now."""
        return max(0.0, max(self._open_s, self._turn_s) - self._clock.monotonic())

    def check(self) -> None:
        """Raise `LLMCooldownError` if a request may not go out now."""
        wait_s = self.ready_in_s()
        if self._line():
            wait_s = max(wait_s, self._spacing_s, _NEXT_S)
        if wait_s > 0:
            raise self._closed(wait_s)

    def take_nowait(self) -> None:
        """Take a turn now, or raise `LLMCooldownError`."""
        self.check()
        self._pass()

    async def take(self, patience_s: float) -> None:
        """Take a turn when it comes; raises `LLMCooldownError` at once if that leaves too little time for an answer."""
        waiters = self._line()
        if not waiters and not self.ready_in_s():
            self.take_nowait()
            return
        ahead = len(waiters)
        wait_s = self._wait_behind_s(ahead)
        need_s = self._need_s if self._turns else 0.0
        if wait_s + need_s >= patience_s or not MAX_WAITERS.allows(ahead + 1):
            raise self._closed(wait_s)
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiters[waiter] = None
        self._arm()
        try:
            async with asyncio.timeout(patience_s):
                await waiter
        except TimeoutError:
            raise self._closed(self.ready_in_s()) from None
        finally:
            waiters.pop(waiter, None)

    def note(self, cooldown: SessionCooldown) -> None:
        """Take in what a reply says. A later word may lengthen a wait but does not shorten it."""
        self.cooldown = cooldown
        if cooldown.need_s is not None:
            self._add_turn(cooldown.wait_s, cooldown.need_s)
            return
        self._spacing_s = _with_slack(cooldown.spacing_s) if cooldown.wait_s > 0 else 0.0
        self._close_for(cooldown.wait_s)

    def note_refusal(self, error: LLMRateLimitError | LLMResponseError) -> None:
        """Take in that a request was held back, or came to nothing and was told when to come back."""
        cooldown = None
        if isinstance(error, LLMCooldownError | LLMResponseError):
            if isinstance(error, LLMCooldownError) and error.code in _OF_ONE_AGENT:
                return
            cooldown = error.cooldown
        if cooldown is not None and cooldown.need_s is not None:
            self.cooldown = cooldown
            self._add_turn(cooldown.wait_s if error.retry_after_s is None else error.retry_after_s, cooldown.need_s)
            return
        if isinstance(error, LLMResponseError) and (cooldown is None or error.retry_after_s is None):
            return  # it is not the gateway's own word, or says nothing of waiting
        self.cooldown = cooldown or self.cooldown
        known_s = _with_slack(cooldown.spacing_s) if cooldown is not None else self._spacing_s
        self._spacing_s = max(known_s, DEFAULT_SPACING_S)
        wait_s = DEFAULT_REFUSED_S if error.retry_after_s is None else error.retry_after_s
        self._close_for(min(wait_s, MAX_COOLDOWN_S.maximum))

    def send_away(self) -> None:
        """Let nobody wait any longer, because the client is closed."""
        waiters = self._line()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while waiters:
            waiter, _ = waiters.popitem(last=False)
            if not waiter.done():
                waiter.set_exception(LLMCancelledError("the call was cancelled because its client was closed"))

    def _add_turn(self, wait_s: float, need_s: float) -> None:
        """One request may go out after so long; a turn that nobody used is over when the next one comes."""
        now = self._clock.monotonic()
        self._need_s = need_s
        insort(self._turns, now + min(wait_s, MAX_COOLDOWN_S.maximum))
        self._drop_turns(now)

    def _drop_turns(self, now: float, used: int = 0) -> None:
        turns = self._turns
        del turns[:used]
        while len(turns) > 1 and (turns[1] <= now or not MAX_TURNS.allows(len(turns))):
            del turns[0]
        self._turn_s = turns[0] if turns else 0.0

    def _pass(self) -> None:
        """One request goes out now."""
        now = self._clock.monotonic()
        if self._spacing_s:
            self._open_s = now + self._spacing_s
        if self._turns:
            self._drop_turns(now)
            self._drop_turns(now, used=1)

    def _wait_behind_s(self, ahead: int) -> float:
        """How long one more has to wait behind so many."""
        wait_s = self.ready_in_s() + ahead * self._spacing_s
        if ahead and self._turns:
            wait_s = max(wait_s, self._turns[min(ahead, len(self._turns) - 1)] - self._clock.monotonic())
        return wait_s

    def _close_for(self, wait_s: float) -> None:
        if wait_s > 0:
            self._open_s = max(self._open_s, self._clock.monotonic() + wait_s)

    def _line(self) -> _Waiters:
        """Those who wait, without those whose loop is over: they are left to it."""
        first = next(iter(self._waiters), None)
        if first is not None and is_over(first.get_loop()):
            self._waiters, self._timer = OrderedDict(), None
        return self._waiters

    def _arm(self) -> None:
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self.ready_in_s(), self._let_through, self._waiters)

    def _let_through(self, waiters: _Waiters) -> None:
        if waiters is not self._waiters:
            return  # the loop at hand was given up and has come back
        self._timer = None
        while waiters and not self.ready_in_s():
            waiter, _ = waiters.popitem(last=False)
            if not waiter.done():  # else it was cancelled just now, and its turn is the next one's
                waiter.set_result(None)
                self._pass()
        if waiters:
            self._arm()

    def _closed(self, wait_s: float) -> LLMCooldownError:
        return LLMCooldownError(
            f"it is not this session's turn to ask {self._model} for another {wait_s:.3g} s, "
            "as the gateway said before; nothing was sent",
            retry_after_s=wait_s,
            code=Code.RATE_LIMIT_COOLDOWN,
            cooldown=self.cooldown,
        )


def _with_slack(spacing_s: float) -> float:
    return spacing_s + min(SLACK_RATIO * spacing_s, MOST_SLACK_S)


class Gates:
    """The gates of one session, by the model's name."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._gates: OrderedDict[str, Gate] = OrderedDict()

    def of(self, model: str) -> Gate:
        """The gate of a model; of too many the oldest that nobody waits at is forgotten."""
        gate = self._gates.get(model)
        if gate is None:
            if not MAX_GATES.allows(len(self._gates) + 1):
                idle = (name for name, one in self._gates.items() if not one.waiting)
                self._gates.pop(next(idle, ""), None)
            gate = self._gates[model] = Gate(model, self._clock)
        return gate

    def known(self, model: str) -> Gate | None:
        """The gate of a model, if there is one; any thread may ask."""
        return self._gates.get(model)

    def note_served(self, request: ModelRequest, served: Served) -> None:
        """Take in what the gateway says with a reply."""
        if served.cooldown is not None:
            self.of(request.model).note(served.cooldown)

    def send_away(self) -> None:
        """Let nobody wait any longer, because the client is closed."""
        for gate in self._gates.values():
            gate.send_away()

    @property
    def waiting(self) -> int:
        """How many wait at all of them."""
        return sum(gate.waiting for gate in self._gates.values())
