"""`AgentLauncher`: the port through which a runner starts agents, on this machine or on others."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from tickmind.agent import Launch
from tickmind.base import Secret
from tickmind.runner.spec import AgentSpec
from tickmind.runner.warden import Ending

LAUNCH_FILE, STATE = "launch.json", "state"  # in the folder of an agent


@dataclass(frozen=True, slots=True)
class AgentStart:
    """One start of an agent. `folder` is its own on the runner's machine; what it must keep lies in `state` there.

    `launch` has neither files nor descriptors: the launcher adds those of the machine that the agent runs on.
    """

    key: str  # of its group, the same at every start
    spec: AgentSpec
    launch: Launch
    folder: Path
    secrets: Mapping[str, Secret] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class AgentCallbacks:
    """What a launcher calls, in the loop of the runner; nothing is called after `ended`."""

    output: Callable[[bytes], None]
    beats: Callable[[bytes], None]
    ended: Callable[[Ending], None]


class LaunchedAgent(Protocol):
    """An agent that a launcher has started."""

    @property
    def keeper_pid(self) -> int:
        """The pid of its keeper on this machine; 0 if it is not known, or elsewhere."""
        ...

    @property
    def node(self) -> str:
        """The machine that it runs on; empty for this one."""
        ...

    def stop(self, grace_s: float) -> None:
        """Ask it to end; it is killed after the grace period."""
        ...

    def kill(self) -> None:
        """Kill it."""
        ...


class AgentLauncher(Protocol):
    """Starts agents, and reports their output, their heartbeats and their end."""

    async def keeper(self) -> str:
        """Return who keeps the agents, for people; raises `RunnerError` if none can be started."""
        ...

    def start(self, start: AgentStart, callbacks: AgentCallbacks) -> LaunchedAgent:
        """Start an agent; raises `OSError`, `LaunchError` or `RunnerError` if that fails at once."""
        ...

    def forget(self, key: str) -> None:
        """Free what is held for a group between two starts: it is not started again."""
        ...

    async def close(self) -> None:
        """End all agents."""
        ...
