"""`StreamSession`: what control of one entity and of many over a stream have in common."""

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar

from tickmind.wire.client.connection import WorldEndpoint
from tickmind.wire.client.link import Link
from tickmind.wire.errors import ControlClosedError, LeaseRefusedError, MessageError, WireError
from tickmind.wire.messages.frames import Closed, KeepAlive, Release

Up = TypeVar("Up")
Down = TypeVar("Down")
AckT = TypeVar("AckT")
Part = TypeVar("Part")


@dataclass(frozen=True, slots=True)
class ControlStatistics:
    """Counters of a control stream."""

    observations: int
    missed: int  # observations replaced by newer ones before they were read
    accepted: int
    refused: int


class StreamSession(ABC, Generic[Up, Down, AckT, Part]):
    """An open control stream: its opening, its iteration, the acknowledgements in order, and its end.

    A subclass says what an opening grants (`_begin`), what a frame down means (`_take`), and what waits to be read
    (`_next`).
    """

    def __init__(
        self,
        dial: Callable[[], Any],
        connection: WorldEndpoint,
        opening: Up,
        *,
        encode: Callable[[Up | KeepAlive | Release], Any],
        decode: Callable[[Any], Down | Closed],
        subject: str,
        release: bool,
    ) -> None:
        self._opening = opening
        self._subject = subject  # in messages: what is controlled
        self._release = release
        self._link: Link[Up | KeepAlive | Release, Down | Closed] = Link(
            dial,
            connection,
            encode=encode,
            decode=decode,
            on_frame=self._read,
            on_end=self._end,
            awaits=lambda: bool(self._acks),
        )
        self._granted = False
        self._changed = asyncio.Event()
        self._acks: deque[asyncio.Future[AckT] | None] = deque()  # waiters for acks, in the order of intents
        self._closed: WireError | None = None
        self._observations = self._missed = self._accepted = self._refused = 0

    @abstractmethod
    def _begin(self, answer: Down) -> int | None:
        """Keep what the world granted and return the lease's `ttl_ms`; None if the answer opens no stream."""

    @abstractmethod
    def _take(self, frame: Down) -> None:
        """Take in a frame after the first."""

    @abstractmethod
    def _next(self) -> Part | None:
        """Return the next part of the newest observations, if one waits."""

    async def __aenter__(self) -> Self:
        answer = await self._link.open(self._opening)
        if isinstance(answer, Closed):
            await self._link.close()
            raise LeaseRefusedError(
                f"the world refused {self._subject}: {answer.reason or 'no reason given'}",
                reason=answer.reason,
                retry_after_ms=answer.retry_after_ms,
            )
        ttl_ms = self._begin(answer)
        if ttl_ms is None:
            await self._link.close()
            raise MessageError("the first frame", "opened or closed")
        self._granted = True
        self._link.start(ttl_ms, KeepAlive())
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._link.close(Release() if self._release else None)

    @property
    def controlled(self) -> bool:
        """Whether the control stream is open."""
        return self._granted and not self._link.ended

    def statistics(self) -> ControlStatistics:
        """Return the counters of the stream; a batched one counts each part of the observations."""
        return ControlStatistics(self._observations, self._missed, self._accepted, self._refused)

    async def __aiter__(self) -> AsyncIterator[Part]:
        """Iterate over the newest observations until the stream ends."""
        while True:
            while (part := self._next()) is not None:
                yield part
            if self._link.ended:
                if self._closed is not None:
                    raise self._closed
                return
            await self._changed.wait()
            self._changed.clear()

    async def _submit(self, frame: Up) -> AckT:
        waiting: asyncio.Future[AckT] = asyncio.get_running_loop().create_future()
        self._send(frame, waiting)
        return await waiting

    def _send(self, frame: Up, waiting: asyncio.Future[AckT] | None = None) -> None:
        if self._closed is not None:
            raise self._closed
        self._link.send_nowait(frame)
        self._acks.append(waiting)

    def _send_encoded(self, message: Any) -> None:
        if self._closed is not None:
            raise self._closed
        self._link.send_encoded_nowait(message)
        self._acks.append(None)

    def _read(self, frame: Down | Closed) -> None:
        if isinstance(frame, Closed):
            raise ControlClosedError(
                f"the world ended {self._subject}: {frame.reason or 'as asked'}",
                reason=frame.reason,
                retry_after_ms=frame.retry_after_ms,
            )
        self._take(frame)

    def _acknowledge(self, ack: AckT, accepted: int, refused: int) -> None:
        """Give an acknowledgement to the oldest intent that waits for one."""
        if not self._acks:
            raise MessageError("ack", "an answer to an intent")
        waiting = self._acks.popleft()
        self._accepted += accepted
        self._refused += refused
        if waiting is not None and not waiting.done():
            waiting.set_result(ack)

    def _end(self, failure: WireError | None) -> None:
        self._closed = failure
        self._changed.set()
        for waiting in self._acks:
            if waiting is not None and not waiting.done():
                waiting.set_exception(failure or ControlClosedError("the control stream was closed"))
                waiting.exception()  # marks it as retrieved, as no task may be waiting
        self._acks.clear()
