"""`InterviewProcess`: a character that a viewer asks, lived again by `tickmind interview` in a process of its own."""

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tickmind.base import Limit
from tickmind.cli.minds.child_process import end_command, last_line, start_command
from tickmind.viewer.errors import RunLabError

MAX_LIVING_S = Limit("time to live a mind again for an interview", 600, "s")
_NO_ANSWER = "what the interview printed is no answer; see what `tickmind interview` prints"
MAX_ANSWER_S = Limit("time for one answer of an interview", 180, "s")


class InterviewProcess:
    """One mind after one tick. It stays for more questions, one at a time, until it is closed."""

    def __init__(self, folder: Path, run_id: str, entity_id: str, tick_id: int) -> None:
        self._words = (
            *("interview", "--format=lines", "--questions=-", f"--tick={tick_id}", f"--runs={folder}"),
            *("--", run_id, entity_id),
        )
        self._asking = asyncio.Lock()
        self._reservations = 0
        self._process: asyncio.subprocess.Process | None = None
        self._errors: asyncio.Task[bytes] | None = None

    @property
    def is_busy(self) -> bool:
        """Whether it is asked something, or about to be."""
        return self._reservations > 0

    @contextmanager
    def reserved(self) -> Iterator[None]:
        """Mark it as busy; a caller reserves it before it asks."""
        self._reservations += 1
        try:
            yield
        finally:
            self._reservations -= 1

    async def ask(self, question: str) -> AsyncGenerator[dict[str, Any], None]:
        """Iterate over what happens until the answer: `living`, `asked`, parts of what a model says, and the answer.

        Raises `RunLabError` if there is none; a question whose caller leaves ends the process, and with it the call.
        """
        async with self._asking:
            whole = False
            try:
                if self._process is None:
                    yield {"state": "living"}
                    await self._begin()
                yield {"state": "asked"}
                await self._write(question)
                while True:
                    step = await self._read(MAX_ANSWER_S)
                    if "answer" in step or "error" in step:
                        whole = True  # before it is handed over: the caller may leave with it
                    yield step
                    if whole:
                        return
            finally:
                if not whole:
                    await self._end()

    async def _begin(self) -> None:
        self._process = await start_command(*self._words, takes_input=True)
        assert self._process.stderr is not None, "it was started with pipes"
        self._errors = asyncio.create_task(self._process.stderr.read())
        await self._read(MAX_LIVING_S)  # that it is ready

    async def _write(self, question: str) -> None:
        assert self._process is not None, "it has begun"
        assert self._process.stdin is not None, "it was started with pipes"
        try:
            self._process.stdin.write(f"{' '.join(question.split())}\n".encode())
            await self._process.stdin.drain()
        except ConnectionError:
            raise await self._failure() from None

    async def _read(self, limit: Limit) -> dict[str, Any]:
        assert self._process is not None, "it has begun"
        assert self._process.stdout is not None, "it was started with pipes"
        try:
            async with asyncio.timeout(limit.maximum):
                line = await self._process.stdout.readline()
            step = json.loads(line) if line else {}
        except TimeoutError:
            raise RunLabError(f"it takes more than {limit.maximum:,} s; use `tickmind interview`") from None
        except (ValueError, RecursionError):  # also of a line that is too long
            raise RunLabError(_NO_ANSWER) from None
        if not isinstance(step, dict):
            raise RunLabError(_NO_ANSWER)
        if not line:
            raise await self._failure()
        return step

    async def _failure(self) -> RunLabError:
        assert self._process is not None, "it has begun"
        assert self._errors is not None, "it has begun"
        code = await self._process.wait()
        return RunLabError(last_line(await self._errors, code))

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            await end_command(process, at_once=True)
        if self._errors is not None:
            await self._errors

    async def close(self) -> None:
        """End the process."""
        await self._end()
