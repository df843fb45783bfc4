"""The event loop of a world: uvloop where it is installed, because a thousand streams share one core."""

import asyncio
import socket
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
_MOST_BYTES = 65_536  # read from a socket at once


def run_on_quick_loop(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine like `asyncio.run`, on the fastest event loop available."""
    with asyncio.Runner(loop_factory=_factory()) as runner:
        return runner.run(main)


def _factory() -> Callable[[], asyncio.AbstractEventLoop]:
    try:
        import uvloop
    except ModuleNotFoundError:
        return asyncio.new_event_loop

    class QuickLoop(uvloop.Loop):
        """Wakes gRPC once for all pending events; by default it is woken once per event, mostly for nothing."""

        def add_reader(self, fd: Any, callback: Callable[[*Ts], Any], *args: *Ts) -> None:
            """Watch a socket; gRPC's wake-up socket is drained in one read."""
            if isinstance(fd, socket.socket) and _is_grpc(callback):
                super().add_reader(fd, _wake_once, fd, callback, args)
            else:
                super().add_reader(fd, callback, *args)

    return QuickLoop


def _is_grpc(callback: Callable[..., object]) -> bool:
    """Whether it is gRPC's method that reads one byte and then handles all pending events."""
    method = getattr(callback, "func", callback)
    return type(getattr(method, "__self__", None)).__name__ == "PollerCompletionQueue"


def _wake_once(waker: socket.socket, callback: Callable[..., object], args: tuple[Any, ...]) -> None:
    """Drain all wake-up bytes but one. Each is sent after its event is queued, so no event is missed."""
    try:
        waiting = len(waker.recv(_MOST_BYTES, socket.MSG_PEEK))
    except BlockingIOError:
        return  # another loop of this process has handled the events
    if waiting > 1:
        waker.recv(waiting - 1)
    callback(*args)
