"""Ctrl-C and SIGTERM while several parts start, run and stop: the first stops in good order, the next at once."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_NUMBERS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """Handles signals. Set `stop` to what stops things in good order at the moment, `hurry` to what does at once."""

    def __init__(self, stop: Callable[[], object], hurry: Callable[[], object]) -> None:
        self.stop = stop
        self.hurry = hurry
        self.count = 0

    def take(self) -> None:
        """Handle a signal."""
        self.count += 1
        if self.count == 1:
            self.stop()
        else:
            self.hurry()

    @contextmanager
    def caught(self) -> Iterator[None]:
        """Catch signals for as long as this lasts; a task cancelled by one raises `KeyboardInterrupt`."""
        loop = asyncio.get_running_loop()
        for number in _NUMBERS:
            loop.add_signal_handler(number, self.take)
        try:
            yield
        except asyncio.CancelledError:
            if self.count:
                raise KeyboardInterrupt from None
            raise
        finally:
            for number in _NUMBERS:
                loop.remove_signal_handler(number)


def stop_signal() -> asyncio.Event:
    """Return an event that Ctrl-C or a termination sets."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in _NUMBERS:
        loop.add_signal_handler(number, stop.set)
    return stop
