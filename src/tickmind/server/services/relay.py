"""RelayService: the control streams of many clients of a bridge, over one stream."""

import asyncio
from collections.abc import Iterator
from typing import Any

import grpc

from tickmind.base import get_logger
from tickmind.server.authority import Authority
from tickmind.server.callers import WITHDRAWN
from tickmind.server.delivery.outbox import Outbox
from tickmind.server.delivery.streams import Stream, StreamKind
from tickmind.server.seats import WORN_OUT, ControlSeat, FrameMeter
from tickmind.server.services.ack_batcher import AckBatcher
from tickmind.server.services.control import batcher_of, read_frames, sit
from tickmind.server.services.methods import INTERNAL_WORDS, two_way
from tickmind.server.services.streaming import Sender, open_stream
from tickmind.wire import MessageError
from tickmind.wire.codec import parse
from tickmind.wire.json_form.frames import JsonFrame
from tickmind.wire.messages.limits import MAX_RELAYED_FRAMES
from tickmind.wire.v1 import relay_pb2 as pb

MESSAGE_BYTES = 256 * 1024  # of one message down; a longer frame is one of its own
_WAKE = b""  # in the carrier's outbox: some of its streams have frames
_log = get_logger(__name__)


def relay_methods(authority: Authority) -> dict[str, Any]:
    """Return the methods of the service by name."""
    acks = batcher_of(authority)

    async def relay_control(context: Any) -> None:
        await _serve(authority, context, acks)

    return {"RelayControl": two_way(relay_control)}


async def _serve(authority: Authority, context: Any, acks: AckBatcher) -> None:
    carrier = await open_stream(authority, context, StreamKind.RELAY, 1)
    relay = ControlRelay(authority, carrier)
    sender = Sender(authority, context, carrier)
    reading = asyncio.create_task(read_frames(context, relay, sender, carrier, acks))
    try:
        await sender.run(relay.messages)
        if reading.done():
            reading.result()  # raises what was wrong with a message
    finally:
        reading.cancel()
        relay.leave()
        authority.streams.close(carrier)


class RelayedStream:
    """One of the control streams: it counts as one that came by itself, and has a status when it ends."""

    __slots__ = ("as_json", "end", "number", "seat", "stream")

    def __init__(self, number: int, stream: Stream[bytes], *, as_json: bool) -> None:
        self.number = number
        self.stream = stream
        self.as_json = as_json  # whether its observations are sent as JSON
        self.seat: ControlSeat | None = None
        self.end = pb.RelayedEnd()

    def fail(self, status: grpc.StatusCode, details: str) -> None:
        """End it with an error, and drop what was not sent."""
        self.end = _ended(status, details)
        self.stream.outbox.drop()


class ControlRelay:
    """The control streams behind one carrier: `take` reads a message up, `messages` returns those down.

    An error of one control stream ends that one alone.
    """

    def __init__(self, authority: Authority, carrier: Stream[bytes]) -> None:
        self._authority = authority
        self._carrier = carrier
        self._open: dict[int, RelayedStream] = {}  # by their numbers
        self._changed: dict[RelayedStream, None] = {}  # those with frames to send, or with an end
        self._refused: list[tuple[int, str]] = []  # numbers that were refused, and why, to be sent
        self._last = 0  # the greatest number so far
        self._meter = FrameMeter(authority)  # of messages
        self._strays = FrameMeter(authority)  # of frames that belong to no control stream yet, or no longer

    def take(self, data: bytes) -> None:
        """Handle the frames of a message; raises `MessageError` if it is malformed."""
        request = parse(pb.RelayControlRequest, data)
        if not MAX_RELAYED_FRAMES.allows(len(request.frames)):
            raise MessageError("frames", f"at most {MAX_RELAYED_FRAMES.maximum:,}")
        most = int(self._authority.limits.frames_per_tick.maximum) * WORN_OUT * (1 + len(self._open))
        if self._meter.add() > most:
            self._cut_off("the client sends too many messages")
            return
        for frame in request.frames:
            relayed = self._open.get(frame.stream)
            is_stray = relayed is None or relayed.stream.outbox.ended
            if is_stray and not self._authority.limits.stray_frames.allows(self._strays.add()):
                self._cut_off("the client sends too many frames for no control stream")
            if self._carrier.cut_off:
                return
            kind = frame.WhichOneof("event")
            if relayed is None:
                if kind == "frame" and frame.stream > self._last:
                    self._begin(frame.stream, frame.frame, as_json=frame.as_json)
            elif kind == "end":
                self._forget(relayed)
            elif not is_stray:
                self._pass_on(relayed, frame.frame)

    def messages(self, _wake: bytes) -> Iterator[bytes]:
        """Return what all control streams have to send, in messages of a moderate size."""
        message, size = pb.RelayControlResponse(), 0
        while self._refused:
            number, why = self._refused.pop()
            message.frames.add(stream=number, end=_ended(grpc.StatusCode.RESOURCE_EXHAUSTED, why))
        while self._changed:
            relayed = next(iter(self._changed))
            del self._changed[relayed]
            outbox = relayed.stream.outbox
            while (frame := outbox.take()) is not None:
                if isinstance(frame, JsonFrame):
                    message.frames.add(stream=relayed.number, json=frame)
                else:
                    message.frames.add(stream=relayed.number, frame=frame)
                size += len(frame)
            if outbox.ended and relayed.number in self._open:
                message.frames.add(stream=relayed.number, end=_end_of(relayed))
                self._forget(relayed)
            if size >= MESSAGE_BYTES:
                yield message.SerializeToString()
                message, size = pb.RelayControlResponse(), 0
        if message.frames:
            yield message.SerializeToString()
        if self._authority.stopping and not self._open:
            self._carrier.outbox.end()

    def leave(self) -> None:
        """Remove all control streams; their leases run on until they expire."""
        for relayed in list(self._open.values()):
            self._forget(relayed)

    def _begin(self, number: int, first: bytes, *, as_json: bool) -> None:
        """Add a control stream; what is wrong with it is its end."""
        authority, peer = self._authority, self._carrier.peer
        self._last = number
        if why := authority.streams.why_not(StreamKind.CONTROL, peer):
            self._refuse(number, why)
            return
        outbox = Outbox[bytes](int(authority.limits.unanswered.maximum))
        stream = authority.streams.open(StreamKind.CONTROL, peer, outbox)
        relayed = self._open[number] = RelayedStream(number, stream, as_json=as_json)
        outbox.wake = lambda: self._note(relayed)
        self._pass_on(relayed, first)

    def _refuse(self, number: int, why: str) -> None:
        """Send the end of a control stream that was never added."""
        if not self._authority.limits.stray_frames.allows(len(self._refused) + 1):
            self._cut_off("the client does not read why its control streams are refused")
            return
        self._refused.append((number, why))
        self._carrier.outbox.replace((_WAKE,))

    def _cut_off(self, why: str) -> None:
        self._authority.streams.cut_off(self._carrier, why)

    def _pass_on(self, relayed: RelayedStream, frame: bytes) -> None:
        try:
            if relayed.seat is None:
                relayed.seat = sit(self._authority, frame, relayed.stream, as_json=relayed.as_json)
            else:
                relayed.seat.take(frame)
        except MessageError as error:
            relayed.fail(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        except Exception:  # noqa: BLE001 - whatever it is, the caller sees no inside of ours, and the others go on
            _log.exception("a relayed control stream failed")
            relayed.fail(grpc.StatusCode.INTERNAL, INTERNAL_WORDS)

    def _note(self, relayed: RelayedStream) -> None:
        self._changed[relayed] = None
        self._carrier.outbox.replace((_WAKE,))

    def _forget(self, relayed: RelayedStream) -> None:
        del self._open[relayed.number]
        self._changed.pop(relayed, None)
        if relayed.seat is not None:
            relayed.seat.leave()
        relayed.stream.outbox.wake = _ignore
        self._authority.streams.close(relayed.stream)


def _end_of(relayed: RelayedStream) -> pb.RelayedEnd:
    why = relayed.stream.cut_off
    if not why:
        return relayed.end
    status = grpc.StatusCode.UNAUTHENTICATED if why == WITHDRAWN else grpc.StatusCode.RESOURCE_EXHAUSTED
    return _ended(status, why)


def _ended(status: grpc.StatusCode, details: str) -> pb.RelayedEnd:
    return pb.RelayedEnd(status=status.value[0], details=details)


def _ignore() -> None:
    """Do nothing: no caller waits."""
