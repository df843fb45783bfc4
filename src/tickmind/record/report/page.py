"""A report as one self-contained page. Texts of a run are always escaped."""

from collections.abc import Sized
from html import escape
from typing import Final

from tickmind.protocol.setting import zone_phrase
from tickmind.record.pages import charts
from tickmind.record.pages.charts import Series, number
from tickmind.record.pages.html import contents, document, section, table
from tickmind.record.report.beside import OtherRun, beside
from tickmind.record.report.figures import Conversation, Outage, RunFigures
from tickmind.record.report.shares import ELSEWHERE, listed_shares, percent
from tickmind.record.report.story_sections import characters, highlight_list
from tickmind.record.story import REPLAY, RunStory, chronicle, tick_address

SHOWN_CONVERSATIONS: Final = 20
SHOWN_LINES: Final = 60
SHOWN_ITEMS: Final = 60
SHOWN_OUTAGES: Final = 40  # names; each with all its times
SHOWN_PEOPLE: Final = 60
SHOWN_ZONES: Final = 60
_ITEM_SUMS: Final = ("at_first", "at_last", "given")
_NEARLY_ALL: Final = 0.98  # of the actors in one state, in every part of the run: then a chart would be one slab
_MOSTLY: Final = 0.8  # of the actors in one state over the whole run: then only the others are drawn


def page(
    figures: RunFigures, *, story: RunStory | None = None, other: OtherRun | None = None, replay: str = REPLAY
) -> str:
    """Return the whole page: with a story what happened and who was who come first, with another run how they differ.

    `replay` is where `tickmind replay` shows the run; the links lead there.
    """
    title = f"{figures.world}: {figures.run_id}"
    ticks = f"ticks {figures.first_tick_id} to {figures.last_tick_id}"
    after = ", recovered after a crash" if figures.recovered else ""
    sections = [(name, body) for name, body in _sections(figures, story, other, replay) if body]
    began = figures.created_at[:16].replace("T", " ")
    parts = [
        f"<h1>{escape(figures.world)}</h1>",
        f'<p class="sub">Run {escape(figures.run_id)}, {ticks}, begun {escape(began)} UTC{after}</p>',
        contents(name for name, _ in sections),
        _cards(figures),
        *(section(name, body) for name, body in sections),
    ]
    return document(title, "".join(parts))


def _sections(
    figures: RunFigures, story: RunStory | None, other: OtherRun | None, replay: str
) -> list[tuple[str, str]]:
    """Return all parts of the page with their titles; one without a body is left out."""
    told = (
        [("Highlights", _highlights(figures, story, replay)), ("Characters", characters(figures, story, replay))]
        if story is not None
        else [("Who is who", _people(figures))]
    )
    compared = [] if other is None else [(f"Beside {other.figures.run_id}", beside(figures, story, other, replay))]
    return [
        *told[:1],
        *compared,
        *told[1:],
        ("Goals", _goals(figures)),
        ("Rules of your own", _own_rules(figures)),
        ("Scores", _scores(figures)),
        ("Conversations", _conversations(figures, replay)),
        ("Where they were", _heat(figures) + _stays(figures)),
        ("What they did", _actions(figures)),
        ("What they held", _items(figures)),
        ("Actors over time", _actors(figures)),
        ("Model calls", _models(figures)),
        ("Outages", _outages(figures)),
    ]


def _highlights(figures: RunFigures, story: RunStory, replay: str) -> str:
    """Return what is worth seeing, and how to see it."""
    lead = " ".join(chronicle(story, per_day=0).ending)
    how = (
        '<p class="sub after">The links open the replay at that tick, while <code>tickmind replay '
        f"{escape(figures.run_id)}</code> shows the run.</p>"
    )
    return (f'<p class="lead">{escape(lead)}</p>' if lead else "") + highlight_list(story, replay) + how


def _cards(figures: RunFigures) -> str:
    tried = sum(action.tried for action in figures.actions)
    worked = sum(action.worked for action in figures.actions)
    cards = [
        (number(figures.ticks), "ticks"),
        (number(figures.actors), "actors"),
        (number(tried), "actions"),
        (f"{worked / tried:.0%}" if tried else "-", "of actions worked"),
        (number(figures.utterances), "utterances"),
        (number(len(figures.conversations)), "conversations"),
    ]
    if figures.model_calls:
        cards.append((number(figures.model_calls), "model calls"))
    if figures.cost_usd:
        cards.append((f"${figures.cost_usd:,.4f}", "known cost"))
    if figures.outages:
        cards.append((number(len(figures.outages)), "outages"))
    drawn = "".join(f"<div><b>{value}</b><span>{name}</span></div>" for value, name in cards)
    return f'<div class="cards">{drawn}</div>'


def _people(figures: RunFigures) -> str:
    if not figures.people:
        return ""
    rows = (
        (
            figures.name_of(person.actor_id),
            person.actor_id,
            str(person.age or "-"),
            person.work or "-",
            person.home or "-",
        )
        for person in figures.people[:SHOWN_PEOPLE]
    )
    return table(("name", "id", "age", "works in", "lives in"), rows, numbers=0) + _more(figures.people, SHOWN_PEOPLE)


def _stays(figures: RunFigures) -> str:
    if not figures.zones:
        return ""
    people = (
        (figures.name_of(stay.actor_id), listed_shares((zone or ELSEWHERE, share) for zone, share in stay.shares))
        for stay in figures.stays[:SHOWN_PEOPLE]
    )
    all_ticks = max(figures.actor_ticks, 1)
    zones = (
        (
            *(zone.name, zone.purpose or "-", figures.name_of(zone.owner) or "-"),
            listed_shares((figures.name_of(actor_id), share) for actor_id, share in zone.regulars) or "-",
            *(number(zone.visitors), percent(zone.actor_ticks / all_ticks)),
        )
        for zone in figures.zones[:SHOWN_ZONES]
    )
    left = figures.actors - figures.presence.never_came - min(len(figures.stays), SHOWN_PEOPLE)
    rest = f'<p class="none">and {number(left)} more</p>' if left > 0 else ""
    return (
        "<h3>By zone</h3>"
        '<p class="sub">Of nested zones the smallest counts. Time in a zone is that of all actors together.</p>'
        + table(("zone", "purpose", "owner", "most time by", "visitors", "time"), zones, numbers=2)
        + _more(figures.zones, SHOWN_ZONES)
        + _folded("Who spent time where", table(("who", "share of its ticks"), people, numbers=0) + rest)
    )


def _folded(title: str, body: str) -> str:
    return f"<details><summary>{escape(title)}</summary>{body}</details>"


def _more(rows: Sized, shown: int) -> str:
    left = len(rows) - shown
    return f'<p class="none">and {number(left)} more</p>' if left > 0 else ""


def _goals(figures: RunFigures) -> str:
    if not figures.goals:
        return ""
    rows = (
        (
            goal.name,
            goal.condition,
            ("not reached" if goal.first_tick_id is None else f"tick {goal.first_tick_id}")
            + (", the end" if goal.ended else ""),
            *map(number, (goal.times, goal.points)),
        )
        for goal in figures.goals
    )
    return table(("goal", "condition", "reached", "times", "score"), rows, numbers=2)


def _own_rules(figures: RunFigures) -> str:
    if not figures.own_rules:
        return ""
    rows = (
        (
            rule.name,
            f"tick {rule.first_tick_id}" + (", the end" if rule.ended else ""),
            *map(number, (rule.times, rule.points)),
        )
        for rule in figures.own_rules
    )
    return table(("rule", "first in", "times", "score"), rows, numbers=2)


def _scores(figures: RunFigures) -> str:
    if not figures.scores:
        return ""
    scores = (
        (figures.name_of(score.actor_id) if score.actor_id else "the world", number(score.points))
        for score in figures.scores[:SHOWN_ITEMS]
    )
    return f"{table(('who', 'score'), scores, numbers=1)}{_more(figures.scores, SHOWN_ITEMS)}"


def _actors(figures: RunFigures) -> str:
    moments = figures.moments
    series = (
        Series("awake and controlled", charts.SERIES[0], [moment.awake for moment in moments]),
        Series("asleep", charts.SERIES[5], [moment.asleep for moment in moments]),
        Series("incapacitated", charts.BAD, [moment.incapacitated for moment in moments]),
        Series("uncontrolled", charts.IDLE, [moment.uncontrolled for moment in moments]),
    )
    line = f'<p class="sub">{escape(str(figures.presence))}</p>' if str(figures.presence) else ""
    for state in series:
        there = [sum(values) for values in zip(*(one.values for one in series), strict=True)]
        if there and all(value >= _NEARLY_ALL * most for value, most in zip(state.values, there, strict=True)):
            return f"{line}<p>Nearly all of them were {escape(state.name)}, from the first tick to the last.</p>"
    ticks = [moment.tick_id for moment in moments]
    usual = max(series, key=lambda state: sum(state.values))
    if not ticks or sum(usual.values) < _MOSTLY * sum(sum(state.values) for state in series):
        return line + charts.stacked(ticks, series, label="How many actors were in which state")
    others = [state for state in series if state is not usual and any(state.values)]
    rest = f"<p>Most of them were {escape(usual.name)} most of the time; the lines count those that were not.</p>"
    return line + rest + charts.line(ticks, others, label=f"How many actors were not {usual.name}")


def _heat(figures: RunFigures) -> str:
    heat = figures.heat
    size = f"{figures.width} x {figures.height} tiles"
    each = "" if heat.tiles_per_cell == 1 else f", {heat.tiles_per_cell} x {heat.tiles_per_cell} to a square"
    note = f'<p class="sub">{size}{each}; the redder, the longer actors stood there (logarithmic). Grey is blocked.</p>'
    return note + charts.heat_picture(heat.counts, heat.open, label="Where actors were")


def _actions(figures: RunFigures) -> str:
    rows = [(action.action, float(action.tried), float(action.worked)) for action in figures.actions]
    drawn = charts.bars(rows, label="How often each action was tried and worked", names=("tried", "worked"))
    if not figures.failures:
        return drawn
    failures = (
        (failure.action, failure.reason.replace("_", " "), number(failure.count)) for failure in figures.failures
    )
    return drawn + "<h3>Failures by reason</h3>" + table(("action", "reason", "count"), failures, numbers=1)


def _items(figures: RunFigures) -> str:
    items = figures.items
    if not items:
        return ""
    names = ("actor", "item", "at first", "at last", "given", "received")
    rows = (
        (
            figures.name_of(item.actor_id),
            item.item,
            *map(number, (item.at_first, item.at_last, item.given, item.received)),
        )
        for item in items[:SHOWN_ITEMS]
    )
    everything = table(names, rows, numbers=4) + _more(items, SHOWN_ITEMS)
    kinds = list(dict.fromkeys(item.item for item in items))
    sums = (
        (kind, *(number(sum(getattr(item, what) for item in items if item.item == kind)) for what in _ITEM_SUMS))
        for kind in kinds[:SHOWN_ITEMS]
    )
    by_kind = table(("item", "at first", "at last", "given"), sums, numbers=3) + _more(kinds, SHOWN_ITEMS)
    return by_kind + _folded("By actor", everything)


def _conversations(figures: RunFigures, replay: str) -> str:
    talks = figures.conversations
    if not talks:
        return charts.nothing(f"No conversations; {number(figures.utterances)} utterances in all.")
    shown = []
    for talk in talks[:SHOWN_CONVERSATIONS]:
        lines = "".join(
            f"<li><small>{line.tick_id}</small><b>{escape(figures.name_of(line.actor_id))}</b> {escape(line.text)}</li>"
            for line in talk.lines[:SHOWN_LINES]
        )
        more = len(talk.lines) - SHOWN_LINES
        lines += f"<li><small>and {number(more)} more</small></li>" if more > 0 else ""
        who = escape(", ".join(map(figures.name_of, talk.speakers)))
        ticks = f"ticks {talk.first_tick_id} to {talk.last_tick_id}, near {talk.x}, {talk.y}; {len(talk.lines)} lines"
        when = escape("; ".join(part for part in (where_and_when(figures, talk), ticks) if part))
        link = escape(tick_address(talk.first_tick_id, talk.speakers[0], replay))
        shown.append(
            f'<details><summary>{who} <small>{when}</small></summary><ul class="talk">{lines}</ul>'
            f'<p><a href="{link}">See it in the replay</a></p></details>'
        )
    left = len(talks) - SHOWN_CONVERSATIONS
    rest = f'<p class="none">The {SHOWN_CONVERSATIONS} longest of {number(len(talks))}.</p>' if left > 0 else ""
    return "".join(shown) + rest


def where_and_when(figures: RunFigures, talk: Conversation) -> str:
    """Return the place and the time of a conversation, as `in the square, day 1, 08:30 to 08:45, rain`."""
    if not figures.has_setting:
        return ""
    zone = figures.setting.zone_at(talk.x, talk.y)
    first, last = (figures.setting.calendar.at(tick_id) for tick_id in (talk.first_tick_id, talk.last_tick_id))
    end = last.clock if first.day == last.day else f"day {last.day}, {last.clock}"
    parts = [
        f"in {zone_phrase(zone.name)}" if zone is not None else "",
        f"day {first.day}, {first.clock}{'' if first.clock == end else f' to {end}'}",
        first.conditions,
        *(f"during {zone_phrase(festival.name)}" for festival in first.festivals),
    ]
    return ", ".join(filter(None, parts))


def _models(figures: RunFigures) -> str:
    if not figures.models:
        return charts.nothing("No model was called.")
    names = ("model", "provider", "calls", "failed", "median s", "p95 s", "tokens in", "tokens out", "cost $")
    rows = (
        (
            *(model.model or "-", model.provider or "-", number(model.calls), number(model.failed)),
            *(f"{model.latency_p50_s:.2f}", f"{model.latency_p95_s:.2f}"),
            *(number(model.prompt_tokens), number(model.completion_tokens), f"{model.cost_usd:.4f}"),
        )
        for model in figures.models
    )
    ticks = [moment.tick_id for moment in figures.calls]
    counts = (
        Series("answered", charts.SERIES[0], [float(moment.answered) for moment in figures.calls]),
        Series("failed", charts.BAD, [float(moment.failed) for moment in figures.calls]),
    )
    latency = (Series("median latency, s", charts.THOUGHT, [moment.latency_s for moment in figures.calls]),)
    return (
        table(names, rows, numbers=7)
        + "<h3>Over time</h3>"
        + charts.stacked(ticks, counts, label="Model calls over time", height=140)
        + charts.line(ticks, latency, label="Latency of model calls over time")
    )


def _outages(figures: RunFigures) -> str:
    if not figures.outages:
        return charts.nothing("None: every model answered, and no actor lost its agent.")
    shown = []
    for kind, title, colour in (
        ("noted", "Noted while it ran", charts.SERIES[5]),
        ("model", "Models that failed call after call", charts.BAD),
        ("agent", "Actors without their agent", charts.SERIES[3]),
    ):
        times: dict[str, list[tuple[int, int, str]]] = {}
        for outage in figures.outages:
            if outage.kind == kind:
                name = figures.name_of(outage.name) if kind == "agent" else outage.name
                times.setdefault(name, []).append(_time(outage))
        if times:
            rows = list(times.items())[:SHOWN_OUTAGES]
            first, last = figures.first_tick_id, figures.last_tick_id
            drawn = charts.spans(rows, first, last, label=title, colour=colour)
            left = len(times) - len(rows)
            rest = f'<p class="none">and {number(left)} more</p>' if left > 0 else ""
            shown.append(f"<h3>{title}</h3>{drawn}{rest}")
    return "".join(shown)


def _time(outage: Outage) -> tuple[int, int, str]:
    return outage.first_tick_id, outage.last_tick_id, outage.detail
