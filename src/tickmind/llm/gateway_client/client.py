"""`GatewayClient`: a model client that asks through a gateway, respects its cooldowns and sends heartbeats."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Self, TypedDict, Unpack

from tickmind.base import Clock, IdMaker, SystemClock
from tickmind.base.background import is_over
from tickmind.llm.client import ModelClient
from tickmind.llm.config import ModelConfig
from tickmind.llm.errors import LLMConfigError, LLMError, LLMRateLimitError, LLMResponseError
from tickmind.llm.gateway_client.calls import (
    CustomModel,
    Generated,
    Priority,
    checked_name,
    checked_session,
    gateway_call,
)
from tickmind.llm.gateway_client.gate import Gates
from tickmind.llm.gateway_client.transport import GatewayTransport, OnCooldown
from tickmind.llm.prices import PRICES, Price, UsageMeter
from tickmind.llm.served import SessionCooldown
from tickmind.llm.transport import Transport

HEARTBEAT_S = 30.0
DEFER_MS = 5000
_log = logging.getLogger("tickmind.llm.gateway_client")


class GenerateOptions(TypedDict, total=False):
    """The keyword arguments of `generate`; the gateway's settings fill in what is left out.

    `model` defaults to the config's; `custom` names an endpoint of the agent's own instead.
    """

    model: str | None
    max_tokens: int | None
    temperature: float | None
    priority: Priority | None
    custom: CustomModel | None
    timeout_s: float | None


class GatewayClient(ModelClient):
    """One session at one gateway. Every call of a `ModelClient` goes through the gateway's fair queue.

    `config.base_url` is the gateway's address, with or without `/v1`. A `session` is one game or run; without a name it
    gets one of its own. During a cooldown that the gateway reported, a call waits for its turn within its timeout;
    with `on_cooldown="raise"` it raises `LLMCooldownError` at once, with `"send"` it goes out all the same, to wait in
    the gateway's queue or to be refused. The client retries nothing: the gateway does.

    From its first use until `aclose` it sends heartbeats, so that the session keeps its share during a pause. `wrap`
    may put another transport around its own, such as one that keeps replies. Raises `LLMConfigError` if `on_cooldown`
    or `heartbeat_s` can't be used.

        async with GatewayClient(load_gateway_config(), session="village") as client:
            result = await client.complete("Say hello.", call=gateway_call(agent="anna"))
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
        wrap: Callable[[Transport], Transport] = lambda transport: transport,
    ) -> None:
        from tickmind.llm.gateway_client.endpoint import GatewayEndpoint

        if on_cooldown not in ("wait", "raise", "send"):
            raise LLMConfigError(f"on_cooldown must be wait, raise or send, not {on_cooldown!r}")
        if not heartbeat_s > 0:
            raise LLMConfigError(f"heartbeat_s must be greater than 0, not {heartbeat_s!r}")
        clock = clock or SystemClock()
        self.session = checked_session(session or IdMaker(clock=clock)("session"))
        self.active_games = 0
        """How many games shared the gateway at the last heartbeat; 0 before the first."""
        self._heartbeat_s = heartbeat_s
        self._heart: asyncio.Task[None] | None = None
        self._shut = False
        self._gates = Gates(clock)
        self._endpoint = GatewayEndpoint(config, self.session, self._gates.note_served)
        self._way = GatewayTransport(
            self._endpoint.transport, self._gates, on_cooldown=on_cooldown, on_use=self._begin, clock=clock
        )
        super().__init__(config, wrap(self._way), clock=clock, prices=prices, meter=meter)

    async def __aenter__(self) -> Self:
        self._begin()
        return self

    def __repr__(self) -> str:
        return f"GatewayClient(model={self.config.model!r}, url={self._endpoint.origin!r}, session={self.session!r})"

    async def aclose(self) -> None:
        """Stop the heartbeats and close the connections; calls that wait for their turn are cancelled."""
        self._shut = True
        self._gates.send_away()
        heart, self._heart = self._heart, None
        if heart is not None and not heart.done():
            if heart.get_loop() is asyncio.get_running_loop():
                heart.cancel()
                await asyncio.wait([heart])
            else:
                self._leave(heart)
        await super().aclose()

    # The session's turn

    def ready_in_s(self, model: str | None = None) -> float:
        """Return the time in seconds until the session may ask again, as far as known. Any thread may call it."""
        gate = self._gates.known(model or self.config.model)
        return 0.0 if gate is None else gate.ready_in_s()

    def check_ready(self, model: str | None = None) -> None:
        """Raise `LLMCooldownError` if the session is known to have to wait, whatever `on_cooldown` says."""
        gate = self._gates.known(model or self.config.model)
        if gate is not None:
            gate.check()

    def cooldown(self, model: str | None = None) -> SessionCooldown | None:
        """Return the last cooldown that the gateway reported for a model. Any thread may call it."""
        gate = self._gates.known(model or self.config.model)
        return None if gate is None else gate.cooldown

    @property
    def waiting(self) -> int:
        """How many calls wait here for the session's turn."""
        return self._gates.waiting

    # The gateway's own calls

    async def generate(self, prompt: str, *, agent: str, **options: Unpack[GenerateOptions]) -> Generated:
        """Generate one text from one prompt, by the gateway's simplest call."""
        priority, custom, timeout_s = options.get("priority"), options.get("custom"), options.get("timeout_s")
        headers = gateway_call(agent=agent, priority=priority).headers
        model = options.get("model") or self.config.model
        given = {
            "agentId": agent,
            "prompt": prompt,
            "model": model if custom is None or not custom.model else None,
            "customConfig": None if custom is None else custom.encode(),
            "maxTokens": options.get("max_tokens"),
            "temperature": options.get("temperature"),
            "priority": priority,
        }
        fields = {name: value for name, value in given.items() if value is not None}
        # an endpoint of the agent's own has a pace of its own
        gated = model if custom is None else f"{custom.model or model} at {custom.base_url}"
        left_s = await self._way.turn(gated, self.config.timeout_s if timeout_s is None else timeout_s)
        gate = self._gates.of(gated)
        try:
            generated = await self._endpoint.generate(fields, headers, timeout_s=left_s)
        except (LLMRateLimitError, LLMResponseError) as error:
            gate.note_refusal(error)
            raise
        if generated.served.cooldown is not None:
            gate.note(generated.served.cooldown)
        return generated

    async def defer(self, agent_id: str, duration_ms: int = DEFER_MS) -> None:
        """Have the gateway hold an agent's requests for a while; requests sent meanwhile wait there.

        Raises `LLMConfigError` if `duration_ms` is negative.
        """
        if duration_ms < 0:
            raise LLMConfigError(f"duration_ms must be 0 or more, not {duration_ms}")
        self._begin()
        await self._endpoint.defer(checked_name("an agent's name", agent_id), duration_ms)

    async def heartbeat(self) -> int:
        """Send a heartbeat, as the open client does by itself, and return `active_games`."""
        self.active_games = await self._endpoint.heartbeat()
        return self.active_games

    async def stats(self) -> Mapping[str, Any]:
        """Return the gateway's queues and limits as plain data for display."""
        return await self._endpoint.report("stats")

    async def sessions(self) -> Mapping[str, Any]:
        """Return the gateway's sessions as plain data for display."""
        return await self._endpoint.report("sessions")

    async def costs(self) -> Mapping[str, Any]:
        """Return what was used and what it cost, as the gateway writes it: plain data for display."""
        return await self._endpoint.report("costs")

    # Heartbeats

    def _begin(self) -> None:
        """Begin the heartbeats with the first use, and with the first one after the loop was given up."""
        heart = self._heart
        if self._shut or (heart is not None and not is_over(heart.get_loop())):
            return
        if heart is not None:
            self._leave(heart)
        self._heart = asyncio.get_running_loop().create_task(self._beat(), name="tickmind-heartbeat")

    @staticmethod
    def _leave(heart: "asyncio.Task[None]") -> None:
        """End a heartbeat of another loop when that gets around to it."""
        with suppress(RuntimeError):  # a loop that is closed has ended it already
            heart.get_loop().call_soon_threadsafe(heart.cancel)

    async def _beat(self) -> None:
        healthy = True
        while True:
            await asyncio.sleep(self._heartbeat_s)
            try:
                await self.heartbeat()
            except LLMError as error:  # the next call reports it; the next heartbeat may succeed
                if healthy:
                    _log.warning("the gateway does not hear this session's heartbeat: %s", error)
                healthy = False
            else:
                healthy = True
