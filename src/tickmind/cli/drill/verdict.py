"""What came of a drill, counted from the record of its run and from what was seen meanwhile."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tickmind.cli.drill.drill import Drill, Trouble
from tickmind.cli.drill.processes import alive
from tickmind.cli.drill.witness import Shown

if TYPE_CHECKING:
    from rich.console import Console

    from tickmind.protocol import TickRecord
    from tickmind.record.report import Outage
    from tickmind.world import TileWorld


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How much was done during one trouble."""

    trouble: Trouble
    intents_per_tick: float

    @property
    def stopped(self) -> bool:
        """Whether nobody did anything, although somebody could have."""
        return self.trouble.goes_on and not self.intents_per_tick


@dataclass(frozen=True, slots=True)
class Verdict:
    """The figures of a drill. It was passed if all of those that should be 0 are."""

    ticks: int
    intents_per_tick: float
    missed: int  # numbers that are missing among the ticks
    lost: int  # ticks that were shown and are not in the record as shown, or don't come out of the record again
    orphans: int
    too_soon: int
    stopped: int  # troubles during which nobody did anything
    not_over: int  # troubles after which not all was well again, and what was not even tried
    longest_s: float
    behaviours: tuple[Behaviour, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing is to be complained about."""
        return not any((self.missed, self.lost, self.orphans, self.too_soon, self.stopped, self.not_over))

    def outages(self) -> "list[Outage]":
        """The troubles, for the report of the run."""
        from tickmind.record.report import Outage

        return [
            Outage("noted", one.trouble.name, one.trouble.first_tick_id, one.trouble.last_tick_id, _detail(one))
            for one in self.behaviours
        ]


def judge(drill: Drill, runs: Path, run_id: str) -> Verdict:
    """Count. The run must be finished, and everything that was started must have ended."""
    from tickmind.cli.world_run import SCENARIO
    from tickmind.record import RunStore
    from tickmind.world import TileWorld, load_scenario

    store, log = RunStore(runs), drill.log
    world = TileWorld.from_scenario(load_scenario(store.folder(run_id) / SCENARIO))
    acted: dict[int, int] = {}  # tick -> how many acted
    lost = set(drill.witness.shown)
    with store.open(run_id) as run:
        for record in run.records():
            acted[record.tick_id] = len(record.results.actor)
            if _comes_out_again(world, record) and _is_as_shown(drill, record):
                lost.discard(record.tick_id)
            else:
                lost.add(record.tick_id)
    behaviours = tuple(_behaviour(trouble, acted) for trouble in log.troubles)
    first, last = min(acted, default=1), max(acted, default=0)
    return Verdict(
        ticks=len(acted),
        intents_per_tick=sum(acted.values()) / max(1, len(acted)),
        missed=last - first + 1 - len(acted) + (first - 1),
        lost=len(lost),
        orphans=log.survivors + len(alive(log.seen)),
        too_soon=drill.provider.too_soon,
        stopped=sum(one.stopped for one in behaviours),
        not_over=sum(not trouble.over for trouble in log.troubles) + (not log.thinks_again) + (not log.complete),
        longest_s=drill.witness.longest_s,
        behaviours=behaviours,
    )


def _comes_out_again(world: "TileWorld", record: "TickRecord") -> bool:
    if record.tick_id != world.tick_id:
        return False
    return world.step(record.intents, record.controlled).state_hash == record.state_hash


def _is_as_shown(drill: Drill, record: "TickRecord") -> bool:
    shown = drill.witness.shown.get(record.tick_id)
    return shown is None or shown == Shown.of(record.results, record.utterances)


def _behaviour(trouble: Trouble, acted: dict[int, int]) -> Behaviour:
    ticks = [tick for tick in range(trouble.first_tick_id, trouble.last_tick_id + 1) if tick in acted]
    return Behaviour(trouble, sum(acted[tick] for tick in ticks) / max(1, len(ticks)))


def _detail(one: Behaviour) -> str:
    return f"{one.trouble.detail}; {one.intents_per_tick:.1f} intents per tick"


def show(verdict: Verdict, console: "Console") -> None:
    """Tell it on the terminal."""
    from rich.table import Table

    from tickmind.cli.screen import harmless

    console.print(f"The drill: {verdict.ticks:,} ticks, {verdict.intents_per_tick:.1f} intents per tick", style="bold")
    done = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("trouble", "ticks", "intents per tick", ""):
        done.add_column(name, justify="right" if name == "intents per tick" else "left")
    for one in verdict.behaviours:
        span = f"{one.trouble.first_tick_id:,} to {one.trouble.last_tick_id:,}"
        done.add_row(harmless(one.trouble.name), span, f"{one.intents_per_tick:.1f}", one.trouble.detail)
    console.print(done)
    counts = Table(box=None, pad_edge=False, show_header=False)
    for name, count, meaning in (
        (
            "missed ticks",
            verdict.missed,
            "numbers that are missing; a restart of the world puts ticks off and skips none",
        ),
        ("lost ticks", verdict.lost, "shown but not in the record as shown, or not repeated by it"),
        ("orphans", verdict.orphans, "processes that outlived who started them"),
        ("calls before Retry-After", verdict.too_soon, "that came although they had been told to wait"),
        ("behaviour stopped", verdict.stopped, "times that nobody acted while a model or an agent was away"),
        ("not well again", verdict.not_over, "troubles that did not end, or were not played"),
    ):
        counts.add_row(name, f"[{'red' if count else 'green'}]{count:,}[/]", f"[dim]{meaning}[/]")
    console.print(counts)
    console.print(f"The longest time between two ticks of a running world was {verdict.longest_s:.2f} s.")
