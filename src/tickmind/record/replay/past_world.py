"""`PastWorld`: the world of a recorded run, stepped again through its record. So nothing observed need be recorded."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tickmind.record.errors import RecordError
from tickmind.world import TileWorld

if TYPE_CHECKING:
    from tickmind.protocol import Observation, ObservationColumns, TickRecord
    from tickmind.protocol.columns import Bool
    from tickmind.record.reader import RunReader
    from tickmind.world import Scenario


@dataclass(frozen=True, slots=True)
class PastTick:
    """One tick at its start, with what came of it; good until the next one."""

    record: "TickRecord"
    world: TileWorld

    @property
    def tick_id(self) -> int:
        """The tick."""
        return self.record.tick_id

    @property
    def present(self) -> "Bool":
        """Row of an actor -> whether it is in the world at the start of the tick. The others observe nothing."""
        return self.world.present

    def observe(self, rows: Sequence[int], deadline_ms: int | None = None) -> "list[Observation]":
        """Return what these actors observed, as a stream for each of them had it."""
        return self.world.observe(rows, deadline_ms)

    def observe_columns(self, rows: Sequence[int], deadline_ms: int | None = None) -> "ObservationColumns":
        """Return what these actors observed, as a stream for all of them had it."""
        return self.world.observe_columns(np.asarray(rows, dtype=np.int32), deadline_ms)


class PastWorld:
    """Step a run's world from its beginning; each tick must give the recorded state."""

    def __init__(self, run: "RunReader", scenario: "Scenario") -> None:
        if scenario.own_rules:
            raise RecordError(
                f"run {run.run_id} follows rules of its user's own ({', '.join(scenario.own_rules)}): code that is "
                "never loaded to read a run, so its world can't be stepped again"
            )
        self._run = run
        self._world = TileWorld.from_scenario(scenario)
        if self._world.info.actors != run.info.actors:
            raise RecordError(f"the scenario has other actors than run {run.run_id}; use the one that it was made with")

    def ticks(self, last: int | None = None) -> Iterator[PastTick]:
        """Yield the ticks from the first one to `last`; raises `RecordError` if one gives another state."""
        world = self._world
        for record in self._run.records(None, last):
            if record.tick_id != world.tick_id:
                raise RecordError(f"run {self._run.run_id} has no tick {world.tick_id}, so its world can't be stepped")
            yield PastTick(record, world)
            if not world.repeat(record):
                raise RecordError(
                    f"tick {record.tick_id} of run {self._run.run_id} gives another state than recorded; "
                    "use the version of tickmind that it was made with"
                )
