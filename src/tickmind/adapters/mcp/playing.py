"""`playing`: holds a character of a world for clients of the Model Context Protocol, from entry to exit."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp.server import MCPServer

import tickmind
from tickmind.adapters.mcp.character_tools import INSTRUCTIONS, CharacterTools
from tickmind.adapters.mcp.goals import DeskRequest, GoalDesk
from tickmind.adapters.mcp.remote_character import RemoteCharacter
from tickmind.agent import AgentProcess, CharacterHost, Launch, Start
from tickmind.agent.knowledge.memory_files import MemoryFiles
from tickmind.base import Secret, error_text, get_logger
from tickmind.wire import Backoff

START_S = 5.0  # for the first tick, before the server begins without it
_log = get_logger(__name__)


@asynccontextmanager
async def playing(
    launch: Launch,
    *,
    secrets: Mapping[str, Secret] | None = None,
    desk: GoalDesk[RemoteCharacter] | None = None,
    backoff: Backoff | None = None,
) -> AsyncIterator[MCPServer]:
    """Play the launch's character, and give the server whose tools set its goals; release the lease at the end.

    The character acts in each tick, also while no client calls. If it can't go on, as when another process has taken
    the lease, each call is answered with the reason, and leaving raises the `AgentError`.
    """
    calls = desk or GoalDesk[RemoteCharacter]()

    class PlayedCharacter(RemoteCharacter):
        """The one that the calls at this desk are for."""

        def __init__(self, start: Start) -> None:
            super().__init__(start, calls)

    memories = None if launch.state_dir is None else MemoryFiles(Path(launch.state_dir), launch.world_addr)
    host = CharacterHost(PlayedCharacter, lambda entity_id: Start(entity_id, launch.settings), memories=memories)
    process = AgentProcess(
        launch, host, secrets=secrets, backoff=backoff, program=f"mcp, tickmind {tickmind.__version__}"
    )
    life = asyncio.create_task(process.live())

    def stopped() -> str:
        """Return why the character can't be played any more; empty while it can."""
        if not life.done():
            return ""
        error = None if life.cancelled() else life.exception()
        return f"the character is not played any more: {error_text(error)}" if error else "the character was released"

    def end_calls(_life: "asyncio.Task[None]") -> None:
        calls.abandon(stopped())

    life.add_done_callback(end_calls)
    try:
        arrived = asyncio.wrap_future(calls.post(DeskRequest(lambda character: character.tick)))
        waited: list[asyncio.Future[Any]] = [life, arrived]
        arrived.add_done_callback(lambda first: first.cancelled() or first.exception())  # it is `life` that tells
        await asyncio.wait(waited, timeout=START_S, return_when=asyncio.FIRST_COMPLETED)
        if life.done():
            life.result()
        if not arrived.done():
            _log.warning("the world has not answered yet; calls wait for it", world=launch.world_addr)
        server = MCPServer(
            f"tickmind character {launch.entities[0].entity_id}",
            instructions=INSTRUCTIONS,
            version=tickmind.__version__,
            log_level="WARNING",
        )
        CharacterTools(calls, stopped).add_to(server)
        yield server
    finally:
        calls.close()
        process.stop()
        await asyncio.wait([life])
    life.result()
