"""A terminal in which a program of ours runs, as a person has it before them."""

import asyncio
import fcntl
import os
import pty
import re
import struct
import sys
import termios
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

DEADLINE_S = 60.0
_OWN_TERMINAL = (  # so that Ctrl-C is a signal
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
)
_OBEYED = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """What was seen in it so far; its size can be changed, and keys can be pressed."""

    def __init__(self, descriptor: int, process: asyncio.subprocess.Process) -> None:
        self.descriptor = descriptor
        self.process = process
        self.seen = b""
        asyncio.get_running_loop().add_reader(descriptor, self._read)

    def _read(self) -> None:
        try:
            self.seen += os.read(self.descriptor, 65536)
        except OSError:  # the other side is closed
            asyncio.get_running_loop().remove_reader(self.descriptor)

    def resize(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self.descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def text(self) -> str:
        """All that was ever shown, without colours and movements."""
        return _OBEYED.sub(b"", self.seen).decode(errors="replace").replace("\r\n", "\n")

    def last_picture(self) -> str:
        """What was drawn last, of a program that draws the whole screen anew."""
        return _OBEYED.sub(b"", self.seen.rpartition(b"\x1b[H")[2]).decode(errors="replace")

    async def until(self, holds: Callable[[], object], within_s: float = DEADLINE_S) -> None:
        """Wait until something holds; fails if the program ends before, and says what it has shown."""
        try:
            async with asyncio.timeout(within_s):
                while not holds():
                    assert self.process.returncode is None, f"it has ended: {self.text()[-2000:]}"
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise AssertionError(f"not within {within_s:.0f} s; it shows: {self.text()[-2000:]!r}") from None

    def press(self, key: bytes) -> None:
        os.write(self.descriptor, key)


@asynccontextmanager
async def in_terminal(*command: str, env: Mapping[str, str], cwd: Path | None = None) -> AsyncIterator[Terminal]:
    """Run a command in a terminal of 120 x 30; Ctrl-C is a signal there. It is killed if it has not ended."""
    outer, inner = pty.openpty()
    # Python code between fork and exec, as `preexec_fn` has it, can hang in a process with threads.
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-ISc", _OWN_TERMINAL),
        *command,
        stdin=inner,
        stdout=inner,
        stderr=inner,
        env=env,
        cwd=cwd,
        start_new_session=True,
    )
    os.close(inner)
    terminal = Terminal(outer, process)
    terminal.resize(120, 30)
    try:
        yield terminal
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        asyncio.get_running_loop().remove_reader(outer)
        os.close(outer)
