"""Control of many entities of one host over one stream."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import Any

import numpy as np

from tickmind.protocol import IntentColumns
from tickmind.wire.client.connection import WorldEndpoint
from tickmind.wire.client.control import ControlStatistics
from tickmind.wire.client.link import Link
from tickmind.wire.columns import ColumnBounds, decode_batch_down, encode_batch_up
from tickmind.wire.errors import ControlClosedError, LeaseRefusedError, MessageError, WireError
from tickmind.wire.messages.frames import (
    AckBatch,
    BatchDown,
    BatchOpen,
    BatchOpened,
    BatchUp,
    Closed,
    IntentBatch,
    KeepAlive,
    LeasesLost,
    ObservationBatch,
    Release,
)


class BatchSession:
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
        self._opening = opening
        self._release = release
        self._link: Link[BatchUp, BatchDown] = Link(
            dial,
            connection,
            encode=encode_batch_up,
            decode=lambda message: decode_batch_down(message, bounds),
            on_frame=self._take,
            on_end=self._end,
            awaits=lambda: bool(self._acks),
        )
        self._opened: BatchOpened | None = None
        self._parts: deque[ObservationBatch] = deque()  # of one tick, the newest
        self._changed = asyncio.Event()
        self._acks: deque[asyncio.Future[AckBatch] | None] = deque()  # waiters, in the order of batches
        self._lost: list[LeasesLost] = []
        self._closed: WireError | None = None
        self._observations = self._missed = self._accepted = self._refused = 0

    async def __aenter__(self) -> "BatchSession":
        answer = await self._link.open(self._opening)
        match answer:
            case BatchOpened():
                self._opened = answer
                self._link.start(answer.ttl_ms, KeepAlive())
                return self
            case Closed(reason, retry_after_ms):
                await self._link.close()
                raise LeaseRefusedError(
                    f"the world did not open the batch stream: {reason or 'no reason given'}",
                    reason=reason,
                    retry_after_ms=retry_after_ms,
                )
            case _:
                await self._link.close()
                raise MessageError("the first frame", "opened or closed")

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._link.close(Release() if self._release else None)

    @property
    def opened(self) -> BatchOpened:
        """The granted entities, and the secret that takes them back after a break."""
        if self._opened is None:
            raise ControlClosedError("the session is not open; use it in `async with`")
        return self._opened

    @property
    def controlled(self) -> bool:
        """Whether the control stream is open."""
        return self._opened is not None and not self._link.ended

    def lost(self) -> tuple[LeasesLost, ...]:
        """Return the entities that were lost since the last call."""
        lost, self._lost = tuple(self._lost), []
        return lost

    def statistics(self) -> ControlStatistics:
        """Return the counters of the stream; each part of observations counts as one."""
        return ControlStatistics(self._observations, self._missed, self._accepted, self._refused)

    async def __aiter__(self) -> AsyncIterator[ObservationBatch]:
        """Iterate over the parts of the newest tick's observations, until the stream ends."""
        while True:
            while self._parts:
                yield self._parts.popleft()
            if self._link.ended:
                if self._closed is not None:
                    raise self._closed
                return
            await self._changed.wait()
            self._changed.clear()

    async def submit(self, tick_id: int, intents: IntentColumns) -> AckBatch:
        """Send intents of a tick and wait for the acknowledgement."""
        waiting: asyncio.Future[AckBatch] = asyncio.get_running_loop().create_future()
        self._send(tick_id, intents, waiting)
        return await waiting

    def submit_nowait(self, tick_id: int, intents: IntentColumns) -> None:
        """Send intents of a tick without waiting; `statistics` counts the acknowledgements."""
        self._send(tick_id, intents, None)

    def _send(self, tick_id: int, intents: IntentColumns, waiting: asyncio.Future[AckBatch] | None) -> None:
        if self._closed is not None:
            raise self._closed
        none_refused = np.empty(0, np.int32), np.empty(0, np.uint8)
        self._link.send_nowait(IntentBatch(tick_id, intents, *none_refused))
        self._acks.append(waiting)

    def _take(self, frame: BatchDown) -> None:
        match frame:
            case ObservationBatch():
                self._observations += 1
                if self._parts and self._parts[0].observations.tick_id != frame.observations.tick_id:
                    self._missed += len(self._parts)
                    self._parts.clear()
                self._parts.append(frame)
                self._changed.set()
            case AckBatch():
                if not self._acks:
                    raise MessageError("acks", "an answer to intents")
                waiting = self._acks.popleft()
                self._accepted += frame.accepted
                self._refused += len(frame.refused)
                if waiting is not None and not waiting.done():
                    waiting.set_result(frame)
            case LeasesLost():
                self._lost.append(frame)
            case Closed(reason, retry_after_ms):
                raise ControlClosedError(
                    f"the world ended the batch stream: {reason or 'as asked'}",
                    reason=reason,
                    retry_after_ms=retry_after_ms,
                )
            case BatchOpened():
                raise MessageError("opened", "the first frame and no other")

    def _end(self, failure: WireError | None) -> None:
        self._closed = failure
        self._changed.set()
        for waiting in self._acks:
            if waiting is not None and not waiting.done():
                waiting.set_exception(failure or ControlClosedError("the control stream was closed"))
                waiting.exception()  # marks it as retrieved, as no task may be waiting
        self._acks.clear()
