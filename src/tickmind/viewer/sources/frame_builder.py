"""The frame builder: follows a world tick by tick, from a record or from live events."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tickmind.protocol import ActorColumns, ObjectDelta, TickRecord, WorldInfo
from tickmind.viewer.frames import Happened, Names, Scene, keyframe, names_of, tick
from tickmind.viewer.frames.tick import ground_place

if TYPE_CHECKING:
    from tickmind.wire import ViewerEvent, ViewerSnapshot


class FrameBuilder:
    """Follows one world and makes its frames. It takes ticks in order; `scene` is replaced, never modified."""

    def __init__(self, world: WorldInfo, scene: Scene, names: Names | None = None) -> None:
        self.world = world
        self.names = names or names_of(world)
        self.scene = scene

    def keyframe(self) -> bytes:
        """Return the frame with everything as it is now."""
        return keyframe(self.scene)

    def record(self, record: TickRecord) -> bytes:
        """Advance by a recorded tick, and return its frame."""
        happened = Happened(record.results, record.utterances, record.object_deltas, record.rule_events)
        return self._go_on(record.tick_id, record.sim_time_ms, record.actor_state, happened)

    def event(self, event: "ViewerEvent") -> bytes:
        """Advance by a tick of a live world, and return its frame."""
        old, rows, new = self.scene.actors, event.actor, event.state
        x, y, status, facing = old.x.copy(), old.y.copy(), old.status_bits.copy(), old.facing.copy()
        x[rows], y[rows], status[rows], facing[rows] = new.x, new.y, new.status_bits, new.facing
        happened = Happened(event.results, event.utterances, event.object_deltas, event.rule_events)
        return self._go_on(event.tick_id, event.sim_time_ms, ActorColumns(x, y, status, facing), happened)

    def apply_objects(self, deltas: Sequence[ObjectDelta]) -> None:
        """Change objects and heaps only; for callers that get the actors in another way."""
        if not deltas:
            return
        scene, names = self.scene, self.names
        state, stock, ground = scene.object_state.copy(), scene.object_stock.copy(), dict(scene.ground)
        x, y = (None if side is None else side.copy() for side in (scene.object_x, scene.object_y))
        for delta in deltas:
            place = ground_place(delta.object_id)
            if place is not None:
                heap = (*place, names.item_kinds[delta.field])
                if delta.new_value:
                    ground[heap] = int(delta.new_value)
                else:
                    ground.pop(heap, None)
                continue
            row = names.object_rows[delta.object_id]
            if delta.field == "state":
                state[row] = names.object_states[row][str(delta.new_value)]
            elif delta.field == "stock":
                stock[row] = int(delta.new_value)
            elif (tile := delta.tile) is not None and x is not None and y is not None:
                x[row], y[row] = tile
        self.scene = replace(scene, object_state=state, object_stock=stock, ground=ground, object_x=x, object_y=y)

    def _go_on(self, tick_id: int, sim_time_ms: int, actors: ActorColumns, happened: Happened) -> bytes:
        before = self.scene.actors
        self.apply_objects(happened.object_deltas)
        self.scene = replace(self.scene, tick_id=tick_id, sim_time_ms=sim_time_ms, actors=actors)
        return tick(before, self.scene, happened, self.names)


def scene_at_start(
    world: WorldInfo, tick_id: int, sim_time_ms: int, actors: ActorColumns, names: Names | None = None
) -> Scene:
    """Return a scene with the objects' initial states."""
    names = names or names_of(world)
    states = [names.object_states[row][thing.state] for row, thing in enumerate(world.objects)]
    places = np.array([(thing.x, thing.y) for thing in world.objects], dtype=np.int32).reshape(-1, 2)
    moves = any(kind.comes_and_goes for kind in world.kinds)
    return Scene(
        tick_id=tick_id,
        sim_time_ms=sim_time_ms,
        actors=actors,
        object_state=np.array(states, dtype=np.uint8),
        object_stock=np.array([thing.stock for thing in world.objects], dtype=np.int32),
        ground={(heap.x, heap.y, names.item_kinds[heap.item]): heap.amount for heap in world.ground},
        object_x=places[:, 0] if moves else None,
        object_y=places[:, 1] if moves else None,
    )


def scene_of_snapshot(snapshot: "ViewerSnapshot") -> Scene:
    """Return the scene of a snapshot of a live world."""
    ground = snapshot.ground
    heaps = zip(ground.x.tolist(), ground.y.tolist(), ground.kind.tolist(), ground.amount.tolist(), strict=True)
    return Scene(
        tick_id=snapshot.tick_id,
        sim_time_ms=snapshot.sim_time_ms,
        actors=snapshot.state,
        object_state=snapshot.objects.state,
        object_stock=snapshot.objects.stock,
        ground={(x, y, kind): amount for x, y, kind, amount in heaps if amount},
        object_x=snapshot.objects.x,
        object_y=snapshot.objects.y,
    )
