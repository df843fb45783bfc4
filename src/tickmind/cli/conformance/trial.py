"""A trial: one agent through everything that the launch contract promises, in a world of its own."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from tickmind.agent import Settings
from tickmind.base import redact
from tickmind.cli.conformance.credentials import TrialCredentials
from tickmind.cli.conformance.evidence import Evidence, TrialPlan
from tickmind.cli.conformance.relay import Relay
from tickmind.cli.conformance.small_world import ENTITY_ID, TrialWorld
from tickmind.cli.conformance.trial_agent import TrialAgent
from tickmind.cli.conformance.witness import IntentWitness
from tickmind.runner import Warden, WardenError

_TICKS_TO_ACT = 3  # a run of answers that shows that it is back
_SPARE_S = 60.0  # for a machine with other work, beside the time that ticks take

# Opens a WebSocket endpoint before a world's address, behind TLS if there are credentials, and yields its URL.
SocketOpener = Callable[[str, TrialCredentials | None], AbstractAsyncContextManager[str]]


class AgentTrial:
    """Tries one agent. Agents that speak WebSocket need an endpoint, which `open_socket` opens before the world.

    `say` gets a line at the beginning of each phase.
    """

    def __init__(
        self,
        command: Sequence[str],
        folder: Path,
        warden: Warden,
        environment: Mapping[str, str],
        *,
        plan: TrialPlan | None = None,
        settings: Settings | None = None,
        open_socket: SocketOpener | None = None,
        say: Callable[[str], None] = lambda _text: None,
    ) -> None:
        self._plan = plan or TrialPlan()
        self._warden = warden
        self._environment = environment
        self._open_socket = open_socket
        self._say = say
        self._witness = IntentWitness()
        self._credentials = credentials = TrialCredentials.make(folder / "certificates") if self._plan.tls else None
        self._agent = TrialAgent(command, folder, ENTITY_ID, settings or Settings(), credentials)
        self._world = TrialWorld(self._plan, self._witness, credentials)
        self._tokens = [self._agent.token]  # all that it had
        self._evidence = Evidence(self._plan)

    @property
    def output(self) -> str:
        """All that the agent printed."""
        return self._agent.output

    async def run(self) -> Evidence:
        """Go through all phases and return what was seen; afterwards nothing of the agent is left."""
        async with self._relays() as (to_world, to_socket, url):
            try:
                to_world.lead_to(await self._world.start())
                self._agent.start(self._warden, self._environment, world_addr=to_world.address, world_ws_url=url)
                await self._live(to_world, to_socket)
            except (OSError, WardenError) as error:
                self._evidence.early_end = f"it could not be started: {error}"
            finally:
                await self._agent.kill()
                await self._world.stop()
        self._read_output()
        return self._evidence

    @asynccontextmanager
    async def _relays(self) -> AsyncIterator[tuple[Relay, Relay, str]]:
        """Open the ways to the world and to its WebSocket; the URL is empty if there is none."""
        async with Relay() as to_world, Relay() as to_socket:
            if self._open_socket is None:
                yield to_world, to_socket, ""
                return
            async with self._open_socket(to_world.address, self._credentials) as url:
                parts = urlsplit(url)
                to_socket.lead_to(parts.netloc)
                yield to_world, to_socket, urlunsplit(parts._replace(netloc=to_socket.address))

    async def _live(self, to_world: Relay, to_socket: Relay) -> None:
        evidence = self._evidence
        self._say("waiting until it controls its character")
        await self._unless_ended(self._take_control())
        if evidence.took_control:
            self._say("watching how it acts")
            await self._unless_ended(self._act())
        if evidence.took_control and evidence.acts and not self._agent.ended.is_set():
            await self._unless_ended(self._disturb(to_world, to_socket))
        if self._agent.ended.is_set():
            ending = self._agent.ending
            is_trouble = ending is not None and ending.trouble
            evidence.early_end = str(ending) if is_trouble else f"{ending} before it was asked to end"
        else:
            self._say("asking it to end")
            await self._end()

    async def _unless_ended(self, phase: Coroutine[Any, Any, None]) -> None:
        """Go through a phase, or until the agent ends."""
        doing = asyncio.create_task(phase)
        ended = asyncio.create_task(self._agent.ended.wait())
        try:
            await asyncio.wait({doing, ended}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended.cancel()
            if not doing.done():
                doing.cancel()
            await asyncio.gather(doing, ended, return_exceptions=True)
        if not doing.cancelled():
            doing.result()

    async def _take_control(self) -> None:
        self._evidence.took_control = await self._witness.until(lambda: self._witness.controlled, self._plan.start_s)

    async def _act(self) -> None:
        """Watch it for some ticks in which nothing goes wrong."""
        witness, evidence, plan = self._witness, self._evidence, self._plan
        await self._pass_ticks(_TICKS_TO_ACT)
        controlled, answered = witness.controlled_ticks, witness.answered_ticks
        witness.reasons.clear()
        witness.remembered.clear()
        for _ in range(plan.ticks):
            await self._pass_ticks(1)
            evidence.controlled_ticks = witness.controlled_ticks - controlled
            evidence.answered_ticks = witness.answered_ticks - answered
            evidence.refused = witness.reasons + self._world.unseen_refusals()
            evidence.examples = list(witness.remembered)

    async def _disturb(self, to_world: Relay, to_socket: Relay) -> None:
        """Refuse its intents, stand still, cut its connections, and restart the world."""
        plan, evidence, witness = self._plan, self._evidence, self._witness
        self._say("refusing what it asks")
        witness.refusing = True
        await self._pass_ticks(plan.refused_ticks)
        witness.refusing = False
        before = witness.answered_ticks
        await self._pass_ticks(plan.refused_ticks)
        evidence.answers_after_refusals = witness.answered_ticks - before

        self._say(f"standing still for {plan.quiet_s:g} s")
        self._world.sink.hold()
        await asyncio.sleep(plan.quiet_s)
        evidence.kept_lease = self._world.is_held
        self._world.sink.release()
        await self._acts_within(plan.back_s)

        self._say("dropping its connections")
        evidence.tried_drop = True
        lost = witness.lost_ticks
        await asyncio.gather(to_world.drop(), to_socket.drop())
        evidence.back_after_drop_s = await self._acts_within(plan.back_s)
        evidence.had_to_wait_for_lease = witness.lost_ticks > lost

        self._say("restarting the world")
        evidence.tried_restart = True
        to_world.lead_to(None)
        await self._world.stop()
        await to_world.drop()
        await asyncio.sleep(plan.away_s)
        witness.controlled = False
        to_world.lead_to(await self._world.start())
        evidence.back_after_restart_s = await self._acts_within(plan.back_s)
        if self._credentials is not None:
            self._say("exchanging its token")
            evidence.tried_exchange = True
            self._credentials.exchange_token()
            self._tokens.append(self._credentials.tokens().newest().reveal())
            cut = self._world.streams_cut
            await self._witness.until(lambda: self._world.streams_cut > cut, plan.back_s)
            evidence.back_after_exchange_s = await self._acts_within(plan.back_s)

    async def _end(self) -> None:
        agent, evidence, plan = self._agent, self._evidence, self._plan
        was_held = self._world.is_held
        agent.stop(plan.grace_s)
        async with asyncio.timeout(plan.grace_s + _SPARE_S):
            await agent.ended.wait()
        ending = agent.ending
        assert ending is not None, "it has ended"
        evidence.ending, evidence.exit_code = str(ending), ending.code
        evidence.ended_in_time = not ending.trouble
        if evidence.ended_in_time:
            evidence.left_processes = ending.left
            if was_held:  # what it sent last may still be on its way; a lease that expires comes later
                soon_s = plan.lease_ttl_ms / 2000
                evidence.released = await self._witness.until(lambda: not self._world.is_held, soon_s)

    async def _pass_ticks(self, ticks: int) -> None:
        await self._witness.pass_ticks(ticks, ticks * self._plan.tick_ms / 1000 + _SPARE_S)

    async def _acts_within(self, most_s: float) -> float | None:
        """Return after how long it has acted in some ticks again; None if it has not in time."""
        began_s, end = time.monotonic(), self._witness.answered_ticks + _TICKS_TO_ACT
        back = await self._witness.until(lambda: self._witness.answered_ticks >= end, most_s)
        return time.monotonic() - began_s if back else None

    def _read_output(self) -> None:
        """Look for secrets in all that it printed."""
        output, evidence = self._agent.output, self._evidence
        evidence.last_output = redact(self._agent.last_line)
        if any(secret in output for secret in self._witness.secrets):
            evidence.leaked.append("a lease id")
        if any(token in output for token in self._tokens):
            evidence.leaked.append("a secret from AGENT_SECRETS_FD")
