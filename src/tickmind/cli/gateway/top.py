"""`tickmind gateway top`: the live view of a gateway, until the user quits."""

import contextlib
import os
import select
import threading
from collections.abc import Iterator
from typing import Final, TextIO

from rich.console import Console
from rich.live import Live

from tickmind.base import Clock, SystemClock
from tickmind.cli.gateway.figures import GatewayAwayError, GatewayFigures, Overview
from tickmind.cli.gateway.picture import picture

EVERY_S: Final = 1.0
REDRAW_S: Final = 0.25  # so that countdowns move and a resized window is filled
LONGEST_WAIT_S: Final = 10.0  # between tries while no gateway answers
_QUIT: Final = (b"q", b"Q", b"\x03", b"\x04")


class Poller:
    """Polls in its own thread, so that keys are read while a gateway is slow.

    `first` are figures that are known already; without them it polls at once.
    """

    def __init__(self, figures: GatewayFigures, clock: Clock, first: Overview | None = None) -> None:
        self._figures = figures
        self._clock = clock
        self._lock = threading.Lock()
        self._last = (first, clock.monotonic())
        self._first_wait_s = 0.0 if first is None else EVERY_S
        self._problem = ""
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="gateway-top", daemon=True)
        self._thread.start()

    def last(self) -> tuple[Overview | None, float, str]:
        """Return the last figures, their age in seconds, and why there are no newer ones, if so.

        Before the first poll there are none.
        """
        with self._lock:
            overview, came_s = self._last
            return overview, self._clock.monotonic() - came_s, self._problem

    def stop(self) -> None:
        """Stop polling, without waiting for a request in flight."""
        self._stopped.set()

    def _run(self) -> None:
        wait_s = self._first_wait_s
        while not self._stopped.wait(wait_s):
            try:
                overview = self._figures.ask()
            except GatewayAwayError as error:
                wait_s = min(max(EVERY_S, 2 * wait_s), LONGEST_WAIT_S)
                with self._lock:
                    self._problem = f"connection lost: {error}"
            else:
                wait_s = EVERY_S
                with self._lock:
                    self._last = (overview, self._clock.monotonic())
                    self._problem = ""


def watch(figures: GatewayFigures, console: Console, keys: TextIO, *, clock: Clock | None = None) -> None:
    """Show a gateway until q or Ctrl-C; raises `GatewayAwayError` if it does not answer at first."""
    first = figures.ask()
    poller = Poller(figures, clock or SystemClock(), first)
    try:
        with (
            _single_keys(keys) as pressed,
            Live(console=console, screen=True, auto_refresh=False, vertical_overflow="crop") as live,
            contextlib.suppress(KeyboardInterrupt),
        ):
            while True:
                overview, age_s, problem = poller.last()
                width, height = console.size
                shown = picture(
                    overview or first, figures.address, width=width, height=height, age_s=age_s, problem=problem
                )
                live.update(shown, refresh=True)
                if pressed.wait(REDRAW_S):
                    return
    finally:
        poller.stop()


class Keys:
    """Reads whether the user wants to quit."""

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor  # None: there is no keyboard
        self._never = threading.Event()

    def wait(self, timeout_s: float) -> bool:
        """Wait for a key; return True if it quits."""
        if self._descriptor is None:
            return self._never.wait(timeout_s)
        ready, _, _ = select.select([self._descriptor], [], [], timeout_s)
        return bool(ready) and os.read(self._descriptor, 1) in {*_QUIT, b""}


@contextlib.contextmanager
def _single_keys(keys: TextIO) -> Iterator[Keys]:
    """Read keys without Enter, and restore the terminal afterwards.

    Ctrl-C is a key like the others: as a signal it could be raised where errors are suppressed, and be lost.
    """
    if not keys.isatty():
        yield Keys(None)
        return
    import termios
    import tty

    descriptor = keys.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)
        single = termios.tcgetattr(descriptor)
        single[6][termios.VINTR] = b"\0"
        termios.tcsetattr(descriptor, termios.TCSANOW, single)
        yield Keys(descriptor)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
