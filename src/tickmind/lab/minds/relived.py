"""`RelivedMinds`: the characters of a recorded run, brought to a tick by living it again."""

import os
import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from tickmind.agent import CharacterHost
from tickmind.agent.contract import Launch
from tickmind.agent.control.columns import ColumnReader
from tickmind.agent.guarded_host import GuardedHost
from tickmind.agent.minds import PastMinds
from tickmind.agent.reliving import PastTurn, play_turn
from tickmind.agent.running import ProcessContext, load_host
from tickmind.base import ConfigError
from tickmind.lab.minds.changes import OF_MINDS, ChangeKind, change_mind
from tickmind.protocol import ActorStatus, RunInfo
from tickmind.protocol.intent import ACTION_CODES, UNUSED, ActionType
from tickmind.protocol.reports import TurnCode, decode_turns
from tickmind.record.replay.past_world import PastWorld
from tickmind.record.replay.run_files import AGENTS, KEPT_FROM, SCENARIO
from tickmind.runner.launch.programs import is_python, python_runs
from tickmind.runner.mapping import load_mapping
from tickmind.runner.roster import Group, GroupRoster
from tickmind.wire.messages.limits import MAX_DURATION_MS
from tickmind.world import TileWorld, load_scenario

if TYPE_CHECKING:
    from tickmind.agent.character.thoughts.past_thoughts import PromptCheck
    from tickmind.agent.minds import MindHost
    from tickmind.protocol import Intent, IntentColumns, Thought, TickRecord
    from tickmind.record import RunChange, RunReader, RunStore
    from tickmind.runner.spec import RunnerMapping
    from tickmind.world import Scenario

RecordedIntent: TypeAlias = tuple[Any, ...]
"""Action, direction, kind, amount, target and speech."""
MAX_NAMED = 5  # differences that are named
_WAITED: RecordedIntent = (ACTION_CODES[ActionType.WAIT], *(UNUSED,) * 4, None, None)  # of an act that failed


@dataclass(frozen=True, slots=True)
class RelivedGroup:
    """The characters that shared a process, in a host of their own."""

    group: Group
    host: "MindHost"
    rows: tuple[int, ...]
    reader: ColumnReader | None  # of the stream that they shared; None for a character with its own


@dataclass(slots=True)
class Fidelity:
    """How much of a past came out as it was recorded."""

    intents: int = 0
    equal_intents: int = 0
    prompts: int = 0
    equal_prompts: int = 0
    differences: list[str] = field(default_factory=list)  # the first ones, each with its tick and character

    @property
    def exact(self) -> bool:
        """Whether everything did."""
        return (self.intents, self.prompts) == (self.equal_intents, self.equal_prompts)

    def note(self, difference: str) -> None:
        """Name a difference, if it is one of the first."""
        if len(self.differences) < MAX_NAMED:
            self.differences.append(difference)


class ThoughtSource(Protocol):
    """Where minds whose past is lived again get their thoughts from."""

    def context(self, launch: Launch, env: Mapping[str, str]) -> ProcessContext:
        """Return the settings of a process for its host of minds."""
        ...


class RecordedPast:
    """Recorded thoughts in their ticks; no model is asked, and none can be asked afterwards."""

    def __init__(self, past: PastMinds) -> None:
        self._past = past

    def context(self, launch: Launch, env: Mapping[str, str]) -> ProcessContext:
        """Return the settings of a process with the past of its minds."""
        return ProcessContext(launch, {}, env, past=self._past)


class RelivedMinds:
    """Live the minds of a run again. Only the processes of the wanted characters are made; none means all of them.

    Minds of a branch are changed where it left its parent. `source` is where they get their thoughts from, if that is
    not the record alone.
    """

    def __init__(
        self,
        store: "RunStore",
        run: "RunReader",
        who: Sequence[str] = (),
        *,
        agents: Path | None = None,
        source: ThoughtSource | None = None,
    ) -> None:
        folder = store.folder(run.run_id)
        scenario_file = folder / SCENARIO
        if not scenario_file.is_file():
            raise ConfigError(f"run {run.run_id} has no scenario beside it, so its world can't be stepped again")
        self._run = run
        self._scenario = load_scenario(scenario_file, seed=run.info.seed).with_ticks_of(run.info.tick_duration_ms)
        recorded = folder / AGENTS
        mapping = self._mapping(agents, recorded, scenario_file)
        self._is_named = agents is not None
        # A run may come from elsewhere, and other runs with it: no program is taken from their folder.
        self._records = folder.resolve() if self._is_named else folder.resolve().parent
        self._folder = _folder_of(recorded) if agents is None and recorded.is_file() else None
        known = {actor.entity_id for actor in run.info.actors}
        for name in who:
            if name not in known:
                raise ConfigError(f"run {run.run_id} has no actor {name!r}; it has {', '.join(sorted(known)[:12])}")
        roster = GroupRoster(mapping)
        roster.add(run.info.actors)
        groups = [group for group in roster.groups if not who or set(who) & set(group.entity_ids)]
        missing = set(who) - {name for group in groups for name in group.entity_ids}
        if missing or not groups:
            raise ConfigError(f"no agent is assigned to {', '.join(sorted(missing)) or 'any actor'} in that run")
        self._names = {row: actor.entity_id for row, actor in enumerate(run.info.actors)}
        wanted = {name for group in groups for name in group.entity_ids}
        self._turns = RecordedTurns(run, {name: row for row, name in self._names.items() if name in wanted})
        self._world = TileWorld.from_scenario(self._scenario)
        source = source or RecordedPast(PastMinds(recorded_thoughts(run), self._turns.questions))
        self.groups = [self._relived(group, set(who), source) for group in groups]
        self._hosts = [GuardedHost(relived.host) for relived in self.groups]
        self._checked = [0] * len(self.groups)  # group -> prompts of past thoughts that were compared
        self._changes = () if run.meta.parent is None else run.meta.parent.changes
        self.fidelity = Fidelity()

    @property
    def scenario(self) -> "Scenario":
        """The scenario of the run."""
        return self._scenario

    @property
    def rows(self) -> tuple[int, ...]:
        """The rows of the actors whose minds are lived again."""
        return tuple(sorted(row for relived in self.groups for row in relived.rows))

    @property
    def is_lockstep(self) -> bool:
        """Whether the world of the run waited for its minds."""
        pace = self._run.meta.pace
        return pace is not None and pace.lockstep

    def live(self, last: int | None = None, progress: Callable[[int], None] = lambda _tick: None) -> Fidelity:
        """Live up to and with a tick; return how much of it came out as recorded."""
        for tick in PastWorld(self._run, self._scenario).ticks(last):
            self.play_past(tick.world, tick.record)
            for relived in self.groups:
                relived.host.take_insights()
            progress(tick.tick_id)
        self.check_prompts()
        self.check_restarts(last)
        return self.fidelity

    def check_prompts(self) -> None:
        """Compare the prompts of past thoughts that were made again since the last call."""
        for at, relived in enumerate(self.groups):
            if isinstance(relived.host, CharacterHost):
                checks = relived.host.prompt_checks()
                self._compare_prompts(checks[self._checked[at] :])
                self._checked[at] = len(checks)

    def check_restarts(self, last: int | None = None) -> None:
        """Note processes that began anew up to a tick: by the clock, they knew no more than what they had kept."""
        if self.is_lockstep:  # there, minds are restored
            return
        for tick_id, name in self._turns.begun:
            if last is None or tick_id <= last:
                self.fidelity.note(f"tick {tick_id}: the process of {name} began anew, with its memories only")

    def play_past(self, world: TileWorld, record: "TickRecord") -> None:
        """Live through a recorded tick that the world has begun, and compare the intents."""
        recorded = _by_row(record.intents)
        before = [change for change in self._changes if change.tick_id == record.tick_id - 1]
        self.change(before)
        played = self._played_in(record)
        for relived, host in zip(self.groups, self._hosts, strict=True):
            codes = self._turns.codes(record.tick_id, relived.rows, recorded)
            turn = self._turn(world, relived, codes, lockstep=self.is_lockstep)
            if turn.observations:
                intents = play_turn(host, turn)
                said = {change.who for change in before if change.kind == ChangeKind.SAY}
                chosen = {name: intent for name, intent in intents.items() if name not in said}
                self._compare(record.tick_id, codes, chosen, recorded, said | played)

    def _played_in(self, record: "TickRecord") -> set[str]:
        """Return the actors for which a person decided in a tick."""
        bits = record.actor_state.status_bits & ActorStatus.PLAYED
        return {record.actor_ids[row] for row in np.flatnonzero(bits).tolist()}

    def play_on(self, world: TileWorld) -> "dict[int, Intent]":
        """Live through a new tick that the world has begun, and that waits for all minds.

        Return the intents of all that are there, by row.
        """
        chosen: dict[int, Intent] = {}
        for relived, host in zip(self.groups, self._hosts, strict=True):
            turn = self._turn(world, relived, dict.fromkeys(relived.rows, TurnCode.ACTED), lockstep=True)
            if turn.observations:
                rows = {self._names[row]: row for row in relived.rows}
                chosen |= {rows[name]: intent for name, intent in play_turn(host, turn).items()}
        return chosen

    def change(self, changes: "Sequence[RunChange]") -> None:
        """Apply changes to those of these minds that they concern; raises `ConfigError` for one that can't be."""
        lived = {self._names[row] for row in self.rows}
        for change in changes:
            if change.kind not in OF_MINDS or change.who not in lived:
                continue
            host = self.host_of(change.who)
            if not isinstance(host, CharacterHost) or change.who not in host.entity_ids:
                raise ConfigError(
                    f"{change.who} has no mind that can be changed after tick {change.tick_id}: its agent is no "
                    "Character, or took part in no tick before"
                )
            change_mind(host.character(change.who), change)

    def host_of(self, entity_id: str) -> "MindHost":
        """Return the host of a character."""
        return next(each.host for each in self.groups if entity_id in each.group.entity_ids)

    def _mapping(self, named: Path | None, recorded: Path, scenario: Path) -> "RunnerMapping":
        """Return the mapping of the run's agents: the named one, the one beside the run, or the scenario's own."""
        if named is not None or recorded.is_file():
            return load_mapping(named or recorded)
        try:
            return load_mapping(scenario)
        except ConfigError as error:
            raise ConfigError(
                f"run {self._run.run_id} keeps no mapping of its agents; name it: `tickmind mind ... --agents FILE`"
            ) from error

    def _relived(self, group: Group, who: set[str], source: ThoughtSource) -> RelivedGroup:
        spec = group.spec
        option, what = python_runs(spec.cmd[1:]) if is_python(spec.cmd[0]) else ("", "")
        if not what or option == "-c":
            raise ConfigError(
                f"the agent of {group.entity_ids[0]} is no Python program ({' '.join(spec.cmd)[:80]}), "
                "so its mind can't be lived again"
            )
        arguments = spec.cmd[spec.cmd.index(what) + 1 :]
        if option != "-m":
            what = self._script(what, spec.cwd)
        folder = self._beside(spec.cwd) if option == "-m" else Path(what).parent
        if folder is not None and not folder.resolve().is_relative_to(self._records):
            sys.path.insert(0, str(folder))  # where Python looks for what a program imports
        names = tuple(name for name in group.entity_ids if not who or name in who)
        launch = Launch(group.assignments("relived"), settings=spec.settings)
        env = {**os.environ, **self._own_environment(spec.env)}
        host = load_host(option, what, source.context(launch, env), arguments)
        host.enter(self._run_info(names))
        rows = tuple(sorted(row for name in names if (row := self._world.row_of(name)) is not None))
        reader = ColumnReader(self._run.info) if len(group.entity_ids) > 1 else None
        return RelivedGroup(group, host, rows, reader)

    def _own_environment(self, own: Iterable[tuple[str, str]]) -> dict[str, str]:
        """Return what a mapping sets. One from the run's folder can't choose where models are asked, and get keys."""
        return {name: value for name, value in own if self._is_named or not _chooses_model_server(name)}

    def _run_info(self, names: Sequence[str]) -> RunInfo:
        scenario, info = self._scenario, self._world.info
        return info.describe(RunInfo(self._run.run_id, scenario.mind_seed, scenario.thinking_ticks), names)

    def _beside(self, folder: Path) -> Path | None:
        """Return the folder of the mapping that the run was started with; a kept one may be a link to any other."""
        return folder if self._is_named else self._folder

    def _script(self, name: str, folder: Path) -> str:
        """Return the path of a program; a relative one lies beside the mapping that the run was started with."""
        tried = [each / name for each in (self._beside(folder), Path.cwd()) if each is not None]
        for path in tried:
            if not path.is_file():
                continue
            if path.resolve().is_relative_to(self._records):
                raise ConfigError(
                    f"{path} lies in the folder of runs, and no program is started from a record; name the mapping of "
                    "the agents with --agents FILE if it is yours"
                )
            return str(path)
        places = " and ".join(str(path) for path in dict.fromkeys(tried))
        raise ConfigError(f"the agent's program is not at {places}; name its mapping with --agents FILE")

    def _turn(
        self, world: TileWorld, relived: RelivedGroup, codes: "Mapping[int, TurnCode]", *, lockstep: bool
    ) -> PastTurn:
        deadline_ms = int(MAX_DURATION_MS.maximum) if lockstep else None
        present = world.present
        rows = [row for row in relived.rows if codes[row] is not TurnCode.MISSED and present[row]]
        watching = {self._names[row] for row in rows if codes[row] is TurnCode.PERCEIVED}
        if relived.reader is None:
            return PastTurn(world.tick_id, world.observe(rows, deadline_ms) if rows else (), watching)
        columns = world.observe_columns(np.asarray(rows, dtype=np.int32), deadline_ms) if rows else None
        return PastTurn(world.tick_id, () if columns is None else relived.reader.read(columns), watching)

    def _compare(
        self,
        tick_id: int,
        codes: "Mapping[int, TurnCode]",
        intents: "dict[str, Intent]",
        recorded: "Mapping[int, RecordedIntent]",
        overruled: Collection[str] = (),
    ) -> None:
        """Compare the intents that were decisions: not those in place of a late act, nor those that came too late."""
        chosen = {row: intents[name] for row, name in self._names.items() if name in intents and row in codes}
        made = _by_row(self._world.compile(chosen))
        for row, code in codes.items():
            if code is not TurnCode.ACTED or row not in recorded or self._names[row] in overruled:
                continue
            self.fidelity.intents += 1
            if made.get(row, _WAITED) == recorded[row]:
                self.fidelity.equal_intents += 1
            else:
                self.fidelity.note(f"tick {tick_id}: {self._names[row]} does something else than recorded")

    def _compare_prompts(self, checks: "Sequence[PromptCheck]") -> None:
        for check in checks:
            self.fidelity.prompts += 1
            if check.equal:
                self.fidelity.equal_prompts += 1
            else:
                self.fidelity.note(f"tick {check.tick_id}: {check.entity_id} has another prompt than recorded")


def _chooses_model_server(name: str) -> bool:
    return name.startswith("LLM_") and name != "LLM_MODEL"


def _folder_of(mapping: Path) -> Path | None:
    """Return the folder in which a kept mapping was."""
    with mapping.open(encoding="utf-8") as file:
        first = file.readline()
    kept_from = Path(first.removeprefix(KEPT_FROM).strip())
    # We write whole paths. One that begins in the working folder may lead to what came with the run.
    return kept_from.parent if first.startswith(KEPT_FROM) and kept_from.is_absolute() else None


def recorded_thoughts(run: "RunReader") -> "dict[str, list[Thought]]":
    """Return the thoughts of a run by character; one that was reported twice counts once."""
    thoughts: dict[str, dict[tuple[int, int, str], Thought]] = defaultdict(dict)
    for report in run.thoughts():
        thought = report.thought
        thoughts[report.entity_id][thought.asked_tick, thought.answered_tick, thought.kind] = thought
    return {name: list(several.values()) for name, several in thoughts.items()}


class RecordedTurns:
    """What the minds of some actors did in each tick, as their processes reported it."""

    def __init__(self, run: "RunReader", rows: Mapping[str, int]) -> None:
        self._codes: dict[tuple[int, int], TurnCode] = {}  # tick and row -> code
        self.begun: list[tuple[int, str]] = []  # tick and actor, where a process began anew
        self.questions: dict[str, list[int]] = {}  # actor -> the ticks in which it asked a model
        ticks = range(run.first_tick_id or 1, (run.last_tick_id or 0) + 1)
        known: set[str] = set()  # actors whose first process has begun
        for status in run.statuses():
            row = rows.get(status.entity_id)
            if row is None:
                continue
            for tick_id, code in decode_turns(status.turns, status.tick_id, ticks):
                if code is TurnCode.ASKED:
                    self.questions.setdefault(status.entity_id, []).append(tick_id)
                elif code is not TurnCode.BEGAN:
                    self._codes[tick_id, row] = code
                elif status.entity_id in known:
                    self.begun.append((tick_id, status.entity_id))
                else:
                    known.add(status.entity_id)

    def codes(
        self, tick_id: int, rows: Sequence[int], recorded: "Mapping[int, RecordedIntent]"
    ) -> "dict[int, TurnCode]":
        """Return what these actors did; one that reported nothing acted if the record has an intent of it."""
        unknown = {row: TurnCode.ACTED if row in recorded else TurnCode.MISSED for row in rows}
        return {row: self._codes.get((tick_id, row), unknown[row]) for row in rows}


def _by_row(columns: "IntentColumns") -> "dict[int, RecordedIntent]":
    return dict(_rows(columns))


def _rows(columns: "IntentColumns") -> "Iterator[tuple[int, RecordedIntent]]":
    numbers = (columns.action, columns.direction, columns.kind, columns.amount, columns.target)
    lists = [column.tolist() for column in (columns.actor, *numbers)]
    for place, (row, *fields) in enumerate(zip(*lists, strict=True)):
        yield row, (*fields, columns.texts.get(place), columns.wanted.get(place))
