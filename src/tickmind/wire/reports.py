"""What agents tell of themselves, for the record and the viewer."""

from dataclasses import dataclass
from enum import StrEnum

from tickmind.protocol import Thought


class AgentState(StrEnum):
    """What an agent is doing."""

    STARTING = "starting"
    RUNNING = "running"
    DELIBERATING = "deliberating"  # it goes on answering observations meanwhile
    DEGRADED = "degraded"  # it goes on without something that it should have
    STOPPING = "stopping"


@dataclass(frozen=True, slots=True)
class AgentStatus:
    """How an agent is doing; the numbers count from its start."""

    entity_id: str
    tick_id: int
    state: AgentState
    detail: str = ""
    observations: int = 0
    intents: int = 0
    refused: int = 0
    thoughts: int = 0
    failed_thoughts: int = 0


@dataclass(frozen=True, slots=True)
class ThoughtReport:
    """A thought, whose it was in the world, and in which tick of the world it was reported."""

    entity_id: str
    tick_id: int
    thought: Thought
