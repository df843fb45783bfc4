"""News between gateways: who uses which key, who was admitted, who defers, and which lanes are limited."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from tickmind.base import Limit

MAX_NEWS_BYTES = Limit("size of one message between gateways", 1_000_000, "bytes")
_MAX_TEXT = 400


@dataclass(frozen=True, slots=True)
class UseNews:
    """A session used a key; times are of the server's clock in milliseconds, 0 is never."""

    group: str
    label: str
    owner: str
    weight: float
    used_ms: int
    admitted_ms: int


@dataclass(frozen=True, slots=True)
class LimitNews:
    """A lane is limited until a time of the server's clock, in milliseconds."""

    lane: str
    until_ms: int
    reason: str


@dataclass(frozen=True, slots=True)
class DeferNews:
    """An agent's last decision: until when it waits, and the stamps of its last defer and cancel.

    All are times of the server's clock in milliseconds, 0 is never.
    """

    label: str
    agent: str
    until_ms: int
    made_ms: int
    ended_ms: int


News = UseNews | LimitNews | DeferNews


def encode(news: list[News]) -> bytes:
    """Encode news as one message."""
    return orjson.dumps([_fields(item) for item in news])


def _fields(news: News) -> list[Any]:
    match news:
        case UseNews():
            return ["use", news.group, news.label, news.owner, news.weight, news.used_ms, news.admitted_ms]
        case LimitNews():
            return ["limit", news.lane, news.until_ms, news.reason[:_MAX_TEXT]]
        case DeferNews():
            return ["defer", news.label, news.agent, news.until_ms, news.made_ms, news.ended_ms]


def decode(message: bytes) -> Iterator[News]:
    """Decode a message; unknown entries are left out, because a newer gateway may have written them."""
    if not MAX_NEWS_BYTES.allows(len(message)):
        return
    try:
        items = orjson.loads(message)
    except orjson.JSONDecodeError:
        return
    for item in items if isinstance(items, list) else ():
        match item:
            case ["use", str(group), str(label), str(owner), float(weight) | int(weight), int(used), int(admitted)]:
                if _are_names(group, label, owner) and 0 < weight < 1e9:
                    yield UseNews(group, label, owner, float(weight), used, admitted)
            case ["limit", str(lane), int(until), str(reason)]:
                if _are_names(lane) and len(reason) <= _MAX_TEXT:
                    yield LimitNews(lane, until, reason)
            case ["defer", str(label), str(agent), int(until), int(made), int(ended)]:
                if _are_names(label, agent):
                    yield DeferNews(label, agent, until, made, ended)
            case _:
                continue


def _are_names(*texts: Any) -> bool:
    return all(0 < len(text) <= _MAX_TEXT and text.isprintable() for text in texts)
