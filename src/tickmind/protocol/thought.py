"""`Thought`: one deliberation, as it is recorded and shown, and `ModelUsage`: what a reply took."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUsage:
    """The model that replied, and what the reply took; None where it is not known."""

    model: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None  # of the prompt, that the endpoint had read before
    cost_usd: float | None = None

    @property
    def total_tokens(self) -> int | None:
        """Prompt and completion together, if both are known."""
        if self.prompt_tokens is None or self.completion_tokens is None:
            return None
        return self.prompt_tokens + self.completion_tokens

    @classmethod
    def values_of(cls, source: "ModelUsage") -> dict[str, Any]:
        """Return the fields of this class in another value, to make one of a third class of them."""
        return {one.name: getattr(source, one.name) for one in fields(cls)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedUsage(ModelUsage):
    """Usage, and what a gateway reported of who served the reply."""

    provider: str = ""  # that answered
    attempts: int = 1  # at providers
    queued_s: float | None = None  # in the gateway's queue


@dataclass(frozen=True, slots=True)
class Thought(ServedUsage):
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
    latency_s: float = 0.0  # until the reply was complete, not until it was harvested
    error_type: str = ""  # empty on success
    error: str = ""
    late: bool = False  # the reply took more ticks than the world's rule gives a thought
    kind: str = ""  # the faculty that asked, such as "reflect"; empty if it asked for a plan


ThoughtSink: TypeAlias = Callable[[Thought], None]
