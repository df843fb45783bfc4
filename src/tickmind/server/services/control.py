"""ControlService: observations down, intents up; the client's frames keep the lease alive."""

import asyncio
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

import grpc.aio

from tickmind.server.authority import Authority
from tickmind.server.delivery.streams import Stream, StreamKind
from tickmind.server.seats import ControlSeat, HostSeat
from tickmind.server.services.ack_batcher import AckBatcher
from tickmind.server.services.methods import two_way
from tickmind.server.services.streaming import Sender, open_stream
from tickmind.wire import MessageError
from tickmind.wire.codec import decode_up, parse
from tickmind.wire.columns import decode_batch_up
from tickmind.wire.messages.frames import BatchOpen, ControlOpen
from tickmind.wire.v1 import control_pb2

AnySeat: TypeAlias = ControlSeat | HostSeat
Opener: TypeAlias = Callable[[bytes, Stream[bytes]], AnySeat | None]


class FrameTaker(Protocol):
    """Takes the frames of a stream."""

    def take(self, data: bytes, /) -> None:
        """Handle a frame; raises `MessageError` if it is malformed."""
        ...


def control_methods(authority: Authority) -> dict[str, Any]:
    """Return the methods of the service by name."""
    acks = batcher_of(authority)

    def take_seat(data: bytes, stream: Stream[bytes]) -> AnySeat | None:
        return sit(authority, data, stream)

    def host(data: bytes, stream: Stream[bytes]) -> AnySeat | None:
        opening = decode_batch_up(parse(control_pb2.ControlBatchRequest, data), authority.bounds)
        if not isinstance(opening, BatchOpen):
            raise MessageError("the first frame", "open")
        return HostSeat.open(authority, opening, stream)

    async def control(context: Any) -> None:
        await _serve(authority, context, StreamKind.CONTROL, take_seat, acks)

    async def control_batch(context: Any) -> None:
        await _serve(authority, context, StreamKind.CONTROL_BATCH, host, acks)

    return {"Control": two_way(control), "ControlBatch": two_way(control_batch)}


def play_method(authority: Authority) -> Any:
    """Return the method over which persons play; OperatorService has it, so that who calls it has the right."""
    acks = batcher_of(authority)

    def take_seat(data: bytes, stream: Stream[bytes]) -> AnySeat | None:
        return sit(authority, data, stream, may_play=True)

    async def play(context: Any) -> None:
        await _serve(authority, context, StreamKind.CONTROL, take_seat, acks)

    return two_way(play)


def batcher_of(authority: Authority) -> AckBatcher:
    """Return a batcher of acknowledgements for the pace of a world."""
    return AckBatcher(0.0 if authority.pace.lockstep else authority.pace.tick_s)


def sit(
    authority: Authority, data: bytes, stream: Stream[bytes], *, may_play: bool = False, as_json: bool = False
) -> ControlSeat | None:
    """Open the control of one actor with its first frame; a refusal is the last frame down.

    With `as_json` its observations are a `JsonFrame` each. Raises `MessageError` if that frame is malformed.
    """
    opening = decode_up(parse(control_pb2.ControlRequest, data))
    if not isinstance(opening, ControlOpen):
        raise MessageError("the first frame", "open")
    return ControlSeat.open(authority, opening, stream, may_play=may_play, as_json=as_json)


async def _serve(authority: Authority, context: Any, kind: StreamKind, opener: Opener, acks: AckBatcher) -> None:
    stream = await open_stream(authority, context, kind, authority.limits.unanswered.maximum)
    seat: AnySeat | None = None
    reading: asyncio.Task[None] | None = None
    try:
        first = await _first(authority, context)
        seat = None if stream.cut_off else opener(first, stream)  # its token may have been withdrawn meanwhile
        sender = Sender(authority, context, stream)
        if seat is not None:
            reading = asyncio.create_task(read_frames(context, seat, sender, stream, acks))
        await sender.run()
        if reading is not None and reading.done():
            reading.result()  # raises what was wrong with a frame
    finally:
        if reading is not None:
            reading.cancel()
        if seat is not None:
            seat.leave()
        authority.streams.close(stream)


async def _first(authority: Authority, context: Any) -> bytes:
    """Return the first frame, which must arrive in time."""
    limit_s = authority.limits.open_s.maximum
    try:
        async with asyncio.timeout(limit_s):
            data = await context.read()
    except TimeoutError:
        raise MessageError("the first frame", f"there within {limit_s:g} s") from None
    if data is grpc.aio.EOF:
        raise MessageError("the first frame", "there before the stream ends")
    return bytes(data)


async def read_frames(context: Any, taker: FrameTaker, sender: Sender, stream: Stream[bytes], acks: AckBatcher) -> None:
    """Read frames until the stream ends; any end of reading ends the stream."""
    try:
        while (data := await context.read()) is not grpc.aio.EOF and not stream.outbox.ended:
            sender.answer(taker.take, data, acks)
        stream.outbox.end()
    except grpc.aio.InternalError:
        stream.outbox.drop()  # the other side is gone
    except Exception:
        stream.outbox.drop()  # the caller reports the error
        raise
