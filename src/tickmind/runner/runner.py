"""The runner: finds characters, and starts, watches, restarts and stops their agents."""

import asyncio
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tickmind.base import Clock, ConfigError, Limit, Secret, SystemClock, get_logger
from tickmind.base.access.token_file import TokenFile
from tickmind.base.secret_sources import SecretSources, SourceError
from tickmind.protocol import EntityInfo, LifecycleKind
from tickmind.runner.launch.launcher import AgentLauncher
from tickmind.runner.launch.local import LocalLauncher
from tickmind.runner.launch.secrets import find_world_token
from tickmind.runner.lifecycle import LifeState
from tickmind.runner.roster import Group, GroupRoster, Moves
from tickmind.runner.spec import RunnerMapping
from tickmind.runner.unit import Unit
from tickmind.runner.world_watcher import WorldWatcher
from tickmind.wire import (
    Backoff,
    Tls,
    ViewerEventType,
    ViewFilter,
    WireError,
    WorldClient,
    WorldEndpoint,
    why_unusable,
)

STARTING_AT_ONCE = Limit("number of agents that start at the same time", max(2, 2 * (os.cpu_count() or 1)))
POLL_S = 5.0
_LONGEST_LOOK_S = 1.0
_GATHER_S = 0.05  # characters that arrive within this share processes
_ENDLESS = Backoff(first_s=0.2, longest_s=2.0, attempts=1_000_000_000)
_VIEW = ViewFilter(types=(ViewerEventType.RESULT, ViewerEventType.STATUS, ViewerEventType.THOUGHT))
_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class CharacterRow:
    """One row of the status table: a character, and the state of its agent."""

    entity_id: str
    agent: str
    instead_of: str
    state: LifeState
    controlled: bool
    last_action: str
    last_tick: int
    restarts: int
    thinking: bool
    trouble: str  # why its process ended last
    last_error: str = ""  # the last error that the agent reported, while it runs
    node: str = ""  # the machine that its agent runs on; empty for the runner's own


@dataclass(frozen=True, slots=True)
class RunnerStatistics:
    """A runner in numbers."""

    tick_id: int
    characters: int
    processes: int
    restarts: int
    states: Mapping[LifeState, int]


class Runner:
    """Keeps every character of a mapping under control. `run` it; `stop`, `reload` and `rows` may be called meanwhile.

    The world may come and go: agents are started when it is reachable, and are not blamed for its silence.

        runner = Runner(load_mapping("agents.yaml"), Path(".tickmind"))
        await runner.run()
    """

    def __init__(
        self,
        mapping: RunnerMapping,
        state_dir: Path,
        *,
        launcher: AgentLauncher | None = None,
        clock: Clock | None = None,
        environment: Mapping[str, str] | None = None,
        starting_at_once: Limit = STARTING_AT_ONCE,
        poll_s: float = POLL_S,
    ) -> None:
        self._roster = GroupRoster(mapping)
        self._state_dir = state_dir
        self._environment = os.environ if environment is None else environment
        self._own_launcher = launcher is None
        self._launcher = launcher or LocalLauncher(environment=self._environment)
        self._clock = clock or SystemClock()
        self._starting_at_once = starting_at_once
        self._poll_s = poll_s
        self._sight = WorldWatcher()
        self._units: dict[str, Unit] = {}  # group key -> unit
        self._leaving: list[Unit] = []  # no longer needed, but still running
        self._wake = asyncio.Event()
        self._stopping = False
        self._is_there = False  # whether the world is reachable
        self._restarts = 0  # of units that are gone

    @property
    def mapping(self) -> RunnerMapping:
        """The current mapping."""
        return self._roster.mapping

    @property
    def sight(self) -> WorldWatcher:
        """What is known of the world."""
        return self._sight

    async def keeper(self) -> str:
        """Return who keeps the agents, for people."""
        return await self._launcher.keeper()

    def stop(self) -> None:
        """Let `run` end all agents and return."""
        self._stopping = True
        self._wake.set()

    def reload(self, mapping: RunnerMapping) -> Moves:
        """Apply another mapping; agents that it does not concern run on. The world must be the same."""
        moves = self._roster.remap(mapping)
        self._make(moves)
        return moves

    async def run(self) -> None:
        """Run until `stop`; afterwards no agent is left."""
        await self._launcher.keeper()
        tls = None if self.mapping.tls is None else Tls.load(self.mapping.tls)
        connection = WorldEndpoint(self.mapping.world_addr, tls=tls, token=self._world_token())
        async with WorldClient(connection) as client:
            tasks = [
                asyncio.create_task(work)
                for work in (self._follow(client), self._poll(client), self._watch(client), self._supervise())
            ]
            try:
                done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
                await self._end_all()
            for task in done:
                task.result()

    def rows(self) -> list[CharacterRow]:
        """Return the status table, in the order of the characters."""
        rows = []
        for unit in self._units.values():
            for entity_id in self._roster.here(unit.group).entity_ids:
                seen = self._sight.of(entity_id)
                rows.append(
                    CharacterRow(
                        entity_id=entity_id,
                        agent=unit.group.spec.name,
                        instead_of=unit.group.instead_of,
                        state=unit.life.state,
                        controlled=seen.controlled,
                        last_action=seen.last_action,
                        last_tick=seen.last_tick,
                        restarts=unit.life.restarts,
                        thinking=seen.thinking or (unit.thinking and len(unit.group.entity_ids) == 1),
                        trouble=unit.life.trouble,
                        last_error=seen.last_error,
                        node=unit.node,
                    )
                )
        return sorted(rows, key=lambda row: row.entity_id)

    def statistics(self) -> RunnerStatistics:
        """Return the totals."""
        states = dict.fromkeys(LifeState, 0)
        for unit in self._units.values():
            states[unit.life.state] += 1
        return RunnerStatistics(
            tick_id=self._sight.tick_id,
            characters=sum(len(self._roster.here(unit.group).entity_ids) for unit in self._units.values()),
            processes=states[LifeState.STARTING] + states[LifeState.RUNNING],
            restarts=self._restarts + sum(unit.life.restarts for unit in self._units.values()),
            states={state: count for state, count in states.items() if count},
        )

    def unit_of(self, entity_id: str) -> Unit | None:
        """Return the process of a character, if it has one."""
        for unit in self._units.values():
            if entity_id in unit.group.entity_ids:
                return unit
        return None

    def _world_token(self) -> Secret | TokenFile | None:
        source = self.mapping.world_token
        if source is None:
            return None
        try:
            return find_world_token(SecretSources(self._environment.get, self._state_dir), source)
        except SourceError as error:
            raise ConfigError(f"can't get the world's token: {error}") from None

    async def _follow(self, client: WorldClient) -> None:
        """Follow the lifecycle of all characters."""
        fresh: list[EntityInfo] = []
        events = aiter(client.lifecycle(retry=_ENDLESS))
        following = asyncio.ensure_future(anext(events))
        try:
            while True:
                done, _ = await asyncio.wait({following}, timeout=_GATHER_S if fresh else None)
                if not done:
                    self._make(self._roster.add(fresh if self._roster.known else await self._present(client, fresh)))
                    fresh = []
                    continue
                event = following.result()
                following = asyncio.ensure_future(anext(events))
                self._sight.lifecycle(event)
                if event.kind is LifecycleKind.SPAWNED:
                    fresh.append(event.entity)
                elif event.kind is LifecycleKind.DESPAWNED:
                    fresh = [entity for entity in fresh if entity.entity_id != event.entity.entity_id]
                    self._make(self._roster.remove(event.entity.entity_id))
                else:
                    self._wake.set()
        finally:
            following.cancel()

    async def _present(self, client: WorldClient, fresh: list[EntityInfo]) -> list[EntityInfo]:
        """Return all characters of the world, so that they share processes however slowly the stream brings them."""
        try:
            return list(await client.entities())
        except WireError as error:
            _log.debug("listing the world's characters failed", error=str(error))
            return fresh

    async def _poll(self, client: WorldClient) -> None:
        """List all characters from time to time, in case that an event was missed."""
        while True:
            await asyncio.sleep(self._poll_s)
            try:
                entities = await client.entities()
                free = {entity.entity_id for entity in await client.entities(uncontrolled_only=True)}
            except WireError as error:
                _log.debug("listing the world's characters failed", error=str(error))
                continue
            self._make(self._roster.add(entities))
            for entity_id in self._roster.known - {entity.entity_id for entity in entities}:
                self._make(self._roster.remove(entity_id))
            for entity in entities:
                if self._sight.of(entity.entity_id).controlled is (entity.entity_id in free):
                    self._sight.control(entity.entity_id, controlled=entity.entity_id not in free)

    async def _watch(self, client: WorldClient) -> None:
        """Watch the actions of each tick."""
        while True:
            try:
                world = await client.world()
                self._sight.enter(world)
                self._is_there = True
                self._wake.set()
                async for event in client.viewer_events(world, _VIEW, retry=None):
                    self._sight.tick(event, self._clock.monotonic())
                    self._judge_intents()
            except WireError as error:
                _log.debug("watching the world failed", error=str(error))
                self._sight.refused = why_unusable(error)
            self._is_there = False
            await asyncio.sleep(_LONGEST_LOOK_S)

    def _judge_intents(self) -> None:
        """Take the intents of the last tick as signs of life, and count missing ones."""
        now_s, sight = self._clock.monotonic(), self._sight
        for unit in self._units.values():
            if unit.life.state not in (LifeState.STARTING, LifeState.RUNNING):
                continue
            characters = [sight.of(each) for each in unit.group.entity_ids]
            if sight.opened_s is not None and any(seen.last_tick == sight.tick_id for seen in characters):
                unit.life.acted(sight.opened_s, now_s)
            if unit.life.state is LifeState.RUNNING:
                unit.life.missed(max(seen.missed for seen in characters), now_s)
        self._wake.set()

    async def _supervise(self) -> None:
        """Do what the lifecycles of all processes require, when it is due."""
        while not self._stopping:
            now_s = self._clock.monotonic()
            ticking, tick_s = self._sight.is_ticking(now_s), self._sight.tick_s
            due_s = now_s + _LONGEST_LOOK_S
            room = int(self._starting_at_once.maximum) - sum(
                unit.life.state is LifeState.STARTING for unit in self._units.values()
            )
            for unit in list(self._units.values()):
                life = unit.life
                if not ticking and life.state is LifeState.RUNNING:
                    life.excuse(now_s)
                if (why := life.verdict(now_s, tick_s)) != "":
                    unit.kill(why)
                elif life.may_start(now_s):
                    if room > 0 and self._is_free(unit):
                        room -= 1
                        unit.start(self._roster.here(unit.group), self.mapping)
                elif (at_s := life.due_s(tick_s)) is not None:
                    due_s = min(due_s, at_s)
            self._wake.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, due_s - self._clock.monotonic())):
                    await self._wake.wait()

    def _is_free(self, unit: Unit) -> bool:
        """Whether it can take its characters now: it kept their lease, or no controller has them.

        The lease of a process that died runs on for a while. A successor that started meanwhile would be refused, and
        would waste its restarts on that. Other controllers may hold some characters of a group for longer, so the
        rest of the group waits for them only as long as a lease lasts.
        """
        if not self._is_there or any(not leaving.gives_way_to(unit) for leaving in self._leaving):
            return False
        if unit.was_here_before:
            return True
        free = [not self._sight.of(each).controlled for each in unit.group.entity_ids]
        return all(free) or (any(free) and self._clock.monotonic() >= unit.follows_until_s)

    def _make(self, moves: Moves) -> None:
        for group in moves.stop:
            unit = self._units.pop(group.key, None)
            if unit is not None:
                self._restarts += unit.life.restarts
                unit.stop()
                if not unit.is_over():
                    self._leaving.append(unit)
        for group in moves.start:
            self._units[group.key] = self._unit(group)
        if moves.stop or moves.start:
            self._wake.set()

    def _unit(self, group: Group) -> Unit:
        return Unit(group, self._state_dir, self._launcher, self._clock, self._environment, self._changed)

    def _changed(self, unit: Unit) -> None:
        """Handle the end of a process, or its first sign of life."""
        if unit in self._leaving:
            self._leaving.remove(unit)
        elif unit.life.state is LifeState.FALLBACK and not self._stopping:
            self._make(self._roster.fall_back(unit.group))
        self._wake.set()

    async def _end_all(self) -> None:
        self._stopping = True
        units = [*self._units.values(), *self._leaving]
        for unit in units:
            unit.stop()
        while not all(unit.is_over() for unit in units):
            self._wake.clear()
            await self._wake.wait()
        if self._own_launcher:
            await self._launcher.close()
