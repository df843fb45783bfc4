"""Executors by name: where `tickmind experiment --on NAME` runs its trials."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tickmind.lab.experiments.executors import Executor


class ExecutorKind(StrEnum):
    """The executors that there are."""

    PROCESSES = "processes"  # of this machine


def open_executor(kind: ExecutorKind, workers: int, trials: int) -> "Executor":
    """Open an executor for so many trials; `workers` 0 is as many as it has processors.

    Raises `ConfigError` if it can't be used here, such as for an extra that is not installed.
    """
    return _OPENERS[kind](workers, trials)


def _processes(workers: int, trials: int) -> "Executor":
    from tickmind.lab.experiments.executors import ProcessExecutor
    from tickmind.lab.experiments.experiment_run import worker_count

    return ProcessExecutor(min(worker_count(workers), trials))


_OPENERS: "Mapping[ExecutorKind, Callable[[int, int], Executor]]" = {ExecutorKind.PROCESSES: _processes}
