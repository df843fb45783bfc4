"""`RecordedStory`: the chronicle of a run for the page, made anew when the run has grown."""

import asyncio
import json
from typing import TYPE_CHECKING, Any

from tickmind.base import Limit
from tickmind.viewer.errors import NoStoryError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tickmind.record import RunReader

MAX_ACTORS = Limit("number of actors of a run whose story is told in the viewer", 1000)
SENTENCES_A_DAY = 40


class RecordedStory:
    """Reads a run of its own and tells it, one request at a time; a run that has not grown is not read again."""

    def __init__(self, open_run: "Callable[[], RunReader]") -> None:
        self._open_run = open_run
        self._reading = asyncio.Lock()
        self._told: tuple[int, dict[str, Any]] = (-1, {})  # the last tick of the run, and its story

    async def up_to(self, last_tick_id: int, actors: int) -> dict[str, Any]:
        """Return the story of the run so far; raises `LimitExceededError` for a run with too many actors."""
        MAX_ACTORS.check(actors)
        async with self._reading:
            known, story = self._told
            if known != last_tick_id:
                story = await asyncio.to_thread(self._read)
                self._told = last_tick_id, story
            return story

    def _read(self) -> dict[str, Any]:
        try:
            from tickmind.record.story import as_json, chronicle, read_story
        except ModuleNotFoundError as missing:
            raise NoStoryError(f"a story needs {missing.name}: pip install 'tickmind[report]'") from None
        with self._open_run() as run:
            told = chronicle(read_story(run), per_day=SENTENCES_A_DAY)
        story: dict[str, Any] = json.loads(as_json(told, ""))
        return story
