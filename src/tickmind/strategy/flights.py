"""Queries under way: whose they are, since when, and until when they may take."""

import heapq
from dataclasses import dataclass, field
from typing import Any

from tickmind.llm.deliberation import Deliberation
from tickmind.strategy.components import LLMAgent
from tickmind.strategy.workers import Job


@dataclass(eq=False)
class Flight:
    """One call, for one entity or for several."""

    agents: dict[int, LLMAgent]  # entity id -> the component that asked
    messages: dict[int, str]  # entity id -> its user message
    system_prompt: str
    client: str
    asked_tick: int
    submitted_at_s: float
    deadline_s: float
    job: Job[Any]
    fields: list[tuple[str, Any]] = field(default_factory=list)  # streamed and not yet taken in

    def outcome(self) -> Deliberation:
        """What the client answered."""
        value = self.job.value
        return value if isinstance(value, Deliberation) else Deliberation(value if isinstance(value, str) else "")


class Flights:
    """All queries under way."""

    def __init__(self) -> None:
        self._by_job: dict[int, Flight] = {}  # id of the job -> flight
        self._by_entity: dict[int, Flight] = {}
        self._deadlines: list[tuple[float, int, Flight]] = []
        self._count = 0

    def __len__(self) -> int:
        return len(self._by_job)

    def all(self) -> list[Flight]:
        """Every query under way."""
        return list(self._by_job.values())

    def add(self, flight: Flight) -> None:
        """Begin."""
        self._count += 1
        self._by_job[id(flight.job)] = flight
        for entity_id in flight.agents:
            self._by_entity[entity_id] = flight
        heapq.heappush(self._deadlines, (flight.deadline_s, self._count, flight))

    def of_entity(self, entity_id: int) -> Flight | None:
        """The query that an entity waits for."""
        return self._by_entity.get(entity_id)

    def end(self, job: Job[Any]) -> Flight | None:
        """Take out the query of a job, if it is still wanted."""
        flight = self._by_job.pop(id(job), None)
        if flight is not None:
            for entity_id in flight.agents:
                self._by_entity.pop(entity_id, None)
        return flight

    def leave(self, entity_id: int) -> Flight | None:
        """Take an entity out of its query; gives the query if nobody waits for it any more."""
        flight = self._by_entity.pop(entity_id, None)
        if flight is None:
            return None
        flight.agents.pop(entity_id).pending = False
        if flight.agents:
            return None
        self._by_job.pop(id(flight.job), None)
        return flight

    def overdue(self, now_s: float) -> list[Flight]:
        """The queries that have taken too long."""
        found = []
        while self._deadlines and self._deadlines[0][0] <= now_s:
            _, _, flight = heapq.heappop(self._deadlines)
            if self._by_job.get(id(flight.job)) is flight:
                found.append(flight)
        return found

    def clear(self) -> list[Flight]:
        """Take out all."""
        found = list(self._by_job.values())
        self._by_job.clear()
        self._by_entity.clear()
        self._deadlines.clear()
        return found
