"""The progress of writing finished files: a bar on a terminal, a plain line now and then elsewhere."""

import sys
from typing import Any, Self, TextIO

from tickmind.base import Clock, SystemClock

LINE_EVERY_S = 5.0


class SealingProgress:
    """Shows the progress of a run's finished files; `record` calls `show` with the ticks done and the total."""

    def __init__(
        self,
        run_id: str,
        *,
        err: TextIO | None = None,
        clock: Clock | None = None,
        line_every_s: float = LINE_EVERY_S,
    ) -> None:
        self._run_id = run_id
        self._err = err if err is not None else sys.stderr
        self._clock = clock or SystemClock()
        self._line_every_s = line_every_s
        self._next_line_s = 0.0
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        self._err.write(f"Writing the finished files of run {self._run_id}.\n")
        self._err.flush()
        self._next_line_s = self._clock.monotonic() + self._line_every_s
        if self._err.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (BarColumn(), MofNCompleteColumn(), TextColumn("ticks,"), TimeRemainingColumn(compact=True))
            self._bar = Progress(*columns, console=Console(file=self._err), transient=True)
            self._task = self._bar.add_task("", total=None)
            self._bar.start()
        return self

    def __exit__(self, *_exc_info: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, done: int, count: int) -> None:
        """Show how many ticks are done."""
        if self._bar is not None:
            self._bar.update(self._task, completed=done, total=max(count, 1))
        elif done < count and self._clock.monotonic() >= self._next_line_s:
            self._next_line_s = self._clock.monotonic() + self._line_every_s
            self._err.write(f"{done:,} of {count:,} ticks are written, {done * 100 // count} %.\n")
            self._err.flush()
