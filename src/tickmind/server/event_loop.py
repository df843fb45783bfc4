"""The event loop that a world runs on: uvloop where it is installed, because a thousand streams share one core."""

import asyncio
import socket
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
_MOST_BYTES = 65_536  # that are taken from a socket at once


def run_on_quick_loop(main: Coroutine[Any, Any, T]) -> T:
    """Like `asyncio.run`, on the quickest event loop there is."""
    with asyncio.Runner(loop_factory=_factory()) as runner:
        return runner.run(main)


def _factory() -> Callable[[], asyncio.AbstractEventLoop]:
    try:
        import uvloop
    except ModuleNotFoundError:
        return asyncio.new_event_loop

    class QuickLoop(uvloop.Loop):
        """Wakes gRPC once for all that has happened: by itself it is woken once for each event, mostly for nothing."""

        def add_reader(self, fd: Any, callback: Callable[[*Ts], Any], *args: *Ts) -> None:
            """Watch a socket; the one on which gRPC wakes itself is read in one go."""
            if isinstance(fd, socket.socket) and _is_grpc(callback):
                super().add_reader(fd, _wake_once, fd, callback, args)
            else:
                super().add_reader(fd, callback, *args)

    return QuickLoop


def _is_grpc(callback: Callable[..., object]) -> bool:
    """Whether it is the method of gRPC that takes all events which are there, having read one byte."""
    method = getattr(callback, "func", callback)
    return type(getattr(method, "__self__", None)).__name__ == "PollerCompletionQueue"


def _wake_once(waker: socket.socket, callback: Callable[..., object], args: tuple[Any, ...]) -> None:
    """Leave one byte of those that wait. Each was sent after its event was laid ready, so that none is overlooked."""
    try:
        waiting = len(waker.recv(_MOST_BYTES, socket.MSG_PEEK))
    except BlockingIOError:
        return  # another loop of this process has taken the events
    if waiting > 1:
        waker.recv(waiting - 1)
    callback(*args)
