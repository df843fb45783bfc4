"""Waiting inside a call without outliving its timeout, for doubles and replays that make time up."""

import asyncio
from collections.abc import Awaitable, Callable

from tickmind.llm.errors import LLMDeadlineError

Sleep = Callable[[float], Awaitable[object]]


class TimeBudget:
    """The waits of one call, counted against its timeout; hand in a `sleep` that returns at once and no time passes."""

    def __init__(self, timeout_s: float, *, sleep: Sleep = asyncio.sleep) -> None:
        self._timeout_s = timeout_s
        self._left_s = timeout_s
        self._sleep = sleep

    @property
    def left_s(self) -> float:
        """How much may still be waited."""
        return self._left_s

    async def wait(self, seconds: float) -> None:
        """Let time pass, or raise `LLMDeadlineError` at the moment when the timeout would end the wait."""
        if seconds <= 0:
            return
        granted_s = min(seconds, self._left_s)
        if granted_s > 0:
            await self._sleep(granted_s)
        self._left_s -= granted_s
        if granted_s < seconds:
            raise LLMDeadlineError(
                f"no whole reply within the timeout of {self._timeout_s:g} s; raise the call's timeout"
            )
