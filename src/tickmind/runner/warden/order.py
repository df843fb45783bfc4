"""Messages to and from the warden, one JSON object each. Standard library only."""

import json
import signal
from dataclasses import asdict, dataclass, field
from typing import Any

MAX_MESSAGE_BYTES = 131_072  # of a message on the socket; the kernel's buffers take it in one piece


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of one tree of processes; 0 is no limit. `nice` is its niceness."""

    memory_mb: int = 0
    cpu_s: int = 0  # of each process
    files: int = 0  # of each process
    processes: int = 0
    nice: int = 0


UNBOUNDED = Bounds()


@dataclass(frozen=True, slots=True)
class Order:
    """A process to start. Its descriptors go along with the message: one for its log, the rest become 3, 4, ..."""

    number: int
    argv: tuple[str, ...]
    env: dict[str, str] = field(repr=False)
    cwd: str = "/"
    bounds: Bounds = UNBOUNDED
    own_session: bool = False  # scheduled apart from the others, without their niceness
    stop_signal: int = signal.SIGTERM
    kit: tuple[str, ...] = ()  # modules; if any, it is a Python program that may be a fork of the warden

    def encode(self) -> bytes:
        """Return the order as a message."""
        return json.dumps({"start": asdict(self)}).encode()

    @classmethod
    def read(cls, said: dict[str, Any]) -> "Order":
        """Parse a message; only our own process writes them."""
        bounds = Bounds(**said.pop("bounds"))
        return cls(argv=tuple(said.pop("argv")), bounds=bounds, kit=tuple(said.pop("kit")), **said)


@dataclass(frozen=True, slots=True)
class Ending:
    """How a process ended: with an exit code, by a signal, or for the reason in `trouble`."""

    code: int | None = None
    signal: int | None = None
    trouble: str = ""
    left: int = field(default=0, compare=False)  # processes of its own that were there after it

    def encode(self) -> bytes:
        """Return it as a line."""
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def read(cls, line: bytes) -> "Ending":
        """Parse a line; an empty line means that the keeper was killed before it could report."""
        try:
            return cls(**json.loads(line))
        except (ValueError, TypeError):
            return cls(trouble="it was killed together with its keeper")

    def __str__(self) -> str:
        if self.trouble:
            return self.trouble
        return f"it was ended by signal {self.signal}" if self.signal is not None else f"it exited with {self.code}"
