"""The status of running characters: a live table on a terminal, plain lines elsewhere."""

import math
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

from tickmind.base import Clock, SystemClock
from tickmind.cli.screen import harmless, one_line

if TYPE_CHECKING:
    from tickmind.runner import CharacterRow, Runner

_MOST_NAMED = 20  # most characters whose changes are single lines without a terminal; more are counted
_NUMBERS_EVERY_S = 10.0
_ERROR_EVERY_S = 60.0
_MOST_TROUBLES = 50  # kinds that are shown
_AROUND = 6  # lines of the terminal that are not rows of the table
_STYLES = {"running": "green", "failed": "red", "backing off": "yellow", "fallback": "yellow"}


class RunnerStatus:
    """Shows the characters' status on stderr. Only a terminal gets the live table; elsewhere lines are few.

    With `progress`, for a run as fast as its minds allow, it shows the tick and how many pass in a second, too.
    """

    def __init__(self, clock: Clock | None = None, *, progress: bool = False, ticks: int | None = None) -> None:
        self._clock = clock or SystemClock()
        self._progress = progress
        self._ticks = ticks
        self._begin()

    def _begin(self) -> None:
        """Forget what was shown of a run; another one may follow."""
        self._live: Any = None
        self._pace = RunProgress(self._ticks, self._clock) if self._progress else None
        self._reported: dict[str, str] = {}  # character -> its last line
        self._error_reported_s: dict[str, float] = {}  # character -> when its last error was shown
        self._numbers, self._numbers_s = "", -math.inf  # the last line of totals, and its time
        self._troubles: set[str] = set()  # already shown
        self._models: ModelLine | None = None
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live

            self._live = Live(console=Console(file=sys.stderr), refresh_per_second=4, transient=True)

    def follow(self, gateway_url: str) -> None:
        """Show a gateway's figures, too, in the table."""
        if self._live is not None:
            self._models = ModelLine(gateway_url)

    def say(self, text: str) -> None:
        """Print a line that stays."""
        if self._live is not None and self._live.is_started:
            self._live.console.print(harmless(text), markup=False, soft_wrap=True)
        else:
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()

    def show(self, runner: "Runner") -> None:
        """Update the table; without a terminal, print changes."""
        rows = runner.rows()
        tick_id = runner.statistics().tick_id
        if self._live is None:
            self._report(rows)
            if self._pace is not None and (line := self._pace.next_line(tick_id)):
                self.say(line)
            return
        if not self._live.is_started:
            self._live.start()
        self._live.update(self._table(rows, runner))

    def end(self, runner: "Runner") -> None:
        """Remove the table, and print the totals."""
        if self._live is not None:
            self._live.stop()
        if self._models is not None:
            self._models.stop()
        stats = runner.statistics()
        restarts = f"{stats.restarts:,} restart{'s' if stats.restarts != 1 else ''}"
        self.say(f"{stats.characters:,} characters, {restarts}; all agents have ended.")
        self._begin()

    def _report(self, rows: "list[CharacterRow]") -> None:
        if len(rows) > _MOST_NAMED:
            self._report_numbers(rows)
            return
        for row in rows:
            words = _words(row)
            if self._reported.get(row.entity_id) != words and self._may_report(row):
                self._reported[row.entity_id] = words
                self.say(harmless(one_line(f"{row.entity_id}: {words}")))

    def _may_report(self, row: "CharacterRow") -> bool:
        """Whether a change of a character may be printed; frequently changing errors are not printed each time."""
        if row.state != "running" or not row.last_error:
            return True
        now_s = self._clock.monotonic()
        if now_s - self._error_reported_s.get(row.entity_id, -math.inf) < _ERROR_EVERY_S:
            return False
        self._error_reported_s[row.entity_id] = now_s
        return True

    def _report_numbers(self, rows: "list[CharacterRow]") -> None:
        """Print the number of characters in each state from time to time, and each kind of trouble once."""
        now_s = self._clock.monotonic()
        states = Counter(str(row.state) for row in rows)
        words = (
            f"{len(rows):,} characters: {', '.join(f'{count:,} {state}' for state, count in sorted(states.items()))}"
        )
        if words != self._numbers and now_s - self._numbers_s >= _NUMBERS_EVERY_S:
            self._numbers, self._numbers_s = words, now_s
            self.say(words)
        in_trouble: dict[str, list[str]] = {}  # words -> characters
        for row in rows:
            if row.last_error or (row.trouble and not _is_past(row)):
                in_trouble.setdefault(_words(row), []).append(row.entity_id)
        for what, names in in_trouble.items():
            if what not in self._troubles and len(self._troubles) < _MOST_TROUBLES:
                self._troubles.add(what)
                others = f" and {len(names) - 1:,} others" if len(names) > 1 else ""
                self.say(harmless(one_line(f"{names[0]}{others}: {what}")))

    def _table(self, rows: "list[CharacterRow]", runner: "Runner") -> Any:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        stats = runner.statistics()
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
        on_nodes = any(row.node for row in rows)
        nodes = ("node",) if on_nodes else ()
        for name in ("character", "agent", "state", *nodes, "lease", "last intent", "restarts", "thinks", ""):
            table.add_column(name, no_wrap=True, justify="right" if name == "restarts" else "left")
        most = max(3, self._live.console.height - _AROUND)
        for row in sorted(rows, key=_worst_first)[:most]:
            cells = (
                row.entity_id,
                _agent(row),
                row.state,
                *((row.node,) if on_nodes else ()),
                "held" if row.controlled else "-",
                f"{row.last_action} in {row.last_tick:,}" if row.last_action else "-",
                str(row.restarts),
                "yes" if row.thinking else "",
                row.last_error or row.trouble,
            )
            table.add_row(
                *(Text(harmless(one_line(cell)), style=_STYLES.get(cell, "") if at == 2 else "")
                  for at, cell in enumerate(cells))
            )  # fmt: skip
        more = f", {len(rows) - most:,} more not shown" if len(rows) > most else ""
        tick = f"tick {stats.tick_id:,}" if self._pace is None else self._pace.text(stats.tick_id)
        head = (
            f"{tick}: {stats.characters:,} characters in {stats.processes:,} processes, "
            f"{stats.restarts:,} restarts{more}"
        )
        models = [] if self._models is None else [Text(self._models.text())]
        return Group(Text(head), *models, table)


class RunProgress:
    """How far a run is, and how many ticks pass in a second of real time."""

    def __init__(self, ticks: int | None, clock: Clock) -> None:
        self._ticks = ticks
        self._clock = clock
        self._first: tuple[float, int] | None = None  # time and tick of the first look
        self._last_s, self._last_tick = -math.inf, -1  # of the last line

    def text(self, tick_id: int) -> str:
        """Return the tick, of how many, and the pace since the first look."""
        now_s = self._clock.monotonic()
        if self._first is None and tick_id:
            self._first = (now_s, tick_id)
        of = f" of {self._ticks:,}" if self._ticks is not None else ""
        began_s, began_tick = self._first or (now_s, tick_id)
        pace = f", {(tick_id - began_tick) / (now_s - began_s):.1f} ticks a second" if tick_id > began_tick else ""
        return f"tick {tick_id:,}{of}{pace}"

    def next_line(self, tick_id: int) -> str:
        """Return the text again after a while, if a tick has passed; else nothing."""
        text, now_s = self.text(tick_id), self._clock.monotonic()
        if tick_id == self._last_tick or now_s - self._last_s < _NUMBERS_EVERY_S:
            return ""
        self._last_s, self._last_tick = now_s, tick_id
        return text


class ModelLine:
    """The state of a gateway's models in one line; polled in a thread, so that nothing waits for it.

    The gateway need not answer yet: its address may be known long before its model is loaded.
    """

    def __init__(self, url: str) -> None:
        from tickmind.cli.gateway.figures import GatewayFigures
        from tickmind.cli.gateway.top import Poller

        self._poller = Poller(GatewayFigures(url), SystemClock())

    def text(self) -> str:
        """Return the line."""
        now, _, problem = self._poller.last()
        if now is None:
            return "models: no figures yet"
        if problem:
            return f"models: {harmless(one_line(problem))}"
        cost = f", ${now.total.usd:,.4f}" if now.total.usd else ""
        about = f" (about {now.wait_ms / 1000:.0f} s)" if now.wait_ms >= 1000 else ""
        waiting = f"{now.queued + now.expected:,} waiting{about}"
        return f"models: {now.in_flight:,} in flight, {waiting}, {now.answered:,} answered{cost}"

    def stop(self) -> None:
        """Stop polling."""
        self._poller.stop()


def _agent(row: "CharacterRow") -> str:
    return f"{row.agent} for {row.instead_of}" if row.instead_of else row.agent


def _is_past(row: "CharacterRow") -> bool:
    """Whether the trouble is that of a former process."""
    return row.state in ("running", "stopped")


def _words(row: "CharacterRow") -> str:
    trouble = row.last_error if row.state == "running" else "" if _is_past(row) else row.trouble
    return f"{_agent(row)} is {row.state}{f' ({trouble})' if trouble else ''}"


def _worst_first(row: "CharacterRow") -> tuple[int, str]:
    order = {"failed": 0, "backing off": 1, "running": 3}
    return (order.get(row.state, 2), row.entity_id)
