"""The ports that several parts want, checked before any of them starts."""

import socket
from collections.abc import Sequence
from dataclasses import dataclass

from tickmind.base import ConfigError

HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class WantedPort:
    """A port that a part is to listen on; 0 is any. `flag` is the option that sets another one."""

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
    """Raise `ConfigError` that names all ports which can't be had, and what to do about it."""
    problems: dict[str, list[WantedPort]] = {}  # why -> ports
    given: dict[int, WantedPort] = {}
    for one in wanted:
        if one.port == 0:
            continue
        if (other := given.setdefault(one.port, one)) is not one:
            raise ConfigError(
                f"the {other.part} and the {one.part} can't both have port {one.port}; change {one.flag or other.flag}"
            )
        if why := why_taken(one.port):
            problems.setdefault(why, []).append(one)
    if problems:
        lines = [f"{', '.join(map(_named, ports))} can't be used: {why}" for why, ports in problems.items()]
        raise ConfigError(f"{'; '.join(lines)}. Nothing was started. End what listens there, or {remedy}")


def _named(wanted: WantedPort) -> str:
    return f"port {wanted.port} of the {wanted.part}{f' ({wanted.flag})' if wanted.flag else ''}"
