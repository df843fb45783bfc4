"""`LLMSystem`: the system that lets entities deliberate. It harvests, times out and dispatches, and never waits.

`DueAgents` knows the agents and when they are due, `QueryDispatcher` asks, `Answers` processes the outcomes.
User code may raise; none of its errors leaves the system.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tickmind.base import Clock, SystemClock
from tickmind.strategy.clients.client import ClientStatistics, SharedClient
from tickmind.strategy.clients.workers import Workers, WorkerStatistics, WorkItem
from tickmind.strategy.manager import LLMManager
from tickmind.strategy.queries.answers import Answers, Counts
from tickmind.strategy.queries.due_agents import DueAgents
from tickmind.strategy.queries.flights import Flight, Flights
from tickmind.strategy.queries.pace import Paces, PaceStatistics
from tickmind.strategy.queries.questions import QueryDispatcher

if TYPE_CHECKING:
    from tickmind.tick import TickContext, World

SETTLING_S = 30.0  # of real time, until an answer that does not come is an error


@dataclass(frozen=True, slots=True)
class StrategyStatistics:
    """The state of the strategic layer in numbers."""

    agents: int
    ready: int  # due, and delayed by limits
    in_flight: int
    asked: int
    answered: int
    failed: int
    skipped: int  # because the prompt had not changed
    workers: WorkerStatistics
    held: int = 0  # due, and skipped because their client requires a wait
    deferred: int = 0  # agents that LLMManager.defer made wait
    refused: int = 0  # questions that a shared client refused for now; no failures
    average_wait_s: float = 0.0  # moving average, from due to asked, in the world's time
    average_queue_s: float = 0.0  # moving average, in a gateway's queue
    clients: Mapping[str, ClientStatistics] = field(default_factory=dict)  # shared ones, by name
    outdated: int = 0  # answers that a relevance rule refused
    paces: Mapping[str, PaceStatistics] = field(default_factory=dict)  # of the clients that were asked, by name

    @property
    def pending(self) -> int:
        """Agents that are due and not asked yet."""
        return self.ready + self.held


def make_llm_system(manager: LLMManager, *, clock: Clock | None = None) -> "LLMSystem":
    """Make the strategic layer as a system; add it before those that read the Blackboards.

    End it with `engine.on_stop(system.shutdown)`, with `system.shutdown()`, or by using it in a `with` block.
    """
    return LLMSystem(manager, clock or SystemClock())


class LLMSystem:
    """The strategic layer of one world; make it with `make_llm_system`."""

    def __init__(self, manager: LLMManager, clock: Clock, workers: Workers | None = None) -> None:
        config = manager.config
        self._manager = manager
        self._config = config
        self._clock = clock
        self._counts = Counts()
        self._workers = workers or Workers(
            threads=config.thread_pool_size, max_stuck=config.max_stuck_threads, clock=clock
        )
        self._flights = Flights(self._workers)
        self._paces = Paces()
        self._finished: list[WorkItem[Any]] = []  # answers that came before their tick
        self._roster = DueAgents(manager, self._flights, self._paces)
        self._answers = Answers(manager, self._roster, self._flights, self._counts, clock, self._paces)
        self._questions = QueryDispatcher(
            manager, self._roster, self._answers, self._flights, self._workers, self._counts, self._paces
        )

    def __enter__(self) -> "LLMSystem":
        return self

    def __exit__(self, *exc: object) -> None:
        self.shutdown()

    def __call__(self, world: "World", ctx: "TickContext") -> None:
        """Run one tick: harvest, time out, dispatch."""
        self._roster.tick = ctx.tick_number
        self._roster.dt = ctx.dt
        self._roster.watch(world)
        for eid, ticks in self._roster.take_wishes(world):
            self._questions.tell_deferral(world, eid, ticks)
        if self._config.stream_fields:
            self._answers.take_fields(world)
        self._harvest(world)
        now_s = self._clock.monotonic()
        for flight in self._flights.overdue(now_s):
            self._answers.time_out(world, flight)
        self._roster.check_triggers(world)
        self._roster.look_around(world)
        self._questions.dispatch(world, now_s)
        if self._config.reply_ticks == 0 and self._config.lockstep:
            self._harvest(world)
            for flight in self._flights.overdue(self._clock.monotonic()):
                self._answers.time_out(world, flight)

    def _harvest(self, world: "World") -> None:
        """Take in the answers that have come; with `reply_ticks` those that are due, in an order that repeats."""
        ticks = self._config.reply_ticks
        if ticks is None:
            finished, self._finished = self._finished + self._workers.finished(), []
            for job in finished:
                self._answers.harvest(world, job)
            return
        last_tick = self._roster.tick - ticks  # that a question may have been put in
        if self._config.lockstep:
            self._wait_for([flight for flight in self._flights.all() if flight.asked_tick <= last_tick])
        self._finished += self._workers.finished()
        flights = [(job, self._flights.of_job(job)) for job in self._finished]
        self._finished = [job for job, flight in flights if flight is not None and flight.asked_tick > last_tick]
        ready = [(flight.asked_tick, min(flight.agents), job) for job, flight in flights if flight is not None]
        for asked_tick, _, job in sorted(ready, key=lambda entry: entry[:2]):
            if asked_tick <= last_tick:
                self._answers.harvest(world, job)

    def _wait_for(self, flights: Sequence[Flight]) -> None:
        """Wait for replies, each until its deadline."""
        if flights:
            wait_s = max(flight.deadline_s for flight in flights) - self._clock.monotonic()
            self._workers.settle([flight.job for flight in flights], max(wait_s, 0.0))

    def settle(self, timeout_s: float = SETTLING_S) -> None:
        """Wait until every question under way has its answer; the next tick processes the answers.

        For tests, and for runs that go as fast as their model: a game never waits. Raises `TimeoutError` if some client
        takes longer than `timeout_s` of real time.
        """
        if not self._workers.settle([flight.job for flight in self._flights.all()], timeout_s):
            waiting = ", ".join(map(str, sorted(self.thinking())[:10]))
            raise TimeoutError(f"no answer within {timeout_s:g} s of real time; entities that wait: {waiting}")

    def shutdown(self, _world: "World | None" = None, _ctx: "TickContext | None" = None) -> None:
        """Drop all queries under way, close the clients that answer on the loop, and end the threads.

        Agents that waited ask again if the engine runs on; a client that was closed then has to be replaced.
        """
        for eid, agent in self._flights.let_go():
            self._roster.put(eid, agent)
        self._workers.close([client.aclose for client in self._manager.clients.values() if hasattr(client, "aclose")])

    def change_timing(self, *, reply_ticks: int | None, lockstep: bool) -> None:
        """Let replies take effect in other ticks from now on, as another world requires."""
        config = self._manager.config
        streams = config.stream_fields and reply_ticks is None  # else no field may arrive before its tick
        self._config = replace(config, reply_ticks=reply_ticks, lockstep=lockstep, stream_fields=streams)
        self._questions.use_config(self._config)
        self._answers.use_config(self._config)

    def statistics(self) -> StrategyStatistics:
        """Return the state of the strategic layer in numbers."""
        counts = self._counts
        return StrategyStatistics(
            len(self._roster),
            self._roster.schedule.ready,
            len(self._flights),
            counts.asked,
            counts.answered,
            counts.failed,
            counts.skipped,
            self._workers.statistics(),
            self._roster.schedule.held,
            self._roster.deferred(),
            counts.refused,
            counts.average_wait_s,
            counts.average_queue_s,
            {name: _statistics(client) for name, client in self._manager.shared_clients.items()},
            counts.outdated,
            self._paces.statistics(),
        )

    def thinking(self) -> dict[int, int]:
        """Return the entities that wait for an answer, and since which tick."""
        return {eid: flight.asked_tick for flight in self._flights.all() for eid in flight.agents}


def _statistics(client: SharedClient) -> ClientStatistics:
    return ClientStatistics(client.ready_in_s(), client.cooldown())
