"""`WholeMinds`: answers a viewer's questions for whole minds, each lived again in a process of its own."""

import asyncio
import json
from collections import OrderedDict
from pathlib import Path
from typing import Any

from tickmind.base import Limit
from tickmind.cli.minds.child_process import end_command, last_line, start_command
from tickmind.viewer.errors import NoWholeMindError

MAX_LIVING_S = Limit("time to live a mind again for a viewer", 600, "s")
MAX_ANSWERS = Limit("number of whole minds that a viewer keeps", 32)


class WholeMinds:
    """Live characters of one run again with `tickmind mind`, one at a time, and keep the last answers.

    The agents' programs run in that process, never in the viewer's: they may take long, or fail.
    """

    def __init__(self, folder: Path, run_id: str) -> None:
        self._folder = folder
        self._run_id = run_id
        self._answers: OrderedDict[tuple[str, int], dict[str, Any]] = OrderedDict()
        self._living = asyncio.Lock()

    async def __call__(self, entity_id: str, tick_id: int) -> dict[str, Any]:
        """Return a mind as it was after a tick; raises `NoWholeMindError` with the reason if it can't be had."""
        async with self._living:
            answer = self._answers.pop((entity_id, tick_id), None)
            if answer is None:
                answer = await self._ask(entity_id, tick_id)
            self._answers[entity_id, tick_id] = answer
            while not MAX_ANSWERS.allows(len(self._answers)):
                self._answers.popitem(last=False)
            return answer

    async def _ask(self, entity_id: str, tick_id: int) -> dict[str, Any]:
        words = ("mind", self._run_id, "--json", "--runs", str(self._folder), "--tick", str(tick_id), "--", entity_id)
        process = await start_command(*words)
        try:
            async with asyncio.timeout(MAX_LIVING_S.maximum):
                printed, errors = await process.communicate()
        except TimeoutError:
            raise NoWholeMindError(
                f"living {tick_id:,} ticks again takes more than {MAX_LIVING_S.maximum:,} s; use `tickmind mind`"
            ) from None
        finally:
            await end_command(process, at_once=True)  # too long, or no caller waits any more
        if process.returncode:
            raise NoWholeMindError(last_line(errors, process.returncode))
        try:
            answer: dict[str, Any] = json.loads(printed)
        except (ValueError, RecursionError):
            raise NoWholeMindError("what `tickmind mind --json` printed is no mind; see what it prints") from None
        return answer
