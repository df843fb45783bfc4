"""A control stream's link: a queue up, frames down, and keep-alives in between."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Generic, TypeVar

import grpc.aio

from tickmind.wire.client.calls import call_error
from tickmind.wire.client.connection import WorldEndpoint
from tickmind.wire.errors import ControlClosedError, DeadlineError, OverloadedError, WireError

Up = TypeVar("Up")
Down = TypeVar("Down")

MAX_UNSENT = 64  # frames queued for a slow connection
# What gRPC says of a stream that the world closed before the first frame was written: the world's own status is lost.
STATUS_LOST = "Internal error from Core"
LOOKS = 3  # checks within a lease's lifetime; an idle link then sends a keep-alive


class Link(Generic[Up, Down]):
    """A control stream, independent of what its frames mean.

    `encode` and `decode` convert between frames and messages; `on_frame` gets each frame down but the first, and
    `on_end` the error that ended the stream, or None if this side ended it. `awaits` says whether an answer is pending:
    a world may be silent for as long as it likes, but answers at once. No more than `unsent` frames wait to be sent.
    """

    def __init__(
        self,
        dial: Callable[[], Any],
        connection: WorldEndpoint,
        *,
        encode: Callable[[Up], Any],
        decode: Callable[[Any], Down],
        on_frame: Callable[[Down], None],
        on_end: Callable[[WireError | None], None],
        awaits: Callable[[], bool],
        unsent: int = MAX_UNSENT,
    ) -> None:
        self._dial = dial
        self._call = dial()
        self._frames = aiter(self._call)  # unlike `read`, it returns frames received before a write failed
        self._connection = connection
        self._encode = encode
        self._decode = decode
        self._on_frame = on_frame
        self._on_end = on_end
        self._awaits = awaits
        self._unsent: asyncio.Queue[Any] = asyncio.Queue(unsent)
        self._tasks: list[asyncio.Task[None]] = []
        self._idle = True  # whether nothing was sent since the last check
        self._heard = False  # whether a frame was received since then
        self._ended = False

    @property
    def ended(self) -> bool:
        """Whether the stream has ended."""
        return self._ended

    async def _exchange(self, opening: Any) -> Any:
        with suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):  # reading reports why
            await self._call.write(opening)
        return await anext(self._frames, grpc.aio.EOF)

    async def open(self, first: Up) -> Down:
        """Send the first frame and wait for the first answer."""
        timeout_s = self._connection.timeout_s
        opening = self._encode(first)
        try:
            async with asyncio.timeout(timeout_s):
                try:
                    message = await self._exchange(opening)
                except grpc.aio.AioRpcError as error:
                    if error.details() != STATUS_LOST:
                        raise
                    self._call = self._dial()
                    self._frames = aiter(self._call)
                    message = await self._exchange(opening)
        except TimeoutError:
            self._call.cancel()
            raise DeadlineError(
                f"the world at {self._connection.address} did not open the stream within {timeout_s} s",
                status="DEADLINE_EXCEEDED",
            ) from None
        except grpc.aio.AioRpcError as error:
            raise call_error(error, self._connection) from None
        except asyncio.CancelledError:
            self._call.cancel()
            raise
        if message is grpc.aio.EOF:
            raise self._over()
        try:
            return self._decode(message)
        except WireError:
            self._call.cancel()
            raise

    def start(self, ttl_ms: int, keep_alive: Up) -> None:
        """Begin to read, to write and to send keep-alives."""
        self.start_silently()
        period_s = ttl_ms / 1000 / LOOKS
        self._tasks.append(asyncio.create_task(self._look(period_s, self._encode(keep_alive))))

    def start_silently(self) -> None:
        """Begin to read and to write, without keep-alives: only the frames of the caller keep the lease."""
        self._tasks = [asyncio.create_task(self._read()), asyncio.create_task(self._write())]

    def send_nowait(self, frame: Up) -> None:
        """Queue a frame. If it is invalid or the queue is full, it raises an error and sends nothing."""
        self._check_open()
        self.send_encoded_nowait(self._encode(frame))

    def send_encoded_nowait(self, message: Any) -> None:
        """Queue a frame that is a message already; raises the errors of `send_nowait`."""
        self._check_open()
        try:
            self._unsent.put_nowait(message)
        except asyncio.QueueFull:
            raise OverloadedError(
                f"{self._unsent.maxsize} frames wait to be sent; the connection is too slow",
                status="RESOURCE_EXHAUSTED",
            ) from None
        self._idle = False

    async def send(self, frame: Up) -> None:
        """Queue a frame as soon as there is room; raises `ControlClosedError` if the stream has ended."""
        self._check_open()
        await self._unsent.put(self._encode(frame))

    async def close(self, last: Up | None = None) -> None:
        """End the stream; after a last frame, wait (not forever) until the world has ended it."""
        if last is not None and not self._ended and self._tasks:
            try:
                self.send_nowait(last)
                async with asyncio.timeout(self._connection.timeout_s):
                    await asyncio.wait([self._tasks[0]])
            except (TimeoutError, WireError):
                pass  # the lease expires by itself
        self._call.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._end(None)

    async def _read(self) -> None:
        failure: WireError | None = None
        try:
            async for message in self._frames:
                self._heard = True
                self._on_frame(self._decode(message))
            failure = self._over()
        except grpc.aio.AioRpcError as error:
            failure = call_error(error, self._connection)
        except WireError as error:
            failure = error
            self._call.cancel()
        finally:
            self._end(failure)

    async def _write(self) -> None:
        try:
            while True:
                await self._call.write(await self._unsent.get())
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
            return  # the reader gets the same end and reports why

    async def _look(self, period_s: float, message: Any) -> None:
        """Send keep-alives, and end the stream if an answer is overdue for as long as a lease lasts."""
        silent = 0  # consecutive checks with an overdue answer; a stalled process has checked only once
        while not self._ended:
            self._idle, self._heard = True, False
            await asyncio.sleep(period_s)
            silent = silent + 1 if self._awaits() and not self._heard else 0
            if silent > LOOKS:
                address, silent_s = self._connection.address, period_s * LOOKS
                self._end(ControlClosedError(f"the world at {address} has not answered for {silent_s:g} s"))
                self._call.cancel()
            elif self._idle and not self._unsent.full():
                self._unsent.put_nowait(message)

    def _check_open(self) -> None:
        if self._ended:
            raise ControlClosedError("the control stream has ended; open a new one")

    def _over(self) -> WireError:
        return ControlClosedError(f"the world at {self._connection.address} ended the control stream")

    def _end(self, failure: WireError | None) -> None:
        if not self._ended:
            self._ended = True
            self._on_end(failure)
