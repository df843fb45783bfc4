"""A run to read: while it is being written, after a crash, and finished, all alike."""

from collections.abc import Iterator
from typing import Protocol, Self

from tickmind.protocol import ActorColumns, TickRecord, WorldInfo
from tickmind.record.errors import RecordError
from tickmind.record.meta import RunMeta
from tickmind.record.tick_codec import Reports

FIRST = -(2**62)
LAST = 2**62


class TickSource(Protocol):
    """Where the ticks of a run come from: its log, or its finished files."""

    @property
    def first_tick_id(self) -> int | None:
        """The first tick there is."""
        ...

    @property
    def last_tick_id(self) -> int | None:
        """The last tick there is."""
        ...

    def refresh(self) -> None:
        """Look for new ticks."""
        ...

    def records(self, first: int, last: int) -> Iterator[TickRecord]:
        """The ticks between these."""
        ...

    def state_at(self, tick_id: int) -> ActorColumns:
        """All actors after a tick."""
        ...

    def reports(self, first: int, last: int) -> Iterator[Reports]:
        """What agents told of themselves."""
        ...

    def close(self) -> None:
        """Let go of all files."""
        ...


class RunReader:
    """Reads one run. Use it in a `with` block, or close it; threads must not share it."""

    def __init__(self, meta: RunMeta, info: WorldInfo, source: TickSource) -> None:
        self._meta = meta
        self._info = info
        self._source = source

    @property
    def run_id(self) -> str:
        """The name of the run."""
        return self._meta.run_id

    @property
    def meta(self) -> RunMeta:
        """What `meta.json` says."""
        return self._meta

    @property
    def info(self) -> WorldInfo:
        """The map, and the names behind the numbers in columns."""
        return self._info

    @property
    def first_tick_id(self) -> int | None:
        """The first tick of the run, or None if it has none."""
        return self._source.first_tick_id

    @property
    def last_tick_id(self) -> int | None:
        """The last tick of the run, or None if it has none."""
        return self._source.last_tick_id

    def refresh(self) -> None:
        """Look for ticks that were added since; cheap if there are none."""
        self._source.refresh()

    def records(self, first: int | None = None, last: int | None = None) -> Iterator[TickRecord]:
        """The ticks from `first` to `last`, both included; those that there are."""
        return self._source.records(FIRST if first is None else first, LAST if last is None else last)

    def tick(self, tick_id: int) -> TickRecord:
        """One tick."""
        self._check(tick_id)
        return next(self._source.records(tick_id, tick_id))

    def state_at(self, tick_id: int) -> ActorColumns:
        """Where all actors are after a tick."""
        self._check(tick_id)
        return self._source.state_at(tick_id)

    def _check(self, tick_id: int) -> None:
        first, last = self.first_tick_id, self.last_tick_id
        if first is None or last is None:
            raise RecordError(f"run {self.run_id} has no ticks yet")
        if not first <= tick_id <= last:
            raise RecordError(f"run {self.run_id} has ticks {first} to {last}, not {tick_id}")

    def close(self) -> None:
        """Let go of all files."""
        self._source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc_info: object) -> None:
        self.close()
