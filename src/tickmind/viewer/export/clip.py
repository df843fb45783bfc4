"""Clips: some ticks of a run and the page that shows them, in one file that needs no server."""

import base64
import gzip
import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from tickmind.base import Limit
from tickmind.viewer.errors import NoSuchWindowError, PageMissingError
from tickmind.viewer.frames import hello, whole_thought
from tickmind.viewer.frames.tile_art import TileArt, shown_art
from tickmind.viewer.page import page_files
from tickmind.viewer.sources.digest import MOST_BUCKETS, Digest
from tickmind.viewer.sources.minds import LOOK_BACK_TICKS, NeedsNow, shown_insight
from tickmind.viewer.sources.replay import RunFrames
from tickmind.viewer.sources.source import Span, window_ticks

if TYPE_CHECKING:
    from tickmind.record import RunReader

MAX_CLIP_TICKS = Limit("number of ticks in a clip", 10_000)
MAX_CLIP_NEEDS = Limit("number of reports of needs in a clip", 500_000)
MAX_CLIP_CHARS = Limit("length of the insights in a clip", 20_000_000, "characters")
MAX_CLIP_BYTES = Limit("size of a clip's frames", 200 * 1024 * 1024, "bytes")
_SCRIPT = re.compile(rb'<script type="module"[^>]*src="\./([^"]+)"></script>')
_STYLE = re.compile(rb'<link rel="stylesheet"[^>]*href="\./([^"]+)">')
_ICON = re.compile(rb'<link rel="icon"[^>]*>')


def chosen_ticks(reader: "RunReader", first: int | None, last: int | None) -> tuple[int, int]:
    """Return the first and the last tick of a part of a run; by default the whole run."""
    begin, end = reader.first_tick_id, reader.last_tick_id
    if begin is None or end is None:
        raise NoSuchWindowError(f"run {reader.run_id} has no ticks yet")
    first, last = max(begin, begin if first is None else first), min(end, end if last is None else last)
    if last < first:
        raise NoSuchWindowError(f"run {reader.run_id} has ticks {begin} to {end}; choose --first and --last among them")
    return first, last


def clip_of(
    reader: "RunReader", first: int | None = None, last: int | None = None, tile_art: TileArt | None = None
) -> bytes:
    """Return the page with these ticks inside; by default the whole run, if that is not too long."""
    first, last = chosen_ticks(reader, first, last)
    MAX_CLIP_TICKS.check(last - first + 1)
    info, maker = reader.info, RunFrames(reader)
    window = window_ticks(len(info.actors))
    frames = [hello(info, mode="clip", window_ticks=window, run_id=reader.run_id, **shown_art(tile_art))]
    size = 0
    for frame in _frames(maker, first, last, window):
        size += len(frame)
        MAX_CLIP_BYTES.check(size)
        frames.append(frame)
    digest, needs = Digest(first), NeedsNow(len(info.actors))
    for record in reader.records(first, last):
        digest.add_tick(record.tick_id, record.actor_state, record.results, len(record.utterances))
        away = np.flatnonzero(~record.actor_state.present).astype(np.int32)
        digest.add_needs(record.tick_id, needs.take(record.needs, away))
    reports = list(reader.thoughts(first, last))
    digest.add_thoughts(reports)
    rows = maker.names.actor_rows
    head = {
        "span": {**Span(first, last, growing=False, run_id=reader.run_id).shown(), "live": False},
        "digest": digest.shown(most_buckets=MOST_BUCKETS),
        "thoughts": [whole_thought(report, rows[report.entity_id]) for report in reports if report.entity_id in rows],
        "minds": _minds(reader, first, last, rows),
    }
    return _page(head, b"".join(frames))


def _frames(maker: RunFrames, first: int, last: int, window: int) -> Iterator[bytes]:
    """Iterate over the frames of all ticks, with a keyframe before each window, as the page expects."""
    while first <= last:
        end = min(last, -(-first // window) * window)
        yield from maker.frames(first, end)
        first = end + 1


def _minds(reader: "RunReader", first: int, last: int, rows: Mapping[str, int]) -> dict[str, Any]:
    """Return insights and needs by row; of too many, those of the last ticks are left out."""
    minds: dict[str, Any] = {}
    chars = entries = 0
    for insight in sorted(reader.insights(first - LOOK_BACK_TICKS, last), key=lambda insight: insight.tick_id):
        chars += insight.chars
        if insight.entity_id in rows and MAX_CLIP_CHARS.allows(chars):
            mind = minds.setdefault(str(rows[insight.entity_id]), {"insights": [], "needs": []})
            mind["insights"].append(shown_insight(insight))
    for tick_id, needs in reader.needs(first - LOOK_BACK_TICKS, last):
        entries += len(needs.actor)
        if not MAX_CLIP_NEEDS.allows(entries):
            break
        own = [()] * len(needs.actor) if needs.own is None else needs.own.tolist()
        each = zip(needs.actor.tolist(), needs.energy.tolist(), needs.hunger.tolist(), own, strict=True)
        for row, energy, hunger, rest in each:
            minds.setdefault(str(row), {"insights": [], "needs": []})["needs"].append((tick_id, energy, hunger, *rest))
    return minds


def _page(head: dict[str, Any], frames: bytes) -> bytes:
    files = page_files()
    html = files["/index.html"].data
    script, style = _SCRIPT.search(html), _STYLE.search(html)
    if script is None or style is None:
        raise PageMissingError("the viewer's page has an unexpected form; rebuild it with `make page`")
    code = files[f"/{script[1].decode()}"].data.replace(b"</script", b"<\\/script").replace(b"<!--", b"<\\!--")
    look = files[f"/{style[1].decode()}"].data.replace(b"</style", b"<\\/style")
    policy = (
        f"default-src 'none'; script-src {_hash(code)}; style-src {_hash(look)}; base-uri 'none'; form-action 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )
    data = b"".join(
        (
            b'<script type="application/json" id="clip-head">',
            orjson.dumps(head).replace(b"<", b"\\u003c"),
            b'</script>\n<script type="text/plain" id="clip-frames">',
            base64.b64encode(gzip.compress(frames, 9, mtime=0)),
            b"</script>\n",
        )
    )
    html = _ICON.sub(b"", html)
    html = html.replace(style[0], b"<style>" + look + b"</style>")
    html = html.replace(script[0], b"")
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}" />'.encode()
    html = html.replace(b"<head>", b"<head>\n    " + meta, 1)
    return html.replace(b"</body>", data + b'<script type="module">' + code + b"</script>\n</body>", 1)


def _hash(content: bytes) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content).digest()).decode()}'"
