"""The shelf: documents about characters of a live world, compressed, so that watchers can go back."""

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from tickmind.base import Limit
from tickmind.viewer.sources.bundles import Bundles

_LARGEST_DOCUMENT = 1 << 24  # bytes: texts always become much smaller, and few are large


class LiveReportHistory:
    """Documents by character and tick; the oldest are dropped beyond the limit."""

    def __init__(self, limit: Limit) -> None:
        self._documents = Bundles(limit, largest=_LARGEST_DOCUMENT)

    def add(self, row: int, tick_id: int, document: Mapping[str, Any]) -> None:
        """Add a document of a character."""
        self._documents.add(tick_id, orjson.dumps(document), row)

    def newest(self, row: int, first_tick: int, last_tick: int) -> Iterator[dict[str, Any]]:
        """Iterate over a character's documents of these ticks, newest first."""
        for _, document in self._documents.newest(first_tick, last_tick, row):
            yield orjson.loads(document)
