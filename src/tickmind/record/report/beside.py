"""Two runs beside each other: where they part, how far apart they are, their figures, and what only one has."""

from dataclasses import dataclass
from html import escape
from typing import Final

from tickmind.record.pages import charts
from tickmind.record.pages.charts import Series, number
from tickmind.record.pages.html import table
from tickmind.record.report.divergence import Divergence
from tickmind.record.report.figures import RunFigures
from tickmind.record.report.shares import percent
from tickmind.record.report.story_sections import SHOWN_HIGHLIGHTS, sentence_list, story_counts
from tickmind.record.story import RunStory, highlights

_KINDS: Final = {  # kind of event -> what it is called in the table
    "met": "first meetings",
    "talked": "further talks",
    "kept": "promises kept",
    "broke": "promises broken",
    "gave": "gifts",
    "traded": "trades",
    "learnt": "news learnt",
    "became close": "friendships",
    "fell out": "quarrels",
    "made": "things made",
    "collapsed": "collapses",
}


@dataclass(frozen=True, slots=True)
class OtherRun:
    """A run to set a report's run beside."""

    figures: RunFigures
    story: RunStory | None
    divergence: Divergence
    replay: str  # where its replay is


def beside(figures: RunFigures, story: RunStory | None, other: OtherRun, replay: str) -> str:
    """Return what the two runs have in common and what they have not."""
    parted = other.divergence
    theirs = other.figures
    same = "After every tick both worlds are the same, and so are all thoughts."
    why = [text[:1].upper() + text[1:] + "." for text in (parted.state, parted.thought) if text]
    parts = [f'<p class="lead">{escape(" ".join(why) or same)}</p>']
    if parted.ticks:
        apart = [100 * share for share in parted.elsewhere]
        series = [Series("% of the actors that stand elsewhere in the other run", charts.SERIES[1], apart)]
        parts.append(charts.line(parted.ticks, series, label="How far apart the runs are over time", height=110))
    names = ("", figures.run_id, theirs.run_id, "difference")
    parts.append(table(names, [*_figure_rows(figures, theirs), *_story_rows(story, other.story)], numbers=3))
    if story and other.story:
        parts.append(_only_in_one(figures, story, other, other.story, replay))
    return "".join(parts)


def _figure_rows(ours: RunFigures, theirs: RunFigures) -> list[tuple[str, ...]]:
    def both(name: str, one: float, two: float) -> tuple[str, ...]:
        return name, number(one), number(two), _signed(two - one)

    tried, worked = (
        [sum(getattr(action, name) for action in run.actions) for run in (ours, theirs)] for name in ("tried", "worked")
    )
    rates = [done / of if of else 0.0 for done, of in zip(worked, tried, strict=True)]
    points = round(100 * (rates[1] - rates[0]))
    rows = [
        both("ticks", ours.ticks, theirs.ticks),
        both("actors", ours.actors, theirs.actors),
        both("actions", tried[0], tried[1]),
        ("actions that worked", percent(rates[0]), percent(rates[1]), f"{_signed(points)} points"),
        both("utterances", ours.utterances, theirs.utterances),
        both("conversations", len(ours.conversations), len(theirs.conversations)),
        both("model calls", ours.model_calls, theirs.model_calls),
    ]
    if ours.cost_usd or theirs.cost_usd:
        rows.append(both("known cost, $", ours.cost_usd, theirs.cost_usd))
    scores = [sum(score.points for score in run.scores) for run in (ours, theirs)]
    if any(scores):
        rows.append(both("score of all", scores[0], scores[1]))
    return rows


def _story_rows(story: RunStory | None, other: RunStory | None) -> list[tuple[str, ...]]:
    if story is None or other is None:
        return []
    ours, theirs = story_counts(story), story_counts(other)
    rows = ((name, ours.get(kind, 0), theirs.get(kind, 0)) for kind, name in _KINDS.items())
    return [(name, number(one), number(two), _signed(two - one)) for name, one, two in rows if one or two]


def _signed(value: float) -> str:
    return f"+{number(value)}" if value > 0 else f"-{number(-value)}" if value < 0 else "0"


def _only_in_one(figures: RunFigures, story: RunStory, other: OtherRun, theirs: RunStory, replay: str) -> str:
    ours_told = highlights(story, most=2 * SHOWN_HIGHLIGHTS)
    theirs_told = highlights(theirs, most=2 * SHOWN_HIGHLIGHTS)
    known = {one.text for one in ours_told}, {one.text for one in theirs_told}
    only_ours = [one for one in ours_told if one.text not in known[1]][: SHOWN_HIGHLIGHTS // 2]
    only_theirs = [one for one in theirs_told if one.text not in known[0]][: SHOWN_HIGHLIGHTS // 2]
    if not only_ours and not only_theirs:
        return ""
    columns = (
        (figures.run_id, sentence_list(only_ours, story.calendar, replay)),
        (other.figures.run_id, sentence_list(only_theirs, theirs.calendar, other.replay)),
    )
    drawn = "".join(f"<div><h3>Only in {escape(run_id)}</h3>{told}</div>" for run_id, told in columns)
    return f'<div class="both">{drawn}</div>'
