"""Measures of minds as one self-contained page, with charts of how they came about."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

from tickmind.mind.plans import ErrandState
from tickmind.protocol import MemoryNote
from tickmind.record.measures.lines import spread
from tickmind.record.measures.material import MindMaterial
from tickmind.record.measures.mind_measures import Measure, holders, related
from tickmind.record.measures.promise_history import promise_history
from tickmind.record.pages import charts
from tickmind.record.pages.charts import Series
from tickmind.record.pages.html import document, section, table

SHOWN_RUNS: Final = 5  # with details
SHOWN_PROMISES: Final = 60
SHOWN_MINDS: Final = 60
SHOWN_MOMENTS: Final = 6  # on maps
POINTS: Final = 200  # of a curve
_MEANING: Final = (
    "“of” is the number of cases that a value rests on. The guide “Measures of minds” defines each measure, and says "
    "what it does not show."
)
_KNOWS, _UNAWARE, _CLOSE, _COLD = charts.SERIES[1], charts.IDLE, charts.SERIES[0], charts.BAD


def measures_page(
    run_ids: Sequence[str], runs: Mapping[str, MindMaterial], figures: Sequence[Measure], facts: Sequence[str] = ()
) -> str:
    """Return the whole page: the figures of all runs together, and details of the first `SHOWN_RUNS`."""
    shown = dict(list(runs.items())[:SHOWN_RUNS])
    several = len(run_ids) > 1
    spread = ("95 %",) if several else ()
    rows = [
        (figure.name, figure.shown, *((figure.shown_spread,) if several else ()), f"{figure.of:,}")
        for figure in figures
    ]
    parts = [
        "<h1>Measures of minds</h1>",
        f'<p class="sub">{escape(", ".join(run_ids))}</p>',
        table(("measure", "value", *spread, "of"), rows, numbers=2 + len(spread)),
        f'<p class="sub">{_MEANING}</p>',
        *(section(f"Who knows: {fact}", _spread(shown, fact)) for fact in facts),
    ]
    if len(shown) < len(run_ids):
        parts.append(f"<p>Details of the first {len(shown)} runs follow.</p>")
    for run_id, found in shown.items():
        of = f" ({run_id})" if len(run_ids) > 1 else ""
        parts += [
            section(f"Who knows something of each other{of}", _relations(found)),
            section(f"Promises{of}", _promises(found)),
            section(f"Errands planned and done{of}", _plans(found)),
        ]
    return document("Measures of minds", "".join(parts))


def _spread(runs: Mapping[str, MindMaterial], fact: str) -> str:
    """Return how many knew a fact when, and who had it from whom."""
    last = max(found.last_tick_id for found in runs.values())
    ticks = sorted({last * place // POINTS for place in range(POINTS + 1)})
    series, tables = [], []
    for colour, (run_id, found) in zip(charts.SERIES, runs.items(), strict=False):
        origins, noted = holders(found, fact)
        learnt = [note.tick_id for who, note in noted.items() if who not in origins] + [0] * len(origins & found.minds)
        series.append(Series(run_id, colour, [sum(one <= tick for one in learnt) for tick in ticks]))
        rows = [
            (
                str(found.calendar.at(note.tick_id)),
                _name(found, who),
                _name(found, note.told_by) if note.told_by else "-",
            )
            for who, note in sorted(noted.items(), key=lambda pair: pair[1].tick_id)[:SHOWN_MINDS]
        ]
        maps = _map(found, origins, noted)
        tables.append(f"<h3>{escape(run_id)}</h3>{maps}{table(('when', 'who learnt it', 'from'), rows, numbers=0)}")
    return charts.line(ticks, series, label="minds that know it, by tick") + "".join(tables)


def _map(material: MindMaterial, origins: set[str], noted: Mapping[str, MemoryNote]) -> str:
    """Return where all were at some moments while a fact spread, who knew it then, and who had just told whom."""
    presence = material.presence
    if presence is None or not presence.hourly:
        return ""
    learnt = {who: note.tick_id for who, note in noted.items() if who not in origins}
    last = max(learnt.values(), default=0)
    hours = [
        look for look in presence.hourly if look[0] <= last + material.calendar.day_ticks // 24
    ] or presence.hourly[:1]
    frames, before = [], -1
    for tick_id, tiles in spread(hours, SHOWN_MOMENTS - 1) + hours[-1:]:
        know = (origins & material.minds) | {who for who, tick in learnt.items() if tick <= tick_id}
        told = [(noted[who].told_by, who) for who, tick in learnt.items() if before < tick <= tick_id]
        dots = [
            (x + 0.5, y + 0.5, _name(material, who), _KNOWS if who in know else _UNAWARE)
            for who, (x, y) in tiles.items()
        ]
        ends = [(*tiles[one], *tiles[other]) for one, other in told if one in tiles and other in tiles]
        lines = [(x1 + 0.5, y1 + 0.5, x2 + 0.5, y2 + 0.5) for x1, y1, x2, y2 in ends]
        title = f"{material.calendar.at(tick_id)}: {len(know)} of {len(material.minds)}"
        if tick_id > before:
            frames.append(charts.MapFrame(title, dots, lines))
        before = tick_id
    return charts.map_frames(presence.size, presence.areas, frames)


def _relations(material: MindMaterial) -> str:
    minds = sorted(material.minds)[:SHOWN_MINDS]
    places = {who: place for place, who in enumerate(minds)}
    pairs = ((one, other) for one, other in related(material) if one in places and other in places)
    edges = [(places[one], places[other]) for one, other in pairs]
    last_bonds = {(bond.who, bond.other_name): bond.bond for bond in material.bonds}
    colours = {}
    for one, other in edges:
        bonds = [last_bonds.get((minds[a], _name(material, minds[b])), "") for a, b in ((one, other), (other, one))]
        if "cold" in bonds or bonds == ["close", "close"]:
            colours[one, other] = _COLD if "cold" in bonds else _CLOSE
    shown = charts.network(
        [_name(material, who) for who in minds], edges, label="pairs that know something of each other", colours=colours
    )
    if colours:
        shown += "<p>Thick lines: green between close friends, red where one is cold to the other.</p>"
    return shown + _more(len(material.minds) - len(minds))


def _promises(material: MindMaterial) -> str:
    promises = promise_history(material).made
    if not promises:
        return charts.nothing("Nobody promised anything.")
    at = material.calendar.at
    rows = [
        (
            str(at(promise.made_tick)),
            _name(material, promise.by),
            _name(material, promise.to),
            f"{promise.amount} {promise.item}",
            at(promise.due_tick).clock,
            promise.state,
        )
        for promise in promises[:SHOWN_PROMISES]
    ]
    left = len(promises) - len(rows)
    return table(("when", "who", "to", "what", "by", "state"), rows, numbers=0) + (
        f"<p>and {left} more</p>" if left else ""
    )


def _plans(material: MindMaterial) -> str:
    """Return what each mind planned and did, on days that are over."""
    last_day = material.calendar.at(material.last_tick_id).day
    planned: dict[str, list[str]] = {}
    for (who, day), errands in material.plans.items():
        if day < last_day:
            planned.setdefault(who, []).extend(errand.rpartition(": ")[2] for errand in errands)
    rows = [
        (_name(material, who), len(states), states.count(ErrandState.DONE)) for who, states in sorted(planned.items())
    ]
    return charts.bars(rows[:SHOWN_MINDS], label="errands", names=("planned", "done")) + _more(len(rows) - SHOWN_MINDS)


def _more(left: int) -> str:
    return f"<p>and {left} more</p>" if left > 0 else ""


def _name(material: MindMaterial, who: str) -> str:
    return material.names.get(who, who)
