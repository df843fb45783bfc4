"""`Branch`: lives the past of a run again, exactly, records it as that of a new run, changes it, and goes on."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from tickmind.agent.minds import AskingHost
from tickmind.agent.reporting.masking import masked_intent, masked_thought
from tickmind.lab.branching.played_model import ContinuedPast
from tickmind.lab.errors import BranchError
from tickmind.lab.minds.changes import ChangeKind
from tickmind.lab.minds.relived import RelivedMinds
from tickmind.protocol import (
    AgentState,
    AgentStatus,
    Insight,
    Intent,
    Placement,
    Say,
    ThoughtReport,
    TickRecord,
)
from tickmind.protocol.reports import TurnCode, decode_turns, encode_turns
from tickmind.world import OwnRule, Scenario, TileWorld

if TYPE_CHECKING:
    from tickmind.protocol.columns import Bool
    from tickmind.record import RunChange, RunReader


class BranchLog(Protocol):
    """Where a branch is recorded; a `LiveLog` is one."""

    def publish(self, record: TickRecord) -> None:
        """Store a tick."""
        ...

    def thought(self, report: ThoughtReport) -> None:
        """Take a thought, to be stored with the next tick."""
        ...

    def insight(self, insight: Insight) -> None:
        """Take an insight into a mind, to be stored with the next tick."""
        ...

    def status(self, status: AgentStatus) -> None:
        """Take the status of an agent, to be stored with the next tick."""
        ...


class Branch:
    """One new run out of another.

    `live_past` raises `BranchError` at the first tick whose world, intents or thoughts are other than recorded.
    `scenario` is that of the new run: the parent's, with what is changed about its world; `own_rules` are the functions
    that it names. `on_tick` is called after
    each tick of both parts with the world, as for checkpoints.
    """

    def __init__(
        self,
        run: "RunReader",
        minds: RelivedMinds,
        past: ContinuedPast,
        log: BranchLog,
        scenario: Scenario,
        *,
        own_rules: Mapping[str, OwnRule] | None = None,
        changes: "Sequence[RunChange]" = (),
        on_tick: Callable[[TileWorld], None] = lambda _world: None,
    ) -> None:
        self.world = TileWorld.from_scenario(scenario, own_rules)
        """The world of the new run."""
        self._run = run
        self._minds = minds
        self._past = past.recorded
        self._log = log
        self._changes = changes
        self._on_tick = on_tick
        self._controlled: Bool | None = None  # row -> whether an agent has it, after the last tick of the past
        self._seen: set[tuple[str, int, str]] = set()  # character, tick and kind of the thoughts of the past
        self._names = [actor.entity_id for actor in run.info.actors]  # of the rows

    def live_past(self) -> None:
        """Live all ticks up to that of the branch again, and record them."""
        world, run, until_tick = self.world, self._run.run_id, self._past.until_tick
        last: TickRecord | None = None
        statuses = _statuses_until(self._run, until_tick)
        by_clock: Mapping[int, Sequence[ThoughtReport]] = {}
        if not self._minds.is_lockstep:
            self._minds.check_restarts(until_tick)
            self._raise_difference()
            by_clock = _thoughts_until(self._run, until_tick)
        for last in self._run.records(None, until_tick) if until_tick else ():
            if last.tick_id != world.tick_id:
                raise BranchError(f"run {run} has no tick {world.tick_id}, so it can't be branched after that")
            self._past.tick_id = last.tick_id
            self._minds.play_past(world, last)
            self._report(last.tick_id)
            self._minds.check_prompts()
            self._raise_difference()
            for report in by_clock.get(last.tick_id, ()):
                self._log.thought(report)
            for status in statuses.get(last.tick_id, ()):
                self._log.status(status)
            stepped = world.step(last.intents, last.controlled, last.placements)
            if stepped.state_hash != last.state_hash:
                raise BranchError(
                    f"tick {last.tick_id} of run {run} gives another state than recorded; "
                    "use the version of tickmind that it was made with"
                )
            self._keep(stepped)
        if self._minds.is_lockstep:
            self._past.check_all(self._seen)
            self._raise_difference()
        if last is not None and last.ends:
            raise BranchError(f"run {run} ended with tick {until_tick}; choose an earlier one")
        self._controlled = self._controllers(last)

    def go_on(self, ticks: int) -> int:
        """Change what is to be changed, go on for so many ticks or to the end, and return how many there were."""
        self._minds.change(self._changes)
        for done in range(ticks):
            world = self.world
            self._past.tick_id = world.tick_id
            intents = {row: masked_intent(intent) for row, intent in self._minds.play_on(world).items()}
            self._report(world.tick_id)
            self._report_failed(world, intents)
            placements: Sequence[Placement] = ()
            if not done:
                intents |= self._said()
                placements = [Placement(each.who) for each in self._changes if each.kind == ChangeKind.REMOVE]
            record = world.step(intents, self._controlled, placements)
            self._keep(record)
            if record.ends:
                return done + 1
        return ticks

    def close(self) -> None:
        """Close the hosts of minds."""
        for group in self._minds.groups:
            group.host.close()

    def _said(self) -> Mapping[int, Intent]:
        """Return what actors are made to say in the first new tick, by row."""
        said: dict[int, Intent] = {}
        for change in self._changes:
            row = self.world.row_of(change.who)
            if change.kind == ChangeKind.SAY and row is not None:
                said[row] = Say(change.value)
        return said

    def _keep(self, record: TickRecord) -> None:
        self._log.publish(record)
        self._on_tick(self.world)

    def _report(self, tick_id: int) -> None:
        """Pass thoughts and insights of a tick to the record, as the processes of agents do."""
        is_past = tick_id <= self._past.until_tick
        for group in self._minds.groups:
            host = group.host
            for name, thought in host.take_thoughts():
                self._log.thought(ThoughtReport(name, tick_id, masked_thought(thought)))
                if is_past:
                    self._seen.add((name, thought.asked_tick, thought.kind))
                    self._past.check(name, thought)
            if isinstance(host, AskingHost):
                host.take_questions()
            for insight in host.take_insights():
                self._log.insight(insight)

    def _report_failed(self, world: TileWorld, intents: Mapping[int, Intent]) -> None:
        """Record that characters acted whose act failed: no intent of theirs says so."""
        for row in self._minds.rows:
            if row not in intents and world.present[row]:
                turns = encode_turns([TurnCode.ACTED])
                self._log.status(AgentStatus(self._names[row], world.tick_id, AgentState.RUNNING, turns=turns))

    def _raise_difference(self) -> None:
        differences = (*self._past.differences, *self._minds.fidelity.differences)
        if differences:
            raise BranchError(
                f"run {self._run.run_id} does not come out as recorded, so it can't be branched exactly after tick "
                f"{self._past.until_tick}: {differences[0]}. Branch it earlier, with the agents' programs and the "
                "version of tickmind that it was made with"
            )

    def _controllers(self, last: TickRecord | None) -> "Bool":
        """Return who has an agent from now on: who had one, and who comes later if it has a mind."""
        has_mind = np.zeros(len(self.world.info.actors), np.bool_)
        has_mind[list(self._minds.rows)] = True
        if last is None:
            return has_mind
        before = np.ones(len(has_mind), np.bool_) if last.controlled is None else np.asarray(last.controlled)
        return np.where(self.world.present, before, has_mind)


def _thoughts_until(run: "RunReader", until_tick: int) -> dict[int, list[ThoughtReport]]:
    """Return the thoughts that had ended by a tick, by the ticks in which they were reported."""
    thoughts: dict[int, list[ThoughtReport]] = defaultdict(list)
    for report in run.thoughts():
        if report.thought.answered_tick <= until_tick:
            tick_id = min(report.tick_id, until_tick)
            thoughts[tick_id].append(replace(report, tick_id=tick_id))
    return thoughts


def _statuses_until(run: "RunReader", until_tick: int) -> dict[int, list[AgentStatus]]:
    """Return the statuses of agents by tick; of one that came later, the turns up to a tick."""
    statuses: dict[int, list[AgentStatus]] = defaultdict(list)
    for status in run.statuses():
        if status.tick_id <= until_tick:
            statuses[status.tick_id].append(status)
        elif codes := [code for _, code in decode_turns(status.turns, status.tick_id, range(1, until_tick + 1))]:
            statuses[until_tick].append(replace(status, tick_id=until_tick, turns=encode_turns(codes)))
    return statuses
