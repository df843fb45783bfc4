"""Checks of the ports of several parts, before any of them starts."""

import socket
from collections.abc import Sequence
from dataclasses import dataclass

from tickmind.base import ConfigError

HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class WantedPort:
    """A port for a part; 0 is any. `flag` is the option that changes it."""

    part: str
    port: int
    flag: str


def why_taken(port: int) -> str:
    """Return why a port of this machine can't be listened on; empty if it can."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            return error.strerror or str(error)
    return ""


def check_ports(wanted: Sequence[WantedPort], remedy: str) -> None:
    """Raise `ConfigError` that names all ports that can't be used, and what to do about it."""
    problems: dict[str, list[WantedPort]] = {}  # why -> ports
    given: dict[int, WantedPort] = {}
    for port in wanted:
        if port.port == 0:
            continue
        if (other := given.setdefault(port.port, port)) is not port:
            raise ConfigError(
                f"the {other.part} and the {port.part} can't both use port {port.port}; "
                f"change {port.flag or other.flag}"
            )
        if why := why_taken(port.port):
            problems.setdefault(why, []).append(port)
    if problems:
        lines = [f"{', '.join(map(_named, ports))} can't be used: {why}" for why, ports in problems.items()]
        raise ConfigError(f"{'; '.join(lines)}. Nothing was started. End what listens there, or {remedy}")


def _named(wanted: WantedPort) -> str:
    return f"port {wanted.port} of the {wanted.part}{f' ({wanted.flag})' if wanted.flag else ''}"
