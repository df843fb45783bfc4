"""Throws good and spoilt messages at a world: none may change it but by its rules, and none may make it fail."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from google.protobuf.message import Message
from tests.kits.wire_fuzz import Fuzzer
from tests.kits.wire_sample_columns import ColumnSamples

from tickmind.base import ManualClock
from tickmind.protocol import Lease
from tickmind.server.authority import Authority
from tickmind.server.delivery.outbox import Outbox
from tickmind.server.delivery.streams import Stream, StreamKind
from tickmind.server.seats import ControlSeat, HostSeat
from tickmind.server.services.plain_calls import plain_calls
from tickmind.server.services.snapshots import Snapshots, read_request
from tickmind.server.testing import meadow
from tickmind.wire import MessageError, codec, columns
from tickmind.wire.messages.frames import BatchOpen, ControlIntent, ControlOpen, IntentBatch, KeepAlive, Release
from tickmind.wire.messages.requests import (
    AcquireRequest,
    EntitiesRequest,
    InsightsRequest,
    StatusRequest,
    SubmitRequest,
    ThoughtRequest,
)
from tickmind.wire.v1 import lease_pb2, viewer_pb2
from tickmind.world import TileWorld

ACTORS = 12
AGENTS = ("a", "b")
CASES_PER_TICK = 40


@dataclass(slots=True)
class ServerFuzzReport:
    """What became of the cases so far."""

    cases: int = 0
    ticks: int = 0
    accepted: int = 0
    refused: Counter[str] = field(default_factory=Counter)  # what was thrown -> how often it was no message at all
    answered: Counter[str] = field(default_factory=Counter)  # what was thrown -> how often there was an answer


class ServerFuzzer:
    """Makes cases for ever from one seed. Any exception other than `MessageError` is a failure, as is a broken rule."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = random.Random(seed)
        self.clock = ManualClock()
        self.world = TileWorld.from_scenario(meadow(ACTORS, radius=3, seed=seed % 7))
        self.authority = Authority(self.world, clock=self.clock, secrets=self._secret)
        self.calls = {name: call for found in plain_calls(self.authority).values() for name, call in found.items()}
        self.snapshots = Snapshots(self.authority)
        self.samples = ColumnSamples(self.rng, self.authority.bounds)
        self.spoiler = Fuzzer(seed)
        self.report = ServerFuzzReport()
        self._leases: list[Lease] = []
        self._seats: list[tuple[ControlSeat | HostSeat, Stream[bytes]]] = []
        self._ways: dict[str, Callable[[], tuple[Message, Callable[[bytes], Any]]]] = {
            "acquire": self._acquire,
            "renew": self._renew,
            "release": self._release,
            "submit": self._submit,
            "thought": self._thought,
            "status": self._status,
            "insights": self._insights,
            "entities": self._entities,
            "snapshot": self._snapshot,
            "control": self._control,
            "control_batch": self._control_batch,
            "frame": self._frame,
        }
        self.authority.begin()

    def _secret(self) -> str:
        return "".join(self.rng.choices("abcdefghij", k=32))

    def run(self, cases: int) -> ServerFuzzReport:
        """Try some more cases."""
        names = list(self._ways)
        for _ in range(cases):
            name = self.rng.choice((*names, "frame", "frame", "submit"))
            self._try(name)
            if self.report.cases % CASES_PER_TICK == 0:
                self._tick()
        return self.report

    def _try(self, name: str) -> None:
        message, call = self._ways[name]()
        before = self.world.state_hash()
        self.report.cases += 1
        try:
            call(self._spoilt(message))
            self.report.answered[name] += 1
        except MessageError:
            self.report.refused[name] += 1
        assert self.world.state_hash() == before, f"{name} changed the world outside of a tick"
        self._check()

    def _check(self) -> None:
        authority = self.authority
        controlled = authority.leases.controlled
        held = np.zeros(ACTORS, dtype=np.int64)
        for grant in list(authority.leases._grants.values()):
            held[grant.rows[authority.leases.holds(grant, grant.rows)]] += 1
        assert (held <= 1).all(), "two leases control one actor"
        assert ((held == 1) == controlled).all(), "what is controlled is not what is held"

    def _tick(self) -> None:
        rng, authority = self.rng, self.authority
        answered = authority.inbox.answered.copy()
        record = authority.resolve()
        authority.publish(record)
        for _ in authority.prepare():
            pass
        self.report.ticks += 1
        self.report.accepted = authority.tally.accepted
        assert set(record.results.actor.tolist()) == set(np.flatnonzero(answered).tolist())
        state = record.actor_state
        places = set(zip(state.x.tolist(), state.y.tolist(), strict=True))
        assert len(places) == ACTORS, "two actors stand on one tile"
        self.clock.advance(rng.choice((0.1, 1.0, 1.0, 11.0)))
        authority.begin()
        self._seats = [(seat, stream) for seat, stream in self._seats if not stream.outbox.ended]
        for _, stream in self._seats:
            while rng.random() < 0.8 and stream.outbox.take() is not None:
                pass

    def _spoilt(self, message: Message) -> bytes:
        rng = self.rng
        way = rng.random()
        if way < 0.4:
            return message.SerializeToString()
        if way < 0.75:
            for _ in range(rng.randint(1, 2)):
                self.spoiler.spoil(message)
            return message.SerializeToString()
        data = bytearray(message.SerializeToString())
        for _ in range(rng.randint(1, 3)):
            place = rng.randrange(len(data) + 1)
            data[place : place + rng.randrange(3)] = rng.randbytes(rng.randrange(3))
        return bytes(data)

    # One message of each kind, and where it goes

    def _entity(self) -> str:
        return f"entity:{self.rng.randint(1, ACTORS)}"

    def _some_lease(self) -> Lease:
        if not self._leases or self.rng.random() < 0.1:
            return self.samples.lease()
        return self.rng.choice(self._leases[-8:])

    def _acquire(self) -> tuple[Message, Callable[[bytes], Any]]:
        previous = self._some_lease().lease_id if self.rng.random() < 0.3 else None
        request = AcquireRequest(self._entity(), self.rng.choice(AGENTS), previous)

        def call(data: bytes) -> None:
            answer = codec.parse(lease_pb2.AcquireLeaseResponse, self.calls["AcquireLease"](data))
            found = codec.decode_lease_answer(answer)
            if isinstance(found, Lease):
                self._leases.append(found)

        return codec.encode_acquire(request), call

    def _renew(self) -> tuple[Message, Callable[[bytes], Any]]:
        lease_id = self._some_lease().lease_id.reveal()
        return lease_pb2.RenewLeaseRequest(lease_id=lease_id), self.calls["RenewLease"]

    def _release(self) -> tuple[Message, Callable[[bytes], Any]]:
        lease_id = self._some_lease().lease_id.reveal()
        return lease_pb2.ReleaseLeaseRequest(lease_id=lease_id), self.calls["ReleaseLease"]

    def _submit(self) -> tuple[Message, Callable[[bytes], Any]]:
        lease = self._some_lease()
        tick_id = self.world.tick_id + self.rng.choice((0, 0, 0, -1, 1))
        request = SubmitRequest(lease.lease_id, lease.entity_id, tick_id, self.samples.intent())
        return codec.encode_submit(request), self.calls["SubmitIntent"]

    def _thought(self) -> tuple[Message, Callable[[bytes], Any]]:
        request = ThoughtRequest(self._some_lease().lease_id, self.samples.thought_report())
        return codec.encode_thought_request(request), self.calls["ReportThought"]

    def _status(self) -> tuple[Message, Callable[[bytes], Any]]:
        request = StatusRequest(self._some_lease().lease_id, self.samples.agent_status())
        return codec.encode_status_request(request), self.calls["ReportStatus"]

    def _insights(self) -> tuple[Message, Callable[[bytes], Any]]:
        lease = self._some_lease()
        insight = replace(self.samples.insight(), entity_id=lease.entity_id)
        request = InsightsRequest(lease.lease_id, (insight, self.samples.insight()))
        return codec.encode_insights_request(request), self.calls["ReportInsights"]

    def _entities(self) -> tuple[Message, Callable[[bytes], Any]]:
        request = EntitiesRequest(self.rng.random() < 0.5, self.rng.randrange(20), self._entity())
        return codec.encode_entities_request(request), self.calls["ListControllableEntities"]

    def _snapshot(self) -> tuple[Message, Callable[[bytes], Any]]:
        message = viewer_pb2.GetViewerSnapshotRequest(filter=columns.encode_filter(self.samples.view()))
        return message, self._look

    def _look(self, data: bytes) -> bytes:
        return self.snapshots.pack(self.authority.world_on_record(), read_request(data))

    def _control(self) -> tuple[Message, Callable[[bytes], Any]]:
        from tickmind.wire.v1.control_pb2 import ControlRequest

        previous = self._some_lease().lease_id if self.rng.random() < 0.3 else None
        opening = ControlOpen(self._entity(), self.rng.choice(AGENTS), previous)

        def call(data: bytes) -> None:
            frame = codec.decode_up(codec.parse(ControlRequest, data))
            if isinstance(frame, ControlOpen):
                stream = self._stream(StreamKind.CONTROL)
                self._sit(ControlSeat.open(self.authority, frame, stream), stream)

        return codec.encode_up(opening), call

    def _control_batch(self) -> tuple[Message, Callable[[bytes], Any]]:
        from tickmind.wire.v1.control_pb2 import ControlBatchRequest

        rows = np.array(sorted(self.rng.sample(range(ACTORS), self.rng.randint(0, 4))), dtype=np.int32)
        previous = self._some_lease().lease_id if self.rng.random() < 0.3 else None
        opening = BatchOpen(self.rng.choice(AGENTS), rows, previous)

        def call(data: bytes) -> None:
            frame = columns.decode_batch_up(codec.parse(ControlBatchRequest, data), self.authority.bounds)
            if isinstance(frame, BatchOpen):
                stream = self._stream(StreamKind.CONTROL_BATCH)
                self._sit(HostSeat.open(self.authority, frame, stream), stream)

        return columns.encode_batch_up(opening), call

    def _stream(self, kind: StreamKind) -> Stream[bytes]:
        return self.authority.streams.open(kind, "fuzz", Outbox(int(self.authority.limits.unanswered.maximum)))

    def _sit(self, seat: ControlSeat | HostSeat | None, stream: Stream[bytes]) -> None:
        if seat is not None:
            self._seats.append((seat, stream))
        else:
            self.authority.streams.close(stream)

    def _frame(self) -> tuple[Message, Callable[[bytes], Any]]:
        if not self._seats:
            return self._control()
        rng = self.rng
        seat, stream = rng.choice(self._seats)
        tick_id = self.world.tick_id + rng.choice((0, 0, 0, -1, 1))
        way = rng.random()
        if isinstance(seat, HostSeat):
            intents = IntentBatch(tick_id, self.samples.intent_columns(), np.empty(0, np.int32), np.empty(0, np.uint8))
            frame = intents if way < 0.8 else KeepAlive() if way < 0.95 else Release()
            message: Message = columns.encode_batch_up(frame)
        else:
            single = ControlIntent(tick_id, self.samples.intent())
            message = codec.encode_up(single if way < 0.8 else KeepAlive() if way < 0.95 else Release())

        def call(data: bytes) -> None:
            try:
                seat.take(data)
            except MessageError:
                seat.leave()  # as the service does: a frame that can't be read ends its stream
                self.authority.streams.close(stream)
                stream.outbox.drop()
                raise

        return message, call
