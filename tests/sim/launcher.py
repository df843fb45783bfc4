"""Starts real worlds that kill themselves: `python -m tests.sim.launcher`, one order a line on stdin, as JSON.

A world is a process of its own, forked from this one, in which everything is loaded and compiled already. It says
"ready" when it serves and "ended" with its exit code, in which -9 is a kill. Orders are `Order`s.
"""

import errno
import gc
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

import grpc_health.v1.health  # noqa: F401 - a world loads it only when it serves
import uvloop  # noqa: F401 - as above

from tickmind.cli.world import serving as world_serving
from tickmind.cli.world.run import WorldRuns
from tickmind.cli.world.status import WorldStatus
from tickmind.record import DiskFile, DiskLock, LogOptions, OsDisk
from tickmind.server import ServerConfig, TickPace
from tickmind.world.kernels import warm_up

CHECKPOINT_TICKS = 5


@dataclass(frozen=True, slots=True)
class Order:
    """Which world to start, and when it dies: at an operation of the disk, or after a time, or not at all."""

    runs: str
    run_id: str
    socket: str
    scenario: str = ""  # the text to begin with; empty: resume
    tick_s: float = 0.005
    ticks: int | None = None
    kill_at: int = 0  # number of the operation; 0: at none
    how: str = "before"  # or "half" of a write, or "after"; "full" fails instead, because the disk is full
    kill_after_s: float = 0.0  # since it was ready; 0: never

    def line(self) -> str:
        """The order as it is sent."""
        return json.dumps(asdict(self)) + "\n"


def die() -> None:
    """As by `kill -9`."""
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)


class DeadlyDisk(OsDisk):
    """The real disk; one of its operations is the last thing that this process does."""

    def __init__(self, kill_at: int, how: str) -> None:
        self._left = kill_at
        self._how = how

    def operate(self, work: Callable[[], Any], half: Callable[[], Any] | None = None) -> Any:
        self._left -= 1
        if self._left == 0:
            if self._how == "full":
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if self._how == "half" and half is not None:
                half()
            elif self._how == "after":
                work()
            die()
        return work()

    def create(self, path: Path) -> DiskFile:  # type: ignore[override]  # a file that counts too
        return DeadlyFile(self, self.operate(lambda: super(DeadlyDisk, self).create(path)))

    def append(self, path: Path) -> DiskFile:  # type: ignore[override]  # as above
        return DeadlyFile(self, self.operate(lambda: super(DeadlyDisk, self).append(path)))

    def make_folder(self, path: Path) -> None:
        self.operate(lambda: super(DeadlyDisk, self).make_folder(path))

    def truncate(self, path: Path, size: int) -> None:
        self.operate(lambda: super(DeadlyDisk, self).truncate(path, size))

    def replace(self, old: Path, new: Path) -> None:
        self.operate(lambda: super(DeadlyDisk, self).replace(old, new))

    def remove(self, path: Path) -> None:
        self.operate(lambda: super(DeadlyDisk, self).remove(path))

    def sync_folder(self, path: Path) -> None:
        self.operate(lambda: super(DeadlyDisk, self).sync_folder(path))

    def lock(self, path: Path) -> DiskLock:  # type: ignore[override]  # as above
        lock: DiskLock = self.operate(lambda: super(DeadlyDisk, self).lock(path))
        return lock

    def open(self, path: Path) -> BinaryIO:
        return super().open(path)  # reading loses nothing


class DeadlyFile:
    """A file of a `DeadlyDisk`."""

    def __init__(self, disk: DeadlyDisk, file: DiskFile) -> None:
        self._disk = disk
        self._file = file

    def write(self, data: bytes) -> None:
        self._disk.operate(lambda: self._file.write(data), lambda: self._file.write(data[: len(data) // 2]))

    def sync(self) -> None:
        self._disk.operate(self._file.sync)

    def close(self) -> None:
        self._file.close()


def serve(order: Order) -> None:
    """Be a world, as `tickmind world` is one."""

    def say(self: WorldStatus, text: str) -> None:
        sys.stderr.write(f"{text}\n")
        if " is at " in text:
            os.write(1, b"ready\n")
            if order.kill_after_s:
                threading.Timer(order.kill_after_s, die).start()

    WorldStatus.say = say  # type: ignore[method-assign]  # the only sign of life that the program gives
    disk = DeadlyDisk(order.kill_at, order.how)
    runs = WorldRuns(Path(order.runs), disk, options=LogOptions(keep_log=True))
    run = runs.begin(order.scenario, "kill.yaml", order.run_id) if order.scenario else runs.resume(order.run_id)
    config = ServerConfig(f"unix:{order.socket}", checkpoint_every_ticks=CHECKPOINT_TICKS)
    pace = TickPace(order.tick_s, order.tick_s / 2)
    world_serving.Serving(run.scenario, config, pace, order.ticks, run, Path(order.runs)).run()


def main() -> int:
    """Take orders until there are no more."""
    warm_up()
    gc.freeze()  # else each world would touch, and so copy, all that it shares with this process
    sys.stdout.write("launcher\n")
    sys.stdout.flush()
    for line in sys.stdin:
        order = Order(**json.loads(line))
        child = os.fork()
        if child == 0:
            code = 1
            try:
                serve(order)
                code = 0
            except BaseException as error:  # noqa: BLE001 - told to whoever reads the log of this
                sys.stderr.write(f"{type(error).__name__}: {error}\n")
            finally:
                sys.stderr.flush()
                os._exit(code)
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"ended {os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
