"""What a person sees of running characters: a table that is kept up to date, or plain lines where nobody watches."""

import sys
from typing import TYPE_CHECKING, Any

from tickmind.cli.screen import harmless, one_line

if TYPE_CHECKING:
    from tickmind.runner import CharacterRow, Runner

_AROUND = 6  # lines of the terminal that are not rows of the table
_STYLES = {"running": "green", "failed": "red", "backing off": "yellow", "fallback": "yellow"}


class RunnerStatus:
    """Shows how the characters are doing on stderr. Only a terminal gets the live table."""

    def __init__(self) -> None:
        self._live: Any = None
        self._told: dict[str, str] = {}  # character -> what was said of it last
        self._models: ModelLine | None = None
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live

            self._live = Live(console=Console(file=sys.stderr), refresh_per_second=4, transient=True)

    def follow(self, gateway_url: str) -> None:
        """Show how a gateway is doing, too, where there is a table."""
        if self._live is not None:
            self._models = ModelLine(gateway_url)

    def say(self, text: str) -> None:
        """A line that stays."""
        if self._live is not None and self._live.is_started:
            self._live.console.print(harmless(text), markup=False, soft_wrap=True)
        else:
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()

    def show(self, runner: "Runner") -> None:
        """Bring the table up to date; without a terminal, say what became of whom."""
        rows = runner.rows()
        if self._live is None:
            self._tell(rows)
            return
        if not self._live.is_started:
            self._live.start()
        self._live.update(self._table(rows, runner))

    def end(self, runner: "Runner") -> None:
        """Take the table away, and say what it came to."""
        if self._live is not None:
            self._live.stop()
        if self._models is not None:
            self._models.stop()
        stats = runner.statistics()
        self.say(f"{stats.characters:,} characters, {stats.restarts:,} restarts; all agents have ended.")

    def _tell(self, rows: "list[CharacterRow]") -> None:
        for row in rows:
            is_past = row.state in ("running", "stopped")  # the trouble, if there was any
            words = f"{_agent(row)} is {row.state}{f' ({row.trouble})' if row.trouble and not is_past else ''}"
            if self._told.get(row.entity_id) != words:
                self._told[row.entity_id] = words
                self.say(harmless(one_line(f"{row.entity_id}: {words}")))

    def _table(self, rows: "list[CharacterRow]", runner: "Runner") -> Any:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        stats = runner.statistics()
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
        for name in ("character", "agent", "state", "lease", "last intent", "restarts", "thinks", ""):
            table.add_column(name, no_wrap=True, justify="right" if name == "restarts" else "left")
        most = max(3, self._live.console.height - _AROUND)
        for row in sorted(rows, key=_worst_first)[:most]:
            cells = (
                row.entity_id,
                _agent(row),
                row.state,
                "held" if row.controlled else "-",
                f"{row.last_action} in {row.last_tick:,}" if row.last_action else "-",
                str(row.restarts),
                "yes" if row.thinking else "",
                row.trouble,
            )
            table.add_row(
                *(Text(harmless(one_line(cell)), style=_STYLES.get(cell, "") if at == 2 else "")
                  for at, cell in enumerate(cells))
            )  # fmt: skip
        more = f", {len(rows) - most:,} more not shown" if len(rows) > most else ""
        head = (
            f"tick {stats.tick_id:,}: {stats.characters:,} characters in {stats.processes:,} processes, "
            f"{stats.restarts:,} restarts{more}"
        )
        models = [] if self._models is None else [Text(self._models.text())]
        return Group(Text(head), *models, table)


class ModelLine:
    """What a gateway's models are doing, in one line; asked in a thread, so that nothing waits for it.

    The gateway need not answer yet: its address may be known long before its model is loaded.
    """

    def __init__(self, url: str) -> None:
        from tickmind.base import SystemClock
        from tickmind.cli.gateway_figures import GatewayFigures
        from tickmind.cli.gateway_top import Poller

        self._poller = Poller(GatewayFigures(url), SystemClock())

    def text(self) -> str:
        """The line."""
        now, _, problem = self._poller.last()
        if now is None:
            return "models: no figures yet"
        if problem:
            return f"models: {harmless(one_line(problem))}"
        cost = f", ${now.total.usd:,.4f}" if now.total.usd else ""
        return f"models: {now.in_flight:,} being asked, {now.queued:,} waiting, {now.answered:,} answered{cost}"

    def stop(self) -> None:
        """Ask no more."""
        self._poller.stop()


def _agent(row: "CharacterRow") -> str:
    return f"{row.agent} for {row.instead_of}" if row.instead_of else row.agent


def _worst_first(row: "CharacterRow") -> tuple[int, str]:
    order = {"failed": 0, "backing off": 1, "running": 3}
    return (order.get(row.state, 2), row.entity_id)
