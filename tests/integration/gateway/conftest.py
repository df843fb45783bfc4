import contextlib
import fcntl
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
import redis

START_S = 30.0


class RedisServer:
    """A server of its own, without persistence, on a socket in a folder of its own; it can be killed and started."""

    def __init__(self, program, folder):
        self._program = program
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"unix://{folder / 'redis.sock'}"

    def start(self):
        options = {
            "port": "0",
            "unixsocket": str(self._folder / "redis.sock"),
            "save": "",
            "appendonly": "no",
            "dir": str(self._folder),
            "daemonize": "no",
        }
        arguments = [part for name, value in options.items() for part in (f"--{name}", value)]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen([self._program, *arguments], stdout=log, stderr=log)
        until = time.monotonic() + START_S
        while not self._answers():
            assert time.monotonic() < until, (self._folder / "log").read_text()
            time.sleep(0.02)

    def _answers(self):
        with contextlib.suppress(redis.ConnectionError), redis.Redis.from_url(self.url) as client:
            return bool(client.ping())
        return False

    def kill(self):
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def redis_program():
    """The server, installed if it is not there and can be; None otherwise."""
    names = ("redis-server", "valkey-server")
    found = next((path for name in names if (path := shutil.which(name))), None)
    if found or os.geteuid() != 0 or not shutil.which("apt-get"):
        return found
    with (Path(tempfile.gettempdir()) / "tickmind-install-redis.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # test workers come all at once
        if not shutil.which("redis-server"):
            command = ["apt-get", "install", "-y", "--no-install-recommends", "redis-server"]
            subprocess.run(command, capture_output=True, check=False, timeout=300)
    return shutil.which("redis-server")


@pytest.fixture
def redis_server():
    """A running server, or a skip where there is none and none can be installed."""
    program = redis_program()
    if program is None:
        pytest.skip("no redis-server, and it can't be installed here; on Debian: apt-get install redis-server")
    with tempfile.TemporaryDirectory(prefix="tm-redis-") as folder:
        server = RedisServer(program, Path(folder))
        server.start()
        yield server
        server.kill()
