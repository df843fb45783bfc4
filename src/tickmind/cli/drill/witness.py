"""A witness: watches a world from outside, like a viewer, and remembers what it was shown."""

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tickmind.base import Clock, SystemClock, get_logger
from tickmind.wire import ViewerEventType, ViewFilter, WireError, WorldClient

if TYPE_CHECKING:
    from tickmind.protocol import ResultColumns, Utterance

_VIEW = ViewFilter(types=(ViewerEventType.RESULT, ViewerEventType.UTTERANCE))
_LOOK_AGAIN_S = 0.1
_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Shown:
    """What was visible of one tick: actions with their results, and speech."""

    results: tuple[tuple[int, int, int], ...]  # actor row, action, reason
    said: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, results: "ResultColumns", utterances: "tuple[Utterance, ...]") -> "Shown":
        """Make it from a viewer's event or from a record."""
        rows = zip(results.actor.tolist(), results.action.tolist(), results.reason.tolist(), strict=True)
        return cls(tuple(rows), tuple((utterance.actor_id, utterance.text) for utterance in utterances))


class Witness:
    """Follows one world for as long as `watch` runs, also when it comes and goes."""

    def __init__(self, *, clock: Clock | None = None) -> None:
        self.shown: dict[int, Shown] = {}  # tick -> what was published
        self.tick_id = 0  # the newest
        self.ticked_s = 0.0  # when it was seen
        self.longest_s = 0.0  # between two consecutive ticks that were seen without a break
        self._clock = clock or SystemClock()
        self._ticked = asyncio.Event()

    async def watch(self, address: str) -> None:
        """Watch until cancelled."""
        async with WorldClient(address) as client:
            while True:
                try:
                    await self._follow(client)
                except WireError as error:
                    _log.debug("watching the world failed", error=str(error))
                await asyncio.sleep(_LOOK_AGAIN_S)

    async def _follow(self, client: WorldClient) -> None:
        before = 0
        async for event in client.viewer_events(await client.world(), _VIEW, retry=None):
            now_s = self._clock.monotonic()
            if before and event.tick_id == before + 1:
                self.longest_s = max(self.longest_s, now_s - self.ticked_s)
            before = self.tick_id = event.tick_id
            self.ticked_s = now_s
            self.shown[event.tick_id] = Shown.of(event.results, event.utterances)
            self._ticked.set()

    async def after(self, ticks: int, timeout_s: float) -> bool:
        """Wait until the world has advanced so many ticks; return False if that takes too long."""
        goal = self.tick_id + ticks
        try:
            async with asyncio.timeout(timeout_s):
                while self.tick_id < goal:
                    self._ticked.clear()
                    await self._ticked.wait()
        except TimeoutError:
            return False
        return True
