"""Control streams of many clients of a bridge, over one stream to the world."""

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

import grpc

from tickmind.wire.client.calls import status_error
from tickmind.wire.client.connection import WorldEndpoint
from tickmind.wire.client.link import MAX_UNSENT, Link
from tickmind.wire.codec import parse
from tickmind.wire.errors import ControlClosedError, DeadlineError, OverloadedError, WireError
from tickmind.wire.json_form.frames import JsonFrame
from tickmind.wire.messages.limits import MAX_RELAYED_FRAMES
from tickmind.wire.v1 import relay_pb2 as pb

MESSAGE_BYTES = 256 * 1024  # of one message up; a longer frame is one of its own
_STATUS = {status.value[0]: status for status in grpc.StatusCode}


class ControlLink(Protocol):
    """A control stream of one client of a bridge; frames, which stay as they come, are given as their bytes."""

    @property
    def ended(self) -> bool:
        """Whether the stream has ended."""
        ...

    async def open(self, first: bytes, /) -> bytes:
        """Send the first frame and wait for the first answer; raises `WireError` if there is none."""
        ...

    def start_silently(self) -> None:
        """Begin to pass on what comes down."""
        ...

    def send_nowait(self, frame: bytes, /) -> None:
        """Queue a frame; raises `WireError` if the stream has ended or too many frames wait."""
        ...

    async def close(self) -> None:
        """End the stream; the lease runs on."""
        ...


class RelayedLink:
    """One control stream of a `ControlCarrier`, which makes it.

    Once it is started, `on_frame` gets each frame down but the first, and `on_end` the error that ended the stream, or
    None if this side ended it.
    """

    def __init__(
        self,
        carrier: "ControlCarrier",
        on_frame: Callable[[bytes], None],
        on_end: Callable[[WireError | None], None],
        *,
        as_json: bool = False,
    ) -> None:
        self._carrier = carrier
        self._as_json = as_json
        self._on_frame = on_frame
        self._on_end = on_end
        self._number = 0
        self._first: asyncio.Future[bytes] | None = None  # while it opens
        self._early: list[bytes] | None = []  # frames that came before it was started
        self._ended = False
        self._failure: WireError | None = None  # why it ended
        self.unsent = 0  # frames that wait to be sent

    @property
    def ended(self) -> bool:
        """Whether the stream has ended."""
        return self._ended

    async def open(self, first: bytes) -> bytes:
        """Send the first frame and wait for the first answer; raises `WireError` if there is none."""
        self._first = asyncio.get_running_loop().create_future()
        self._number = self._carrier.add(self)
        self._send(first, as_json=self._as_json)
        timeout_s = self._carrier.connection.timeout_s
        try:
            async with asyncio.timeout(timeout_s):
                return await self._first
        except TimeoutError:
            raise DeadlineError(
                f"the world at {self._carrier.connection.address} did not open the stream within {timeout_s} s",
                status="DEADLINE_EXCEEDED",
            ) from None

    def start_silently(self) -> None:
        """Begin to pass on what comes down."""
        early, self._early = self._early, None
        for frame in early or ():
            self._on_frame(frame)
        if self._ended:
            self._on_end(self._failure)

    def send_nowait(self, frame: bytes) -> None:
        """Queue a frame; raises `WireError` if the stream has ended or too many frames wait."""
        self._send(frame)

    def _send(self, frame: bytes, *, as_json: bool = False) -> None:
        if self._ended:
            raise ControlClosedError("the control stream has ended; open a new one")
        if self.unsent >= MAX_UNSENT:
            raise OverloadedError(
                f"{MAX_UNSENT} frames wait to be sent; the connection is too slow", status="RESOURCE_EXHAUSTED"
            )
        self.unsent += 1
        self._carrier.send(self, pb.RelayedFrame(stream=self._number, frame=frame, as_json=as_json))

    async def close(self) -> None:
        """End the stream; the lease runs on."""
        if self._number and not self._ended:
            self._carrier.send(self, pb.RelayedFrame(stream=self._number, end=pb.RelayedEnd()))
        self.end(None)

    def take(self, frame: bytes) -> None:
        """Pass on a frame that came down."""
        if self._first is not None and not self._first.done():
            self._first.set_result(frame)
        elif self._early is not None:
            self._early.append(frame)
        else:
            self._on_frame(frame)

    def end(self, failure: WireError | None) -> None:
        """Note that nothing more comes, because of `failure` or because this side has ended it."""
        if self._ended:
            return
        self._ended, self._failure = True, failure
        self._carrier.remove(self, self._number)
        if self._first is not None and not self._first.done() and failure is not None:
            self._first.set_exception(failure)
        elif self._early is None:
            self._on_end(failure)


class ControlCarrier:
    """One stream to the world with the control streams of all clients that have one token.

    It is dialled for its first control stream. When it ends, all of them do, and `on_empty` is called as soon as there
    is none: it is not used again then.
    """

    def __init__(self, dial: Callable[[], Any], connection: WorldEndpoint, on_empty: Callable[[], None]) -> None:
        self.connection = connection
        self._on_empty = on_empty
        self._links: dict[int, RelayedLink] = {}  # by their numbers
        self._last = 0  # the greatest number so far
        self._waiting: list[tuple[RelayedLink, pb.RelayedFrame]] = []  # frames to be sent
        self._changed = asyncio.Event()
        self._stream: Link[pb.RelayControlRequest, pb.RelayControlResponse] = Link(
            dial,
            connection,
            encode=pb.RelayControlRequest.SerializeToString,
            decode=lambda data: parse(pb.RelayControlResponse, data),
            on_frame=self._take,
            on_end=self._end,
            awaits=lambda: False,
            unsent=1,  # frames wait here, where they are put together
        )
        self._sending = asyncio.create_task(self._send())

    def add(self, link: RelayedLink) -> int:
        """Add a control stream, and return its number."""
        self._last += 1
        self._links[self._last] = link
        return self._last

    def remove(self, link: RelayedLink, number: int) -> None:
        """Remove a control stream that has ended."""
        if self._links.pop(number, None) is link and not self._links:
            self._on_empty()

    def send(self, link: RelayedLink, frame: pb.RelayedFrame) -> None:
        """Queue a frame of a control stream."""
        self._waiting.append((link, frame))
        self._changed.set()

    async def close(self) -> None:
        """End the stream, and all control streams in it."""
        self._sending.cancel()
        await asyncio.gather(self._sending, return_exceptions=True)
        await self._stream.close()

    async def _send(self) -> None:
        try:
            await self._changed.wait()
            self._take(await self._stream.open(self._next()))
            self._stream.start_silently()
            while True:
                await self._changed.wait()
                await self._stream.send(self._next())
        except WireError as error:
            self._end(error)

    def _next(self) -> pb.RelayControlRequest:
        """Return a message with as many of the waiting frames as it may have."""
        message, size, count = pb.RelayControlRequest(), 0, 0
        for link, frame in self._waiting:
            if size >= MESSAGE_BYTES or not MAX_RELAYED_FRAMES.allows(count + 1):
                break
            message.frames.append(frame)
            size += len(frame.frame)
            count += 1
            link.unsent -= 1
        del self._waiting[:count]
        if not self._waiting:
            self._changed.clear()
        return message

    def _take(self, message: pb.RelayControlResponse) -> None:
        for frame in message.frames:
            link = self._links.get(frame.stream)
            if link is None:
                continue  # it has ended here
            match frame.WhichOneof("event"):
                case "end":
                    link.end(self._failure(frame.end))
                case "json":
                    link.take(JsonFrame(frame.json))
                case _:
                    link.take(frame.frame)

    def _failure(self, end: pb.RelayedEnd) -> WireError:
        if not end.status:
            return ControlClosedError(f"the world at {self.connection.address} ended the control stream")
        return status_error(_STATUS.get(end.status, grpc.StatusCode.UNKNOWN), end.details, self.connection)

    def _end(self, failure: WireError | None) -> None:
        for link in list(self._links.values()):
            link.end(failure or ControlClosedError("the connection to the world was closed"))
