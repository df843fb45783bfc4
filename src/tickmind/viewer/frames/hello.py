"""The first frame: the map, and the names of the numbers in all others."""

from dataclasses import asdict
from typing import Any

import numpy as np

from tickmind.protocol import ACTION_TYPES, REASONS, Persona, WorldInfo
from tickmind.protocol.setting import item_words
from tickmind.viewer.frames.layout import FrameKind, Tag, json_section, pack
from tickmind.viewer.frames.tick import Names


def hello(world: WorldInfo, **more: Any) -> bytes:
    """Make the frame of everything constant; `more` goes into INFO and describes how frames are served."""
    types = sorted({actor.type for actor in world.actors})
    type_codes = {name: code for code, name in enumerate(types)}
    kinds = {kind.name: code for code, kind in enumerate(world.kinds)}
    people = {str(row): _shown(actor.persona) for row, actor in enumerate(world.actors) if actor.persona is not None}
    info = {
        "name": world.name,
        "world_version": world.world_version,
        "width": world.width,
        "height": world.height,
        "sight_radius": world.sight_radius,
        "hearing_radius": world.hearing_radius,
        "tick_ms": world.tick_duration_ms,
        "actions": list(ACTION_TYPES),
        "reasons": list(REASONS),
        "floors": [
            {"name": floor.name, "walkable": floor.walkable, "opaque": floor.opaque, "hazards": floor.hazards}
            for floor in world.floors
        ],
        "kinds": [
            {
                "name": kind.name,
                "states": kind.states,
                "walkable": kind.walkable,
                "opaque": kind.opaque,
                "tags": kind.tags,
                "stock_item": kind.stock_item,
                **({} if kind.size == (1, 1) else {"size": kind.size}),
            }
            for kind in world.kinds
        ],
        "items": world.item_kinds,
        "item_words": [item_words(name) for name in world.item_kinds],
        "own_needs": world.own_needs,
        "actor_types": types,
        "setting": asdict(world.setting),
        "people": people,
        **more,
    }
    places = np.array([(thing.x, thing.y) for thing in world.objects], dtype="<i2").reshape(-1, 2)
    return pack(
        FrameKind.HELLO,
        0,
        0,
        {
            Tag.INFO: json_section(info),
            Tag.FLOOR: world.floor_codes,
            Tag.OBJECT_PLACE: np.ascontiguousarray(places.T).tobytes(),
            Tag.OBJECT_KIND: bytes(kinds[thing.kind] for thing in world.objects),
            Tag.OBJECT_IDS: json_section([thing.object_id for thing in world.objects]),
            Tag.ACTOR_IDS: json_section([actor.entity_id for actor in world.actors]),
            Tag.ACTOR_TYPE: np.array([type_codes[actor.type] for actor in world.actors], dtype="<u2").tobytes(),
        },
    )


def _shown(persona: Persona) -> dict[str, Any]:
    """Return what is known of a person, as far as there is something; settings of its program are for that only."""
    return {name: value for name, value in asdict(persona).items() if value and name != "agent"}


def names_of(world: WorldInfo) -> Names:
    """Return the numbers of all names in a world."""
    states = {kind.name: {name: code for code, name in enumerate(kind.states)} for kind in world.kinds}
    return Names(
        actor_rows={actor.entity_id: row for row, actor in enumerate(world.actors)},
        object_rows={thing.object_id: row for row, thing in enumerate(world.objects)},
        object_states=[states[thing.kind] for thing in world.objects],
        item_kinds={name: code for code, name in enumerate(world.item_kinds)},
    )
