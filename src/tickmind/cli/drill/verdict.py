"""What came of a drill, counted from the record of its run and from what was seen meanwhile."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tickmind.cli.drill.drill import Drill, Trouble
from tickmind.cli.drill.processes import alive
from tickmind.cli.drill.witness import Shown
from tickmind.protocol import ACTION_TYPES, ActionType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from tickmind.protocol import TickRecord
    from tickmind.record.report import Outage
    from tickmind.world import TileWorld


_WAIT = ACTION_TYPES.index(ActionType.WAIT)
A_WHILE_TICKS = 4
STOOD_STILL_TICKS = 20  # that a running world may take for one: a machine may be busy, but no world waits for a model


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How much was done during one trouble."""

    trouble: Trouble
    ticks: int
    intents_per_tick: float
    able: int  # characters that no trouble of the time had struck
    acting: int  # those of them that did more than wait

    @property
    def stopped(self) -> bool:
        """Whether fewer than half of those who could did something; in a moment somebody is enough."""
        wanted = max(1, self.able // 2) if self.ticks >= A_WHILE_TICKS else 1
        return self.trouble.goes_on and self.acting < wanted


@dataclass(frozen=True, slots=True)
class Verdict:
    """The figures of a drill. It was passed if all of those that should be 0 are."""

    ticks: int
    intents_per_tick: float
    missed: int  # numbers that are missing among the ticks
    lost: int  # ticks that were shown and are not in the record as shown, or don't come out of the record again
    orphans: int
    too_soon: int
    stood_still: bool  # a running world took far too long for a tick
    stopped: int  # troubles during which too few did anything
    not_over: int  # troubles after which not all was well again, and what was not even tried
    longest_s: float
    behaviours: tuple[Behaviour, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing is to be complained about."""
        counts = (self.missed, self.stood_still, self.lost, self.orphans, self.too_soon, self.stopped, self.not_over)
        return not any(counts)

    def outages(self) -> "list[Outage]":
        """The troubles, for the report of the run."""
        from tickmind.record.report import Outage

        return [
            Outage("noted", one.trouble.name, one.trouble.first_tick_id, one.trouble.last_tick_id, _detail(one))
            for one in self.behaviours
        ]


def judge(drill: Drill, runs: Path, run_id: str, *, tick_s: float) -> Verdict:
    """Count. The run must be finished, and everything that was started must have ended."""
    from tickmind.cli.world.run import SCENARIO
    from tickmind.record import RunStore
    from tickmind.world import TileWorld, load_scenario

    store, log = RunStore(runs), drill.log
    world = TileWorld.from_scenario(load_scenario(store.folder(run_id) / SCENARIO))
    acted: dict[int, int] = {}  # tick -> how many acted
    active: dict[int, set[str]] = {}  # tick -> who did more than wait
    lost = set(drill.witness.shown)
    with store.open(run_id) as run:
        for record in run.records():
            acted[record.tick_id] = len(record.results.actor)
            busy = record.results.actor[record.results.action != _WAIT].tolist()
            active[record.tick_id] = {record.actor_ids[row] for row in busy}
            if _comes_out_again(world, record) and _is_as_shown(drill, record):
                lost.discard(record.tick_id)
            else:
                lost.add(record.tick_id)
    everybody = frozenset(actor.entity_id for actor in world.info.actors)
    behaviours = tuple(_behaviour(trouble, log.troubles, everybody, acted, active) for trouble in log.troubles)
    not_played = [log.all_began, log.thinks_again, log.complete].count(False)
    first, last = min(acted, default=1), max(acted, default=0)
    return Verdict(
        ticks=len(acted),
        intents_per_tick=sum(acted.values()) / max(1, len(acted)),
        missed=last - first + 1 - len(acted) + (first - 1),
        stood_still=drill.witness.longest_s > STOOD_STILL_TICKS * tick_s,
        lost=len(lost),
        orphans=log.survivors + len(alive(log.seen)),
        too_soon=drill.provider.too_soon,
        stopped=sum(one.stopped for one in behaviours),
        not_over=sum(not trouble.over for trouble in log.troubles) + not_played,
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


def _behaviour(
    trouble: Trouble,
    troubles: "Sequence[Trouble]",
    everybody: frozenset[str],
    acted: "Mapping[int, int]",
    active: "Mapping[int, set[str]]",
) -> Behaviour:
    ticks = [tick for tick in range(trouble.first_tick_id, trouble.last_tick_id + 1) if tick in acted]
    at_once = (one for one in troubles if one.first_tick_id <= trouble.last_tick_id)
    struck = frozenset[str]().union(*(one.struck for one in at_once if one.last_tick_id >= trouble.first_tick_id))
    able = everybody - struck
    acting = {who for tick in ticks for who in active[tick] if who in able}
    intents = sum(acted[tick] for tick in ticks) / max(1, len(ticks))
    return Behaviour(trouble, len(ticks), intents, len(able), len(acting))


def _detail(one: Behaviour) -> str:
    return f"{one.trouble.detail}; {_doing(one)}, {one.intents_per_tick:.1f} intents per tick"


def _doing(one: Behaviour) -> str:
    """How many did something; without a world nobody could."""
    return f"{one.acting} of {one.able} did more than wait" if one.trouble.goes_on else "nobody can act without a world"


def show(verdict: Verdict, console: "Console") -> None:
    """Tell it on the terminal."""
    from rich.table import Table

    from tickmind.cli.screen import harmless

    console.print(f"The drill: {verdict.ticks:,} ticks, {verdict.intents_per_tick:.1f} intents per tick", style="bold")
    done = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("trouble", "ticks", "acting", "intents per tick", ""):
        done.add_column(name, justify="right" if name == "intents per tick" else "left")
    for one in verdict.behaviours:
        span = f"{one.trouble.first_tick_id:,} to {one.trouble.last_tick_id:,}"
        acting = f"{one.acting} of {one.able}" if one.trouble.goes_on else "-"
        done.add_row(harmless(one.trouble.name), span, acting, f"{one.intents_per_tick:.1f}", one.trouble.detail)
    console.print(done)
    counts = Table(box=None, pad_edge=False, show_header=False)
    for name, count, meaning in (
        (
            "missed ticks",
            verdict.missed,
            "numbers that are missing; a restart of the world puts ticks off and skips none",
        ),
        (
            "world stood still",
            int(verdict.stood_still),
            f"a tick of a running world took as long as {STOOD_STILL_TICKS}; the longest was {verdict.longest_s:.2f} s",
        ),
        ("lost ticks", verdict.lost, "shown but not in the record as shown, or not repeated by it"),
        ("orphans", verdict.orphans, "processes that outlived who started them"),
        ("calls before Retry-After", verdict.too_soon, "that came although they had been told to wait"),
        ("behaviour stopped", verdict.stopped, "times that fewer than half of those who could did more than wait"),
        ("not well again", verdict.not_over, "troubles that nobody noticed, that did not end, or were not played"),
    ):
        counts.add_row(name, f"[{'red' if count else 'green'}]{count:,}[/]", f"[dim]{meaning}[/]")
    console.print(counts)
