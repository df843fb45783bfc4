"""The drill: causes troubles, one after another, in a running village."""

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from tickmind.base import Clock, SystemClock
from tickmind.cli.drill.processes import ProcessIdentity, alive, below
from tickmind.cli.drill.provider import FailingProvider, ProviderHealth
from tickmind.cli.drill.witness import Witness
from tickmind.cli.ensemble.ensemble import RunningParts

CALM_TICKS = 6  # between two troubles
AWAY_TICKS = 16
STORM_TICKS = 16
TIMEOUT_S = 120.0  # longest wait for an event or a recovery
_LOOK_S = 0.05
_COUNT_S = 1.0


@dataclass(frozen=True, slots=True)
class Trouble:
    """One failure, from its first tick to the tick of full recovery."""

    name: str
    first_tick_id: int
    last_tick_id: int
    detail: str
    over: bool = True  # whether it was noticed, and everything recovered
    struck: frozenset[str] = frozenset()  # characters that can't act meanwhile
    goes_on: bool = True  # whether characters can act meanwhile: without a world none can


@dataclass(slots=True)
class DrillLog:
    """What was done and seen."""

    troubles: list[Trouble] = field(default_factory=list)
    victims: set[ProcessIdentity] = field(default_factory=set)  # killed processes, with all their children
    seen: set[ProcessIdentity] = field(default_factory=set)  # all processes ever seen
    survivors: int = 0  # of the victims
    all_began: bool = False  # all characters acted before the first trouble
    thinks_again: bool = False  # a model answered after all troubles
    complete: bool = False


class Drill:
    """One drill. `run` it beside an ensemble; `log` and `witness` have what is needed to judge it."""

    def __init__(self, provider: FailingProvider, say: Callable[[str], None], *, clock: Clock | None = None) -> None:
        self.log = DrillLog()
        self.witness = Witness()
        self.provider = provider
        self._say = say
        self._clock = clock or SystemClock()

    async def run(self, stage: RunningParts) -> None:
        """Run the whole timetable."""
        beside = [asyncio.create_task(work) for work in (self.witness.watch(stage.world_addr), self._count_processes())]
        try:
            await self._play(stage)
        finally:
            self.provider.health = ProviderHealth.WELL
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)

    async def _play(self, stage: RunningParts) -> None:
        self.log.all_began = await self._until(lambda: self._all_act(stage, 0))
        await self._calm()
        await self._provider(ProviderHealth.LIMITED, "the provider limits all callers", STORM_TICKS, least_calls=2)
        await self._calm()
        await self._provider(ProviderHealth.AWAY, "the provider is away", AWAY_TICKS, least_calls=2)
        await self._calm()
        await self._kill_agent(stage)
        await self._calm()
        await self._kill_world(stage)
        await self._calm()
        away = self._provider(ProviderHealth.AWAY, "the provider is away again", AWAY_TICKS, least_calls=1)
        await asyncio.gather(away, self._kill_agent(stage))
        answered = self.provider.answered
        await self._calm()
        self.log.thinks_again = await self._until(lambda: self.provider.answered > answered)
        self.log.survivors = len(alive(self.log.victims))
        self.log.complete = True

    async def _provider(self, health: ProviderHealth, name: str, ticks: int, *, least_calls: int) -> None:
        """Make the provider fail for some ticks, and until a caller has noticed."""
        first, refused = self.witness.tick_id, self.provider.refused
        self._say(f"Drill: from tick {first + 1:,} on {name}.")
        self.provider.health = health
        passed = await self.witness.after(ticks, TIMEOUT_S)
        noticed = await self._until(lambda: self.provider.refused - refused >= least_calls)
        self.provider.health = ProviderHealth.WELL
        calls = self.provider.refused - refused
        self.log.troubles.append(
            Trouble(name, first + 1, max(self.witness.tick_id, first + 1), f"{calls} calls refused", passed and noticed)
        )

    async def _kill_agent(self, stage: RunningParts) -> None:
        """Kill the agent of some characters by kill -9, and wait until all of them act again."""
        entity_id = stage.runner.rows()[0].entity_id
        unit = stage.runner.unit_of(entity_id)
        assert unit is not None, "it has a row"
        everybody, first = unit.group.entity_ids, self.witness.tick_id
        others = len(everybody) - 1
        who = f"the agent of {entity_id}" + (f" and {others} more" if others else "")
        self._say(f"Drill: in tick {first + 1:,} {who} is killed.")
        began_s = self._clock.monotonic()
        killed = self._kill(unit.pid)
        await self.witness.after(1, TIMEOUT_S)
        after = self.witness.tick_id
        over = killed and await self._until(lambda: self._all_act(stage, after, everybody))
        took_s = self._clock.monotonic() - began_s
        detail = f"{who}; they act again after {took_s:.1f} s"
        last, struck = self.witness.tick_id, frozenset(everybody)
        self.log.troubles.append(Trouble("an agent is killed", first + 1, last, detail, over, struck))

    async def _kill_world(self, stage: RunningParts) -> None:
        """Kill the world by kill -9, and wait until it resumes and all characters act again."""
        first = self.witness.tick_id
        self._say(f"Drill: after tick {first:,} the world is killed.")
        began_s = self._clock.monotonic()
        killed = self._kill(stage.world.part.keeper_pid)
        over = killed and await self.witness.after(1, TIMEOUT_S)
        away_s, at = self.witness.ticked_s - began_s, self.witness.tick_id
        over = over and await self._until(lambda: self._all_act(stage, at))
        all_s = self._clock.monotonic() - began_s
        detail = f"it ticks again after {away_s:.1f} s, all characters act again after {all_s:.1f} s"
        self.log.troubles.append(
            Trouble("the world is killed", first + 1, self.witness.tick_id, detail, over, goes_on=False)
        )

    def _kill(self, keeper_pid: int) -> bool:
        """Kill a program as the out-of-memory killer would; its keeper finds out by itself.

        Returns False if there is none: a program that is just being restarted has no keeper, and no pid.
        """
        tree = below(keeper_pid) if keeper_pid else set()
        if not tree:
            return False
        self.log.victims |= tree
        with suppress(ProcessLookupError):
            os.kill(min(tree, key=lambda known: (known.started, known.pid)).pid, signal.SIGKILL)
        return True

    def _all_act(self, stage: RunningParts, after_tick: int, who: tuple[str, ...] = ()) -> bool:
        rows = [row for row in stage.runner.rows() if not who or row.entity_id in who]
        return bool(rows) and all(row.last_tick > after_tick for row in rows)

    async def _calm(self) -> None:
        await self.witness.after(CALM_TICKS, TIMEOUT_S)

    async def _until(self, condition: Callable[[], bool]) -> bool:
        try:
            async with asyncio.timeout(TIMEOUT_S):
                while not condition():  # noqa: ASYNC110  there is no event for it
                    await asyncio.sleep(_LOOK_S)
        except TimeoutError:
            return False
        return True

    async def _count_processes(self) -> None:
        while True:
            self.log.seen |= below(os.getpid())
            await asyncio.sleep(_COUNT_S)
