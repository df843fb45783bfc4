"""Control of one entity over one stream."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from tickmind.protocol import Ack, Intent, Lease, Observation, RunInfo
from tickmind.wire.client.connection import WorldEndpoint
from tickmind.wire.client.link import Link
from tickmind.wire.codec import decode_down, encode_up
from tickmind.wire.errors import ControlClosedError, LeaseRefusedError, MessageError, WireError
from tickmind.wire.messages.frames import (
    Closed,
    ControlAck,
    ControlDown,
    ControlIntent,
    ControlOpen,
    ControlOpened,
    ControlUp,
    KeepAlive,
    Release,
)


@dataclass(frozen=True, slots=True)
class ControlStatistics:
    """Counters of a control stream."""

    observations: int
    missed: int  # observations replaced by newer ones before they were read
    accepted: int
    refused: int


class ControlSession:
    """One controlled entity: iterate for observations, `submit` intents.

    Only the newest observation waits, so a slow agent never answers for a tick that is long over. The lease is kept
    alive while the event loop runs. Once iterating or submitting raises `ControlClosedError`, control may be lost:
    open a new session with `previous=session.lease.lease_id`.
    """

    def __init__(
        self, dial: Callable[[], Any], connection: WorldEndpoint, opening: ControlOpen, *, release: bool
    ) -> None:
        self._opening = opening
        self._release = release
        self._link: Link[ControlUp, ControlDown] = Link(
            dial,
            connection,
            encode=encode_up,
            decode=decode_down,
            on_frame=self._take,
            on_end=self._end,
            awaits=lambda: bool(self._acks),
        )
        self._lease: Lease | None = None
        self._run = RunInfo()
        self._newest: Observation | None = None
        self._changed = asyncio.Event()
        self._acks: deque[asyncio.Future[Ack] | None] = deque()  # waiters for acks, in the order of intents
        self._closed: WireError | None = None
        self._observations = self._missed = self._accepted = self._refused = 0

    async def __aenter__(self) -> "ControlSession":
        answer = await self._link.open(self._opening)
        match answer:
            case ControlOpened(lease, run):
                self._lease, self._run = lease, run
                self._link.start(lease.ttl_ms, KeepAlive())
                return self
            case Closed(reason, retry_after_ms):
                await self._link.close()
                raise LeaseRefusedError(
                    f"the world refused control of {self._opening.entity_id}: {reason or 'no reason given'}",
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
    def lease(self) -> Lease:
        """The lease; its secret takes the entity back after a break."""
        if self._lease is None:
            raise ControlClosedError("the session is not open; use it in `async with`")
        return self._lease

    @property
    def run(self) -> RunInfo:
        """The run that the world is in, as minds need to know it."""
        return self._run

    @property
    def controlled(self) -> bool:
        """Whether the control stream is open."""
        return self._lease is not None and not self._link.ended

    def statistics(self) -> ControlStatistics:
        """Return the counters of the stream."""
        return ControlStatistics(self._observations, self._missed, self._accepted, self._refused)

    async def __aiter__(self) -> AsyncIterator[Observation]:
        """Iterate over observations, always the newest, until the stream ends."""
        while True:
            newest, self._newest = self._newest, None
            if newest is not None:
                yield newest
                continue
            if self._link.ended:
                if self._closed is not None:
                    raise self._closed
                return
            await self._changed.wait()
            self._changed.clear()

    async def submit(self, tick_id: int, intent: Intent) -> Ack:
        """Send the intent of a tick and wait for the acknowledgement."""
        waiting: asyncio.Future[Ack] = asyncio.get_running_loop().create_future()
        self._send(tick_id, intent, waiting)
        return await waiting

    def submit_nowait(self, tick_id: int, intent: Intent) -> None:
        """Send the intent of a tick without waiting; `statistics` counts the acknowledgements."""
        self._send(tick_id, intent, None)

    def _send(self, tick_id: int, intent: Intent, waiting: asyncio.Future[Ack] | None) -> None:
        if self._closed is not None:
            raise self._closed
        self._link.send_nowait(ControlIntent(tick_id, intent))
        self._acks.append(waiting)

    def _take(self, frame: ControlDown) -> None:
        match frame:
            case Observation():
                self._observations += 1
                self._missed += self._newest is not None
                self._newest = frame
                self._changed.set()
            case ControlAck(_, ack):
                if not self._acks:
                    raise MessageError("ack", "an answer to an intent")
                waiting = self._acks.popleft()
                self._accepted += ack.accepted
                self._refused += not ack.accepted
                if waiting is not None and not waiting.done():
                    waiting.set_result(ack)
            case Closed(reason, retry_after_ms):
                raise ControlClosedError(
                    f"the world ended control of {self._opening.entity_id}: {reason or 'as asked'}",
                    reason=reason,
                    retry_after_ms=retry_after_ms,
                )
            case ControlOpened():
                raise MessageError("opened", "the first frame and no other")

    def _end(self, failure: WireError | None) -> None:
        self._closed = failure
        self._changed.set()
        for waiting in self._acks:
            if waiting is not None and not waiting.done():
                waiting.set_exception(failure or ControlClosedError("the control stream was closed"))
                waiting.exception()  # marks it as retrieved, as no task may be waiting
        self._acks.clear()
