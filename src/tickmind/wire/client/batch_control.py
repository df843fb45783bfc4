"""`BatchSession`: control of many entities of one host over one stream."""

from collections import deque
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from tickmind.protocol import IntentColumns
from tickmind.wire.client.connection import WorldEndpoint
from tickmind.wire.client.session import StreamSession
from tickmind.wire.columns import ColumnBounds, decode_batch_down, encode_batch_up
from tickmind.wire.errors import ControlClosedError, MessageError
from tickmind.wire.messages.frames import (
    AckBatch,
    BatchOpen,
    BatchOpened,
    BatchUp,
    IntentBatch,
    LeasesLost,
    ObservationBatch,
)

_Down: TypeAlias = BatchOpened | ObservationBatch | AckBatch | LeasesLost


class BatchSession(StreamSession[BatchUp, _Down, AckBatch, ObservationBatch]):
    """Many controlled entities: iterate for parts of observations, `submit` columns of intents.

    Only parts of the newest tick wait. `lost` returns the entities that are no longer controlled.
    """

    def __init__(
        self,
        dial: Callable[[], Any],
        connection: WorldEndpoint,
        opening: BatchOpen,
        bounds: ColumnBounds,
        *,
        release: bool,
    ) -> None:
        super().__init__(
            dial,
            connection,
            opening,
            encode=encode_batch_up,
            decode=lambda message: decode_batch_down(message, bounds),
            subject="the batch stream",
            release=release,
        )
        self._opened: BatchOpened | None = None
        self._parts: deque[ObservationBatch] = deque()  # of one tick, the newest
        self._lost: list[LeasesLost] = []

    @property
    def opened(self) -> BatchOpened:
        """The granted entities, and the secret that takes them back after a break."""
        if self._opened is None:
            raise ControlClosedError("the session is not open; use it in `async with`")
        return self._opened

    def lost(self) -> tuple[LeasesLost, ...]:
        """Return the entities that were lost since the last call."""
        lost, self._lost = tuple(self._lost), []
        return lost

    async def submit(self, tick_id: int, intents: IntentColumns) -> AckBatch:
        """Send intents of a tick and wait for the acknowledgement."""
        return await self._submit(_batch(tick_id, intents))

    def submit_nowait(self, tick_id: int, intents: IntentColumns) -> None:
        """Send intents of a tick without waiting; `statistics` counts the acknowledgements."""
        self._send(_batch(tick_id, intents))

    def _begin(self, answer: _Down) -> int | None:
        if not isinstance(answer, BatchOpened):
            return None
        self._opened = answer
        return answer.ttl_ms

    def _next(self) -> ObservationBatch | None:
        return self._parts.popleft() if self._parts else None

    def _take(self, frame: _Down) -> None:
        match frame:
            case ObservationBatch():
                self._observations += 1
                if self._parts and self._parts[0].observations.tick_id != frame.observations.tick_id:
                    self._missed += len(self._parts)
                    self._parts.clear()
                self._parts.append(frame)
                self._changed.set()
            case AckBatch():
                self._acknowledge(frame, frame.accepted, len(frame.refused))
            case LeasesLost():
                self._lost.append(frame)
            case BatchOpened():
                raise MessageError("opened", "the first frame and no other")


def _batch(tick_id: int, intents: IntentColumns) -> IntentBatch:
    return IntentBatch(tick_id, intents, np.empty(0, np.int32), np.empty(0, np.uint8))
