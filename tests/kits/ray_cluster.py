"""A Ray cluster on this machine, for tests: nodes that can be killed, all on loopback, gone when the test is over.

It runs in a process of its own, which is this module's program, so that a test's process stays without Ray.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

READY_S = 240.0
RAY_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # loopback stays loopback
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
    "RAY_memory_monitor_refresh_ms": "0",  # other work on the machine is not the cluster's to judge
    "RAY_enable_metrics_collection": "0",
    "RAY_prestart_worker_first_driver": "0",  # else each node starts a Python for each of its CPUs
    "RAY_enable_worker_prestart": "0",
    "RAY_worker_niceness": "0",  # else 15: beside other tests its workers would hardly run
    # What a user may set as well, as docs/guides/ray.md says: a cluster without work wakes up less often.
    "RAY_event_stats": "0",
    "RAY_task_events_report_interval_ms": "0",
    "RAY_raylet_report_resources_period_milliseconds": "500",
    "RAY_raylet_check_gc_period_milliseconds": "1000",
    "RAY_local_fs_monitor_interval_ms": "1000",
}


class ClusterEndedError(Exception):
    """The cluster's process ended before it answered."""


@dataclass
class LocalRay:
    """A running cluster. A driver needs `environment` beside its own."""

    process: subprocess.Popen[str]
    folder: Path
    address: str
    nodes: list[str] = field(default_factory=list)  # their ids; the last one is the head

    @property
    def environment(self) -> dict[str, str]:
        return {**RAY_SETTINGS, "RAY_ADDRESS": self.address, "RAY_TMPDIR": str(self.folder)}

    def kill(self, number: int) -> None:
        """Kill all processes of a node, with what runs there. The head can't be killed: with it goes the cluster."""
        self._ask(f"kill {number}")

    def _ask(self, words: str) -> dict[str, str]:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{words}\n")
        self.process.stdin.flush()
        return answer(self.process)


def answer(process: "subprocess.Popen[str]") -> dict[str, str]:
    """Return the next answer of the cluster's process, which may print other lines too."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("{"):
            found: dict[str, str] = json.loads(line)
            return found
    raise ClusterEndedError


@contextmanager
def local_ray(*, nodes: int = 2, cpus: int = 4, client_port: int = 0) -> Iterator[LocalRay]:
    """A cluster of so many nodes, of which one is its head; with a port for `ray://`, if it is given."""
    folder = Path(tempfile.mkdtemp(prefix="ray-"))  # short, because the names of sockets are
    (folder / "ray").mkdir()
    command = [sys.executable, "-m", "tests.kits.ray_cluster", str(folder), *map(str, (nodes, cpus, client_port))]
    env = {**os.environ, **RAY_SETTINGS, "RAY_TMPDIR": str(folder)}
    errors = folder / "errors.log"
    with errors.open("wb") as file:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=file,
            text=True,
            env=env,
            cwd=Path(__file__).parents[2],
            start_new_session=True,
        )
    try:
        cluster = LocalRay(process, folder, answer(process)["address"])
        cluster.nodes = [answer(process)["node"] for _ in range(nodes)]
        yield cluster
    except ClusterEndedError as error:
        raise RuntimeError(f"the cluster ended: {errors.read_text('utf-8', 'replace')[-2000:]}") from error
    finally:
        assert process.stdin is not None
        with suppress(OSError):
            process.stdin.close()  # ends the cluster
        try:
            process.wait(READY_S)
        finally:
            for left in _of_cluster(folder):
                with suppress(ProcessLookupError):
                    os.kill(left, signal.SIGKILL)
            assert process.stdout is not None
            process.stdout.close()
            shutil.rmtree(folder, ignore_errors=True)


def _of_cluster(folder: Path) -> list[int]:
    """Return the processes that have the cluster's folder in their environment; none should be left."""
    mark, found = f"RAY_TMPDIR={folder}".encode(), []
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and int(process.name) != os.getpid():
            with suppress(OSError):
                if mark in (process / "environ").read_bytes().split(b"\0"):
                    found.append(int(process.name))
    return found


def _main(folder: str, nodes: int, cpus: int, client_port: int) -> None:
    from ray.cluster_utils import Cluster

    given: dict[str, Any] = {
        "num_cpus": cpus,
        "memory": 64 << 30,
        "include_dashboard": False,
        "include_log_monitor": False,
        "object_store_memory": 80_000_000,
        "node_ip_address": "127.0.0.1",
    }
    head = {"temp_dir": f"{folder}/ray", "no_monitor": True, "ray_client_server_port": client_port or None, **given}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    _say(address=cluster.address)
    running = [cluster.add_node(**given) for _ in range(nodes - 1)]
    for node in (*running, cluster.head_node):
        _say(node=node.node_id)
    for line in sys.stdin:
        number = line.strip().removeprefix("kill ")
        cluster.remove_node(running[int(number)], allow_graceful=False)
        _say(killed=number)
    cluster.shutdown()


def _say(**words: str) -> None:
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    _main(sys.argv[1], *map(int, sys.argv[2:]))
