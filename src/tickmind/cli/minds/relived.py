"""`RelivedMinds`: the characters of a recorded run, brought to a tick by living it again."""

import os
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from tickmind.agent import CharacterHost
from tickmind.agent.contract import Launch
from tickmind.agent.control.columns import ColumnReader
from tickmind.agent.guarded_host import GuardedHost
from tickmind.agent.minds import PastMinds
from tickmind.agent.reliving import PastTurn, play_turn
from tickmind.agent.running import ProcessContext, load_host
from tickmind.base import ConfigError
from tickmind.cli.world.run import AGENTS, KEPT_FROM, SCENARIO
from tickmind.protocol import RunInfo
from tickmind.protocol.intent import ACTION_CODES, UNUSED, ActionType
from tickmind.protocol.reports import TurnCode, decode_turns
from tickmind.record.replay.past_world import PastTick, PastWorld
from tickmind.runner.mapping import load_mapping
from tickmind.runner.programs import is_python, python_runs
from tickmind.runner.roster import Group, GroupRoster
from tickmind.wire.messages.limits import MAX_DURATION_MS
from tickmind.world import TileWorld, load_scenario

if TYPE_CHECKING:
    from tickmind.agent.minds import MindHost
    from tickmind.protocol import Intent, IntentColumns, Thought
    from tickmind.record import RunReader, RunStore
    from tickmind.runner.spec import RunnerMapping

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


class RelivedMinds:
    """Live the minds of a run again. Only the processes of the wanted characters are made; none means all of them."""

    def __init__(
        self, store: "RunStore", run: "RunReader", who: Sequence[str] = (), *, agents: Path | None = None
    ) -> None:
        folder = store.folder(run.run_id)
        scenario_file = folder / SCENARIO
        if not scenario_file.is_file():
            raise ConfigError(f"run {run.run_id} has no scenario beside it, so its world can't be stepped again")
        self._run = run
        self._scenario = load_scenario(scenario_file, seed=run.info.seed).with_ticks_of(run.info.tick_duration_ms)
        recorded = folder / AGENTS
        mapping = self._mapping(agents, recorded, scenario_file)
        self._run_folder = folder.resolve()
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
        thoughts = self._thoughts()
        self._names = {row: actor.entity_id for row, actor in enumerate(run.info.actors)}
        wanted = {name for group in groups for name in group.entity_ids}
        self._turns = RecordedTurns(run, {name: row for row, name in self._names.items() if name in wanted})
        self._world = TileWorld.from_scenario(self._scenario)
        self.groups = [self._relived(group, set(who), thoughts) for group in groups]
        self.fidelity = Fidelity()

    def live(self, last: int | None = None, progress: Callable[[int], None] = lambda _tick: None) -> Fidelity:
        """Live up to and with a tick; return how much of it came out as recorded."""
        hosts = [GuardedHost(relived.host) for relived in self.groups]
        for tick in PastWorld(self._run, self._scenario).ticks(last):
            recorded = _by_row(tick.record.intents)
            for relived, host in zip(self.groups, hosts, strict=True):
                codes = self._turns.codes(tick.tick_id, relived.rows, recorded)
                turn = self._turn(tick, relived, codes)
                if not turn.observations:
                    continue
                self._compare(tick.tick_id, codes, play_turn(host, turn), recorded)
                relived.host.take_insights()
            progress(tick.tick_id)
        for relived in self.groups:
            self._compare_prompts(relived)
        if not self._is_lockstep:  # there, minds are restored
            for tick_id, name in self._turns.begun:
                if last is None or tick_id <= last:
                    self.fidelity.note(f"tick {tick_id}: the process of {name} began anew, with its memories only")
        return self.fidelity

    @property
    def _is_lockstep(self) -> bool:
        pace = self._run.meta.pace
        return pace is not None and pace.lockstep

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

    def _thoughts(self) -> "dict[str, list[Thought]]":
        thoughts: dict[str, dict[tuple[int, int, str], Thought]] = defaultdict(dict)
        for report in self._run.thoughts():  # one that was reported twice counts once
            thought = report.thought
            thoughts[report.entity_id][thought.asked_tick, thought.answered_tick, thought.kind] = thought
        return {name: list(several.values()) for name, several in thoughts.items()}

    def _relived(self, group: Group, who: set[str], thoughts: "dict[str, list[Thought]]") -> RelivedGroup:
        spec = group.spec
        option, what = python_runs(spec.cmd[1:]) if is_python(spec.cmd[0]) else ("", "")
        if not what or option == "-c":
            raise ConfigError(
                f"the agent of {group.entity_ids[0]} is no Python program ({' '.join(spec.cmd)[:80]}), "
                "so its mind can't be lived again"
            )
        if option != "-m":
            what = self._script(what, spec.cwd)
        folder = spec.cwd if option == "-m" else Path(what).parent  # where Python looks for what it imports
        if not folder.resolve().is_relative_to(self._run_folder):
            sys.path.insert(0, str(folder))
        names = tuple(name for name in group.entity_ids if not who or name in who)
        launch = Launch(group.assignments("relived"), settings=spec.settings)
        env = {**os.environ, **dict(spec.env)}
        host = load_host(option, what, ProcessContext(launch, {}, env, past=PastMinds(thoughts, self._turns.questions)))
        host.enter(self._run_info(names))
        rows = tuple(sorted(row for name in names if (row := self._world.row_of(name)) is not None))
        reader = ColumnReader(self._run.info) if len(group.entity_ids) > 1 else None
        return RelivedGroup(group, host, rows, reader)

    def _run_info(self, names: Sequence[str]) -> RunInfo:
        scenario, info = self._scenario, self._world.info
        return info.describe(RunInfo(self._run.run_id, scenario.mind_seed, scenario.thinking_ticks), names)

    def _script(self, name: str, folder: Path) -> str:
        """Return the path of a program; a relative one lies beside the mapping that the run was started with."""
        tried = [each / name for each in (self._folder or folder, Path.cwd())]
        for path in tried:
            if not path.is_file():
                continue
            if path.resolve().is_relative_to(self._run_folder):
                raise ConfigError(f"{path} lies in the folder of the run; no program is started from a record")
            return str(path)
        places = " and ".join(str(path) for path in dict.fromkeys(tried))
        raise ConfigError(f"the agent's program is not at {places}; name its mapping with --agents FILE")

    def _turn(self, tick: PastTick, relived: RelivedGroup, codes: "Mapping[int, TurnCode]") -> PastTurn:
        deadline_ms = int(MAX_DURATION_MS.maximum) if self._is_lockstep else None
        rows = [row for row in relived.rows if codes[row] is not TurnCode.MISSED and tick.present[row]]
        watching = {self._names[row] for row in rows if codes[row] is TurnCode.PERCEIVED}
        if relived.reader is None:
            return PastTurn(tick.tick_id, tick.observe(rows, deadline_ms) if rows else (), watching)
        observed = relived.reader.read(tick.observe_columns(rows, deadline_ms)) if rows else ()
        return PastTurn(tick.tick_id, observed, watching)

    def _compare(
        self,
        tick_id: int,
        codes: "Mapping[int, TurnCode]",
        intents: "dict[str, Intent]",
        recorded: "Mapping[int, RecordedIntent]",
    ) -> None:
        """Compare the intents that were decisions: not those in place of a late act, nor those that came too late."""
        chosen = {row: intents[name] for row, name in self._names.items() if name in intents and row in codes}
        made = _by_row(self._world.compile(chosen))
        for row, code in codes.items():
            if code is not TurnCode.ACTED or row not in recorded:
                continue
            self.fidelity.intents += 1
            if made.get(row, _WAITED) == recorded[row]:
                self.fidelity.equal_intents += 1
            else:
                self.fidelity.note(f"tick {tick_id}: {self._names[row]} does something else than recorded")

    def _compare_prompts(self, relived: RelivedGroup) -> None:
        if not isinstance(relived.host, CharacterHost):
            return
        for check in relived.host.prompt_checks():
            self.fidelity.prompts += 1
            if check.equal:
                self.fidelity.equal_prompts += 1
            else:
                self.fidelity.note(f"tick {check.tick_id}: {check.entity_id} has another prompt than recorded")


def _folder_of(mapping: Path) -> Path | None:
    """Return the folder in which a kept mapping was."""
    with mapping.open(encoding="utf-8") as file:
        first = file.readline()
    return Path(first.removeprefix(KEPT_FROM).strip()).parent if first.startswith(KEPT_FROM) else None


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
