"""Ten days of Willowbrook without a model: does it die out, and do its people keep working, talking and eating?

Two seeds in lockstep, in one process as in an experiment. All figures but the time are from the record.
"""

import statistics
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from benchmarks.harness import Result
from benchmarks.mind_measures import kept_runs, run_world
from tickmind.protocol import TickRecord
from tickmind.record import RunStore
from tickmind.record.measures import MindMaterial, measure, read_material
from tickmind.record.reader import RunReader

SEEDS, DAYS, DAY_TICKS = 2, 10, 600
MOST_MINUTES = 10.0
PARTNERS = 4  # that each talks with on each day
STALLS = {"granary", "bread_stall", "fish_stall", "timber_stall", "herb_stall", "counter"}
ROOM = 60  # of a stall, for goods and coins together
GOODS = ("bread", "fish", "stew", "tea", "wheat", "flour", "wood", "coin")
STARVING = 1000  # hunger of one that can't go on


@dataclass
class TenDays:
    """The figures of one seed."""

    minutes: float
    working_hours: float  # share that was worked
    needs: float  # share of ticks without great hunger or tiredness
    partners: float  # share of villager-days with as many partners as there should be
    kinds: float  # the least share of all kinds of actions in a day
    stocks: float  # share of goods, counted each noon, of which the village has some and no stall too much
    self_repeat: float
    hungriest: int


def live(folder: Path, seed: int) -> TenDays:
    """Let the village live for ten days, and count."""
    began = time.monotonic()
    run_id = run_world(
        folder, f"ten_days-{seed}", Path("scenarios/willowbrook.yaml").read_text(), seed, DAYS * DAY_TICKS
    )
    minutes = (time.monotonic() - began) / 60
    with RunStore(folder / "runs").open(run_id) as run:
        return figures(run, minutes)


def figures(run: RunReader, minutes: float) -> TenDays:
    """Count what the record of ten days has."""
    done: defaultdict[int, set[str]] = defaultdict(set)  # day -> kinds of actions that succeeded
    calendar = run.info.setting.calendar

    def watch(record: TickRecord) -> None:
        day = calendar.at(record.tick_id).day
        done[day].update(str(result.action_type) for result in record.action_results() if result.ok)

    found = read_material(run, watch=watch)
    value = {one.name: one.value or 0.0 for one in measure(found)}
    kinds = set().union(*done.values())
    return TenDays(
        minutes,
        value["working hours"],
        value["needs"],
        _partners(found),
        min(len(done[day]) for day in range(1, DAYS + 1)) / len(kinds),
        _stocks(run),
        value["self-repeat"],
        max((int(needs.hunger.max(initial=0)) for _, needs in run.needs()), default=0),
    )


def _partners(found: MindMaterial) -> float:
    partners: defaultdict[tuple[str, int], set[str]] = defaultdict(set)  # villager and day -> with whom it talked
    for talk in found.talks:
        day = found.calendar.at(talk.first_tick_id).day
        partners[talk.who, day].add(talk.partner_id)
        partners[talk.partner_id, day].add(talk.who)
    days = [(who, day) for who in found.minds for day in range(1, DAYS + 1)]
    return sum(len(partners[one]) >= PARTNERS for one in days) / len(days)


def _stocks(run: RunReader) -> float:
    """Return the share of goods that somebody or some stall has at noon, on all days, if no stall is overfull then."""
    kinds = {one.object_id: one.kind for one in run.info.objects}
    within = 0
    for day in range(DAYS):
        noon = run.info.setting.calendar.next_tick(day * DAY_TICKS, 12 * 60)
        held = run.inventories_at(noon)
        full = [who for who, items in held.items() if kinds.get(who) in STALLS and sum(items.values()) > ROOM]
        within += 0 if full else sum(any(items.get(good) for items in held.values()) for good in GOODS)
    return within / (DAYS * len(GOODS))


def ten_days() -> list[Result]:
    """Willowbrook for ten days without a model: time, work, needs, talk, kinds of actions and stocks."""
    with kept_runs() as folder:
        found = [live(folder, seed) for seed in range(1, SEEDS + 1)]

    def least(name: str, bar: float, pick: str, unit: str = "") -> Result:
        values = [getattr(one, pick) for one in found]
        mean = statistics.mean(values)
        return Result(name, mean, unit, "bar", bar, min(values) / bar, 1.0, (min(values) / bar, max(values) / bar))

    longest, hungriest = max(one.minutes for one in found), max(one.hungriest for one in found)
    again = [one.self_repeat for one in found]
    return [
        Result("ten days", longest, "min", "bar", MOST_MINUTES, MOST_MINUTES / longest, 1.0),
        least("working hours worked", 0.8, "working_hours"),
        least("ticks without great need", 0.97, "needs"),
        least("villager-days with four partners", 1.0, "partners"),
        least("kinds of actions in a day, at least", 0.6, "kinds"),
        least("goods in stock at noon", 0.9, "stocks"),
        Result("hungriest moment", hungriest, "", "starving", STARVING, STARVING / max(hungriest, 1), 1.001),
        Result("self-repeat over ten days", statistics.mean(again), "", "bar", 0.25, 0.25 / max(*again, 1e-3), 1.0),
    ]


BENCHMARKS = (ten_days,)
