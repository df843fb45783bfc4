"""A small world under an authority whose time stands still until a test lets it pass."""

import pytest

from tickmind.base import ManualClock
from tickmind.server.authority import Authority
from tickmind.server.delivery.outbox import Outbox
from tickmind.server.delivery.streams import StreamKind
from tickmind.server.limits import MAX
from tickmind.server.seats import ControlSeat, HostSeat
from tickmind.server.testing import meadow
from tickmind.wire import codec, columns
from tickmind.wire.messages.frames import BatchOpen, ControlOpen
from tickmind.wire.v1 import control_pb2
from tickmind.world import TileWorld


class Game:
    """One authority, and streams to it without a network."""

    def __init__(self, actors=4, *, limits=MAX, scenario=None, **given):
        self.clock = ManualClock()
        self.world = TileWorld.from_scenario(scenario or meadow(actors, radius=4))
        self.limits = limits
        self.authority = Authority(self.world, clock=self.clock, limits=limits, **given)

    def stream(self, kind=StreamKind.CONTROL, capacity=None):
        outbox: Outbox[bytes] = Outbox(capacity or int(self.limits.unanswered.maximum))
        return self.authority.streams.open(kind, "here", outbox)

    def control(self, entity_id="entity:1", controller="me", previous=None):
        stream = self.stream()
        return Seated(ControlSeat.open(self.authority, ControlOpen(entity_id, controller, previous), stream), stream)

    def host(self, rows, controller="host", previous=None):
        stream = self.stream(StreamKind.CONTROL_BATCH)
        return HostSeated(
            HostSeat.open(self.authority, BatchOpen(controller, rows, previous), stream),
            stream,
            self.authority.bounds,
        )

    def tick(self):
        """Go through one whole tick and give its record."""
        self.authority.begin()
        return self.finish()

    def finish(self):
        """Go through the rest of a tick that was begun."""
        record = self.authority.resolve()
        self.authority.publish(record)
        for _ in self.authority.prepare():
            pass
        return record


class Seated:
    """A control stream as its agent sees it."""

    def __init__(self, seat, stream):
        self.seat = seat
        self.stream = stream

    def send(self, frame):
        self.seat.take(codec.encode_up(frame).SerializeToString())

    def read(self):
        """All frames that wait."""
        found = []
        while (data := self.stream.outbox.take()) is not None:
            found.append(codec.decode_down(codec.parse(control_pb2.ControlResponse, data)))
        return found


class HostSeated(Seated):
    """A batch stream as its host sees it."""

    def __init__(self, seat, stream, bounds):
        super().__init__(seat, stream)
        self.bounds = bounds

    def send(self, frame):
        self.seat.take(columns.encode_batch_up(frame).SerializeToString())

    def read(self):
        found = []
        while (data := self.stream.outbox.take()) is not None:
            message = codec.parse(control_pb2.ControlBatchResponse, data)
            found.append(columns.decode_batch_down(message, self.bounds))
        return found


@pytest.fixture
def make_game():
    return Game


@pytest.fixture
def game():
    return Game()
