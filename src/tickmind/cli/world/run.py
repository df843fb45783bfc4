"""A world with its recorded run: new, or resumed."""

from dataclasses import dataclass
from pathlib import Path

from tickmind.base import Clock
from tickmind.cli.world.scenarios import TILE_ART
from tickmind.protocol import RuleEvent
from tickmind.record import (
    CheckpointFolder,
    Disk,
    LiveLog,
    LogOptions,
    OsDisk,
    RecordError,
    RunPace,
    RunParent,
    RunReader,
    RunStore,
)
from tickmind.record.disk import disk_fault, write_whole
from tickmind.record.replay.run_files import AGENTS, SCENARIO
from tickmind.record.tables.sealing import Progress, no_progress
from tickmind.world import MAX_SCENARIO_BYTES, Scenario, TileWorld, parse_scenario
from tickmind.world.scenario.scenario_reader import parse_to_keep

DEFAULT_OPTIONS = LogOptions(keep_log=True)  # so that a world can be resumed however it ended


@dataclass(frozen=True, slots=True)
class WorldRun:
    """What a world needs to be recorded and resumed."""

    scenario: Scenario
    log: LiveLog
    checkpoints: CheckpointFolder
    history: RunReader
    store: RunStore
    is_new: bool  # new, not resumed

    @property
    def run_id(self) -> str:
        """The name of the run."""
        return self.log.run_id

    @property
    def is_empty(self) -> bool:
        """Whether the run is new and has no tick yet, so that nothing is lost without it."""
        return self.is_new and self.log.last_tick_id is None

    @property
    def last_events(self) -> tuple[RuleEvent, ...]:
        """What rules did in the last recorded tick; if one ended the run, it is not resumed."""
        last = self.log.last_tick_id
        return () if last is None else self.history.tick(last).rule_events

    def state_pace(self, *, lockstep: bool, tps: float) -> None:
        """Set the pace for `meta.json`, before the first tick; in lockstep there is no rate."""
        self.log.pace = RunPace(lockstep, None if lockstep else round(tps, 6))

    def finish(self, progress: Progress = no_progress) -> None:
        """Write the finished files after the world has ended."""
        self.history.close()
        self.log.close(progress=progress)

    def pause(self) -> None:
        """Close the log without writing the finished files, because the world stops for now."""
        self.history.close()
        self.log.close(seal=False)

    def abandon(self) -> None:
        """Close whatever is still open; the run is unchanged, to be resumed or recovered.

        A new run without any tick is removed.
        """
        self.history.close()
        self.log.abandon()
        if self.is_empty:
            self.store.discard_empty(self.run_id)


class WorldRuns:
    """The runs of worlds in one folder. Each keeps its scenario, so that it can be resumed without the file."""

    def __init__(
        self,
        root: Path,
        disk: Disk | None = None,
        *,
        clock: Clock | None = None,
        options: LogOptions = DEFAULT_OPTIONS,
    ) -> None:
        self._disk: Disk = disk or OsDisk()
        self._store = RunStore(root, self._disk, clock=clock)
        self._options = options

    def begin(
        self,
        text: str,
        source: str,
        run_id: str | None = None,
        *,
        tick_ms: int | None = None,
        seed: int | None = None,
        agents: str | None = None,
        folder: Path | None = None,
        parent: RunParent | None = None,
    ) -> WorldRun:
        """Begin a run of the scenario in this text; `source` names it in messages.

        `tick_ms` is the length of a tick and `seed` the seed of this run, where they are not the scenario's.
        `agents` is the text of its mapping, if it has one of its own. `folder` is where the files are that the scenario
        names; the run keeps what they hold. `parent` is the run that it branches off.
        """
        kept = parse_to_keep(text, source, seed=seed, folder=folder)
        scenario = kept.scenario.with_ticks_of(tick_ms)
        log = self._store.create(TileWorld.from_scenario(scenario).info, run_id, options=self._options, parent=parent)
        try:
            write_whole(self._disk, self._store.folder(log.run_id) / SCENARIO, kept.text.encode())
            if kept.tile_art is not None:
                write_whole(self._disk, self._store.folder(log.run_id) / TILE_ART, kept.tile_art)
            if agents is not None:
                write_whole(self._disk, self._store.folder(log.run_id) / AGENTS, agents.encode())
            return self._run(scenario, self._store.open(log.run_id, from_log=True), log, is_new=True)
        except OSError as error:
            log.abandon()
            raise disk_fault(f"storing the scenario of run {log.run_id}", error) from error
        except BaseException:
            log.abandon()
            raise

    def resume(self, run_id: str) -> WorldRun:
        """Resume a run after its last tick, with ticks of the same length."""
        log = self._store.resume(run_id, options=self._options)
        try:
            history = self._store.open(run_id, from_log=True)
            return self._run(self._scenario(run_id, history.info.seed), history, log, is_new=False)
        except BaseException:
            log.abandon()
            raise

    def _scenario(self, run_id: str, seed: int | None) -> Scenario:
        path = self._store.folder(run_id) / SCENARIO
        try:
            return parse_scenario(self._disk.read_bytes(path, MAX_SCENARIO_BYTES).decode(), str(path), seed=seed)
        except FileNotFoundError:
            raise RecordError(
                f"run {run_id} was stopped before its world began, so there is nothing to resume; create a new run"
            ) from None
        except OSError as error:
            raise disk_fault(f"reading {path}", error) from error
        except UnicodeDecodeError as error:
            raise RecordError(f"{path} is not the scenario of this run; create a new run") from error

    def _run(self, scenario: Scenario, history: RunReader, log: LiveLog, *, is_new: bool) -> WorldRun:
        scenario = scenario.with_ticks_of(history.info.tick_duration_ms)
        return WorldRun(scenario, log, self._store.checkpoints(log.run_id), history, self._store, is_new)
