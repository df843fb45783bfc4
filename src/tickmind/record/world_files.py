"""What never changes in a run: its map, actors and objects as tables, and the rest as a part of `meta.json`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from tickmind.protocol import EntityInfo, FloorInfo, KindInfo, ObjectInfo, WorldInfo
from tickmind.record.errors import DamagedRunError
from tickmind.record.limits import MAX_ACTORS, MAX_TILES

MAP = "map"
ACTORS = "actors"
OBJECTS = "objects"
_TAGS = pa.list_(pa.string())
WORLD_SCHEMAS = {
    MAP: pa.schema(
        [
            ("run_id", pa.string()),
            ("x", pa.int32()),
            ("y", pa.int32()),
            ("floor_code", pa.uint8()),
            ("floor", pa.string()),
            ("walkable", pa.bool_()),
            ("opaque", pa.bool_()),
        ]
    ),
    ACTORS: pa.schema(
        [
            ("run_id", pa.string()),
            ("actor_row", pa.int32()),
            ("actor_id", pa.string()),
            ("type", pa.string()),
            ("tags", _TAGS),
            ("spawn_tick", pa.int64()),
        ]
    ),
    OBJECTS: pa.schema(
        [
            ("run_id", pa.string()),
            ("object_row", pa.int32()),
            ("object_id", pa.string()),
            ("kind", pa.string()),
            ("x", pa.int32()),
            ("y", pa.int32()),
            ("state", pa.string()),
            ("stock", pa.int64()),
        ]
    ),
}
_SCALARS = (
    "name",
    "world_version",
    "width",
    "height",
    "sight_radius",
    "hearing_radius",
    "tick_duration_ms",
    "intent_deadline_ms",
)


def world_document(info: WorldInfo) -> dict[str, Any]:
    """The part of a world's description that is in `meta.json`."""
    return {
        **{name: getattr(info, name) for name in _SCALARS},
        "actors": len(info.actors),
        "objects": len(info.objects),
        "floors": [
            {"name": one.name, "walkable": one.walkable, "opaque": one.opaque, "hazards": list(one.hazards)}
            for one in info.floors
        ],
        "item_kinds": list(info.item_kinds),
        "verbs": list(info.verbs),
        "kinds": [
            {
                "name": one.name,
                "states": list(one.states),
                "walkable": list(one.walkable),
                "opaque": list(one.opaque),
                "tags": list(one.tags),
                "stock_item": one.stock_item,
            }
            for one in info.kinds
        ],
    }


def world_tables(info: WorldInfo, run_id: str) -> dict[str, pa.Table]:
    """The tables of a world, by their names."""
    codes = np.frombuffer(info.floor_codes, dtype=np.uint8)
    y, x = np.divmod(np.arange(len(codes), dtype=np.int32), np.int32(max(info.width, 1)))
    floors = pa.array([one.name for one in info.floors], pa.string())
    actors, objects = info.actors, info.objects
    columns: dict[str, Sequence[Any]] = {
        MAP: [
            x,
            y,
            codes,
            floors.take(pa.array(codes)),
            np.array([one.walkable for one in info.floors], dtype=np.bool_)[codes],
            np.array([one.opaque for one in info.floors], dtype=np.bool_)[codes],
        ],
        ACTORS: [
            np.arange(len(actors), dtype=np.int32),
            [one.entity_id for one in actors],
            [one.type for one in actors],
            [list(one.tags) for one in actors],
            [one.spawn_tick for one in actors],
        ],
        OBJECTS: [
            np.arange(len(objects), dtype=np.int32),
            *([getattr(one, name) for one in objects] for name in ("object_id", "kind", "x", "y", "state", "stock")),
        ],
    }
    tables = {}
    for name, schema in WORLD_SCHEMAS.items():
        first = pa.array(np.broadcast_to(np.array(run_id, dtype=object), len(columns[name][0])), pa.string())
        arrays = [
            column if isinstance(column, pa.Array) else pa.array(column, one.type)
            for column, one in zip(columns[name], list(schema)[1:], strict=True)
        ]
        tables[name] = pa.Table.from_arrays([first, *arrays], schema=schema)
    return tables


def check_sizes(document: Mapping[str, Any]) -> None:
    """Raise `DamagedRunError` unless the sizes in `meta.json` are such as a world may have."""
    sizes = [document.get(name) for name in ("width", "height", "actors", "objects")]
    width, height, actors, objects = (size if type(size) is int and size >= 0 else -1 for size in sizes)
    if min(width, height, actors, objects) < 0:
        raise DamagedRunError("meta.json does not say how large the world is")
    MAX_TILES.check(width * height)
    MAX_ACTORS.check(max(actors, objects))


def read_world(document: Mapping[str, Any], read_table: Callable[[str, pa.Schema], pa.Table]) -> WorldInfo:
    """The world's description again; `read_table` gives a table by its name."""
    check_sizes(document)
    try:
        codes = read_table(MAP, WORLD_SCHEMAS[MAP]).column("floor_code").to_numpy().astype(np.uint8)
        actors = read_table(ACTORS, WORLD_SCHEMAS[ACTORS])
        objects = read_table(OBJECTS, WORLD_SCHEMAS[OBJECTS])
        found = WorldInfo(
            **{name: document[name] for name in _SCALARS},
            floors=tuple(
                FloorInfo(one["name"], bool(one["walkable"]), bool(one["opaque"]), tuple(one["hazards"]))
                for one in document["floors"]
            ),
            floor_codes=codes.tobytes(),
            item_kinds=tuple(document["item_kinds"]),
            verbs=tuple(document["verbs"]),
            kinds=tuple(
                KindInfo(
                    one["name"],
                    tuple(one["states"]),
                    tuple(map(bool, one["walkable"])),
                    tuple(map(bool, one["opaque"])),
                    tuple(one["tags"]),
                    one["stock_item"],
                )
                for one in document["kinds"]
            ),
            objects=tuple(map(ObjectInfo, *_lists(objects, ("object_id", "kind", "x", "y", "state", "stock")))),
            actors=tuple(
                EntityInfo(entity_id, kind, tuple(tags), spawn_tick)
                for entity_id, kind, tags, spawn_tick in zip(
                    *_lists(actors, ("actor_id", "type", "tags", "spawn_tick")), strict=True
                )
            ),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise DamagedRunError("the description of the world is not as it was written") from error
    sizes = (len(codes), len(found.actors), len(found.objects))
    if sizes != (found.width * found.height, document["actors"], document["objects"]):
        raise DamagedRunError("the map, the actors or the objects of the world are not all there")
    if len(codes) and codes.max() >= len(found.floors):
        raise DamagedRunError("the map has a floor that the world does not have")
    return found


def _lists(table: pa.Table, names: Sequence[str]) -> list[list[Any]]:
    return [table.column(name).to_pylist() for name in names]
