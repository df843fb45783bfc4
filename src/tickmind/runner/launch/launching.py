"""How a runner starts one agent: its command, its descriptors and its secrets. `tickmind conformance` does the same."""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tickmind.agent import Launch, encode_secrets
from tickmind.base import Secret
from tickmind.runner.environment import passed_on
from tickmind.runner.launch.programs import OUR_PYTHON
from tickmind.runner.spec import AgentSpec
from tickmind.runner.warden import Bounds, Child, Command, Ending, Warden

HEARTBEAT_FD, SECRETS_FD = 3, 4  # in the agent
KIT = (  # imported by nearly every agent, and starts no thread
    "tickmind.agent",
    "tickmind.agent.control.columns",
    "tickmind.agent.character.thoughts.models",
    "tickmind.agent.character.thinking",
    "tickmind.protocol.compiling",
    "tickmind.wire.columns",
    "structlog",
)
_READ_AT_START = ("PYTHON", "LD_", "MALLOC_", "OPENBLAS_", "OMP_", "MKL_", "GRPC_", "PROTOCOL_BUFFERS_")


@dataclass(frozen=True, slots=True)
class StartedAgent:
    """A started agent, and the descriptors from which its output and its heartbeats are read."""

    child: Child
    output_fd: int
    beats_fd: int


def starts_warm(spec: AgentSpec) -> bool:
    """Whether an agent may be a fork of a process with the kit: a Python program without special options."""
    return (
        len(spec.cmd) > 1
        and spec.cmd[0] in OUR_PYTHON
        and (not spec.cmd[1].startswith("-") or (spec.cmd[1] == "-m" and len(spec.cmd) > 2))
        and not any(name.startswith(_READ_AT_START) for name, _ in spec.env)
    )


def agent_command(spec: AgentSpec, launch: Launch, environment: Mapping[str, str]) -> Command:
    """Return the command of an agent, with exactly the environment that it gets."""
    limits = spec.limits
    return Command(
        argv=(sys.executable, *spec.cmd[1:]) if spec.cmd[0] in OUR_PYTHON else spec.cmd,
        env={**passed_on(environment), **dict(spec.env), **launch.to_environment()},
        cwd=spec.cwd,
        bounds=Bounds(limits.memory_mb, limits.cpu_s, limits.files, limits.processes, limits.nice),
        kit=KIT if starts_warm(spec) else (),
    )


def start_agent(
    warden: Warden, command: Command, secrets: Mapping[str, Secret], on_end: Callable[[Ending], None]
) -> StartedAgent:
    """Start an agent with its pipes and its secrets; the caller reads and closes the two descriptors.

    Raises `OSError` or `WardenError` if that fails.
    """
    output_fd, output = os.pipe2(os.O_CLOEXEC)
    beats_fd, beats = os.pipe2(os.O_CLOEXEC)
    given = [output, beats]
    try:
        if secrets:
            given.append(_in_memory(encode_secrets(secrets)))
        child = warden.launch(command, given, on_end)
    except BaseException:
        os.close(output_fd)
        os.close(beats_fd)
        raise
    finally:
        for each in given:
            os.close(each)
    return StartedAgent(child, output_fd, beats_fd)


def _in_memory(content: bytes) -> int:
    """Return a descriptor of an anonymous file with these bytes."""
    descriptor = os.memfd_create("agent-secrets", os.MFD_CLOEXEC)
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
