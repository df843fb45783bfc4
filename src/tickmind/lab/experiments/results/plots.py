"""Plots of an experiment as SVG: distributions with intervals, differences, and curves with bands."""

from collections.abc import Sequence
from html import escape
from typing import Final

from tickmind.lab.experiments.results.analysis import ConditionSummary, Contrast, CurveBand
from tickmind.record.pages.charts import SERIES, Series, legend, nothing, number

_WIDTH: Final = 760
_LEFT: Final = 200
_RIGHT: Final = 16
_STEP: Final = 44
_MOST_DOTS: Final = 400
_LONGEST_NAME: Final = 30


class _Scale:
    """Maps values to places in a picture."""

    def __init__(self, low: float, high: float, left: float, right: float) -> None:
        if low == high:
            low, high = low - 0.5, high + 0.5
        gap = (high - low) * 0.04
        self.low, self.high = low - gap, high + gap
        self._left, self._right = left, right

    def __call__(self, value: float) -> float:
        return self._left + (value - self.low) / (self.high - self.low) * (self._right - self._left)


def distributions(summaries: Sequence[ConditionSummary], *, label: str) -> str:
    """Draw a dot for each run, and the mean of each condition with its interval."""
    known = [one for one in summaries if one.by_seed]
    if not known:
        return nothing("No trial has a value.")
    values = [value for one in known for value in one.by_seed.values()]
    across = _Scale(min(values), max(values), _LEFT, _WIDTH - _RIGHT)
    shapes = []
    for place, one in enumerate(known):
        y, colour = place * _STEP + 22, SERIES[place % len(SERIES)]
        shapes.append(_name(one.condition, y))
        for at, (seed, value) in enumerate(list(one.by_seed.items())[:_MOST_DOTS]):
            shift = (at * 7 % 11 - 5) * 1.4  # so that equal values can be told apart
            shapes.append(
                f'<circle cx="{across(value):.1f}" cy="{y + shift:.1f}" r="3" fill="{colour}" opacity=".45">'
                f"<title>seed {seed}: {number(value)}</title></circle>"
            )
        if one.interval is not None:
            shapes.append(_interval(across, one.interval.low, one.interval.high, one.interval.mean, y + 14, colour))
    return _picture(shapes, across, len(known) * _STEP + 8, label)


def differences(contrasts: Sequence[Contrast], *, label: str) -> str:
    """Draw the mean difference of each condition from the baseline, with its interval, beside 0."""
    known = [one for one in contrasts if one.interval is not None]
    if not known:
        return ""
    ends = [end for one in known if one.interval for end in (one.interval.low, one.interval.high)]
    across = _Scale(min(0.0, *ends), max(0.0, *ends), _LEFT, _WIDTH - _RIGHT)
    height = len(known) * _STEP + 8
    zero = across(0.0)
    shapes = [
        f'<line x1="{zero:.1f}" y1="0" x2="{zero:.1f}" y2="{height}" stroke="var(--muted)" stroke-dasharray="3 3"/>',
    ]
    for place, one in enumerate(known):
        if one.interval is None:
            continue
        y, colour = place * _STEP + 22, SERIES[(place + 1) % len(SERIES)]
        shapes += [
            _name(one.condition, y),
            _interval(across, one.interval.low, one.interval.high, one.interval.mean, y, colour),
        ]
    return _picture(shapes, across, height, label)


def bands(curves: Sequence[CurveBand], *, label: str, height: int = 220) -> str:
    """Draw the mean of each condition over time, with its band."""
    if not curves:
        return ""
    top, base = 10, height - 24
    across = _Scale(min(one.ticks[0] for one in curves), max(one.ticks[-1] for one in curves), 46, _WIDTH - _RIGHT)
    lows, highs = [min(one.low) for one in curves], [max(one.high) for one in curves]
    up = _Scale(min(0.0, *lows), max(*highs, 0.0), base, top)
    shapes = []
    for place, one in enumerate(curves):
        colour = SERIES[place % len(SERIES)]
        there = [f"{across(tick):.1f},{up(value):.1f}" for tick, value in zip(one.ticks, one.high, strict=True)]
        back = [f"{across(tick):.1f},{up(value):.1f}" for tick, value in zip(one.ticks, one.low, strict=True)]
        line = " ".join(f"{across(tick):.1f},{up(value):.1f}" for tick, value in zip(one.ticks, one.mean, strict=True))
        shapes.append(f'<polygon points="{" ".join(there + back[::-1])}" fill="{colour}" opacity=".18"/>')
        shapes.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.8"/>')
    first, last = curves[0].ticks[0], max(one.ticks[-1] for one in curves)
    shapes.append(
        f'<line x1="46" y1="{base}" x2="{_WIDTH - _RIGHT}" y2="{base}" stroke="var(--line)"/>'
        f'<text x="40" y="{up(max(highs)) + 4:.1f}" text-anchor="end">{number(max(highs))}</text>'
        f'<text x="40" y="{up(min(0.0, *lows)):.1f}" text-anchor="end">{number(min(0.0, *lows))}</text>'
        f'<text x="46" y="{height - 6}">tick {first}</text>'
        f'<text x="{_WIDTH - _RIGHT}" y="{height - 6}" text-anchor="end">{last}</text>'
    )
    return _svg(shapes, height, label) + _legend([one.condition for one in curves])


def _interval(across: _Scale, low: float, high: float, mean: float, y: float, colour: str) -> str:
    title = f"{number(mean)} ({number(low)} to {number(high)})"
    return (
        f'<g><title>{title}</title><line x1="{across(low):.1f}" y1="{y}" x2="{across(high):.1f}" y2="{y}" '
        f'stroke="{colour}" stroke-width="3"/><circle cx="{across(mean):.1f}" cy="{y}" r="5" fill="{colour}"/></g>'
    )


def _name(name: str, y: float) -> str:
    shown = name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 3]}..."
    return f'<text x="{_LEFT - 10}" y="{y + 4}" text-anchor="end"><title>{escape(name)}</title>{escape(shown)}</text>'


def _picture(shapes: list[str], across: _Scale, height: int, label: str) -> str:
    low, high = across.low, across.high
    axis = (
        f'<line x1="{_LEFT}" y1="{height}" x2="{_WIDTH - _RIGHT}" y2="{height}" stroke="var(--line)"/>'
        f'<text x="{_LEFT}" y="{height + 15}">{_signed(low)}</text>'
        f'<text x="{_WIDTH - _RIGHT}" y="{height + 15}" text-anchor="end">{_signed(high)}</text>'
    )
    return _svg([*shapes, axis], height + 22, label)


def _signed(value: float) -> str:
    return f"-{number(-value)}" if value < 0 else number(value)


def _svg(shapes: Sequence[str], height: int, label: str) -> str:
    size = f"0 0 {_WIDTH} {height}"
    svg = f'<svg viewBox="{size}" role="img" aria-label="{escape(label)}">{"".join(shapes)}</svg>'
    return f'<div class="plot">{svg}</div>'


def _legend(names: Sequence[str]) -> str:
    return legend([Series(name, SERIES[place % len(SERIES)], ()) for place, name in enumerate(names)])
