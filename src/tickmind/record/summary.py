"""The summary of a run, as lists of runs show it."""

from dataclasses import dataclass

from tickmind.record.meta import RunState


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run in one line."""

    run_id: str
    state: RunState
    first_tick_id: int | None = None
    last_tick_id: int | None = None
    actors: int = 0
    size_bytes: int = 0
    world: str = ""
    created_at: str = ""
    recovered: bool = False  # finished after a crash
    problem: str = ""  # why it can't be read
    parent: str = ""  # the run that it branched off
    loss: str = ""  # which ticks are not in the tables after recovery, and where they are

    @property
    def ticks(self) -> int:
        """The number of ticks."""
        if self.first_tick_id is None or self.last_tick_id is None:
            return 0
        return self.last_tick_id - self.first_tick_id + 1
