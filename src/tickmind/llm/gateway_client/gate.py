"""`Gate`: holds back the requests of a session for one model until the gateway's reported wait is over.

A gate is open until a reply or a refusal closes it for a time. While the gateway asks to wait, requests go through one
at a time, at the pace that it named. No caller polls: one timer wakes the first waiter.

Where models are too slow for the demand, the gateway assigns each caller a turn of its own. The gate keeps these
turns and lets one request through for each, whichever request it was assigned to.

During an outage, where the gateway reaches no provider of the model, no request waits: those that wait and those that
come fail at once, because the end of an outage is a guess and no turn.
"""

import asyncio
from bisect import insort
from collections import OrderedDict
from collections.abc import Callable
from typing import TypeAlias

from tickmind.base import Clock, Limit
from tickmind.base.background import is_over
from tickmind.llm.errors import (
    LLMCancelledError,
    LLMCooldownError,
    LLMError,
    LLMRateLimitError,
    LLMResponseError,
    LLMUnavailableError,
)
from tickmind.llm.gateway_contract import Code
from tickmind.llm.served import MAX_COOLDOWN_S, Served, SessionCooldown
from tickmind.llm.transport import ModelRequest

MAX_WAITERS = Limit("number of requests that wait for one cooldown", 10_000)
MAX_TURNS = Limit("number of turns that are kept for one model", 1000)
MAX_GATES = Limit("number of models whose cooldowns are kept", 1024)
DEFAULT_REFUSED_S = 1.0  # after a refusal that does not say how long
DEFAULT_SPACING_S = 0.05  # between those who waited out a refusal, where no pace is known
SLACK_RATIO, MOST_SLACK_S = 0.02, 0.01  # the travel time differs a little between requests
_NEXT_S = 0.001  # the wait of a request that would overtake the waiters
_OF_ONE_AGENT = frozenset({Code.DEFERRED})  # refusals that say nothing about others


_Waiters: TypeAlias = "OrderedDict[asyncio.Future[None], None]"  # in order of arrival


class Gate:
    """The turns of one model. It belongs to one event loop; any thread may read `ready_in_s` and `cooldown`.

    Waiters of a loop that is over no longer count, so that the next loop gets its turn.
    """

    def __init__(self, model: str, clock: Clock) -> None:
        self.cooldown: SessionCooldown | None = None  # the last one that the gateway reported
        self._model = model
        self._clock = clock
        self._open_s = 0.0  # monotonic
        self._outage_end_s = 0.0  # monotonic
        self._spacing_s = 0.0
        self._turns: list[float] = []  # monotonic times at which one request each may go out
        self._turn_s = 0.0  # the first of them, 0 if there is none
        self._need_s = 0.0  # time that an answer takes
        self._waiters: _Waiters = OrderedDict()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def waiting(self) -> int:
        """The number of requests that wait for their turn."""
        return len(self._line())

    def ready_in_s(self) -> float:
        """Return for how long the gate is closed; 0 if a request may go out now."""
        return max(0.0, max(self._open_s, self._turn_s) - self._clock.monotonic())

    def check(self) -> None:
        """Raise `LLMCooldownError` if a request may not go out now."""
        wait_s = self.ready_in_s()
        if self._line():
            wait_s = max(wait_s, self._spacing_s, _NEXT_S)
        if wait_s > 0:
            outage_s = self._outage_left_s()
            raise self._unavailable(outage_s) if outage_s > 0 else self._closed(wait_s)

    def take_nowait(self) -> None:
        """Take a turn now, or raise `LLMCooldownError`."""
        self.check()
        self._pass()

    async def take(self, patience_s: float) -> None:
        """Take a turn when it comes.

        Raises `LLMCooldownError` at once if that leaves too little time for an answer, and `LLMUnavailableError` at the
        beginning of an outage or during it.
        """
        outage_s = self._outage_left_s()
        if outage_s > 0:
            raise self._unavailable(outage_s)
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
        """Apply the cooldown of a reply. A later report may lengthen a wait but never shortens it."""
        self.cooldown = cooldown
        if cooldown.need_s is not None:
            self._add_turn(cooldown.wait_s, cooldown.need_s)
            return
        self._spacing_s = _with_slack(cooldown.spacing_s) if cooldown.wait_s > 0 else 0.0
        self._close_for(cooldown.wait_s)

    def note_refusal(self, error: LLMRateLimitError | LLMResponseError) -> None:
        """Apply a refusal: the gateway held the request back, or failed it and said when to come back."""
        if isinstance(error, LLMUnavailableError):
            self._begin_outage(min(error.retry_after_s or DEFAULT_REFUSED_S, MAX_COOLDOWN_S.maximum))
            return
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
            return  # not the gateway's own refusal, or without a wait
        self.cooldown = cooldown or self.cooldown
        known_s = _with_slack(cooldown.spacing_s) if cooldown is not None else self._spacing_s
        self._spacing_s = max(known_s, DEFAULT_SPACING_S)
        wait_s = DEFAULT_REFUSED_S if error.retry_after_s is None else error.retry_after_s
        self._close_for(min(wait_s, MAX_COOLDOWN_S.maximum))

    def send_away(self) -> None:
        """Cancel all waiters, because the client is closed."""
        self._fail_waiters(lambda: LLMCancelledError("the call was cancelled because its client was closed"))

    def _begin_outage(self, wait_s: float) -> None:
        self._close_for(wait_s)
        self._outage_end_s = max(self._outage_end_s, self._clock.monotonic() + wait_s)
        self._fail_waiters(lambda: self._unavailable(wait_s))

    def _fail_waiters(self, make_error: Callable[[], LLMError]) -> None:
        waiters = self._line()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while waiters:
            waiter, _ = waiters.popitem(last=False)
            if not waiter.done():
                waiter.set_exception(make_error())

    def _add_turn(self, wait_s: float, need_s: float) -> None:
        """Add a turn for one request after `wait_s`; an unused turn ends when the next one comes."""
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
        """Use up the turn of one request."""
        now = self._clock.monotonic()
        if self._spacing_s:
            self._open_s = now + self._spacing_s
        if self._turns:
            self._drop_turns(now)
            self._drop_turns(now, used=1)

    def _wait_behind_s(self, ahead: int) -> float:
        """Return how long one more request waits behind `ahead` others."""
        wait_s = self.ready_in_s() + ahead * self._spacing_s
        if ahead and self._turns:
            wait_s = max(wait_s, self._turns[min(ahead, len(self._turns) - 1)] - self._clock.monotonic())
        return wait_s

    def _close_for(self, wait_s: float) -> None:
        if wait_s > 0:
            self._open_s = max(self._open_s, self._clock.monotonic() + wait_s)

    def _line(self) -> _Waiters:
        """Return the waiters without those whose loop is over."""
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
            return  # a loop that counted as over runs again
        self._timer = None
        while waiters and not self.ready_in_s():
            waiter, _ = waiters.popitem(last=False)
            if not waiter.done():  # else it was just cancelled, and the next waiter gets the turn
                waiter.set_result(None)
                self._pass()
        if waiters:
            self._arm()

    def _outage_left_s(self) -> float:
        """Return for how long the outage lasts; 0 if there is none."""
        return max(0.0, self._outage_end_s - self._clock.monotonic())

    def _unavailable(self, wait_s: float) -> LLMUnavailableError:
        return LLMUnavailableError(
            f"the gateway reaches no provider of {self._model} and tries none for another {wait_s:.3g} s; "
            "nothing was sent, ask again then",
            retry_after_s=wait_s,
            status=503,
        )

    def _closed(self, wait_s: float) -> LLMCooldownError:
        return LLMCooldownError(
            f"not this session's turn: the gateway's cooldown for {self._model} lasts another {wait_s:.3g} s; "
            "nothing was sent, ask again then",
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
        """Return the gate of a model; beyond the limit, forget the oldest gate without waiters."""
        gate = self._gates.get(model)
        if gate is None:
            if not MAX_GATES.allows(len(self._gates) + 1):
                idle = (name for name, gate in self._gates.items() if not gate.waiting)
                self._gates.pop(next(idle, ""), None)
            gate = self._gates[model] = Gate(model, self._clock)
        return gate

    def known(self, model: str) -> Gate | None:
        """Return the gate of a model if there is one; any thread may call it."""
        return self._gates.get(model)

    def note_served(self, request: ModelRequest, served: Served) -> None:
        """Apply the cooldown that a reply reports."""
        if served.cooldown is not None:
            self.of(request.model).note(served.cooldown)

    def send_away(self) -> None:
        """Cancel the waiters of all gates, because the client is closed."""
        for gate in self._gates.values():
            gate.send_away()

    @property
    def waiting(self) -> int:
        """The number of requests that wait at all gates."""
        return sum(gate.waiting for gate in self._gates.values())
