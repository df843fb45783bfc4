"""Charts as SVG and pictures as PNG, made of text and bytes, so that a page needs no other resources.

Written by hand because a plotting library would be larger than the rest of the package, and its pictures need scripts.
"""

import base64
import math
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from tickmind.protocol.columns import Bool, Int64

SERIES: Final = tuple(f"var(--series-{place})" for place in range(1, 7))
IDLE: Final = "var(--idle)"  # nothing, no one or the rest
BAD, THOUGHT = "var(--bad)", "var(--thought)"
_WIDTH: Final = 1000  # of what is drawn; it is stretched to the width of the page
_NET_WIDTH, _NET_HEIGHT, _NET_RADIUS = 520, 420, 165
_HOT: Final = (176, 42, 26)
_WALL: Final = (128, 128, 128, 70)  # seen on a light page and on a dark one


@dataclass(frozen=True, slots=True)
class Series:
    """One band or line of a chart."""

    name: str
    colour: str
    values: Sequence[float]


def stacked(ticks: Sequence[int], series: Sequence[Series], *, label: str, height: int = 180) -> str:
    """Draw stacked bands over time."""
    if not ticks:
        return nothing("Nothing to show.")
    below = np.zeros(len(ticks))
    most = max(float(np.sum([band.values for band in series], axis=0).max()), 1.0)
    shapes = []
    for band in series:
        above = below + np.asarray(band.values, dtype=float)
        there = _points(ticks, above, most, height)
        back = _points(ticks, below, most, height)[::-1]
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in there + back)
        shapes.append(f'<polygon fill="{band.colour}" points="{points}"><title>{escape(band.name)}</title></polygon>')
        below = above
    return chart(ticks, most, "".join(shapes), label=label, height=height) + legend(series)


def line(ticks: Sequence[int], series: Sequence[Series], *, label: str, height: int = 150) -> str:
    """Draw lines over time."""
    if not ticks:
        return nothing("Nothing to show.")
    most = max((value for curve in series for value in curve.values), default=0.0) or 1.0
    shapes = []
    for curve in series:
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in _points(ticks, np.asarray(curve.values), most, height))
        shapes.append(
            f'<polyline fill="none" stroke="{curve.colour}" stroke-width="2" vector-effect="non-scaling-stroke" '
            f'points="{points}"/>'
        )
    return chart(ticks, most, "".join(shapes), label=label, height=height) + legend(series)


def chart(ticks: Sequence[int], most: float, shapes: str, *, label: str, height: int, least: float = 0.0) -> str:
    """Frame shapes, drawn 1,000 wide and `height` high, as a chart over time that is as wide as the page."""
    below = f'<span class="least">-{number(-least)}</span>' if least < 0 else ""
    return (
        f'<figure class="chart" style="height:{height}px"><span class="most">{number(most)}</span>{below}'
        f'<svg viewBox="0 0 {_WIDTH} {height}" preserveAspectRatio="none" role="img" aria-label="{escape(label)}">'
        f"{shapes}</svg></figure>"
        f'<p class="ends"><span>tick {ticks[0]:,}</span><span>{ticks[-1]:,}</span></p>'
    )


def bars(rows: Sequence[tuple[str, float, float]], *, label: str, names: tuple[str, str]) -> str:
    """Draw horizontal bars of (name, whole, part of it), the part in another colour."""
    if not rows:
        return nothing("Nothing to show.")
    most = max(whole for _, whole, _ in rows) or 1.0
    shapes = [
        f'<li><span class="name">{escape(name)}</span><span class="track">'
        f'<i style="width:{max(whole / most, 0.002):.2%};background:{IDLE}"></i>'
        f'<i style="width:{part / most:.2%};background:{SERIES[0]}"></i></span>'
        f'<span class="amount">{number(whole)}</span></li>'
        for name, whole, part in rows
    ]
    both = (Series(names[1], SERIES[0], ()), Series(names[0], IDLE, ()))
    return f'<ul class="bars" aria-label="{escape(label)}">{"".join(shapes)}</ul>' + legend(both)


def shares(parts: Sequence[tuple[str, float, str]], *, label: str) -> str:
    """Draw one bar of (name, share of the whole, colour), which together are at most 1."""
    drawn = "".join(
        f'<i style="width:{share:.2%};background:{colour}" title="{escape(name)} {share:.0%}"></i>'
        for name, share, colour in parts
    )
    return f'<div class="shares" role="img" aria-label="{escape(label)}">{drawn}</div>'


def spans(
    rows: Sequence[tuple[str, Sequence[tuple[int, int, str]]]], first: int, last: int, *, label: str, colour: str
) -> str:
    """Draw one row for each name, with its spans (first tick, last tick, what) marked."""
    if not rows:
        return nothing("Nothing to show.")
    whole = max(last - first + 1, 1)
    shapes = []
    for name, times in rows:
        marks = []
        for begin, end, what in times:
            title = f"ticks {begin} to {end}: {what}" if what else f"ticks {begin} to {end}"
            at, width = (begin - first) / whole, max((end - begin + 1) / whole, 0.003)
            marks.append(f'<i style="left:{at:.2%};width:{width:.2%};background:{colour}" title="{escape(title)}"></i>')
        shapes.append(
            f'<li><span class="name">{escape(name)}</span><span class="track thin">{"".join(marks)}</span></li>'
        )
    return (
        f'<ul class="bars spans" aria-label="{escape(label)}">{"".join(shapes)}'
        f'<li><span></span><span class="ends"><span>tick {first}</span><span>{last}</span></span></li></ul>'
    )


def network(
    names: Sequence[str],
    edges: Sequence[tuple[int, int]],
    *,
    label: str,
    colours: Mapping[tuple[int, int], str] = MappingProxyType({}),
) -> str:
    """Draw names in a circle, and a line between each two whose places are an edge; some in another colour, thicker."""
    if not names:
        return nothing("Nothing to show.")
    middle, height = _NET_WIDTH / 2, _NET_HEIGHT
    angles = [2 * math.pi * place / len(names) for place in range(len(names))]
    at = [(middle + _NET_RADIUS * math.sin(angle), height / 2 - _NET_RADIUS * math.cos(angle)) for angle in angles]
    shapes = []
    for one, other in edges:
        (x1, y1), (x2, y2) = at[one], at[other]
        strong = f'stroke="{colours[one, other]}" stroke-width="3" opacity=".8"' if (one, other) in colours else ""
        look = strong or f'stroke="{SERIES[0]}" opacity=".35"'
        shapes.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {look}/>')
    for name, (x, y) in zip(names, at, strict=True):
        side, gap = ("start", 9) if x >= middle else ("end", -9)
        shapes.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{SERIES[0]}"/>'
            f'<text x="{x + gap:.1f}" y="{y + 4:.1f}" text-anchor="{side}">{escape(name)}</text>'
        )
    size = f"0 0 {_NET_WIDTH} {height}"
    return f'<svg class="net" viewBox="{size}" role="img" aria-label="{escape(label)}">{"".join(shapes)}</svg>'


@dataclass(frozen=True, slots=True)
class MapFrame:
    """A moment on a map: dots as (x, y, name, colour), and lines between tiles."""

    title: str
    dots: Sequence[tuple[float, float, str, str]]
    lines: Sequence[tuple[float, float, float, float]] = ()


def map_frames(
    size: tuple[int, int], areas: Sequence[tuple[str, tuple[int, int, int, int]]], frames: Sequence[MapFrame]
) -> str:
    """Draw one small map for each moment, side by side: named rectangles, and dots on them."""
    if not frames:
        return nothing("Nothing to show.")
    width, height = size
    ground = "".join(
        f'<rect x="{west}" y="{north}" width="{east - west + 1}" height="{south - north + 1}" fill="var(--track)">'
        f"<title>{escape(name)}</title></rect>"
        for name, (west, north, east, south) in areas
    )
    maps = []
    for frame in frames:
        lines = "".join(
            f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="var(--series-2)" stroke-width=".35"/>'
            for x1, y1, x2, y2 in frame.lines
        )
        dots = "".join(
            f'<circle cx="{x}" cy="{y}" r="1" fill="{colour}"><title>{escape(name)}</title></circle>'
            for x, y, name, colour in frame.dots
        )
        maps.append(
            f'<figure class="moment"><svg viewBox="0 0 {width} {height}" role="img" '
            f'aria-label="{escape(frame.title)}">{ground}{lines}{dots}</svg>'
            f"<figcaption>{escape(frame.title)}</figcaption></figure>"
        )
    return f'<div class="moments">{"".join(maps)}</div>'


def heat_picture(counts: "Int64", open_cells: "Bool", *, label: str) -> str:
    """Draw a map on which the squares where actors were more often are redder, and where no actor was it is clear."""
    rows, columns = counts.shape
    most = max(int(counts.max(initial=0)), 1)
    warmth = np.log1p(counts) / np.log1p(most)
    pixels = np.zeros((rows, columns, 4), dtype=np.uint8)
    pixels[~open_cells] = _WALL
    pixels[..., :3] = np.where((counts > 0)[..., None], _HOT, pixels[..., :3])
    pixels[..., 3] = np.where(counts > 0, 40 + warmth * 215, pixels[..., 3])
    data = base64.b64encode(png(pixels)).decode()
    return (
        f'<img class="heat" style="aspect-ratio:{columns}/{rows}" alt="{escape(label)}" '
        f'src="data:image/png;base64,{data}">'
    )


def png(pixels: "np.ndarray[tuple[int, ...], np.dtype[np.uint8]]") -> bytes:
    """Encode a picture of (height, width, 4) bytes, red, green, blue and opacity, as a PNG file."""
    height, width, _ = pixels.shape
    lines = b"".join(b"\0" + row.tobytes() for row in pixels)

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    parts = chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(lines, 9)), chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def number(value: float) -> str:
    """Format a number: 1,234 or 0.25."""
    if value >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:,.2f}" if value >= 0.1 else f"{value:.2g}"


def nothing(text: str) -> str:
    """Return the placeholder of an empty chart."""
    return f'<p class="none">{escape(text)}</p>'


def legend(series: Sequence[Series]) -> str:
    """Return which colour is what."""
    items = "".join(f'<li><i style="background:{entry.colour}"></i>{escape(entry.name)}</li>' for entry in series)
    return f'<ul class="legend">{items}</ul>'


def _points(
    ticks: Sequence[int], values: "np.ndarray[tuple[int, ...], np.dtype[np.float64]]", most: float, height: int
) -> list[tuple[float, float]]:
    first, span = ticks[0], max(ticks[-1] - ticks[0], 1)
    points = [
        ((tick - first) / span * _WIDTH, height * (1 - float(value) / most))
        for tick, value in zip(ticks, values, strict=True)
    ]
    return points if len(points) > 1 else [points[0], (_WIDTH, points[0][1])]
