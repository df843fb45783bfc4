"""`TimeBudget`: the waits of doubles and replays, bounded by the timeout of their call."""

import asyncio
from collections.abc import Awaitable, Callable

from tickmind.llm.errors import LLMDeadlineError

Sleep = Callable[[float], Awaitable[object]]


class TimeBudget:
    """Count the waits of one call against its timeout; pass a `sleep` that returns at once and no time passes."""

    def __init__(self, timeout_s: float, *, sleep: Sleep = asyncio.sleep) -> None:
        self._timeout_s = timeout_s
        self._left_s = timeout_s
        self._sleep = sleep

    @property
    def left_s(self) -> float:
        """The time that may still be spent waiting."""
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
