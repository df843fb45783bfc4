"""Trials on a Ray cluster, without Ray: whoever waits for an answer learns what became of it."""

from concurrent.futures import BrokenExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from tickmind.adapters.ray.executor import RayExecutor


class RayError(Exception):
    """As Ray's."""


class RayTaskError(RayError):
    """As Ray's, for what the work itself raised."""

    cause: Exception | None = None


class PlayedCluster:
    """A cluster of so many CPUs that does an order when its answer is asked for."""

    def __init__(self, cpus: int = 2) -> None:
        self.exceptions = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)
        self.cpus = cpus
        self.fault: dict[str, Exception] = {}
        self.api = self

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": self.cpus}

    def remote(self, run: Any) -> Any:
        def begin(work, order):
            if "remote" in self.fault:
                raise self.fault["remote"]
            return lambda: run(work, order)

        task = SimpleNamespace(remote=begin)
        return SimpleNamespace(options=lambda **_options: task)

    def get(self, reference: Any) -> Any:
        if "get" in self.fault:
            raise self.fault["get"]
        return reference()

    def cancel(self, _reference: Any, *, force: bool) -> None:
        assert force

    def leave(self) -> None:
        """Nothing is left."""


def double(number: int) -> int:
    """The work."""
    return 2 * number


def test_orders_are_done_as_workers_get_free():
    executor = RayExecutor(PlayedCluster())  # type: ignore[arg-type]
    futures = [executor.submit(double, number) for number in range(9)]
    assert [future.result(60) for future in futures] == [0, 2, 4, 6, 8, 10, 12, 14, 16]
    executor.close()


@pytest.mark.parametrize("step", ["remote", "get"])
@pytest.mark.parametrize("fault", [RayError("node died"), ConnectionError("client is gone"), ValueError("no pickle")])
def test_an_order_that_ray_loses_is_broken_and_never_waits_for_ever(step, fault):
    """Ray says so with errors of its own, its client with others."""
    cluster = PlayedCluster()
    executor = RayExecutor(cluster)  # type: ignore[arg-type]
    cluster.fault[step] = fault
    futures = [executor.submit(double, number) for number in range(5)]
    for future in futures:
        with pytest.raises(BrokenExecutor, match=str(fault)):
            future.result(60)
    cluster.fault.clear()
    assert executor.submit(double, 4).result(60) == 8
    executor.close()
