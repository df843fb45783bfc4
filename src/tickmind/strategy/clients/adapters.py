"""Clients that stand before a shared door: they know when it is our turn, and let an agent's wait be known."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from tickmind.llm import CallConfig, Cooldown, GatewayClient, SyncGatewayClient, gateway_call
from tickmind.strategy.clients.clients import Question
from tickmind.strategy.clients.deliberation import Deliberation
from tickmind.strategy.clients.gateway_deliberation import close_in_turn, deliberate_in_turn, notify_deferral


@runtime_checkable
class SharedClient(Protocol):
    """A client that may know beforehand that it would be refused; while it does, nobody is asked through it.

    `ready_in_s` and `cooldown` are called in the tick, so they must not wait.
    """

    def ready_in_s(self) -> float:
        """How long it is not our turn, as far as is known; 0 if it is."""
        ...

    def cooldown(self) -> Cooldown | None:
        """What was last said about our share, for display."""
        ...

    def defer(self, entity_id: int, duration_s: float) -> Coroutine[Any, Any, None]:
        """Make the coroutine that tells those who share that an entity waits."""
        ...


@dataclass(frozen=True, slots=True)
class ClientStatistics:
    """How a shared client stands."""

    ready_in_s: float
    cooldown: Cooldown | None = None  # who shares, and at which pace, as the gateway last said


class GatewayAnswers:
    """A `GatewayClient` as an `AsyncLLMClient`; of a blocking one, the loop in its background does the work.

    The gateway hears of each entity as an agent by `agent_name(entity_id)`. An agent's priority above 0 is high there,
    below 0 low. A newer question of an entity takes the place of an older one that still waits. The gateway drops one
    that it could not have answered in time, which is no failure of the agent.
    """

    def __init__(
        self,
        client: GatewayClient | SyncGatewayClient,
        call: CallConfig | None = None,
        *,
        agent_name: Callable[[int], str] = str,
    ) -> None:
        self._client = client
        self._call = call
        self._agent_name = agent_name

    def answer(self, question: Question) -> Coroutine[Any, Any, Deliberation]:
        """Ask now, or raise `LLMCooldownError`: the prompt would be stale by the time it went out."""
        priority = question.priority
        call = gateway_call(
            self._call,
            agent=self._agent_name(question.entity_id),
            priority="high" if priority > 0 else "low" if priority < 0 else "normal",
            replace_older=True,
        )
        return deliberate_in_turn(
            self._client,
            question.messages(),
            call,
            schema=question.schema,
            on_field=question.on_field,
            on_retry=question.on_retry,
            timeout_s=question.timeout_s,
        )

    def ready_in_s(self) -> float:
        """How long it is not the session's turn."""
        return self._client.ready_in_s()

    def cooldown(self) -> Cooldown | None:
        """What the gateway last said about the session's share."""
        return self._client.cooldown()

    def defer(self, entity_id: int, duration_s: float) -> Coroutine[Any, Any, None]:
        """Tell the gateway that an entity waits."""
        return notify_deferral(self._client, self._agent_name(entity_id), duration_s)

    def aclose(self) -> Coroutine[Any, Any, None]:
        """Close the client; a blocking one is its owner's to close."""
        return close_in_turn(self._client)
