"""Commands of tickmind as processes of their own, for a viewer: agents' programs never run in the viewer itself."""

import asyncio
import signal
import sys
from contextlib import suppress

from tickmind.base import redact

END_S = 5.0  # until a process that was interrupted is killed


async def start_command(*words: str, takes_input: bool = False) -> asyncio.subprocess.Process:
    """Start `tickmind WORDS`, with pipes for what it prints."""
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "tickmind.cli", *words),  # -P: files of the user's folder shadow no module
        stdin=pipe if takes_input else asyncio.subprocess.DEVNULL,
        stdout=pipe,
        stderr=pipe,
        limit=1 << 22,  # bytes of one line
    )


async def end_command(process: asyncio.subprocess.Process, *, at_once: bool = False) -> None:
    """End a process and wait for it; first by an interrupt, so that it can clear up, unless it is to end at once."""
    if process.returncode is not None:
        return
    with suppress(ProcessLookupError):
        if not at_once:
            process.send_signal(signal.SIGINT)
            with suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), END_S)
        if process.returncode is None:
            process.kill()
    await process.wait()


def last_line(errors: bytes, returncode: int | None) -> str:
    """Return why a process failed: the last line of what it said."""
    lines = errors.decode(errors="replace").strip().splitlines()
    return redact(lines[-1]) if lines else f"its process ended with {returncode}"
