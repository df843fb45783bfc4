"""The verdict on a drill, from the record of its run and from what was seen meanwhile."""

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
A_WHILE_TICKS = 4  # a shorter trouble may meet a village at rest
STOOD_STILL_TICKS = 20  # longest time for one tick, in ticks: a machine may be busy, but no world waits for a model


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How much was done during one trouble."""

    trouble: Trouble
    ticks: int
    intents_per_tick: float
    able: int  # characters not affected by a trouble
    sending: int  # those of them that sent intents
    acting: int  # those of them that did more than wait

    @property
    def stopped(self) -> bool:
        """Whether fewer than half of those able sent intents, or all only waited for a while."""
        idle = self.acting == 0 and self.ticks >= A_WHILE_TICKS
        return self.trouble.goes_on and (idle or self.sending < max(1, self.able // 2))


@dataclass(frozen=True, slots=True)
class Verdict:
    """The figures of a drill. It passed if all that should be 0 are 0."""

    ticks: int
    intents_per_tick: float
    missed: int  # numbers that are missing among the ticks
    lost: int  # ticks that differ between viewer, record and replay, or are missing
    orphans: int
    too_soon: int
    stood_still: bool  # a running world took far too long for a tick
    stopped: int  # troubles during which too few characters acted
    not_over: int  # troubles without full recovery, and steps that were not run
    longest_s: float
    behaviours: tuple[Behaviour, ...]

    @property
    def passed(self) -> bool:
        """Whether everything is fine."""
        counts = (self.missed, self.stood_still, self.lost, self.orphans, self.too_soon, self.stopped, self.not_over)
        return not any(counts)

    def outages(self) -> "list[Outage]":
        """Return the troubles, for the report of the run."""
        from tickmind.record.report import Outage

        return [
            Outage("noted", each.trouble.name, each.trouble.first_tick_id, each.trouble.last_tick_id, _detail(each))
            for each in self.behaviours
        ]


def judge(drill: Drill, runs: Path, run_id: str, *, tick_s: float) -> Verdict:
    """Judge a drill. The run must be finished, and all started processes must have ended."""
    from tickmind.record import RunStore
    from tickmind.record.replay.run_files import SCENARIO
    from tickmind.world import TileWorld, load_scenario

    store, log = RunStore(runs), drill.log
    world = TileWorld.from_scenario(load_scenario(store.folder(run_id) / SCENARIO))
    sent: dict[int, set[str]] = {}  # tick -> who sent an intent
    active: dict[int, set[str]] = {}  # tick -> who did more than wait
    lost = set(drill.witness.shown)
    with store.open(run_id) as run:
        for record in run.records():
            sent[record.tick_id] = {record.actor_ids[row] for row in record.results.actor.tolist()}
            busy = record.results.actor[record.results.action != _WAIT].tolist()
            active[record.tick_id] = {record.actor_ids[row] for row in busy}
            if _comes_out_again(world, record) and _is_as_shown(drill, record):
                lost.discard(record.tick_id)
            else:
                lost.add(record.tick_id)
    everybody = frozenset(actor.entity_id for actor in world.info.actors)
    behaviours = tuple(_behaviour(trouble, log.troubles, everybody, sent, active) for trouble in log.troubles)
    not_played = [log.all_began, log.thinks_again, log.complete].count(False)
    first, last = min(sent, default=1), max(sent, default=0)
    return Verdict(
        ticks=len(sent),
        intents_per_tick=sum(map(len, sent.values())) / max(1, len(sent)),
        missed=last - first + 1 - len(sent) + (first - 1),
        stood_still=drill.witness.longest_s > STOOD_STILL_TICKS * tick_s,
        lost=len(lost),
        orphans=log.survivors + len(alive(log.seen)),
        too_soon=drill.provider.too_soon,
        stopped=sum(behaviour.stopped for behaviour in behaviours),
        not_over=sum(not trouble.over for trouble in log.troubles) + not_played,
        longest_s=drill.witness.longest_s,
        behaviours=behaviours,
    )


def _comes_out_again(world: "TileWorld", record: "TickRecord") -> bool:
    if record.tick_id != world.tick_id:
        return False
    return world.repeat(record)


def _is_as_shown(drill: Drill, record: "TickRecord") -> bool:
    shown = drill.witness.shown.get(record.tick_id)
    return shown is None or shown == Shown.of(record.results, record.utterances)


def _behaviour(
    trouble: Trouble,
    troubles: "Sequence[Trouble]",
    everybody: frozenset[str],
    sent: "Mapping[int, set[str]]",
    active: "Mapping[int, set[str]]",
) -> Behaviour:
    ticks = [tick for tick in range(trouble.first_tick_id, trouble.last_tick_id + 1) if tick in sent]
    at_once = (other for other in troubles if other.first_tick_id <= trouble.last_tick_id)
    struck = frozenset[str]().union(*(other.struck for other in at_once if other.last_tick_id >= trouble.first_tick_id))
    able = everybody - struck
    sending = {who for tick in ticks for who in sent[tick] if who in able}
    acting = {who for tick in ticks for who in active[tick] if who in able}
    intents = sum(len(sent[tick]) for tick in ticks) / max(1, len(ticks))
    return Behaviour(trouble, len(ticks), intents, len(able), len(sending), len(acting))


def _detail(behaviour: Behaviour) -> str:
    return f"{behaviour.trouble.detail}; {_doing(behaviour)}, {behaviour.intents_per_tick:.1f} intents per tick"


def _doing(behaviour: Behaviour) -> str:
    """Describe how many acted; without a world none could."""
    if not behaviour.trouble.goes_on:
        return "no character can act without a world"
    return f"{behaviour.acting} of {behaviour.able} did more than wait"


def show(verdict: Verdict, console: "Console") -> None:
    """Show it on the terminal."""
    from rich.table import Table

    from tickmind.cli.screen import harmless

    console.print(f"The drill: {verdict.ticks:,} ticks, {verdict.intents_per_tick:.1f} intents per tick", style="bold")
    done = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("trouble", "ticks", "acting", "intents per tick", ""):
        done.add_column(name, justify="right" if name == "intents per tick" else "left")
    for behaviour in verdict.behaviours:
        trouble, intents = behaviour.trouble, f"{behaviour.intents_per_tick:.1f}"
        span = f"{trouble.first_tick_id:,} to {trouble.last_tick_id:,}"
        acting = f"{behaviour.acting} of {behaviour.able}" if trouble.goes_on else "-"
        done.add_row(harmless(trouble.name), span, acting, intents, trouble.detail)
    console.print(done)
    counts = Table(box=None, pad_edge=False, show_header=False)
    for name, count, meaning in (
        (
            "missed ticks",
            verdict.missed,
            "missing tick numbers; a restart of the world delays ticks and skips none",
        ),
        (
            "world stood still",
            int(verdict.stood_still),
            f"a tick of a running world took as long as {STOOD_STILL_TICKS}; the longest was {verdict.longest_s:.2f} s",
        ),
        ("lost ticks", verdict.lost, "shown, but missing or different in the record or its replay"),
        ("orphans", verdict.orphans, "processes that outlived their parent"),
        ("calls before Retry-After", verdict.too_soon, "calls that ignored a 429's wait"),
        (
            "behaviour stopped",
            verdict.stopped,
            "troubles in which fewer than half of the able characters sent intents, or all only waited",
        ),
        ("not well again", verdict.not_over, "troubles that were not noticed, did not end, or were not run"),
    ):
        counts.add_row(name, f"[{'red' if count else 'green'}]{count:,}[/]", f"[dim]{meaning}[/]")
    console.print(counts)
    console.print("[bold green]The drill passed.[/]" if verdict.passed else "[bold red]The drill failed.[/]")
