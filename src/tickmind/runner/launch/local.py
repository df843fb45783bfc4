"""`LocalLauncher`: starts agents on this machine, kept by a warden."""

import os
from collections.abc import Mapping
from dataclasses import replace

from tickmind.runner.launch.launcher import LAUNCH_FILE, STATE, AgentCallbacks, AgentStart
from tickmind.runner.launch.launching import HEARTBEAT_FD, SECRETS_FD, agent_command, start_agent
from tickmind.runner.logs import PacedReader
from tickmind.runner.warden import Child, Ending, Warden

_OUTPUT_PIECE_BYTES, _BEATS_PIECE_BYTES = 65_536, 4096
_BEATS_PAUSE_S = 0.1


class LocalAgent:
    """A process of this machine, with the pipes that it writes to."""

    node = ""

    def __init__(self, callbacks: AgentCallbacks) -> None:
        self._callbacks = callbacks
        self._child: Child | None = None
        self._readers: list[PacedReader] = []

    @property
    def keeper_pid(self) -> int:
        """The pid of its keeper, 0 if there is none."""
        return self._child.keeper_pid if self._child is not None else 0

    def begin(self, start: AgentStart, warden: Warden, environment: Mapping[str, str], *, warm: bool) -> None:
        """Start the process."""
        launch = replace(
            start.launch,
            state_dir=start.folder / STATE,
            config_path=start.folder / LAUNCH_FILE,
            secrets_fd=SECRETS_FD if start.secrets else None,
            heartbeat_fd=HEARTBEAT_FD,
        )
        launch.write_file()
        command = agent_command(start.spec, launch, environment)
        if not warm:
            command = replace(command, kit=())
        started = start_agent(warden, command, start.secrets, self._end)
        self._child = started.child
        self._readers = [
            PacedReader(started.output_fd, self._callbacks.output, piece_bytes=_OUTPUT_PIECE_BYTES),
            PacedReader(
                started.beats_fd, self._callbacks.beats, piece_bytes=_BEATS_PIECE_BYTES, pause_s=_BEATS_PAUSE_S
            ),
        ]

    def stop(self, grace_s: float) -> None:
        """Ask it to end; it is killed after the grace period."""
        if self._child is not None:
            self._child.stop(grace_s)

    def kill(self) -> None:
        """Kill it."""
        if self._child is not None:
            self._child.kill()

    def _end(self, ending: Ending) -> None:
        for reader in self._readers:
            reader.drain()
        self._readers, self._child = [], None
        self._callbacks.ended(ending)


class LocalLauncher:
    """Starts agents as processes of a warden: its own, or a given one, which `close` then leaves alone.

    Without `warm` no process with the kit is kept for Python agents to be forks of; it pays off with several agents.
    """

    def __init__(
        self, warden: Warden | None = None, environment: Mapping[str, str] | None = None, *, warm: bool = True
    ) -> None:
        self._environment = os.environ if environment is None else environment
        self._own_warden = warden is None
        self._warden = warden or Warden(environment=self._environment)
        self._warm = warm

    async def keeper(self) -> str:
        """Return how agents are isolated."""
        return str(await self._warden.isolation())

    def start(self, start: AgentStart, callbacks: AgentCallbacks) -> LocalAgent:
        """Start an agent in its folder."""
        agent = LocalAgent(callbacks)
        agent.begin(start, self._warden, self._environment, warm=self._warm)
        return agent

    def forget(self, key: str) -> None:
        """Do nothing: between two starts nothing is held."""

    async def close(self) -> None:
        """End all agents, and the warden if it is the launcher's own."""
        if self._own_warden:
            await self._warden.close()
