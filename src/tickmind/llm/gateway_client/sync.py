"""`SyncGatewayClient`: the gateway's client for scripts and threads, with an event loop in the background."""

from collections.abc import Coroutine, Mapping
from concurrent.futures import Future
from typing import Any, TypeVar, Unpack

from tickmind.base import Clock
from tickmind.llm.config import ModelConfig
from tickmind.llm.gateway_client.calls import Generated
from tickmind.llm.gateway_client.client import DEFER_MS, HEARTBEAT_S, GatewayClient, GenerateOptions
from tickmind.llm.gateway_client.transport import OnCooldown
from tickmind.llm.prices import PRICES, Price, UsageMeter
from tickmind.llm.served import SessionCooldown
from tickmind.llm.sync import SyncModelClient

T = TypeVar("T")


class SyncGatewayClient(SyncModelClient):
    """Block on the calls of a `GatewayClient`, for code without an event loop. Any number of threads may share it.

    Its heartbeats start with its first use and end with `close`.
    """

    def __init__(
        self,
        config: ModelConfig,
        *,
        session: str = "",
        on_cooldown: OnCooldown = "wait",
        heartbeat_s: float = HEARTBEAT_S,
        clock: Clock | None = None,
        prices: Mapping[str, Price] = PRICES,
        meter: UsageMeter | None = None,
    ) -> None:
        self._gateway = GatewayClient(
            config,
            session=session,
            on_cooldown=on_cooldown,
            heartbeat_s=heartbeat_s,
            clock=clock,
            prices=prices,
            meter=meter,
        )
        self._adopt(self._gateway)

    @property
    def async_client(self) -> GatewayClient:
        """The client underneath, for coroutines that are handed to `run` or `submit`."""
        return self._gateway

    @property
    def session(self) -> str:
        """The session's name."""
        return self._gateway.session

    @property
    def active_games(self) -> int:
        """How many games shared the gateway at the last heartbeat; 0 before the first."""
        return self._gateway.active_games

    @property
    def waiting(self) -> int:
        """How many calls wait here for the session's turn."""
        return self._gateway.waiting

    def submit(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Start any async work with `async_client` and go on."""
        return self._background.submit(work)

    def ready_in_s(self, model: str | None = None) -> float:
        """Return the time in seconds until the session may ask again, as far as known."""
        return self._gateway.ready_in_s(model)

    def cooldown(self, model: str | None = None) -> SessionCooldown | None:
        """Return the last cooldown that the gateway reported for a model."""
        return self._gateway.cooldown(model)

    def generate(self, prompt: str, *, agent: str, **options: Unpack[GenerateOptions]) -> Generated:
        """Generate one text from one prompt; see `GatewayClient.generate`."""
        return self.run(self._gateway.generate(prompt, agent=agent, **options))

    def defer(self, agent_id: str, duration_ms: int = DEFER_MS) -> None:
        """Have the gateway hold an agent's requests for a while."""
        self.run(self._gateway.defer(agent_id, duration_ms))

    def heartbeat(self) -> int:
        """Send a heartbeat and return `active_games`."""
        return self.run(self._gateway.heartbeat())

    def stats(self) -> Mapping[str, Any]:
        """Return the gateway's queues and limits as plain data for display."""
        return self.run(self._gateway.stats())

    def sessions(self) -> Mapping[str, Any]:
        """Return the gateway's sessions as plain data for display."""
        return self.run(self._gateway.sessions())

    def costs(self) -> Mapping[str, Any]:
        """Return what was used and what it cost as plain data for display."""
        return self.run(self._gateway.costs())
