"""Frames that change from tick to tick: keyframes with everything, and ticks with the changes."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tickmind.protocol import ActorColumns, Effect, ObjectDelta, ResultColumns, RuleEvent, Utterance
from tickmind.viewer.frames.layout import FrameKind, Tag, json_section, pack
from tickmind.viewer.frames.steps import NOTHING, OTHER, pack_steps, step_codes

if TYPE_CHECKING:
    from tickmind.protocol.columns import Int32, UInt8

MOST_ENTRIES = 32_768  # of each list in one frame, as in the messages of a live world; the rest is left out
_SPARSE = 8  # rough cost of an actor in the short form, in half bytes of the long form
_GROUND = re.compile(r"ground:(-?[0-9]+),(-?[0-9]+)")


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """Everything that can change, after a tick. Scenes are never modified."""

    tick_id: int
    sim_time_ms: int
    actors: ActorColumns
    object_state: "UInt8"
    object_stock: "Int32"
    ground: Mapping[tuple[int, int, int], int]  # x, y, item kind -> amount; none of them is 0
    object_x: "Int32 | None" = None  # -1, as y: it is not there; None, as y: they stay where they are
    object_y: "Int32 | None" = None


@dataclass(frozen=True, slots=True, eq=False)
class Happened:
    """What one tick did besides moving actors, from a record or a live world."""

    results: ResultColumns
    utterances: Sequence[Utterance]
    object_deltas: Sequence[ObjectDelta]
    rule_events: Sequence[RuleEvent] = ()


@dataclass(frozen=True, slots=True)
class Names:
    """Numbers of names, for frames."""

    actor_rows: Mapping[str, int]
    object_rows: Mapping[str, int]
    object_states: Sequence[Mapping[str, int]]  # object row -> name of a state -> its code
    item_kinds: Mapping[str, int]


def keyframe(scene: Scene) -> bytes:
    """Make the frame with everything, to begin from."""
    actors = scene.actors
    ground = np.array([(*place, amount) for place, amount in sorted(scene.ground.items())], dtype="<i4").reshape(-1, 4)
    sections = {
        Tag.ACTOR_X: _bytes(actors.x, "<i2"),
        Tag.ACTOR_Y: _bytes(actors.y, "<i2"),
        Tag.ACTOR_FACING: _bytes(actors.facing, "u1"),
        Tag.ACTOR_STATUS: _bytes(actors.status_bits, "u1"),
        Tag.OBJECT_STATE: _bytes(scene.object_state, "u1"),
        Tag.OBJECT_STOCK: _bytes(scene.object_stock, "<i4"),
        Tag.GROUND: _bytes(ground.T, "<i4"),
    }
    if scene.object_x is not None:
        sections[Tag.OBJECT_PLACES] = _bytes(scene.object_x, "<i2") + _bytes(scene.object_y, "<i2")
    return pack(FrameKind.KEYFRAME, scene.tick_id, scene.sim_time_ms, sections)


def tick(old: ActorColumns, scene: Scene, happened: Happened, names: Names) -> bytes:
    """Make the frame of a tick's changes: `old` are the actors before, `scene` is the world after it."""
    new, results = scene.actors, happened.results
    codes, covered = step_codes(old, new, results)
    sections: dict[Tag, bytes] = {}
    stepped = np.flatnonzero(codes != NOTHING)
    if len(stepped) * _SPARSE < len(codes):
        sections[Tag.STEP_ROWS] = _bytes(stepped, "<u4")
        sections[Tag.STEP_CODES] = codes[stepped].tobytes()
    else:
        sections[Tag.STEPS], sections[Tag.STEP_CODES] = pack_steps(codes)
    placed = np.flatnonzero(codes == OTHER)
    sections[Tag.PLACE_ROWS] = _bytes(placed, "<u4")
    sections[Tag.PLACES] = _bytes(new.x[placed], "<i2") + _bytes(new.y[placed], "<i2")
    sections[Tag.PLACE_FACING] = _bytes(new.facing[placed], "u1")
    status = np.flatnonzero(old.status_bits != new.status_bits)
    sections[Tag.STATUS_ROWS] = _bytes(status, "<u4")
    sections[Tag.STATUS] = _bytes(new.status_bits[status], "u1")
    rest = np.flatnonzero(~covered)
    sections[Tag.RESULT_ROWS] = _bytes(results.actor[rest], "<u4")
    sections[Tag.RESULT_CODES] = _bytes(results.action[rest], "u1") + _bytes(results.reason[rest], "u1")
    sections[Tag.DETAILS] = json_section(_details(results))
    sections[Tag.SAID] = json_section(
        [
            [names.actor_rows[said.actor_id], said.channel, said.text, said.x, said.y]
            for said in happened.utterances[:MOST_ENTRIES]
        ]
    )
    sections[Tag.OBJECTS] = json_section([_object(delta, names) for delta in happened.object_deltas[:MOST_ENTRIES]])
    if happened.rule_events:
        sections[Tag.RULES] = json_section([_rule(event, names) for event in happened.rule_events[:MOST_ENTRIES]])
    return pack(FrameKind.TICK, scene.tick_id, scene.sim_time_ms, sections)


def ground_place(object_id: str) -> tuple[int, int] | None:
    """Return the tile of an object id such as `ground:3,4`, or None for real objects."""
    match = _GROUND.fullmatch(object_id)
    return (int(match[1]), int(match[2])) if match else None


def _object(delta: ObjectDelta, names: Names) -> list[Any]:
    place = ground_place(delta.object_id)
    if place is not None:
        return [*place, names.item_kinds[delta.field], delta.new_value]
    row = names.object_rows[delta.object_id]
    if (tile := delta.tile) is not None:
        return [row, "tile", tile[1] * 65536 + tile[0] if tile[0] >= 0 else -1]
    if delta.field == "state":
        return [row, "state", names.object_states[row][str(delta.new_value)]]
    return [row, delta.field, delta.new_value]


def _rule(event: RuleEvent, names: Names) -> list[Any]:
    rows = [names.actor_rows[actor_id] for actor_id in event.actor_ids[:MOST_ENTRIES]]
    return [event.name, rows, event.score, event.ends, event.own, event.text, _effects(event.effects)]


def _effects(effects: Sequence[Effect]) -> list[list[str | int]]:
    return [[effect.name, effect.value] for effect in effects]


def _details(results: ResultColumns) -> list[Any]:
    places = sorted({*results.target_ids, *results.effects})[:MOST_ENTRIES]
    return [
        [
            int(results.actor[place]),
            results.target_ids.get(place, ""),
            _effects(results.effects.get(place, ())),
        ]
        for place in places
    ]


def _bytes(column: Any, dtype: str) -> bytes:
    """Return a column in the format of frames."""
    return np.ascontiguousarray(column).astype(dtype).tobytes()
