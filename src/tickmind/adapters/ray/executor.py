"""`RayExecutor`: does the trials of experiments on a Ray cluster, one CPU each."""

import math
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future
from typing import Any, TypeVar

from tickmind.adapters.ray.cluster import RayCluster
from tickmind.base import ConfigError, configure_logging

END_S = 5.0  # for an order that was called off to end
OrderT = TypeVar("OrderT")
AnswerT = TypeVar("AnswerT")


class RayExecutor:
    """Does work in processes of a cluster, up to `workers` at once; 0 is as many as it has CPUs. `close` leaves it.

    Nothing is tried again by Ray: an order whose worker or node was lost raises `BrokenExecutor`, and its caller knows
    whether to submit it once more.
    """

    def __init__(self, cluster: RayCluster, workers: int = 0, *, most: int = 1_000_000) -> None:
        cpus = math.floor(cluster.api.cluster_resources().get("CPU", 0))
        if cpus < 1:
            cluster.leave()
            raise ConfigError("the Ray cluster has no CPUs to give; add a node with `ray start --address=HOST:6379`")
        self.workers = max(1, min(workers or cpus, cpus, most))
        self._cluster = cluster
        self._run = cluster.api.remote(_run).options(num_cpus=1, max_retries=0)
        self._waiting: deque[tuple[Future[Any], Any, Any]] = deque()
        self._running: dict[Any, Future[Any]] = {}  # reference -> its future
        self._threads: set[threading.Thread] = set()
        self._lock = threading.Lock()  # futures are fulfilled in a thread of Ray's

    def submit(self, work: Callable[[OrderT], AnswerT], order: OrderT) -> "Future[AnswerT]":
        """Begin one order, or let it wait for a free worker."""
        future: Future[AnswerT] = Future()
        with self._lock:
            self._waiting.append((future, work, order))
        self._begin()
        return future

    def close(self) -> None:
        """End the workers, also those that still work, and leave the cluster."""
        with self._lock:
            waiting, running = list(self._waiting), list(self._running)
            self._waiting.clear()
        for future, _, _ in waiting:
            future.cancel()
        for reference in running:
            self._cluster.api.cancel(reference, force=True)
        for thread in list(self._threads):
            thread.join(END_S)
        self._cluster.leave()

    def _begin(self) -> None:
        refused: list[tuple[Future[Any], Exception]] = []
        with self._lock:
            while self._waiting and len(self._running) < self.workers:
                future, work, order = self._waiting.popleft()
                if not future.set_running_or_notify_cancel():
                    continue
                try:
                    reference = self._run.remote(work, order)
                except Exception as error:  # noqa: BLE001 - of whatever kind, who waits must learn it
                    refused.append((future, error))
                    continue
                self._running[reference] = future
                # In a thread of its own, since a callback that runs at once would wait for this lock.
                thread = threading.Thread(target=self._follow, args=(reference, future), daemon=True)
                self._threads.add(thread)
                thread.start()
        for future, fault in refused:  # without the lock, as its callbacks may submit more
            future.set_exception(_lost(fault))

    def _follow(self, reference: Any, future: "Future[Any]") -> None:
        """Wait for one answer and pass it on."""
        errors = self._cluster.api.exceptions
        try:
            answer = self._cluster.api.get(reference)
        except errors.RayTaskError as error:
            future.set_exception(error.cause if isinstance(error.cause, Exception) else error)
        except Exception as error:  # noqa: BLE001 - Ray's own, or of its client: who waits must learn it
            future.set_exception(_lost(error))
        else:
            future.set_result(answer)
        with self._lock:
            del self._running[reference]
            self._threads.discard(threading.current_thread())
        self._begin()


def _lost(error: Exception) -> BrokenExecutor:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return BrokenExecutor(f"a worker of the Ray cluster was lost: {lines[0]}")


def _run(work: Callable[[OrderT], AnswerT], order: OrderT) -> AnswerT:
    """Do one order in a worker of the cluster."""
    configure_logging(level="error")
    return work(order)
