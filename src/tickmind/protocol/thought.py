"""`Thought`: one deliberation, as it is recorded and shown."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Thought:
    """The prompt of an entity, the model's reply, and the directives that came of it."""

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
    latency_s: float = 0.0  # until the reply was complete, not until it was harvested
    cost_usd: float | None = None
    error_type: str = ""  # empty on success
    error: str = ""
    provider: str = ""  # that answered behind a gateway, if reported
    attempts: int = 1  # at providers
    queued_s: float | None = None  # in a gateway's queue
    late: bool = False  # the reply took more ticks than the world's rule gives a thought
    kind: str = ""  # the faculty that asked, such as "reflect"; empty if it asked for a plan
    cached_tokens: int | None = None  # of the prompt, that the endpoint had read before


ThoughtSink: TypeAlias = Callable[[Thought], None]
