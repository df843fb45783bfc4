"""Control streams without the network: a seat takes frames from a client and puts frames into its outbox."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from tickmind.protocol import REASON_CODES, REASONS, Ack, IntentColumns, Reason
from tickmind.server.authority import Authority
from tickmind.server.control.inbox import select
from tickmind.server.control.leases import Grant
from tickmind.server.delivery.audience import ActorListener, Host
from tickmind.server.delivery.streams import Stream
from tickmind.wire import MessageError
from tickmind.wire.codec import decode_up, encode_down, parse
from tickmind.wire.columns import decode_batch_up, encode_batch_down
from tickmind.wire.messages.frames import (
    AckBatch,
    BatchOpen,
    BatchOpened,
    Closed,
    ControlIntent,
    ControlOpen,
    ControlOpened,
    IntentBatch,
    LeasesLost,
    Release,
)
from tickmind.wire.v1 import control_pb2

if TYPE_CHECKING:
    from tickmind.protocol.columns import Int32, UInt8

WORN_OUT = 10  # times the allowed number of frames end a stream
INVALID, PLAYED = REASON_CODES[Reason.INVALID_LEASE], REASON_CODES[Reason.PLAYED]
ACCEPTED = Ack(True)
ReaderT = TypeVar("ReaderT", bound=ActorListener | Host)


class FrameMeter:
    """Counts the frames of a stream; the count restarts with each tick, and with each second of a long tick."""

    __slots__ = ("_authority", "_count", "_since_s", "_tick_id")

    def __init__(self, authority: Authority) -> None:
        self._authority = authority
        self._tick_id = -1
        self._since_s = 0.0
        self._count = 0

    def add(self) -> int:
        """Count a frame, and return the count."""
        tick_id, now_s = self._authority.inbox.tick_id, self._authority.clock.monotonic()
        if tick_id != self._tick_id or now_s - self._since_s >= 1.0:
            self._tick_id, self._since_s, self._count = tick_id, now_s, 0
        self._count += 1
        return self._count


class _Seat(ABC, Generic[ReaderT]):
    """The common part of streams of one actor and of many: the grant, the frame count, and the end."""

    def __init__(self, authority: Authority, stream: Stream[bytes], grant: Grant, reader: ReaderT) -> None:
        self._authority = authority
        self._stream = stream
        self._grant = grant
        self._reader = reader
        self._meter = FrameMeter(authority)
        self._limit = int(authority.limits.frames_per_tick.maximum)

    def close(self, reason: Reason) -> None:
        """End the stream with a reason; leases run on if they have time left."""
        self._end(Closed(reason))

    def leave(self) -> None:
        """Remove a closed stream; leases run on until they expire."""
        self._authority.audience.remove(self._reader)
        if self._authority.seats.get(self._grant.number) is self:
            del self._authority.seats[self._grant.number]

    def _open(self, opened: ControlOpened | BatchOpened) -> None:
        self._authority.seats[self._grant.number] = self
        self._stream.outbox.put(self._encode(opened))
        self._authority.audience.add(self._reader)
        self._authority.on_progress()

    def _release(self) -> None:
        self.leave()
        self._authority.leases.release_grant(self._grant)
        self._end(Closed())

    def _end(self, closed: Closed) -> None:
        self.leave()
        self._stream.outbox.end(self._encode(closed))

    def _send(self, data: bytes) -> None:
        if not self._stream.outbox.put(data) and not self._stream.outbox.ended:
            self._authority.streams.cut_off(self._stream, "the client does not read its acknowledgements")

    @abstractmethod
    def lose(self, rows: "Int32", reason: Reason) -> None:
        """Remove some of its actors from its control."""

    @abstractmethod
    def _encode(self, frame: Any) -> bytes: ...


class ControlSeat(_Seat[ActorListener]):
    """One actor controlled over one stream."""

    @classmethod
    def open(
        cls,
        authority: Authority,
        opening: ControlOpen,
        stream: Stream[bytes],
        *,
        may_play: bool = False,
        as_json: bool = False,
    ) -> "ControlSeat | None":
        """Acquire control as the first frame asks; a refusal is the last frame down.

        Raises `MessageError` for a person who may not borrow an entity.
        """
        if opening.play and not may_play:
            raise MessageError("open.play", "false; only an operator may let persons play")
        taken = authority.take(opening.entity_id, opening.controller_id, opening.previous_lease_id, play=opening.play)
        if isinstance(taken, Closed):
            stream.outbox.end(encode_down(taken).SerializeToString())
            return None
        grant, lease = taken
        want_floors = opening.want_floors or bool(authority.run.floors)  # where ways depend on them
        listener = ActorListener(
            int(grant.rows[0]), grant, stream.outbox, frames=True, want_floors=want_floors, as_json=as_json
        )
        seat = cls(authority, stream, grant, listener)
        seat._open(ControlOpened(lease, authority.run_of(lease.entity_id)))
        return seat

    def take(self, data: bytes) -> None:
        """Handle a frame. Raises `MessageError` if it is malformed; a bad intent is refused by its ack."""
        frames = self._meter.add()
        known = self._authority.read_intents.get(data)
        message = parse(control_pb2.ControlRequest, data) if known is None else None
        if self._authority.leases.renew_grant(self._grant):
            return  # `lose` has ended the stream
        if frames > self._limit * WORN_OUT:
            self.close(Reason.OVERLOADED)
        elif known is not None:
            self._answer(known, overloaded=frames > self._limit)
        elif message is not None:
            self._take_new(message, data, overloaded=frames > self._limit)

    def _take_new(self, message: control_pb2.ControlRequest, data: bytes, *, overloaded: bool) -> None:
        """Handle a frame that no client has sent in this tick yet."""
        try:
            frame = decode_up(message)
        except MessageError as error:
            if message.WhichOneof("frame") != "intent":
                raise
            reason = Reason.OVERLOADED if overloaded else error.reason
            self._acknowledge(max(message.intent.tick_id, 0), self._authority.refuse(reason))
            return
        if isinstance(frame, ControlIntent):
            self._authority.remember(data, frame)
            self._answer(frame, overloaded=overloaded)
        elif isinstance(frame, Release):
            self._release()
        elif isinstance(frame, ControlOpen):
            raise MessageError("open", "the first frame and no other")

    def _answer(self, frame: ControlIntent, *, overloaded: bool) -> None:
        authority = self._authority
        if overloaded:
            reason = Reason.OVERLOADED
        else:
            row = self._reader.row
            reason = authority.leases.suspended(self._grant, row)
            reason = reason or authority.inbox.offer(row, frame.tick_id, frame.intent)
        if reason:
            self._acknowledge(frame.tick_id, authority.refuse(reason))
        else:
            self._acknowledge(frame.tick_id, ACCEPTED)
            authority.count_answers(1)

    def _acknowledge(self, tick_id: int, ack: Ack) -> None:
        self._send(self._authority.acknowledgement(tick_id, ack))

    def lose(self, _rows: "Int32", reason: Reason) -> None:
        """End: the lease is over, or belongs to a newer stream."""
        self.close(reason)

    def _encode(self, frame: ControlOpened | Closed) -> bytes:
        return encode_down(frame).SerializeToString()


class HostSeat(_Seat[Host]):
    """Many actors of one host controlled over one stream."""

    @classmethod
    def open(cls, authority: Authority, opening: BatchOpen, stream: Stream[bytes]) -> "HostSeat | None":
        """Acquire control as the first frame asks; a refusal is the last frame down."""
        taken = authority.take_many(opening.actor, opening.controller_id, opening.previous_lease_id)
        if isinstance(taken, Closed):
            stream.outbox.end(encode_batch_down(taken).SerializeToString())
            return None
        seat = cls(authority, stream, taken.grant, Host(taken.granted, taken.grant, stream.outbox))
        opened = BatchOpened(
            taken.lease_id,
            authority.leases.ttl_ms,
            taken.granted,
            taken.epoch,
            taken.refused,
            taken.refused_reason,
            authority.run,
        )
        seat._open(opened)
        return seat

    def take(self, data: bytes) -> None:
        """Handle a frame. Raises `MessageError` if it is malformed; a bad intent is refused by its ack."""
        frames = self._meter.add()
        frame = decode_batch_up(parse(control_pb2.ControlBatchRequest, data), self._authority.bounds)
        if self._authority.leases.renew_grant(self._grant):
            return  # `lose` has ended the stream
        if frames > self._limit * WORN_OUT:
            self.close(Reason.OVERLOADED)
        elif isinstance(frame, IntentBatch):
            self._answer(frame, overloaded=frames > self._limit)
        elif isinstance(frame, Release):
            self._release()
        elif isinstance(frame, BatchOpen):
            raise MessageError("open", "the first frame and no other")

    def _answer(self, batch: IntentBatch, *, overloaded: bool) -> None:
        authority, intents = self._authority, batch.intents
        if overloaded:
            codes = np.full(len(intents), REASON_CODES[Reason.OVERLOADED], dtype=np.uint8)
        else:
            codes = self._offer(batch.tick_id, intents)
        accepted_ones = codes == 0
        rows = np.concatenate((intents.actor[~accepted_ones], batch.refused))
        reasons = np.concatenate((codes[~accepted_ones], batch.refused_reason))
        order = np.argsort(rows)
        accepted = int(accepted_ones.sum())
        for code, count in zip(*np.unique(reasons, return_counts=True), strict=True):
            authority.refuse(REASONS[code], int(count))
        acks = AckBatch(batch.tick_id, accepted, rows[order], reasons[order])
        self._send(self._encode(acks))
        if accepted:
            authority.count_answers(accepted)

    def _offer(self, tick_id: int, intents: IntentColumns) -> "UInt8":
        leases = self._authority.leases
        held = leases.holds(self._grant, intents.actor)
        taken = held & ~leases.are_played(intents.actor)
        if taken.all():
            return self._authority.inbox.offer_many(tick_id, intents)
        codes = np.where(held, PLAYED, INVALID).astype(np.uint8)
        codes[taken] = self._authority.inbox.offer_many(tick_id, select(intents, taken))
        return codes

    def lose(self, rows: "Int32", reason: Reason) -> None:
        """Remove some of the actors, or all, from its control."""
        if self._grant.ended:
            self.close(reason)
            return
        self._reader.lose(rows)
        lost = LeasesLost(np.sort(rows), np.full(len(rows), REASON_CODES[reason], dtype=np.uint8))
        self._send(self._encode(lost))

    def _encode(self, frame: BatchOpened | AckBatch | LeasesLost | Closed) -> bytes:
        return encode_batch_down(frame).SerializeToString()
