"""The status of a running world: a live block on a terminal, plain lines elsewhere."""

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tickmind.server import ServerStatistics

EVERY_S = 0.5
WAIT_S = 10.0  # without a tick, after which a world in lockstep says what it waits for
_BAR = 30  # characters


class WorldStatus:
    """Shows a world's status on stderr. Only a terminal gets the live block."""

    def __init__(self, name: str, ticks: int | None) -> None:
        self._name = name
        self._ticks = ticks
        self._live: Any = None
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live

            self._live = Live(console=Console(file=sys.stderr), refresh_per_second=4, transient=True)

    def say(self, text: str) -> None:
        """Print a line that stays."""
        if self._live is not None and self._live.is_started:
            self._live.console.print(text, markup=False, soft_wrap=True)
        else:
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()

    def show(self, stats: "ServerStatistics") -> None:
        """Update the block."""
        if self._live is None:
            return
        if not self._live.is_started:
            self._live.start()
        self._live.update(self._table(stats))

    def end(self, stats: "ServerStatistics") -> None:
        """Remove the block, and print the totals."""
        if self._live is not None:
            self._live.stop()
        self.say(
            f"{stats.ticks:,} ticks, {stats.overruns:,} of them too long; {stats.accepted:,} intents, "
            f"{stats.late_intents:,} late. The next tick is {stats.tick_id:,}."
        )

    def _table(self, stats: "ServerStatistics") -> Any:
        from rich.table import Table

        table = Table.grid(padding=(0, 2))
        refused = sum(stats.refused.values()) - stats.late_intents
        streams = ", ".join(f"{count:,} {kind}" for kind, count in sorted(stats.streams.items()) if count)
        jitter = f"p50 {stats.jitter_p50_ms:.1f} ms, p99 {stats.jitter_p99_ms:.1f} ms"
        rows = [
            ("tick", f"{stats.tick_id:,}{self._progress(stats.ticks)}"),
            ("jitter", f"{jitter}, {stats.overruns:,} overruns"),
            ("actors", f"{stats.actors:,}, {stats.controlled:,} of them controlled by {stats.leases:,} controllers"),
            ("intents", f"{stats.accepted:,} accepted, {stats.late_intents:,} late, {refused:,} refused"),
            ("answers", f"p50 {stats.answers_p50_ms:.0f} ms, p99 {stats.answers_p99_ms:.0f} ms after the start"),
            ("streams", f"{streams or 'none'}; {stats.streams_cut:,} cut off"),
        ]
        for name, value in rows:
            table.add_row(f"[dim]{name}", value)
        return table

    def _progress(self, done: int) -> str:
        if self._ticks is None:
            return ""
        full = round(_BAR * min(1.0, done / self._ticks))
        return f"  {'#' * full}{'.' * (_BAR - full)} {done:,} of {self._ticks:,}"


class LockstepWait:
    """Says what a world in lockstep waits for, once for each wait."""

    def __init__(self) -> None:
        self._tick_id = -1
        self._since_s = 0.0
        self._said = False

    def next_line(self, now_s: float, tick_id: int, controlled: int, missing: int) -> str:
        """Return what it waits for, if it has waited long and that was not said yet.

        `missing` more characters must be controlled.
        """
        if tick_id != self._tick_id:
            self._tick_id, self._since_s, self._said = tick_id, now_s, False
        if self._said or now_s - self._since_s < WAIT_S:
            return ""
        self._said = True
        if missing:
            return (
                f"Tick {tick_id:,} waits until {controlled + missing:,} characters have an agent that controls them; "
                f"{controlled:,} have one now."
            )
        return (
            f"Tick {tick_id:,} waits for the intents of its {controlled:,} characters, who may be waiting for models."
        )
