"""One deliberation, as it is recorded and shown."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Thought:
    """What an entity was asked, what the model made of it, and what came of that."""

    entity_id: int
    asked_tick: int
    answered_tick: int
    system_prompt: str
    user_message: str
    reply: str = ""
    thinking: str = ""
    directives: Mapping[str, Any] = field(default_factory=dict)  # Blackboard keys that changed -> new values
    client: str = ""
    model: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    latency_s: float = 0.0  # until the reply was complete, not until it was picked up
    cost_usd: float | None = None
    error_type: str = ""  # empty if all went well
    error: str = ""
    provider: str = ""  # who answered behind a gateway, if it said so
    attempts: int = 1  # at providers
    queued_s: float | None = None  # in a gateway's queue


ThoughtSink: TypeAlias = Callable[[Thought], None]
