"""The figures of `tickmind gateway top`: what is wrong is shown as long as it is so."""

import threading
from typing import Any

from tickmind.base import SystemClock
from tickmind.cli.gateway import top
from tickmind.cli.gateway.figures import GatewayAwayError


class Figures:
    """A gateway that is away once, and then answers."""

    def __init__(self):
        self.asked = 0
        self.answered_twice = threading.Event()

    def ask(self):
        self.asked += 1
        if self.asked == 1:
            raise GatewayAwayError("gone")
        if self.asked == 3:
            self.answered_twice.set()
        return "overview"


def test_a_lost_connection_is_shown_until_the_gateway_answers_again(monkeypatch):
    monkeypatch.setattr(top, "EVERY_S", 0.001)
    figures: Any = Figures()
    poller = top.Poller(figures, SystemClock())
    assert figures.answered_twice.wait(60)
    poller.stop()
    last: tuple[Any, ...] = poller.last()
    assert (last[0], last[2]) == ("overview", "")
