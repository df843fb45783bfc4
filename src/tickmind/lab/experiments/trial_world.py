"""`live_trial`: a world and all its minds in one process, in lockstep, recorded as an ordinary run."""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from tickmind.agent import CharacterHost
from tickmind.agent.contract import Launch
from tickmind.agent.control.columns import ColumnReader
from tickmind.agent.guarded_host import GuardedHost
from tickmind.agent.reliving import PastTurn, play_turn
from tickmind.agent.reporting.masking import masked_intent, masked_thought
from tickmind.agent.running import ProcessContext, load_host
from tickmind.base import ConfigError, Limit
from tickmind.base.files import replace_file
from tickmind.lab.experiments.documents import read_document
from tickmind.lab.experiments.ledger import SpendingLedger
from tickmind.lab.experiments.trial import TrialOrder
from tickmind.llm.tokens import estimate_tokens
from tickmind.protocol import Intent, Observation, RunInfo, Thought, ThoughtReport, Wait
from tickmind.record import LogOptions, RunPace, RunStore, SyncPolicy
from tickmind.record.replay.run_files import AGENTS, KEPT_FROM, SCENARIO
from tickmind.runner.launch.programs import is_python, python_runs
from tickmind.runner.mapping import mapping_of
from tickmind.runner.roster import Group, GroupRoster
from tickmind.wire.messages.limits import MAX_DURATION_MS
from tickmind.world import Scenario, TileWorld, parse_scenario

if TYPE_CHECKING:
    from tickmind.agent.minds import MindHost
    from tickmind.record import LiveLog

MAX_FAILED_TICKS: Final = Limit("number of ticks in a row in which no mind of a trial acted", 20)
_OPTIONS: Final = LogOptions(sync=SyncPolicy.NEVER)  # a trial that a crash cuts short is done again
_DEADLINE_MS: Final = int(MAX_DURATION_MS.maximum)  # the world waits for minds
_DROPPED_TOKENS: Final = 1000  # of a call that is dropped, where no other one of the trial was answered
_WAIT: Final = Wait()


class BudgetUsedUpError(ConfigError):
    """The models of all trials have taken what the budget allows, so this trial ends unfinished."""


@dataclass(frozen=True, slots=True)
class LivedTrial:
    """How a trial went."""

    last_tick: int
    failed_acts: int
    calls: int
    tokens: int
    usd: float


@dataclass(frozen=True, slots=True)
class _HostedGroup:
    """The characters that would share a process, in a host of their own."""

    host: "MindHost"
    guarded: GuardedHost
    rows: tuple[int, ...]
    reader: ColumnReader | None  # of what several characters observe together


def live_trial(order: TrialOrder, store: RunStore, ledger: SpendingLedger | None = None) -> LivedTrial:
    """Run a trial from its first tick to its last, and write its run into the store.

    Raises `BudgetUsedUpError` as soon as the ledger is beyond the order's budget, and `ConfigError` if a program is
    not one of ours or no mind acts.
    """
    scenario = parse_scenario(order.scenario_text, order.condition, seed=order.seed)
    rules = order.load_rules(scenario.own_rules) if order.load_rules is not None else None
    world = TileWorld.from_scenario(scenario, rules)
    log = store.create(world.info, order.run_id, options=_OPTIONS)
    log.pace = RunPace(lockstep=True, tps=None)
    try:
        folder = store.folder(order.run_id)
        replace_file(folder / SCENARIO, order.scenario_text.encode())
        replace_file(folder / AGENTS, f"{KEPT_FROM}{order.agents_source}\n{order.agents_text}".encode())
        groups = _hosted(order, scenario, world)
        try:
            living = _Living(order, world, log, groups, ledger)
            try:
                lived = living.live()
            finally:
                living.count_dropped()
        finally:
            for group in groups:
                group.host.close()
        log.close()
    except BaseException:
        log.abandon()
        raise
    return lived


def _hosted(order: TrialOrder, scenario: Scenario, world: TileWorld) -> list[_HostedGroup]:
    mapping = mapping_of(read_document(order.agents_text), order.agents_source, Path(order.agents_folder))
    roster = GroupRoster(mapping)
    roster.add(world.info.actors)
    if not roster.groups:
        raise ConfigError(f"{order.agents_source}: no character of this world has an agent, so nothing would happen")
    return [_hosted_group(order, group, scenario, world) for group in roster.groups]


def _hosted_group(order: TrialOrder, group: Group, scenario: Scenario, world: TileWorld) -> _HostedGroup:
    spec = group.spec
    option, what = python_runs(spec.cmd[1:]) if is_python(spec.cmd[0]) else ("", "")
    if not what or option == "-c":
        raise ConfigError(
            f"the agent of {group.entity_ids[0]} is no Python program ({' '.join(spec.cmd)[:80]}), "
            "and trials have world and minds in one process; use `tickmind up --lockstep` for it"
        )
    path = what if option == "-m" else str(spec.cwd / what)
    where = str(spec.cwd if option == "-m" else Path(path).parent)
    if where not in sys.path:
        sys.path.insert(0, where)  # where Python looks for what a program imports
    settings = spec.settings
    if order.model.name and "model" not in settings:
        settings = settings.with_values({"model": order.model.name})
    launch = Launch(
        group.assignments("experiment"),
        settings=settings,
        gateway_url=order.model.gateway_url,
        session=order.experiment,
    )
    environment = trial_environment(os.environ, dict(spec.env), order)
    host = load_host(option, path, ProcessContext(launch, {}, environment), spec.cmd[spec.cmd.index(what) + 1 :])
    run = RunInfo(order.run_id, scenario.mind_seed, scenario.thinking_ticks)
    host.enter(world.info.describe(run, group.entity_ids))
    rows = tuple(sorted(row for name in group.entity_ids if (row := world.row_of(name)) is not None))
    reader = ColumnReader(world.info) if len(group.entity_ids) > 1 else None
    return _HostedGroup(host, GuardedHost(host), rows, reader)


def trial_environment(env: Mapping[str, str], own: Mapping[str, str], order: TrialOrder) -> dict[str, str]:
    """Return the environment of minds, with what their mapping sets: one model for all, as in the file, or none."""
    if not order.model.is_set:
        return {name: value for name, value in {**env, **own}.items() if not name.startswith("LLM_")}
    usual = {name: value for name, value in env.items() if name != "LLM_MODEL"}
    kept = {name: value for name, value in {**usual, **own}.items() if name != "LLM_BASE_URL"}
    return {**kept, "LLM_BASE_URL": order.model.base_url} if order.model.base_url else kept


class _Living:
    """The ticks of one trial."""

    def __init__(
        self,
        order: TrialOrder,
        world: TileWorld,
        log: "LiveLog",
        groups: Sequence[_HostedGroup],
        ledger: SpendingLedger | None,
    ) -> None:
        self._order = order
        self._world = world
        self._log = log
        self._groups = groups
        self._ledger = ledger
        self._names = [actor.entity_id for actor in world.info.actors]
        self._hosted = np.zeros(len(self._names), dtype=np.bool_)
        for group in groups:
            self._hosted[list(group.rows)] = True
        self._failed_acts = self._failed_ticks = self._calls = self._tokens = 0
        self._usd = 0.0

    def live(self) -> LivedTrial:
        """Run the ticks, until the last one or until a rule ends the run."""
        last = 0
        for _ in range(self._order.ticks):
            if self._tick():
                last = self._world.tick_id - 1
                break
            last = self._world.tick_id - 1
        return LivedTrial(last, self._failed_acts, self._calls, self._tokens, round(self._usd, 9))

    def count_dropped(self) -> None:
        """Count in the ledger what models are still asked: a trial ends without these answers, but they cost."""
        if self._ledger is None:
            return
        asked = sum(
            group.host.deliberating(self._names[row])
            for group in self._groups
            if isinstance(group.host, CharacterHost)
            for row in group.rows
        )
        calls = max(self._calls, 1)
        for _ in range(asked):
            self._ledger.add(self._tokens // calls or _DROPPED_TOKENS, self._usd / calls)

    def _tick(self) -> bool:
        """Run one tick; return whether it is the last one."""
        world, tick_id, present = self._world, self._world.tick_id, self._world.present
        intents: dict[int, Intent] = {}
        acting = acted = 0
        for group in self._groups:
            rows = [row for row in group.rows if present[row]]
            if not rows:
                continue
            if group.reader is None:
                seen: Sequence[Observation] = world.observe(rows, _DEADLINE_MS)
            else:
                seen = group.reader.read(world.observe_columns(np.array(rows, dtype=np.int32), _DEADLINE_MS))
            made = play_turn(group.guarded, PastTurn(tick_id, seen))
            acting += len(rows)
            acted += len(made)
            for row in rows:
                intents[row] = masked_intent(made.get(self._names[row], _WAIT))
            self._report(tick_id, group)
        self._check_acts(acting, acted)
        record = world.step(intents, self._hosted & present)
        self._log.publish(record)
        self._check_budget()
        return record.ends

    def _report(self, tick_id: int, group: _HostedGroup) -> None:
        for name, thought in group.host.take_thoughts():
            self._log.thought(ThoughtReport(name, tick_id, masked_thought(thought)))
            self._spend(thought)
        for insight in group.host.take_insights():
            self._log.insight(insight)

    def _spend(self, thought: Thought) -> None:
        tokens = sum(_counted_tokens(thought))
        self._calls += 1
        self._tokens += tokens
        self._usd += thought.cost_usd or 0.0
        if self._ledger is not None:
            self._ledger.add(tokens, thought.cost_usd or 0.0)
        if self._order.budget.usd is not None and thought.cost_usd is None and thought.reply:
            raise BudgetUsedUpError(
                f"the price of {thought.model or 'the model'} is not known, so a budget in dollars can't be kept; "
                "give one in tokens"
            )

    def _check_budget(self) -> None:
        if self._ledger is not None and self._order.budget.is_set:
            tokens, usd = self._ledger.spent()
            if self._order.budget.is_used_up(tokens, usd):
                raise BudgetUsedUpError(f"the budget is used up: {tokens:,} tokens, {usd:.2f} dollars")

    def _check_acts(self, acting: int, acted: int) -> None:
        self._failed_acts += acting - acted
        self._failed_ticks = self._failed_ticks + 1 if acting and not acted else 0
        if not MAX_FAILED_TICKS.allows(self._failed_ticks):
            raise ConfigError(
                f"no mind has acted for {self._failed_ticks} ticks, because their programs fail; "
                "the log says why (`tickmind --log-level warning experiment ...`)"
            )


def _counted_tokens(thought: Thought) -> tuple[int, int]:
    """Return the tokens of a call, estimated where the endpoint counts none: a budget must hold there, too."""
    asked, answered = thought.prompt_tokens, thought.completion_tokens
    if asked is None:
        asked = estimate_tokens(thought.system_prompt) + estimate_tokens(thought.user_message)
    if answered is None:
        answered = estimate_tokens(thought.reply) + estimate_tokens(thought.thinking)
    return asked, answered
