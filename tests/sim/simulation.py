"""One history of a whole world, decided by one number."""

import asyncio
import errno
import gc
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.sim.agents import Agent, HostAgent, PlainAgent, StreamAgent, Watcher, simulated_channels
from tests.sim.loop import simulate
from tests.sim.machine import Machine, info_of, quick_worlds, read_scenario
from tests.sim.network import Network, Weather
from tests.sim.witness import BrokenPromiseError, Court, Witness

from tickmind.base import secret
from tickmind.protocol import TickRecord
from tickmind.record.testing import CrashedError
from tickmind.world import TileWorld

SCENARIO = """
world: sim
seed: 5
rules: {tick_duration_ms: 200, intent_deadline_ms: 100, sight_radius: 2, hearing_radius: 2}
floors: {grass: {}, rock: {walkable: false, opaque: true}}
items: {berries: {use: {hunger: -100}}}
kinds:
  bush: {stock: {item: berries, most: 3, ticks: 2}}
map: |
  1.b2
  .#..
  b..3
legend:
  ".": grass
  "#": rock
  "b": {floor: grass, object: bush}
  "1": {floor: grass, actor: {id: "entity:1", type: villager}}
  "2": {floor: grass, actor: {id: "entity:2", type: villager}}
  "3": {floor: grass, actor: {id: "entity:3", type: villager}}
"""
TROUBLE_S = (0.2, 0.8)  # how long things go wrong
IMPATIENT = 64  # one history in so many is one of an impatient operator, as recovering takes time
CALM_S = 8.0  # how long it may take until all is well again


@dataclass(frozen=True, slots=True)
class Report:
    """What happened in one history."""

    seed: int
    ticks: int
    starts: int
    ends: tuple[str, ...]
    accepted: int
    shown: int
    faults: tuple[str, ...]


class Simulation:
    """The world, those who live in it, and what goes wrong."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.impatient = seed % IMPATIENT == 0  # somebody stops the world often, and recovers the run at last
        self.rng = random.Random(seed)
        self.court = Court()
        self.scenario = read_scenario(SCENARIO, "sim.yaml")
        self.witness = Witness(info_of(SCENARIO), self.court)
        self.network = Network(random.Random(self.rng.random()), self.witness.see, self._failed)
        self.faults: list[str] = []

    def _failed(self, path: str) -> None:
        self.court.found.append(f"the server failed at {path}")

    def _uncaught(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if not isinstance(error, CrashedError):
            self.court.found.append(f"{context['message']}: {error!r}")

    async def run(self) -> Report:
        """Let everything happen, then look at what is left of it."""
        rng, loop = self.rng, asyncio.get_running_loop()
        loop.set_exception_handler(self._uncaught)
        self.machine = Machine(random.Random(rng.random()), SCENARIO, self.network, self.witness, self.court)
        if self.impatient:
            self.machine.impatient = random.Random(rng.random())
        with simulated_channels(self.network):
            self.agents = self._people()
            self.watcher = Watcher(random.Random(rng.random()))
        everybody = [self.machine.run(), self.watcher.run(), *(agent.run() for agent in self.agents)]
        tasks = [asyncio.create_task(one) for one in everybody]
        try:
            await self._trouble(loop.time() + rng.uniform(*TROUBLE_S))
            await self._calm(tasks)
        finally:
            self.machine.kill()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        records = self._look_back()
        return Report(
            self.seed,
            len(records),
            self.machine.starts,
            tuple(self.machine.ends),
            sum(len(agent.accepted) for agent in self.agents),
            len(self.witness.shown.events),
            tuple(self.faults),
        )

    def _people(self) -> list[Agent]:
        """A few, as histories are many: somebody, mostly somebody else who may want the same, sometimes a host."""
        rng = self.rng
        one: list[type[Agent]] = [StreamAgent, PlainAgent]
        people: list[tuple[type[Agent], tuple[str, ...]]] = [(rng.choice(one), ("entity:1",))]
        if rng.random() < 0.7:
            people.append((rng.choice(one), (rng.choice(("entity:1", "entity:1", "entity:2")),)))
        if rng.random() < 0.4:
            people.append((HostAgent, rng.choice((("entity:1", "entity:2"), ("entity:2", "entity:3")))))
        return [
            kind(f"agent-{number}", entity_ids, random.Random(rng.random()))
            for number, (kind, entity_ids) in enumerate(people)
        ]

    # What goes wrong

    async def _trouble(self, until_s: float) -> None:
        loop, rng = asyncio.get_running_loop(), self.rng
        ways: list[Callable[[], str]] = [
            self._crash_at_an_operation,
            self._crash_at_an_operation,
            self._crash_now,
            self._fail_the_disk,
            self._change_the_weather,
            self._change_the_weather,
            self._break_connections,
            self._stop_an_agent,
            self._set_the_wall_clock,
            self._bend_the_time,
            self._slow_the_disk,
        ]
        while True:
            await asyncio.sleep(rng.uniform(0.0, 0.3))
            if loop.time() > until_s:
                return
            self.faults.append(f"{loop.time():.3f} {rng.choice(ways)()}")

    def _crash_at_an_operation(self) -> str:
        number = self.rng.randint(1, 12)
        self.machine.disk.crash_at(number)
        return f"crash at operation {number}"

    def _crash_now(self) -> str:
        self.machine.kill()
        return "kill"

    def _fail_the_disk(self) -> str:
        number, code = self.rng.randint(1, 6), self.rng.choice((errno.ENOSPC, errno.EIO))
        self.machine.disk.fail_at(number, code)
        return f"{errno.errorcode[code]} at operation {number}"

    def _change_the_weather(self) -> str:
        rng = self.rng
        self.network.weather = Weather(
            delay_s=(0.001, rng.choice((0.01, 0.1, 0.4))),
            lose=rng.choice((0.0, 0.1, 0.3)),
            double=rng.choice((0.0, 0.3)),
            sever=rng.choice((0.0, 0.01, 0.05)),
            notice_s=(0.0, rng.choice((0.05, 1.0))),
        )
        return str(self.network.weather)

    def _break_connections(self) -> str:
        self.network.break_some(self.rng.choice((0.3, 1.0)))
        return "broken connections"

    def _stop_an_agent(self) -> str:
        agent = self.rng.choice(self.agents)
        agent.node.held_until_s = asyncio.get_running_loop().time() + self.rng.uniform(0.2, 1.5)
        return f"{agent.name} stops until {agent.node.held_until_s:.3f}"

    def _set_the_wall_clock(self) -> str:
        seconds = self.rng.choice((-1, 1)) * self.rng.choice((0.5, 3.0, 86_400.0))
        self.machine.clock.jump_wall(seconds)
        return f"wall clock by {seconds}"

    def _bend_the_time(self) -> str:
        rate = self.rng.choice((0.5, 0.8, 1.3, 2.0))
        self.machine.clock.run_at(rate)
        return f"monotonic rate {rate}"

    def _slow_the_disk(self) -> str:
        self.machine.slowest_disk_s = self.rng.choice((0.1, 0.5))
        return f"disk takes up to {self.machine.slowest_disk_s} s"

    # After it

    async def _calm(self, tasks: list["asyncio.Task[None]"]) -> None:
        """Nothing goes wrong any more; soon everybody who may act must have acted, and viewers must have seen it."""
        loop, machine = asyncio.get_running_loop(), self.machine
        self.network.weather = Weather()
        machine.slowest_disk_s = 0.02
        machine.impatient = None
        machine.disk.spare()
        machine.clock.run_at(1.0)
        quiet_s = loop.time()
        before = {agent.name: len(agent.accepted) for agent in self.agents}
        wanted = {entity_id for one in self.agents for entity_id in one.entity_ids}
        last_shown = self.witness.shown.last_tick
        while True:
            ended = [task for task in tasks if task.done()]
            if ended or self.court.found:
                for task in ended:
                    task.result()
                return
            acted = {entity_id for one in self.agents for entity_id in one.accepted[before[one.name] :]}
            if acted == wanted and self.watcher.last_tick > last_shown:
                return
            if loop.time() > quiet_s + CALM_S:
                missing = sorted(wanted - acted)
                self.court.broken(
                    f"nobody acts for {missing}; tick {last_shown} was shown before the calm, "
                    f"and {self.watcher.last_tick} since"
                )
            await asyncio.sleep(0.05)

    def _look_back(self) -> list[TickRecord]:
        """What is on record is what was shown, and gives the same world again."""
        if self.court.found:
            raise BrokenPromiseError(self.court.found[0])
        self.machine.disk.restart()
        if self.impatient:
            self.machine.store().recover(self.machine.run_id)
        with self.machine.store().open(self.machine.run_id) as reader:
            records = list(reader.records())
            thoughts = [(one.entity_id, one.thought.user_message) for one in reader.thoughts()]
        self.witness.check(records)
        self.witness.check_thoughts(thoughts)
        world = TileWorld.from_scenario(self.scenario)
        for record in records:
            if not world.repeat(record):
                self.court.broken(f"tick {record.tick_id} gives another world when it is replayed")
        return records


@contextmanager
def secrets_apart() -> Iterator[None]:
    """Forget the leases of a history after it, as they would be looked for in whatever later ones say."""
    known = dict(secret._known)
    try:
        yield
    finally:
        secret._known.clear()
        secret._known.update(known)


def play(seed: int) -> Report:
    """Play the history of one seed; whatever goes wrong names it."""
    simulation = Simulation(seed)
    gc.disable()  # a history is short, and its end is a good time
    try:
        with quick_worlds(), secrets_apart():
            return simulate(simulation.run())
    except Exception as error:
        error.add_note(f"seed {seed}: make fuzz ONLY=sim ARGS='--seed {seed} --cases 1'")
        error.add_note("\n".join(simulation.faults))
        raise
    finally:
        gc.enable()
