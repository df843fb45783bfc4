"""The agent of a trial: started as a runner starts it, with all that it prints kept in memory."""

import asyncio
import re
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path

from tickmind.agent import Launch, Settings
from tickmind.agent.contract import WORLD_TOKEN, Assignment
from tickmind.base import Limit, Secret
from tickmind.cli.conformance.credentials import TrialCredentials
from tickmind.runner import AgentSpec, Child, Ending, Warden
from tickmind.runner.launch.launching import HEARTBEAT_FD, SECRETS_FD, agent_command, start_agent
from tickmind.runner.logs import PacedReader

MAX_OUTPUT_BYTES = Limit("size of the output of an agent that is kept", 4_000_000, "bytes")
CONTROLLER_ID = "conformance:trial"
_LAST_CHARS = 200
_LAST_LINES = 30  # that are searched for an error: Node ends a traceback with some lines about itself
_ERROR = re.compile(r"[\w.]*(?:Error|Exception)\b[^:]{0,80}: ")


def telling_line(output: str) -> str:
    """Return the last error among the last lines; the last line if there is none."""
    lines = [line.strip() for line in output.split("\n") if line.strip()][-_LAST_LINES:]
    errors = [line for line in lines if _ERROR.match(line)]
    return (errors or lines or [""])[-1][:_LAST_CHARS]


class TrialAgent:
    """One process of the user's agent for one character. Its `token` is a secret that it gets and must not print."""

    def __init__(
        self,
        command: Sequence[str],
        folder: Path,
        entity_id: str,
        settings: Settings,
        credentials: TrialCredentials | None = None,
    ) -> None:
        self._credentials = credentials
        self.token = secrets.token_urlsafe(24) if credentials is None else credentials.tokens().newest().reveal()
        self._spec = AgentSpec("conformance", tuple(command), Path.cwd(), settings=settings)
        self._folder = folder
        self._entity_id = entity_id
        self._output = bytearray()
        self._readers: list[PacedReader] = []
        self._child: Child | None = None
        self._ending: Ending | None = None
        self.ended = asyncio.Event()

    @property
    def ending(self) -> Ending | None:
        """How it ended, if it did."""
        return self._ending

    @property
    def output(self) -> str:
        """All that it printed so far."""
        return self._output.decode("utf-8", "replace")

    @property
    def last_line(self) -> str:
        """The last error among the last lines that it printed; without one the last line."""
        return telling_line(self.output)

    def start(self, warden: Warden, environment: Mapping[str, str], *, world_addr: str, world_ws_url: str) -> None:
        """Start it; raises `OSError` or `WardenError` if that fails."""
        state = self._folder / "state"
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        credentials = self._credentials
        launch = Launch(
            entities=(Assignment(self._entity_id, CONTROLLER_ID),),
            world_addr=world_addr,
            world_ws_url=world_ws_url,
            settings=self._spec.settings,
            state_dir=state,
            tls=None if credentials is None else credentials.tls,
            world_token_file=None if credentials is None else credentials.token_file,
            config_path=self._folder / "launch.json",
            secrets_fd=SECRETS_FD,
            heartbeat_fd=HEARTBEAT_FD,
        )
        launch.write_file()
        command = agent_command(self._spec, launch, environment)
        given = {WORLD_TOKEN: Secret(self.token)}
        started = start_agent(warden, command, given, self._end)
        self._child = started.child
        self._readers = [
            PacedReader(started.output_fd, self._keep),
            PacedReader(started.beats_fd, lambda _data: None),
        ]

    def stop(self, grace_s: float) -> None:
        """Send SIGTERM; after the grace time it is killed."""
        if self._child is not None and self._ending is None:
            self._child.stop(grace_s)

    async def kill(self) -> None:
        """Kill it with all its processes."""
        if self._child is not None and self._ending is None:
            self._child.kill()
            await self.ended.wait()

    def _keep(self, data: bytes) -> None:
        room = int(MAX_OUTPUT_BYTES.maximum) - len(self._output)
        self._output += data[: max(0, room)]

    def _end(self, ending: Ending) -> None:
        for reader in self._readers:
            reader.drain()
        self._ending = ending
        self.ended.set()
