"""Plots of an experiment as SVG: distributions with intervals, differences, and curves with bands."""

import math
from collections.abc import Sequence
from html import escape
from typing import Final

from tickmind.lab.experiments.results.analysis import ConditionSummary, Contrast, CurveBand
from tickmind.record.pages.charts import SERIES, Series, chart, legend, nothing, number

_STEP: Final = 52  # pixels of a row: its name, and below it what is drawn
_ROW_MIDDLE: Final = 32
_MOST_DOTS: Final = 400
_LONGEST_NAME: Final = 48
_GRID_STEPS: Final = (1, 2, 2.5, 5, 10)
_DASHES: Final = ("", "8 8", "3 6")  # so that a line is seen below one that is equal
_BAND_WIDTH: Final = 1000  # of what is drawn; it is stretched to the width of the page


class _Scale:
    """Maps values to places between two ends, with a little room beyond the outermost values."""

    def __init__(self, low: float, high: float, first: float = 0.0, last: float = 100.0, gap: float = 0.05) -> None:
        if low == high:
            low, high = low - 0.5, high + 0.5
        room = (high - low) * gap
        self.low, self.high = low - room, high + room
        self._first, self._last = first, last

    def __call__(self, value: float) -> float:
        return self._first + (value - self.low) / (self.high - self.low) * (self._last - self._first)


def distributions(summaries: Sequence[ConditionSummary], *, label: str) -> str:
    """Draw a dot for each run, and the mean of each condition with its interval."""
    known = [summary for summary in summaries if summary.by_seed]
    if not known:
        return nothing("No trial has a value.")
    values = [value for summary in known for value in summary.by_seed.values()]
    across = _Scale(min(values), max(values))
    shapes = []
    for place, summary in enumerate(known):
        y, colour = place * _STEP + _ROW_MIDDLE, SERIES[place % len(SERIES)]
        shapes.append(_name(summary.condition, y))
        for at, (seed, value) in enumerate(list(summary.by_seed.items())[:_MOST_DOTS]):
            shift = (at * 7 % 11 - 5) * 1.4  # so that equal values can be told apart
            shapes.append(
                f'<circle cx="{across(value):.2f}%" cy="{y + shift:.1f}" r="3" fill="{colour}" opacity=".45">'
                f"<title>seed {seed}: {number(value)}</title></circle>"
            )
        if summary.interval is not None:
            shapes.append(
                _interval(across, summary.interval.low, summary.interval.high, summary.interval.mean, y + 12, colour)
            )
    return _picture(shapes, across, len(known) * _STEP + 6, label)


def differences(contrasts: Sequence[Contrast], *, label: str) -> str:
    """Draw the mean difference of each condition from the baseline, with its interval, beside 0."""
    known = [contrast for contrast in contrasts if contrast.interval is not None]
    if not known:
        return ""
    ends = [end for contrast in known if contrast.interval for end in (contrast.interval.low, contrast.interval.high)]
    across = _Scale(min(0.0, *ends), max(0.0, *ends))
    height = len(known) * _STEP + 6
    zero = f"{across(0.0):.2f}%"
    shapes = [f'<line x1="{zero}" y1="0" x2="{zero}" y2="{height}" stroke="var(--muted)" stroke-dasharray="3 3"/>']
    for place, contrast in enumerate(known):
        if contrast.interval is None:
            continue
        y, colour = place * _STEP + _ROW_MIDDLE, SERIES[(place + 1) % len(SERIES)]
        shapes += [
            _name(contrast.condition, y),
            _interval(across, contrast.interval.low, contrast.interval.high, contrast.interval.mean, y, colour),
        ]
    return _picture(shapes, across, height, label)


def bands(curves: Sequence[CurveBand], *, label: str, height: int = 220) -> str:
    """Draw the mean of each condition over time, with its band."""
    if not curves:
        return ""
    first, last = min(curve.ticks[0] for curve in curves), max(curve.ticks[-1] for curve in curves)
    across = _Scale(first, last, 0, _BAND_WIDTH, gap=0)
    low, high = min(0.0, *(min(curve.low) for curve in curves)), max(0.0, *(max(curve.high) for curve in curves))
    up = _Scale(low, high, height, 0, gap=0.04)
    areas, lines = [], []
    for place, curve in enumerate(curves):
        colour = SERIES[place % len(SERIES)]
        dashes = f' stroke-dasharray="{_DASHES[place]}"' if place < len(_DASHES) and _DASHES[place] else ""
        above, below, middle = (
            [f"{across(tick):.1f},{up(value):.1f}" for tick, value in zip(curve.ticks, values, strict=True)]
            for values in (curve.high, curve.low, curve.mean)
        )
        areas.append(f'<polygon points="{" ".join(above + below[::-1])}" fill="{colour}" opacity=".18"/>')
        lines.append(
            f'<polyline points="{" ".join(middle)}" fill="none" stroke="{colour}" stroke-width="2"{dashes} '
            'vector-effect="non-scaling-stroke"/>'
        )
    drawn = chart((first, last), high, "".join(areas + lines), label=label, height=height, least=low)
    return drawn + legend([Series(one.condition, SERIES[place % len(SERIES)], ()) for place, one in enumerate(curves)])


def _interval(across: _Scale, low: float, high: float, mean: float, y: float, colour: str) -> str:
    title = f"{signed(mean)} ({signed(low)} to {signed(high)})"
    return (
        f'<g><title>{title}</title><line x1="{across(low):.2f}%" y1="{y}" x2="{across(high):.2f}%" y2="{y}" '
        f'stroke="{colour}" stroke-width="3"/><circle cx="{across(mean):.2f}%" cy="{y}" r="5" fill="{colour}"/></g>'
    )


def _name(name: str, y: float) -> str:
    shown = name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 3]}..."
    return f'<text class="name" x="0" y="{y - 18}"><title>{escape(name)}</title>{escape(shown)}</text>'


def _picture(shapes: list[str], across: _Scale, height: int, label: str) -> str:
    """Return a picture as wide as the page, with lines at round values behind what is drawn."""
    grid = []
    for value in round_values(across.low, across.high):
        x = across(value)
        side = "start" if x < 7 else "end" if x > 93 else "middle"
        grid.append(
            f'<line x1="{x:.2f}%" y1="0" x2="{x:.2f}%" y2="{height}" stroke="var(--line)"/>'
            f'<text x="{x:.2f}%" y="{height + 16}" text-anchor="{side}">{signed(value)}</text>'
        )
    drawn = "".join([*grid, *shapes])
    return f'<div class="plot"><svg height="{height + 22}" role="img" aria-label="{escape(label)}">{drawn}</svg></div>'


def round_values(low: float, high: float, most: int = 5) -> list[float]:
    """Return the round numbers between two values, at most so many.

    >>> round_values(-0.3, 11.2)
    [0.0, 2.5, 5.0, 7.5, 10.0]
    """
    size = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(size * factor for factor in _GRID_STEPS if (high - low) / (size * factor) <= most)
    first, last = math.ceil(low / step), math.floor(high / step)
    return [round(step * place, 12) for place in range(first, last + 1)][:most]


def signed(value: float) -> str:
    """Format a number that can be below 0."""
    return f"-{number(-value)}" if value < 0 else number(value)
