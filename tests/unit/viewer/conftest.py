"""A lively world to make frames of, and a reader of frames that is written apart from the writer."""

import random
from dataclasses import dataclass, replace

import numpy as np
import orjson
import pytest

from tickmind.protocol import Build, Direction, Drop, Intent, Interact, Move, Pickup, Say, Sleep, Use, Wait, Wake
from tickmind.server.delivery.viewing import Viewing
from tickmind.server.testing import meadow
from tickmind.viewer.frames import FrameKind, Tag
from tickmind.wire import ViewFilter, codec, columns
from tickmind.wire.v1 import viewer_pb2
from tickmind.world import TileWorld
from tickmind.world.scenario.kinds import ObjectAction, ObjectKind, ObjectState
from tickmind.world.scenario.scenario import ObjectSpawn

DX, DY = (0, 1, 1, 1, 0, -1, -1, -1), (-1, -1, 0, 1, 1, 1, 0, -1)

SLEEPY: tuple[Intent, ...] = (Sleep(), Wake())
WITH_BERRIES: tuple[Intent, ...] = (Pickup("berries"), Use("berries"), Drop("berries"))


@dataclass
class Lively:
    """Steps a world with random intents, and tells each tick as a record and as a viewer's event off the wire."""

    world: TileWorld
    dice: random.Random

    def __post_init__(self):
        self.info = self.world.info
        self.viewing = Viewing(self.info, self.world.view())
        self.bounds = columns.ColumnBounds.of(self.info)

    def intents(self):
        found: dict[int, Intent] = {}
        objects = [thing.object_id for thing in self.info.objects] or ["none"]
        for row in range(len(self.info.actors)):
            match self.dice.randrange(14):
                case 0:
                    pass
                case 1:
                    found[row] = Wait()
                case 2:
                    found[row] = Say(f"I am {row} \u202e <b>&\U0001f600")
                case 3:
                    found[row] = self.dice.choice(SLEEPY)
                case 4:
                    found[row] = Interact(self.dice.choice(objects))
                case 5:
                    found[row] = self.dice.choice(WITH_BERRIES)
                case 7 if near := self.walls_near(row):
                    found[row] = Interact(near)
                case 6 if any(kind.build for kind in self.info.kinds):
                    found[row] = Build(self.dice.choice(("shed", "wall")), Direction(self.dice.randrange(8)))
                case _:
                    found[row] = Move(Direction(self.dice.randrange(8)))
        return found

    def walls_near(self, row):
        """The id of a wall or shed beside an actor, or nothing."""
        view = self.world.view()
        x, y = view.actors.x[row], view.actors.y[row]
        near = (np.abs(view.object_x - x) <= 1) & (np.abs(view.object_y - y) <= 1)
        ids = (self.info.objects[at].object_id for at in np.flatnonzero(near).tolist())
        return next((name for name in ids if name.startswith(("shed:", "wall:"))), "")

    def step(self):
        free = np.array([self.dice.random() < 0.9 for _ in self.info.actors])
        record = self.world.step(self.intents(), free)
        self.viewing.publish(record)
        message = codec.parse(viewer_pb2.StreamViewerEventsResponse, self.viewing.encoded(ViewFilter()))
        return record, columns.decode_viewer_event(message.event, self.bounds)

    def snapshot(self):
        return self.viewing.snapshot(self.world.view(), ViewFilter())


class Reader:
    """What a page makes of frames."""

    def __init__(self):
        self.tick_id: int | None = None
        self.results = {}  # actor row -> action, reason of the newest tick

    def take(self, frame):
        part = frame.sections
        array = lambda tag, kind: np.frombuffer(part.get(tag, b""), dtype=kind)  # noqa: E731 - reads like a table
        if frame.kind is FrameKind.KEYFRAME:
            self.x, self.y = array(Tag.ACTOR_X, "<i2").copy(), array(Tag.ACTOR_Y, "<i2").copy()
            self.facing, self.status = array(Tag.ACTOR_FACING, "u1").copy(), array(Tag.ACTOR_STATUS, "u1").copy()
            self.state = array(Tag.OBJECT_STATE, "u1").copy()
            self.stock = array(Tag.OBJECT_STOCK, "<i4").copy()
            heaps = array(Tag.GROUND, "<i4").reshape(4, -1).T.tolist()
            self.ground = {(x, y, kind): amount for x, y, kind, amount in heaps}
        else:
            assert self.tick_id is not None
            assert frame.tick_id == self.tick_id + 1
            self._tick(part, array)
        self.tick_id = frame.tick_id

    def _tick(self, part, array):
        self.results = {}
        packed, codes = array(Tag.STEPS, "u1").tolist(), array(Tag.STEP_CODES, "u1").tolist()
        rows = array(Tag.STEP_ROWS, "<u4").tolist()
        if packed:
            table, numbers, rare = (
                packed[:16],
                [half for byte in packed[16:] for half in (byte & 15, byte >> 4)],
                iter(codes),
            )
            rows = range(len(self.x))
            codes = [table[number] if number < 15 else next(rare) for number in numbers[: len(self.x)]]
            assert list(rare) == []
        for row, code in zip(rows, codes, strict=True):
            if 1 <= code <= 8:
                self.x[row] += DX[code - 1]
                self.y[row] += DY[code - 1]
                self.facing[row] = code - 1
                self.results[row] = (1, 0)
            elif 9 <= code <= 72:
                self.facing[row] = (code - 9) % 8
                self.results[row] = (1, (code - 9) // 8 + 12)
            elif code == 73:
                self.results[row] = (0, 0)
        rows, places = array(Tag.PLACE_ROWS, "<u4"), array(Tag.PLACES, "<i2").reshape(2, -1)
        self.x[rows], self.y[rows], self.facing[rows] = places[0], places[1], array(Tag.PLACE_FACING, "u1")
        self.status[array(Tag.STATUS_ROWS, "<u4")] = array(Tag.STATUS, "u1")
        actions = array(Tag.RESULT_CODES, "u1").reshape(2, -1).T.tolist()
        for row, (action, reason) in zip(array(Tag.RESULT_ROWS, "<u4").tolist(), actions, strict=True):
            assert row not in self.results
            self.results[row] = (action, reason)
        self.said = orjson.loads(part.get(Tag.SAID) or b"[]")
        self.details = orjson.loads(part.get(Tag.DETAILS) or b"[]")
        for change in orjson.loads(part.get(Tag.OBJECTS) or b"[]"):
            if len(change) == 4:
                x, y, kind, amount = change
                self.ground.pop((x, y, kind), None)
                if amount:
                    self.ground[x, y, kind] = amount
            elif change[1] == "state":
                self.state[change[0]] = change[2]
            elif change[1] == "stock":
                self.stock[change[0]] = change[2]


def with_walls(scenario, most):
    """Let actors build and tear down so many walls, and so many sheds of 2 x 3 tiles."""
    if not most:
        return scenario
    smash = ObjectAction("smash", "plain", removes=True)
    state = ObjectState("plain", walkable=False, opaque=True, actions=(smash,))
    wall = ObjectKind("wall", (state,), build=ObjectAction("build", "plain"), most_built=most)
    shed = replace(wall, name="shed", size=(2, 3))
    numbers = range(1, most + 1)
    later = [ObjectSpawn(f"{kind}:{number}", kind, -1, -1, "plain") for kind in ("shed", "wall") for number in numbers]
    return replace(scenario, kinds=(*scenario.kinds, shed, wall), objects=(*scenario.objects, *later))


@pytest.fixture
def lively():
    def make(actors=40, seed=1, walls=0, **more):
        scenario = meadow(actors, seed=seed, **more)
        return Lively(TileWorld.from_scenario(with_walls(scenario, walls)), random.Random(seed))

    return make


@pytest.fixture
def reader():
    return Reader()
