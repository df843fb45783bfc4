"""The event loop that a world runs on: uvloop where it is installed, because a thousand streams share one core."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run_on_quick_loop(main: Coroutine[Any, Any, T]) -> T:
    """Like `asyncio.run`, on the quickest event loop there is."""
    with asyncio.Runner(loop_factory=_factory()) as runner:
        return runner.run(main)


def _factory() -> Callable[[], asyncio.AbstractEventLoop]:
    try:
        import uvloop
    except ModuleNotFoundError:
        return asyncio.new_event_loop
    return uvloop.new_event_loop
