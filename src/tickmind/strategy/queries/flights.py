"""`Flights`: queries under way, with their agents, start times and deadlines."""

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any

from tickmind.base.time_heap import TimeHeap
from tickmind.strategy.clients.client import Deliberation
from tickmind.strategy.clients.workers import Workers, WorkItem
from tickmind.strategy.components import LLMAgent
from tickmind.strategy.replies.streaming import Streamed

_NOT_SENT: WorkItem[Any] = WorkItem()  # of a flight that is still being made


@dataclass(eq=False, slots=True)
class Flight:
    """One call, for one entity or for several."""

    agents: dict[int, LLMAgent]  # entity id -> the component that asked, as long as it waits
    messages: dict[int, str]  # entity id -> its user message, also of those that no longer wait
    system_prompt: str
    client: str
    asked_tick: int
    submitted_at_s: float
    deadline_s: float
    in_flight: int = 1  # queries of its client under way when it went out, itself included
    job: WorkItem[Any] = _NOT_SENT
    fields: deque[tuple[str, Any] | None] = field(default_factory=deque)
    """Fields as they arrive, None where the reply is requested again; appended by other threads, emptied by the tick"""
    streamed: dict[int, Streamed] = field(default_factory=dict)  # entity id -> its streamed fields

    def put_back(self, entity_id: int) -> None:
        """Undo the streamed fields on an entity's Blackboard."""
        streamed = self.streamed.pop(entity_id, None)
        if streamed is not None:
            streamed.put_back()

    @property
    def sent_at_s(self) -> float:
        """When the question went to the client; its submission as long as no thread is free."""
        started_at_s = self.job.started_at_s
        return self.submitted_at_s if started_at_s is None else started_at_s

    @property
    def came_in_time(self) -> bool:
        """Whether the answer is there, and came before the deadline."""
        return self.job.done_at_s is not None and self.job.done_at_s <= self.deadline_s

    def outcome(self) -> Deliberation | None:
        """Return the client's answer; None if it is no text."""
        value = self.job.value
        if isinstance(value, str):
            return Deliberation(value)
        return value if isinstance(value, Deliberation) and isinstance(value.text, str) else None


class Flights:
    """All queries under way. An agent that no longer waits is removed; a query without waiting agents is dropped."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._by_job: dict[int, Flight] = {}  # id of the job -> flight
        self._by_entity: dict[int, Flight] = {}
        self._of_client: Counter[str] = Counter()  # client -> queries under way
        # An abandoned call may still hold a thread.
        self._deadlines = TimeHeap[Flight](lambda _, flight: self._is_under_way(flight) or flight.job.holds_thread)

    def __len__(self) -> int:
        return len(self._by_job)

    def all(self) -> list[Flight]:
        """Return every query under way."""
        return list(self._by_job.values())

    def add(self, flight: Flight) -> None:
        """Begin."""
        self._of_client[flight.client] += 1
        self._by_job[id(flight.job)] = flight
        for entity_id in flight.agents:
            self._by_entity[entity_id] = flight
        self._deadlines.add(flight.deadline_s, flight)

    def of_entity(self, entity_id: int) -> Flight | None:
        """Return the query that an entity waits for."""
        return self._by_entity.get(entity_id)

    def of_job(self, job: WorkItem[Any]) -> Flight | None:
        """The query of a job, if it is still wanted."""
        return self._by_job.get(id(job))

    def under_way(self, client: str) -> int:
        """Return how many queries of a client are under way."""
        return self._of_client[client]

    def end(self, job: WorkItem[Any]) -> Flight | None:
        """Remove and return the query of a job; None if no agent waits for it."""
        flight = self._by_job.pop(id(job), None)
        if flight is not None:
            self._of_client[flight.client] -= 1
            for entity_id in flight.agents:
                self._by_entity.pop(entity_id, None)
        return flight

    def leave(self, entity_id: int) -> None:
        """Stop an entity's wait for its answer."""
        flight = self._by_entity.pop(entity_id, None)
        if flight is None:
            return
        flight.agents.pop(entity_id).pending = False
        flight.put_back(entity_id)
        if not flight.agents and self._by_job.pop(id(flight.job), None) is not None:
            self._of_client[flight.client] -= 1
            self._workers.abandon([flight.job])

    def overdue(self, now_s: float) -> list[Flight]:
        """Remove and return the queries that took too long, and drop their jobs and those of abandoned calls."""
        flights, jobs = [], []
        for flight in self._deadlines.due(now_s):
            if self._is_under_way(flight):
                if flight.came_in_time:
                    continue  # its tick to take effect comes later
                self.end(flight.job)
                flights.append(flight)
                jobs.append(flight.job)
            else:
                jobs.append(flight.job)
        if jobs:
            self._workers.abandon(jobs, overdue=True)
        return flights

    def let_go(self) -> list[tuple[int, LLMAgent]]:
        """Stop all waits and return the agents that waited."""
        flights = self.all()
        self._by_job.clear()
        self._by_entity.clear()
        self._of_client.clear()
        for flight in flights:
            for entity_id, agent in flight.agents.items():
                agent.pending = False
                flight.put_back(entity_id)
        self._workers.abandon([flight.job for flight in flights])
        self._deadlines.clean()
        return [waited for flight in flights for waited in flight.agents.items()]

    def _is_under_way(self, flight: Flight) -> bool:
        return self._by_job.get(id(flight.job)) is flight
