"""Deliberations through a gateway, for layers that never await: asked now or not at all, and deferred by notice."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from tickmind.llm.config import CallConfig
from tickmind.llm.errors import LLMError
from tickmind.llm.gateway_client.client import GatewayClient
from tickmind.llm.gateway_client.sync import SyncGatewayClient
from tickmind.llm.messages import Message
from tickmind.strategy.clients.deliberation import Deliberation, deliberate

T = TypeVar("T")
_log = logging.getLogger("tickmind.llm.gateway_client")


def deliberate_in_turn(
    client: GatewayClient | SyncGatewayClient,
    messages: Sequence[Message],
    call: CallConfig | None = None,
    *,
    schema: Mapping[str, Any] | None = None,
    on_field: Callable[[str, Any], None] | None = None,
    on_retry: Callable[[], None] | None = None,
    timeout_s: float | None = None,
) -> Coroutine[Any, Any, Deliberation]:
    """Ask if it is the session's turn, else raise `LLMCooldownError`: a prompt that had to wait here would be stale.

    A reply that can't be read is asked for again when the session's turn comes, within the same deadline.
    """
    inner = client.async_client if isinstance(client, SyncGatewayClient) else client
    ask = partial(
        _ask,
        inner,
        partial(
            deliberate,
            inner,
            messages,
            call,
            schema=schema,
            on_field=on_field,
            on_retry=on_retry,
            timeout_s=timeout_s,
        ),
    )
    return _elsewhere(client, ask) if isinstance(client, SyncGatewayClient) else ask()


def notify_deferral(
    client: GatewayClient | SyncGatewayClient, agent_id: str, duration_s: float
) -> Coroutine[Any, Any, None]:
    """Tell the gateway that an agent waits; if it does not hear of it, only its statistics are the poorer."""
    inner = client.async_client if isinstance(client, SyncGatewayClient) else client
    tell = partial(_defer, inner, agent_id, duration_s)
    return _elsewhere(client, tell) if isinstance(client, SyncGatewayClient) else tell()


async def close_in_turn(client: GatewayClient | SyncGatewayClient) -> None:
    """Close a client that belongs to the loop at hand; one with a loop of its own is its owner's to close."""
    if isinstance(client, GatewayClient):
        await client.aclose()


async def _ask(client: GatewayClient, ask: Callable[[], Coroutine[Any, Any, Deliberation]]) -> Deliberation:
    client.check_ready()
    return await ask()


async def _defer(client: GatewayClient, agent_id: str, duration_s: float) -> None:
    try:
        await client.defer(agent_id, round(duration_s * 1000))
    except LLMError as error:
        _log.warning("the gateway was not told that %s waits: %s", agent_id, error)


async def _elsewhere(client: SyncGatewayClient, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Work on the loop that the client has in the background, not on the one at hand."""
    return await asyncio.wrap_future(client.submit(work()))
