"""What a world sees of one agent: each intent with its tick, and whether the agent is in control."""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from tickmind.base import Limit
from tickmind.protocol import REASONS, Intent, IntentColumns, Reason, TickRecord
from tickmind.server.control.inbox import Inbox

if TYPE_CHECKING:
    from tickmind.protocol.columns import UInt8

MAX_REMEMBERED = Limit("number of refused intents that are described", 20)


class IntentWitness:
    """Counts what one agent does; the worlds of one trial share it, before and after a restart."""

    def __init__(self) -> None:
        self.ticks = 0
        self.controlled_ticks = 0
        self.lost_ticks = 0  # without a controller
        self.answered_ticks = 0
        self.controlled = False  # as of the last tick
        self.reasons: Counter[Reason] = Counter()  # of intents that were refused, apart from those on purpose
        self.remembered: list[str] = []
        self.secrets: list[str] = []  # all lease ids
        self.refusing = False
        """Whether all intents are refused, as if the tick were over."""
        self._changed = asyncio.Event()

    def tick(self, record: TickRecord, *, answered: bool) -> None:
        """Count a resolved tick."""
        self.ticks += 1
        self.controlled = record.controlled is None or bool(record.controlled.all())
        self.controlled_ticks += self.controlled
        self.lost_ticks += not self.controlled
        self.answered_ticks += answered
        self._changed.set()

    def intent(self, tick_id: int, open_tick_id: int, reason: Reason) -> None:
        """Count an intent for a tick, with what the world said."""
        if not reason:
            return
        self.reasons[reason] += 1
        if MAX_REMEMBERED.allows(len(self.remembered) + 1):
            self.remembered.append(f"an intent for tick {tick_id} while tick {open_tick_id} was open: {reason}")

    async def until(self, condition: Callable[[], bool], most_s: float) -> bool:
        """Wait for something that is so after some tick; return whether it came in time."""
        try:
            async with asyncio.timeout(most_s):
                while not condition():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            return False
        return True

    async def pass_ticks(self, ticks: int, most_s: float) -> None:
        """Wait until so many more ticks are resolved."""
        end = self.ticks + ticks
        await self.until(lambda: self.ticks >= end, most_s)


class WatchedInbox(Inbox):
    """The inbox of a world with one actor, which reports each intent to a witness."""

    def __init__(self, witness: IntentWitness) -> None:
        super().__init__(1)
        self._witness = witness
        self.was_answered = False
        """Whether the tick that was closed last had an intent."""

    def close(self) -> tuple[dict[int, Intent], list[IntentColumns]]:
        """Close the tick."""
        self.was_answered = bool(self.answered[0])
        return super().close()

    def offer(self, row: int, tick_id: int, intent: Intent) -> Reason:
        """Accept an intent, or return why not."""
        if self._witness.refusing and tick_id == self.tick_id:
            return Reason.LATE_TICK
        reason = super().offer(row, tick_id, intent)
        self._witness.intent(tick_id, self.tick_id, reason)
        return reason

    def offer_many(self, tick_id: int, intents: IntentColumns) -> "UInt8":
        """Accept intents of a host that controls its one actor by columns."""
        if self._witness.refusing and tick_id == self.tick_id:
            tick_id = -1  # of no tick, and so late
            return super().offer_many(tick_id, intents)
        codes = super().offer_many(tick_id, intents)
        for code in codes.tolist():
            self._witness.intent(tick_id, self.tick_id, REASONS[code])
        return codes
