"""A program for `test_real_disk_faults`: forks a recorder for each line on stdin, and lets it go when it is traced.

A recorder writes one run with real system calls and tells which ticks it has published by a socket, so that `write` and
its like are the recorder's own.
"""

import os
import socket
import sys
from pathlib import Path

from tickmind.record import LogOptions, RecordError, RunStore
from tickmind.record.testing import RandomRun

OPTIONS = LogOptions(keyframe_ticks=3, segment_ticks=4)
TICKS = 6


def record(folder: Path, line: socket.socket) -> None:
    """Write a run, and tell the number of each tick that is published, or which error has ended it."""
    run = RandomRun(3, 6)
    try:
        log = RunStore(folder).create(run.info, "r", options=OPTIONS)
        for _ in range(TICKS):
            tick = run.tick()
            log.publish(tick)
            line.send(f"{tick.tick_id}\n".encode())
        log.close()
        line.send(b"closed\n")
    except (RecordError, OSError) as error:
        line.send(f"{type(error).__name__}: {error}\n".encode())


def main() -> None:
    """Fork a recorder for each folder that is asked for."""
    here, _there = socket.socketpair()
    record(Path(sys.argv[1]), here)  # so that all is imported
    for asked in sys.stdin:
        folder, address = asked.split()
        pid = os.fork()
        if pid == 0:
            line = socket.socket(socket.AF_UNIX)
            line.connect(address)
            line.send(f"{os.getpid()}\n".encode())
            line.recv(1)  # until it is traced
            record(Path(folder), line)
            os._exit(0)
        os.waitpid(pid, 0)


if __name__ == "__main__":
    main()
