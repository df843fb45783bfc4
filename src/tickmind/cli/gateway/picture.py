"""The terminal view of a running gateway: headline, lanes, sessions, queues, costs and events."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tickmind.cli.gateway.figures import (
    ChainFigures,
    EventFigures,
    LaneFigures,
    LimitFigures,
    Overview,
    SessionFigures,
    TargetFigures,
    Times,
)

_STATES: Final = {
    "ready": ("ready", "green"),
    "limited": ("limited", "yellow"),
    "open": ("circuit open", "red"),
    "probing": ("probing", "cyan"),
    "paused": ("account refused", "red"),
}
_EVENTS: Final = {
    "limited": ("limited", "yellow"),
    "fell_back": ("fallback", "cyan"),
    "circuit_opened": ("circuit open", "red"),
    "circuit_closed": ("circuit closed", "green"),
    "account_refused": ("account refused", "red"),
}
_WINDOWS: Final = {1.0: "/s", 60.0: "/min", 3600.0: "/h", 86_400.0: "/day"}
_FIXED_LINES: Final = 2  # title and headline
_TABLE_LINES: Final = 2  # heading and an empty line
_BAR: Final = 8
_WIDE: Final = 100  # columns from which on there is room for bars

Row = tuple[Text | str, ...]


@dataclass(frozen=True, slots=True)
class _Column:
    """A column. `ratio`: its part of the free width; 0 is what its cells need."""

    name: str
    ratio: int = 0
    right: bool = False


def _numbers(*names: str) -> tuple[_Column, ...]:
    return tuple(_Column(name, right=True) for name in names)


_LANES: Final = (
    *(_Column("lane", 3), _Column("state", 5), _Column("in flight"), *_numbers("waiting"), _Column("limits used", 4)),
    *_numbers("served", "429s", "failed"),
)
_SESSIONS: Final = (
    *(_Column("session", 1), *_numbers("weight"), _Column("share of the last minute")),
    *_numbers("served", "queued", "deferred", "wait"),
)
_CHAINS: Final = (
    _Column("queue", 2),
    _Column("goes to", 3),
    _Column("full"),
    _Column("waiting", 2),
    _Column("who", 3),
)
_TARGETS: Final = (_Column("provider and model", 1), *_numbers("served", "tokens in", "out", "cost", "median", "p99"))
_FEED: Final = (_Column("event"), _Column("what", 1), *_numbers("when"))


def picture(
    overview: Overview, address: str, *, width: int, height: int | None = None, age_s: float = 0.0, problem: str = ""
) -> RenderableType:
    """Render all parts, one below the other; in `height` lines if given. `age_s` is how old the figures are."""
    bars = width >= _WIDE
    now_ms = overview.at + 1000 * age_s
    tables: list[tuple[tuple[_Column, ...], list[Row]]] = [
        (_LANES, [_lane(lane, age_s, bars=bars) for lane in overview.lanes]),
        (_SESSIONS, [_session(session, bars=bars) for session in overview.sessions]),
        (_CHAINS, [_chain(chain, bars=bars) for chain in overview.chains]),
        (_TARGETS, [_target(target) for target in overview.targets]),
        (_FEED, [_event(event, now_ms) for event in overview.events]),
    ]
    wanted = [len(rows) for _, rows in tables]
    room = wanted if height is None else divide(height - _FIXED_LINES, wanted)
    parts: list[RenderableType] = [_title(overview, address, problem), _headline(overview)]
    for (columns, rows), most in zip(tables, room, strict=True):
        if most:
            parts += [Text(), _table(columns, rows[:most])]
    return Group(*parts)


def divide(lines: int, wanted: Sequence[int]) -> list[int]:
    """Return how many rows each table gets of so many lines, in turns; a table without rows takes none."""
    given = [0] * len(wanted)
    while lines > 0:
        before = lines
        for number, rows in enumerate(wanted):
            cost = 1 if given[number] else 1 + _TABLE_LINES
            if given[number] < rows and cost <= lines:
                given[number] += 1
                lines -= cost
        if lines == before:
            break
    return given


def _title(overview: Overview, address: str, problem: str) -> Text:
    text = Text("tickmind gateway", style="bold", no_wrap=True, overflow="ellipsis")
    text.append(f"  {address}  up {duration(overview.up_ms)}, {overview.sharing} sharing  ", style="dim")
    if problem:
        text.append(problem, style="bold red")
    elif overview.stopping:
        text.append("stopping", style="bold yellow")
    elif overview.shared.problem:
        text.append(overview.shared.problem, style="bold yellow")
    else:
        text.append("live", style="bold green")
    return text


def _headline(overview: Overview) -> Text:
    lately = overview.lately
    text = Text(no_wrap=True, overflow="ellipsis")
    for name, value in (
        ("served/s", f"{lately.served_per_s:.4g}"),
        ("waiting", _waiting(overview.queued + overview.expected, overview.wait_ms)),
        ("in flight", count(overview.in_flight)),
        ("median wait", duration(lately.waits.p50_ms)),
        ("p99", duration(lately.waits.p99_ms)),
        ("fallbacks", f"{count(lately.fallbacks)}/min, {count(overview.fallbacks)}"),
        ("cost", money(overview.total.usd)),
        ("answered", f"{count(overview.answered)} of {count(overview.requests)}"),
    ):
        text.append("" if not text else "   ").append(f"{name} ", style="dim").append(value, style="bold")
    return text


def _waiting(jobs: int, wait_ms: float) -> str:
    """Format how many wait or are expected, and the wait of one more."""
    return f"{count(jobs)}, about {duration(wait_ms)}" if jobs and wait_ms else count(jobs)


def _table(columns: Iterable[_Column], rows: Iterable[Row]) -> Table:
    table = Table(box=None, pad_edge=False, expand=True, header_style="dim")
    for column in columns:
        table.add_column(
            column.name,
            justify="right" if column.right else "left",
            no_wrap=True,
            overflow="ellipsis",
            ratio=column.ratio or None,
        )
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(cell) for cell in row))
    return table


def _lane(lane: LaneFigures, age_s: float, *, bars: bool) -> Row:
    word, style = _STATES.get(lane.state, (lane.state, ""))
    state = Text(word, style=style)
    left_ms = lane.limited_for_ms - 1000 * age_s
    if left_ms > 0:
        state.append(f" {duration(left_ms)}", style="bold")
    if lane.reason:
        state.append(f" {lane.reason}", style="dim")
    if lane.concurrency is None:
        flight = Text(count(lane.in_flight))
    else:
        most = max(1, int(lane.concurrency))
        flight = _bar(lane.in_flight / most, bars=bars).append(f"{lane.in_flight}/{most}")
    name = Text(lane.provider, style="bold").append(f" {lane.model}" if lane.model else "", style="not bold dim")
    limits = ", ".join(map(_limit, lane.limits)) or "none known"
    return name, state, flight, count(lane.waiting), limits, count(lane.served), count(lane.limited), count(lane.failed)


def _limit(limit: LimitFigures) -> str:
    window = _WINDOWS.get(limit.per_s, f"/{duration(1000 * limit.per_s)}")
    unit = " tokens" if limit.unit == "tokens" else ""
    return f"{count(limit.used)}/{count(limit.limit)}{unit}{window}"


def _session(session: SessionFigures, *, bars: bool) -> Row:
    share = _bar(session.share, bars=bars).append(f"{session.share:4.0%}")
    if session.due_share:
        share.append(f", due {session.due_share:.0%}", style="dim")
    return (
        Text(session.session, style="bold"),
        f"{session.weight:g}",
        share,
        count(session.served),
        count(session.queued),
        count(session.deferred),
        _median(session.waits),
    )


def _chain(chain: ChainFigures, *, bars: bool) -> Row:
    return (
        Text(chain.model, style="bold"),
        " > ".join(step.provider for step in chain.chain),
        _bar(chain.depth / max(1, chain.capacity), bars=bars).append(f"{count(chain.depth)}/{count(chain.capacity)}"),
        _waiting(chain.depth + chain.expected, chain.wait_ms),
        ", ".join(f"{entry.session} {count(entry.jobs)}" for entry in chain.waiting[:5]),
    )


def _target(target: TargetFigures) -> Row:
    priced = target.usd > 0 or not target.unpriced
    return (
        Text(target.provider, style="bold").append(f" {target.model}", style="not bold dim"),
        count(target.served),
        count(target.prompt_tokens),
        count(target.completion_tokens),
        money(target.usd) if priced else Text("no price", style="dim"),
        _median(target.latencies),
        duration(target.latencies.p99_ms) if target.latencies.count else "-",
    )


def _event(event: EventFigures, now_ms: float) -> Row:
    word, style = _EVENTS.get(event.kind, (event.kind.replace("_", " "), ""))
    lane = f"{event.provider}/{event.model}" if event.model else event.provider
    if event.kind == "fell_back":
        words = f"to {lane} after {event.detail}" if event.detail else f"to {lane}"
    else:
        reason = f": {event.detail}" if event.detail and event.kind != "limited" else ""
        words = f"{lane} for {duration(event.for_ms)}{reason}"
    if event.session:
        words += f", asked by {event.session}"
    if event.count > 1:
        words += f" ({count(event.count)} times)"
    return Text(word, style=style), words, f"{duration(1000 * max(0, round((now_ms - event.at) / 1000)))} ago"


def _bar(part: float, *, bars: bool) -> Text:
    if not bars:
        return Text()
    full = round(_BAR * max(0.0, min(1.0, part)))
    return Text("█" * full, style="blue").append("░" * (_BAR - full), style="dim").append(" ")


def _median(times: Times | None) -> str:
    return duration(times.p50_ms) if times is not None and times.count else "-"


def count(value: float) -> str:
    """Format a count in short: 999, 12.3K, 4.5M."""
    for unit, size in (("M", 1e6), ("K", 1e3)):
        if value >= 10 * size or (unit == "M" and value >= size):
            return f"{value / size:.1f}".removesuffix(".0") + unit
    return f"{value:,.0f}"


def duration(ms: float) -> str:
    """Format a duration in short: 12 ms, 1.2 s, 45 s, 3 min, 2.5 h."""
    if ms < 999.5:
        return f"{ms:.0f} ms" if ms else "0 s"
    seconds = ms / 1000
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= size - 0.5 * (unit == "min"):
            return f"{seconds / size:.1f}".removesuffix(".0") + f" {unit}"
    return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"


def money(usd: float) -> str:
    """Format US dollars; small sums keep their digits."""
    return f"${usd:,.2f}" if usd >= 1 or not usd else f"${usd:.2g}" if usd < 0.001 else f"${usd:.4f}"
