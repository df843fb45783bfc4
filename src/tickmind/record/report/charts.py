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

_WIDTH: Final = 760
_LEFT: Final = 46
_BOTTOM: Final = 22
_TOP: Final = 8
_COLD, _HOT, _EMPTY, _WALL = (244, 239, 224), (176, 42, 26), (250, 249, 246), (221, 218, 210)


@dataclass(frozen=True, slots=True)
class Series:
    """One band or line of a chart."""

    name: str
    colour: str
    values: Sequence[float]


def stacked(ticks: Sequence[int], series: Sequence[Series], *, label: str, height: int = 190) -> str:
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
    return _chart(ticks, most, "".join(shapes), label=label, height=height) + _legend(series)


def line(ticks: Sequence[int], series: Sequence[Series], *, label: str, height: int = 150) -> str:
    """Draw lines over time."""
    if not ticks:
        return nothing("Nothing to show.")
    most = max((value for curve in series for value in curve.values), default=0.0) or 1.0
    shapes = []
    for curve in series:
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in _points(ticks, np.asarray(curve.values), most, height))
        shapes.append(f'<polyline fill="none" stroke="{curve.colour}" stroke-width="1.6" points="{points}"/>')
    return _chart(ticks, most, "".join(shapes), label=label, height=height) + _legend(series)


def bars(rows: Sequence[tuple[str, float, float]], *, label: str, names: tuple[str, str]) -> str:
    """Draw horizontal bars of (name, whole, part of it), the part in another colour."""
    if not rows:
        return nothing("Nothing to show.")
    most = max(whole for _, whole, _ in rows) or 1.0
    step, left = 24, 190
    shapes = []
    for place, (name, whole, part) in enumerate(rows):
        y, scale = place * step, (_WIDTH - left - 90) / most
        shapes.append(
            f'<text x="{left - 8}" y="{y + 15}" text-anchor="end">{escape(name)}</text>'
            f'<rect x="{left}" y="{y + 3}" width="{max(whole * scale, 1):.1f}" height="16" fill="#c9c4b6"/>'
            f'<rect x="{left}" y="{y + 3}" width="{part * scale:.1f}" height="16" fill="#2f6f6a"/>'
            f'<text x="{left + whole * scale + 6:.1f}" y="{y + 15}">{number(whole)}</text>'
        )
    size = f"0 0 {_WIDTH} {len(rows) * step + 4}"
    both = (Series(names[1], "#2f6f6a", ()), Series(names[0], "#c9c4b6", ()))
    return f'<svg viewBox="{size}" role="img" aria-label="{escape(label)}">{"".join(shapes)}</svg>' + _legend(both)


def spans(
    rows: Sequence[tuple[str, Sequence[tuple[int, int, str]]]], first: int, last: int, *, label: str, colour: str
) -> str:
    """Draw one row for each name, with its spans (first tick, last tick, what) marked."""
    if not rows:
        return nothing("Nothing to show.")
    step, left = 22, 190
    scale = (_WIDTH - left - 10) / max(last - first + 1, 1)
    shapes = []
    for place, (name, times) in enumerate(rows):
        y = place * step
        shapes.append(
            f'<text x="{left - 8}" y="{y + 14}" text-anchor="end">{escape(name)}</text>'
            f'<rect x="{left}" y="{y + 9}" width="{_WIDTH - left - 10}" height="2" fill="#e3dfd3"/>'
        )
        for begin, end, what in times:
            x, width = left + (begin - first) * scale, max((end - begin + 1) * scale, 2)
            title = f"ticks {begin} to {end}: {what}" if what else f"ticks {begin} to {end}"
            shapes.append(
                f'<rect x="{x:.1f}" y="{y + 4}" width="{width:.1f}" height="12" fill="{colour}">'
                f"<title>{escape(title)}</title></rect>"
            )
    y = len(rows) * step + 12
    ends = f'<text x="{left}" y="{y}">{first}</text><text x="{_WIDTH - 10}" y="{y}" text-anchor="end">{last}</text>'
    return f'<svg viewBox="0 0 {_WIDTH} {y + 6}" role="img" aria-label="{escape(label)}">{"".join(shapes)}{ends}</svg>'


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
    size, middle = 460, _WIDTH / 2
    angles = [2 * math.pi * place / len(names) for place in range(len(names))]
    at = [(middle + 170 * math.sin(angle), size / 2 - 170 * math.cos(angle)) for angle in angles]
    shapes = []
    for one, other in edges:
        (x1, y1), (x2, y2) = at[one], at[other]
        look = f'stroke="{colours[one, other]}" stroke-width="3"' if (one, other) in colours else 'stroke="#2f6f6a"'
        shapes.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {look} opacity=".35"/>')
    for name, (x, y) in zip(names, at, strict=True):
        side, gap = ("start", 9) if x >= middle else ("end", -9)
        shapes.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="#2f6f6a"/>'
            f'<text x="{x + gap:.1f}" y="{y + 4:.1f}" text-anchor="{side}">{escape(name)}</text>'
        )
    return f'<svg viewBox="0 0 {_WIDTH} {size}" role="img" aria-label="{escape(label)}">{"".join(shapes)}</svg>'


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
        f'<rect x="{west}" y="{north}" width="{east - west + 1}" height="{south - north + 1}" fill="#e3dfd3">'
        f"<title>{escape(name)}</title></rect>"
        for name, (west, north, east, south) in areas
    )
    maps = []
    for frame in frames:
        lines = "".join(
            f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="#b5532b" stroke-width=".35"/>'
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
    """Draw a map on which the squares where actors were more often are redder."""
    rows, columns = counts.shape
    most = max(int(counts.max(initial=0)), 1)
    warmth = (np.log1p(counts) / np.log1p(most))[..., None]
    pixels = np.asarray(_COLD) + warmth * (np.asarray(_HOT) - np.asarray(_COLD))
    pixels = np.where((counts > 0)[..., None], pixels, np.where(open_cells[..., None], _EMPTY, _WALL))
    data = base64.b64encode(png(pixels.astype(np.uint8))).decode()
    return (
        f'<img class="heat" style="aspect-ratio:{columns}/{rows}" alt="{escape(label)}" '
        f'src="data:image/png;base64,{data}">'
    )


def png(pixels: "np.ndarray[tuple[int, ...], np.dtype[np.uint8]]") -> bytes:
    """Encode a picture of (height, width, 3) bytes as a PNG file."""
    height, width, _ = pixels.shape
    lines = b"".join(b"\0" + row.tobytes() for row in pixels)

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
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


def _points(
    ticks: Sequence[int], values: "np.ndarray[tuple[int, ...], np.dtype[np.float64]]", most: float, height: int
) -> list[tuple[float, float]]:
    first, span = ticks[0], max(ticks[-1] - ticks[0], 1)
    inside = height - _TOP - _BOTTOM
    points = [
        (_LEFT + (tick - first) / span * (_WIDTH - _LEFT - 8), _TOP + inside * (1 - float(value) / most))
        for tick, value in zip(ticks, values, strict=True)
    ]
    return points if len(points) > 1 else [points[0], (_WIDTH - 8, points[0][1])]


def _chart(ticks: Sequence[int], most: float, shapes: str, *, label: str, height: int) -> str:
    base = height - _BOTTOM
    frame = (
        f'<line x1="{_LEFT}" y1="{base}" x2="{_WIDTH - 8}" y2="{base}" stroke="#b8b2a2"/>'
        f'<text x="{_LEFT - 6}" y="{_TOP + 9}" text-anchor="end">{number(most)}</text>'
        f'<text x="{_LEFT - 6}" y="{base}" text-anchor="end">0</text>'
        f'<text x="{_LEFT}" y="{height - 6}">tick {ticks[0]}</text>'
        f'<text x="{_WIDTH - 8}" y="{height - 6}" text-anchor="end">{ticks[-1]}</text>'
    )
    return f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(label)}">{shapes}{frame}</svg>'


def _legend(series: Sequence[Series]) -> str:
    items = "".join(f'<li><i style="background:{entry.colour}"></i>{escape(entry.name)}</li>' for entry in series)
    return f'<ul class="legend">{items}</ul>'
