"""What is told while finished files are written."""

import io

from tickmind.base import ManualClock
from tickmind.cli.runs.sealing_progress import SealingProgress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_where_nobody_watches_there_is_a_line_every_few_seconds():
    err, clock = io.StringIO(), ManualClock()
    with SealingProgress("one", err=err, clock=clock, line_every_s=5.0) as progress:
        for done in range(0, 2000, 200):
            progress.show(done, 2000)
            clock.sleep(2.0)
        progress.show(2000, 2000)
    assert err.getvalue().splitlines() == [
        "Writing the finished files of run one.",
        "600 of 2,000 ticks are written, 30 %.",
        "1,200 of 2,000 ticks are written, 60 %.",
        "1,800 of 2,000 ticks are written, 90 %.",
    ]


def test_a_run_that_is_written_at_once_gets_one_line():
    err = io.StringIO()
    with SealingProgress("one", err=err, clock=ManualClock()) as progress:
        progress.show(0, 0)
        progress.show(0, 3)
        progress.show(3, 3)
    assert err.getvalue() == "Writing the finished files of run one.\n"


def test_a_terminal_gets_a_bar_that_is_taken_away_in_the_end():
    err = Terminal()
    with SealingProgress("one", err=err, clock=ManualClock()) as progress:
        progress.show(30, 120)
    shown = err.getvalue()
    assert "30/120" in shown
    assert shown.index("30/120") < shown.rindex("\x1b[2K")  # the line is cleared
