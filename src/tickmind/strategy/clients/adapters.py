"""Adapters: clients of `tickmind.llm` and tool agents as clients that answer queries."""

import asyncio
import inspect
import logging
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any, TypeAlias, TypeVar, cast

from tickmind.base import ConfigError
from tickmind.llm import (
    CallConfig,
    CallSite,
    GatewayClient,
    LLMError,
    Message,
    ModelClient,
    SessionCooldown,
    SyncGatewayClient,
    SyncModelClient,
    gateway_call,
)
from tickmind.strategy.clients.client import AnyClient, Deliberation, Question, answers_on_loop, takes
from tickmind.strategy.clients.deliberation import at_site, deliberate, deliberate_with_tools
from tickmind.tools import ToolAgent

T = TypeVar("T")
SiteOf: TypeAlias = Callable[[int], CallSite | None]
"""The character and the tick of a call that an entity makes now, for files of replies."""
_log = logging.getLogger("tickmind.strategy")


def nowhere(_entity_id: int) -> None:
    """Return no site, for calls that are not kept by character and tick."""


class ModelAdapter:
    """A `ModelClient` as an `AsyncLLMClient`.

    `extra_for(entity_id)` may give fields to send along, such as the slot that a local model keeps for an entity;
    `site_of(entity_id)` the character and the tick of a call, by which a file of replies keeps it.
    """

    def __init__(
        self,
        client: ModelClient,
        call: CallConfig | None = None,
        *,
        extra_for: Callable[[int], Mapping[str, Any]] | None = None,
        site_of: SiteOf = nowhere,
    ) -> None:
        self._client = client
        self._call = call
        self._extra_for = extra_for
        self._site_of = site_of

    def answer(self, question: Question) -> Coroutine[Any, Any, Deliberation]:
        """Ask the model; with a schema the reply is an object, requested again if it can't be read."""
        extra = self._extra_for(question.entity_id) if self._extra_for is not None else None
        return at_site(
            self._site_of(question.entity_id), partial(deliberate, self._client, question, self._call, extra=extra)
        )

    def aclose(self) -> Coroutine[Any, Any, None]:
        """Close the client."""
        return self._client.aclose()


class GatewayAdapter:
    """A `GatewayClient` as an `AsyncLLMClient`; a blocking one works on the loop in its background.

    The gateway knows each entity as an agent by `agent_name(entity_id)`. An agent's priority above 0 is high there,
    below 0 low. A newer question of an entity replaces an older one that still waits. The gateway drops a question
    that it could not have answered in time, which is no failure of the agent.
    """

    def __init__(
        self,
        client: GatewayClient | SyncGatewayClient,
        call: CallConfig | None = None,
        *,
        agent_name: Callable[[int], str] = str,
        site_of: SiteOf = nowhere,
    ) -> None:
        self._client = client
        self._site_of = site_of
        self._async_client = client.async_client if isinstance(client, SyncGatewayClient) else client
        self._call = call
        self._agent_name = agent_name

    def answer(self, question: Question) -> Coroutine[Any, Any, Deliberation]:
        """Ask now, or raise `LLMCooldownError`: a prompt that waits for the session's turn would be stale.

        A reply that can't be read is asked for again when the session's turn comes, within the same deadline.
        """
        site = self._site_of(question.entity_id)
        return self._on_clients_loop(lambda: at_site(site, partial(self._ask, question)))

    def ready_in_s(self) -> float:
        """Return the time in seconds until the session's turn."""
        return self._client.ready_in_s()

    def cooldown(self) -> SessionCooldown | None:
        """Return the last cooldown that the gateway reported."""
        return self._client.cooldown()

    def defer(self, entity_id: int, duration_s: float) -> Coroutine[Any, Any, None]:
        """Notify the gateway that an entity waits; a failure costs only statistics, so it is logged."""
        return self._on_clients_loop(partial(self._notify_deferral, self._agent_name(entity_id), duration_s))

    async def aclose(self) -> None:
        """Close the client; a blocking one is its owner's to close."""
        if isinstance(self._client, GatewayClient):
            await self._client.aclose()

    async def _ask(self, question: Question) -> Deliberation:
        priority = question.priority
        call = gateway_call(
            self._call,
            agent=self._agent_name(question.entity_id),
            priority="high" if priority > 0 else "low" if priority < 0 else "normal",
            replace_older=True,
        )
        if not question.waits:
            self._async_client.check_ready()
        return await deliberate(self._async_client, question, call)

    async def _notify_deferral(self, agent_id: str, duration_s: float) -> None:
        try:
            await self._async_client.defer(agent_id, round(duration_s * 1000))
        except LLMError as error:
            _log.warning("can't report to the gateway that %s waits: %s", agent_id, error)

    def _on_clients_loop(self, work: Callable[[], Coroutine[Any, Any, T]]) -> Coroutine[Any, Any, T]:
        return _submitted(self._client, work) if isinstance(self._client, SyncGatewayClient) else work()


async def _submitted(client: SyncGatewayClient, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run work on the client's background loop. The coroutine is made there, so a cancelled call leaves none behind."""
    return await asyncio.wrap_future(client.submit(work()))


class ToolAgentAdapter:
    """A `ToolAgent` for each entity as an `AsyncLLMClient`: deliberation may look things up before it answers.

    Each deliberation starts afresh: the entity's earlier turns go along as `conversation_turns` and `token_budget` say,
    what its tools found earlier does not, and nothing is added to an agent's history. Beyond `most_agents` the agent
    that was silent the longest is dropped.
    """

    def __init__(
        self, make_agent: Callable[[int], ToolAgent], *, most_agents: int = 1024, site_of: SiteOf = nowhere
    ) -> None:
        self._make_agent = make_agent
        self._site_of = site_of
        self._most_agents = most_agents
        self._agents: OrderedDict[int, ToolAgent] = OrderedDict()  # entity id -> its agent, the silent ones first

    def answer(self, question: Question) -> Coroutine[Any, Any, Deliberation]:
        """Run the entity's agent on the question."""
        agent = self._agents.pop(question.entity_id, None) or self._make_agent(question.entity_id)
        self._agents[question.entity_id] = agent
        if len(self._agents) > self._most_agents:
            self._agents.popitem(last=False)
        return at_site(self._site_of(question.entity_id), partial(deliberate_with_tools, agent, question.messages()))


class SyncModelAdapter:
    """A `SyncModelClient` as an `LLMClient`: it blocks a thread of the pool for each query."""

    def __init__(self, client: SyncModelClient) -> None:
        self._client = client

    def query(self, system_prompt: str, user_message: str) -> str:
        """Ask and wait for the text."""
        return self._client.complete([Message.system(system_prompt), Message.user(user_message)]).content


class AsyncQueryAdapter:
    """A client whose `query` is an `async def` as an `AsyncLLMClient`."""

    def __init__(self, client: Any) -> None:
        self._client = client
        if hasattr(client, "aclose"):
            self.aclose = client.aclose

    def answer(self, question: Question) -> Coroutine[Any, Any, Deliberation]:
        """Make the coroutine that asks; it may return a plain text."""
        work: Coroutine[Any, Any, Deliberation] = self._client.query(question.system_prompt, question.folded())
        return work


def as_client(client: Any) -> AnyClient:
    """Return a client as it is, or in its adapter: a client of `tickmind.llm`, or one whose `query` is an `async def`.

    Raises `ConfigError` for a class and for an object that is no client.
    """
    if isinstance(client, type):
        raise ConfigError(f"a client must be an object, not a class; register {client.__name__}(...)")
    if isinstance(client, GatewayClient | SyncGatewayClient):
        return GatewayAdapter(client)
    if isinstance(client, ModelClient):
        return ModelAdapter(client)
    if isinstance(client, SyncModelClient):
        return SyncModelAdapter(client)
    if isinstance(client, ToolAgent):
        return ToolAgentAdapter(lambda entity_id: client.twin(agent_id=f"{client.agent_id}-{entity_id}"))
    if answers_on_loop(client):
        return cast("AnyClient", client)
    if takes(client, "query", "system_prompt", "user_message"):
        return AsyncQueryAdapter(client) if inspect.iscoroutinefunction(client.query) else cast("AnyClient", client)
    raise ConfigError(
        "a client must have query(system_prompt, user_message) or answer(question), or be a client of tickmind.llm; "
        f"a {type(client).__name__} does not qualify"
    )
