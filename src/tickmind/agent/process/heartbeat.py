"""`Heartbeat`: one line for each tick and each change of state, to the process that started this one."""

import json
import os
from dataclasses import dataclass

from tickmind.agent.errors import LaunchError
from tickmind.base import Limit
from tickmind.protocol import AgentState

MAX_LINE_BYTES = Limit("size of a heartbeat", 512, "bytes")  # well below what a pipe writes atomically


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The progress of a process: the last answered tick, its state, and the number of entities."""

    tick: int
    state: AgentState
    entities: int  # under control
    acted: int  # answered in that tick

    def encode(self) -> bytes:
        """Return the line, with its end."""
        content = {"tick": self.tick, "state": str(self.state), "entities": self.entities, "acted": self.acted}
        return json.dumps(content, separators=(",", ":")).encode() + b"\n"

    @classmethod
    def decode(cls, line: bytes) -> "Heartbeat":
        """Read a line; raises `LaunchError` for anything else, since any process may write into its pipe."""
        wrong = LaunchError("a heartbeat must be a line of JSON with tick, state, entities and acted")
        if not MAX_LINE_BYTES.allows(len(line)):
            raise wrong
        try:
            content = json.loads(line)
            state = AgentState(content["state"])
            numbers = [content[name] for name in ("tick", "entities", "acted")]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise wrong from None
        if not all(type(number) is int and 0 <= number < 2**63 for number in numbers):
            raise wrong
        tick, entities, acted = numbers
        return cls(tick, state, entities, acted)


class HeartbeatWriter:
    """Write heartbeats into the inherited pipe without ever waiting: a full pipe just loses one.

    Without a descriptor it does nothing, so that an agent started by hand needs no runner. Children of the process do
    not inherit the pipe, so its end signals the death of the process itself. Raises `LaunchError` if the descriptor is
    not open.
    """

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor
        self.broken = False
        """Whether the process that started this one is gone."""
        if descriptor is None:
            return
        try:
            os.set_inheritable(descriptor, False)
            os.set_blocking(descriptor, False)
        except OSError as error:
            raise LaunchError(
                f"AGENT_HEARTBEAT_FD is {descriptor}, which is no open descriptor: {error.strerror}; unset it"
            ) from None

    def beat(self, heartbeat: Heartbeat) -> bool:
        """Send a heartbeat and return whether it went out."""
        if self._descriptor is None:
            return False
        try:
            os.write(self._descriptor, heartbeat.encode())
        except BlockingIOError:
            return False
        except OSError:  # the reader is gone
            self.broken = True
            self.close()
            return False
        return True

    def close(self) -> None:
        """Close the pipe."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)
