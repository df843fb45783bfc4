"""`connect_ray`: join a running Ray cluster, or say in a sentence why that fails."""

import importlib
import itertools
import os
import socket
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tickmind.base import ConfigError

RAY, CLIENT_SCHEME = "ray", "ray://"
ANSWER_S = 3.0  # for the address of a cluster to accept a connection; Ray itself tries for minutes
MOST_CHARS = 400  # of what Ray says about an error, in which the cause is not the first line
KNOCK_S = 0.5  # for a node to accept a connection
CLIENT_TRIES = 3  # the client server forks a process for each client, and some of them die at once
HOW_TO_START = "start one with `ray start --head`, or name another with --on ray://HOST:10001 or RAY_ADDRESS"
_ADDRESS, _CURRENT = "RAY_ADDRESS", "ray/ray_current_cluster"  # where Ray notes the cluster that it started last
_AUTO_CONNECT = "RAY_ENABLE_AUTO_CONNECT"  # else a call without a connection starts a cluster on this machine


@dataclass(frozen=True, slots=True)
class RayCluster:
    """A joined cluster. `api` is the module `ray`; an empty address is the cluster of this machine."""

    api: Any
    address: str

    def __str__(self) -> str:
        machines = [node for node in self.api.nodes() if node["Alive"]]
        cpus = sum(node["Resources"].get("CPU", 0) for node in machines)
        return f"Ray at {self.address or 'this machine'} ({len(machines):,} nodes, {cpus:,.0f} CPUs)"

    def is_joined(self) -> bool:
        """Return whether the connection stands; only one through Ray's client (`ray://`) ends by itself."""
        return bool(self.api.is_initialized())

    def join_again(self) -> None:
        """Join the cluster after the connection has ended; raises `ConfigError` if it does not answer."""
        self.api.shutdown()
        _join(self.api, self.address)

    def hosts(self) -> set[str]:
        """Return the addresses of the machines that are alive."""
        return {node["NodeManagerAddress"] for node in self.api.nodes() if node["Alive"]}

    def is_refused_by(self, node_id: str) -> bool:
        """Return whether the machine of a node is there, but Ray is not; else nothing is known about it."""
        for node in self.api.nodes():
            if node["NodeID"] == node_id and node["Alive"]:
                try:
                    socket.create_connection((node["NodeManagerAddress"], node["NodeManagerPort"]), KNOCK_S).close()
                except ConnectionRefusedError:
                    return True
                except OSError:
                    return False  # it may be another network
        return False

    def leave(self) -> None:
        """Leave the cluster; what was started from here ends."""
        self.api.shutdown()


def connect_ray(on: str, environment: Mapping[str, str] | None = None) -> RayCluster:
    """Join the cluster that `on` names: `ray` is the one of this machine or of RAY_ADDRESS, `ray://HOST:PORT` another.

    Raises `ConfigError` if no cluster answers, and `ModuleNotFoundError` if Ray is not installed.
    """
    environment = os.environ if environment is None else environment
    if on != RAY and not (on.startswith(CLIENT_SCHEME) and on != CLIENT_SCHEME):
        raise ConfigError(f"agents run on this machine, on `ray` or on `ray://HOST:PORT`, not on {on!r}")
    os.environ.setdefault(_AUTO_CONNECT, "0")
    api: Any = importlib.import_module("ray")
    address = on if on != RAY else environment.get(_ADDRESS, "") or _started_here(environment)
    _join(api, address)
    return RayCluster(api, address)


def _join(api: Any, address: str) -> None:
    if address not in ("", "auto"):
        _knock(address)
    tries = CLIENT_TRIES if address.startswith(CLIENT_SCHEME) else 1
    for number in itertools.count(1):
        try:
            api.init(address=address or "auto", log_to_driver=False, logging_level="ERROR", configure_logging=False)
        except (ConnectionError, OSError, RuntimeError, ValueError) as error:
            if number < tries and isinstance(error, ConnectionAbortedError):
                continue
            why = " ".join(str(error).split())[:MOST_CHARS] or type(error).__name__
            raise ConfigError(
                f"can't join a Ray cluster{f' at {address}' if address else ''}: {why}; {HOW_TO_START}"
            ) from None
        return


def _started_here(environment: Mapping[str, str]) -> str:
    """Return the address of the cluster that was started last on this machine, if Ray noted one."""
    folder = environment.get("RAY_TMPDIR") or ("/tmp" if os.name == "posix" else tempfile.gettempdir())  # noqa: S108
    try:
        return (Path(folder) / _CURRENT).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _knock(address: str) -> None:
    """Raise `ConfigError` unless something accepts connections at an address."""
    host, colon, port = address.removeprefix(CLIENT_SCHEME).rpartition(":")
    if not (colon and host and port.isdigit() and 0 < int(port) < 65_536):
        raise ConfigError(f"{address!r} is no address of a Ray cluster; write HOST:PORT, such as ray://10.0.0.5:10001")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=ANSWER_S).close()
    except OSError as error:
        why = error.strerror or str(error)
        raise ConfigError(f"no Ray cluster answers at {address}: {why}; {HOW_TO_START}") from None
