"""Agents in other languages, each a process that lives over a WebSocket in a world that waits for it."""

import asyncio
import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.kits.served_world import LOCKSTEP, serving

from tickmind.adapters.websocket import WebSocketConfig, WebSocketServer
from tickmind.cli.conformance.relay import Relay
from tickmind.wire import WorldEndpoint

LIFE_S = 240


@dataclass(frozen=True)
class Life:
    """What was seen of an agent."""

    records: list[Any]  # of its ticks
    statistics: Any  # of the world after them
    exit_code: int  # after SIGTERM
    is_released: bool  # whether its character was free when the process was gone
    output: str

    def assert_it_missed_no_tick(self) -> None:
        """One accepted intent in each tick, and no other."""
        assert self.statistics.accepted >= len(self.records), self.output
        assert not any(self.statistics.refused.values()), self.statistics.refused
        assert all(len(record.intents) == 1 for record in self.records)
        assert sum(bool(record.results.action[0]) for record in self.records) > len(self.records) // 2

    def assert_it_came_back(self, tick: int) -> None:
        """After a break it answered again, without a wait for the end of its lease and without a refused intent."""
        answered = [bool(len(record.intents)) for record in self.records]
        assert all(answered[:tick]), answered
        assert all(answered[len(answered) // 2 :]), answered
        assert not any(self.statistics.refused.values()), self.statistics.refused


async def live(
    command: Sequence[str],
    ticks: int,
    folder: Path,
    *,
    env: dict[str, str] | None = None,
    breaks_after: int = 0,
    is_refused: bool = False,
) -> Life:
    """Start an agent, let it live some ticks of a world that waits for its intents, and end it by SIGTERM.

    Its connection is cut after so many ticks, if it is to break; one that is to be refused ends by itself.
    """
    records: list[Any] = []
    cuts: list[asyncio.Task[None]] = []
    over = asyncio.Event()

    def note(record: Any) -> None:
        records.append(record)
        if len(records) == breaks_after:
            cuts.append(asyncio.create_task(relay.drop()))
        if len(records) == ticks:
            over.set()

    async with (
        serving(1, pace=LOCKSTEP, on_tick=note) as world,
        WebSocketServer(WorldEndpoint(world.address), WebSocketConfig(port=0)) as socket,
        Relay() as relay,
    ):
        relay.lead_to(socket.url.split("/")[2])
        url = f"ws://{relay.address}/ws/v1"
        given = {"PATH": os.environ["PATH"], "WORLD_WS_URL": url, "ENTITY_ID": "entity:1", **(env or {})}
        log = folder / "output.log"
        with log.open("wb") as output:
            agent = await asyncio.create_subprocess_exec(*command, env=given, cwd=folder, stdout=output, stderr=output)
        ended = asyncio.create_task(agent.wait())
        lived = asyncio.create_task(over.wait())
        try:
            await asyncio.wait({ended, lived}, timeout=LIFE_S, return_when=asyncio.FIRST_COMPLETED)
            statistics = world.statistics()
            assert is_refused or not ended.done(), f"it ended after {len(records)} ticks: {log.read_text()}"
            if not is_refused:
                assert lived.done(), f"after {len(records)} ticks: {log.read_text()}"
                agent.send_signal(signal.SIGTERM)
            exit_code = await ended
        finally:
            lived.cancel()
            if agent.returncode is None:
                agent.kill()
                await ended
        is_released = not world.authority.leases.controlled.any()
    return Life(records[:ticks], statistics, exit_code, is_released, log.read_text())
