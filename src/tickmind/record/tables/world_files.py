"""The constant part of a run: its map, actors and objects as tables, and the rest in `meta.json`."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from tickmind.protocol import (
    EntityInfo,
    GoalInfo,
    GroundInfo,
    InventoryInfo,
    ObjectInfo,
    Persona,
    WorldInfo,
    WorldSetting,
)
from tickmind.record.columns import Column, values_of
from tickmind.record.documents.goals import goal_document, goal_of
from tickmind.record.documents.kinds import floor_document, floor_of, item_document, item_of, kind_document, kind_of
from tickmind.record.documents.setting import persona_of, setting_of
from tickmind.record.errors import DamagedRunError
from tickmind.record.limits import MAX_ACTORS, MAX_HEAPS, MAX_TILES
from tickmind.record.parquet.file import TableFile, open_writer
from tickmind.record.parquet.schemas import TableSpec

MAP = "map"
ACTORS = "actors"
OBJECTS = "objects"
_SCHEMAS = {
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
            ("tags_json", pa.string()),
            ("spawn_tick", pa.int64()),
            ("inventory_json", pa.string()),  # {item: amount} at the beginning; null: not known
            ("persona_json", pa.string()),  # what is known of the person; null: nothing
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
            ("owner", pa.string()),  # the actor that it belongs to; null: none
        ]
    ),
}
WORLD_TABLES = {
    MAP: TableSpec(MAP, _SCHEMAS[MAP], delta=("x", "y"), plain=("walkable", "opaque")),
    ACTORS: TableSpec(
        ACTORS,
        _SCHEMAS[ACTORS],
        delta=("actor_row", "spawn_tick"),
        plain=("actor_id",),
        added=("inventory_json", "persona_json"),
    ),
    OBJECTS: TableSpec(
        OBJECTS,
        _SCHEMAS[OBJECTS],
        delta=("object_row", "x", "y", "stock"),
        plain=("object_id",),
        added=("owner",),
    ),
}
_GROUP_ROWS = 1 << 20
_MALFORMED = (AttributeError, KeyError, OverflowError, TypeError, ValueError, RecursionError)
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
    """Return the part of a world's description that is in `meta.json`."""
    return {
        **{name: getattr(info, name) for name in _SCALARS},
        "seed": info.seed,
        "setting": asdict(info.setting),
        "actors": len(info.actors),
        "objects": len(info.objects),
        "floors": list(map(floor_document, info.floors)),
        "item_kinds": list(info.item_kinds),
        "ground": [[heap.x, heap.y, heap.item, heap.amount] for heap in info.ground[: int(MAX_HEAPS.maximum)]],
        "verbs": list(info.verbs),
        "kinds": list(map(kind_document, info.kinds)),
        **({"goals": [goal_document(goal) for goal in info.goals]} if info.goals else {}),
        **({"own_needs": list(info.own_needs)} if info.own_needs else {}),
        **({"items": list(map(item_document, info.items))} if info.items else {}),
    }


def world_tables(info: WorldInfo, run_id: str) -> dict[str, pa.Table]:
    """Return the tables of a world, by name."""
    codes = np.frombuffer(info.floor_codes, dtype=np.uint8)
    y, x = np.divmod(np.arange(len(codes), dtype=np.int32), np.int32(max(info.width, 1)))
    floors = pa.array([floor.name for floor in info.floors], pa.string())
    actors, objects = info.actors, info.objects
    columns: dict[str, Sequence[Any]] = {
        MAP: [
            x,
            y,
            codes,
            floors.take(pa.array(codes)),
            np.array([floor.walkable for floor in info.floors], dtype=np.bool_)[codes],
            np.array([floor.opaque for floor in info.floors], dtype=np.bool_)[codes],
        ],
        ACTORS: [
            np.arange(len(actors), dtype=np.int32),
            [actor.entity_id for actor in actors],
            [actor.type for actor in actors],
            [json.dumps(actor.tags, ensure_ascii=False) for actor in actors],
            [actor.spawn_tick for actor in actors],
            _inventories_json(info),
            [_persona_json(actor) for actor in actors],
        ],
        OBJECTS: [
            np.arange(len(objects), dtype=np.int32),
            *(
                [getattr(thing, name) for thing in objects]
                for name in ("object_id", "kind", "x", "y", "state", "stock")
            ),
            [thing.owner or None for thing in objects],
        ],
    }
    tables = {}
    for name, spec in WORLD_TABLES.items():
        first = pa.repeat(pa.scalar(run_id), len(columns[name][0]))
        arrays = [
            column if isinstance(column, pa.Array) else pa.array(column, one.type)
            for column, one in zip(columns[name], list(spec.schema)[1:], strict=True)
        ]
        table = pa.Table.from_arrays([first, *arrays], schema=spec.schema)
        tables[name] = table.cast(spec.written_schema)
    return tables


def _persona_json(actor: EntityInfo) -> str | None:
    return None if actor.persona is None else json.dumps(asdict(actor.persona), ensure_ascii=False)


def read_setting(document: Mapping[str, Any]) -> WorldSetting:
    """Return the places and the calendar of the world in `meta.json`."""
    try:
        return setting_of(document.get("setting"))
    except _MALFORMED as error:
        raise DamagedRunError("the places or the calendar of the world are malformed") from error


def read_goals(document: Mapping[str, Any]) -> tuple[GoalInfo, ...]:
    """Return the goals of the world in `meta.json`; none of a run of an earlier version."""
    try:
        return tuple(map(goal_of, document.get("goals", ())))
    except _MALFORMED as error:
        raise DamagedRunError("meta.json has a malformed goal") from error


def read_people(
    document: Mapping[str, Any], open_table: Callable[[TableSpec], TableFile]
) -> list[tuple[str, Persona | None]]:
    """Return the ids of all actors, in the order of rows, and who they are as far as that is known."""
    try:
        ids, personas = _read(open_table, ACTORS, ("actor_id", "persona_json"), document["actors"])
        return [(actor_id, persona_of(persona)) for actor_id, persona in zip(ids, personas, strict=True)]
    except _MALFORMED as error:
        raise DamagedRunError("the people of the world are malformed") from error


def _inventories_json(info: WorldInfo) -> list[str | None]:
    """Return what each actor carries at the beginning, as JSON."""
    if info.inventories is None:
        return [None] * len(info.actors)
    carried: dict[str, dict[str, int]] = {actor.entity_id: {} for actor in info.actors}
    for stack in info.inventories:
        carried[stack.entity_id][stack.item] = stack.amount
    return [json.dumps(items, ensure_ascii=False) for items in carried.values()]


def _read_inventories(actor_ids: Sequence[str], texts: Sequence[str | None]) -> tuple[InventoryInfo, ...] | None:
    """Return what actors carry at the beginning, or None if an earlier version did not record it."""
    if None in texts:
        return None
    return tuple(
        InventoryInfo(actor_id, str(item), int(amount))
        for actor_id, text in zip(actor_ids, texts, strict=True)
        for item, amount in json.loads(text or "{}").items()
    )


def write_world(info: WorldInfo, run_id: str) -> Iterator[tuple[str, bytes]]:
    """Iterate over the files of a world, by name."""
    for name, table in world_tables(info, run_id).items():
        sink = pa.BufferOutputStream()
        with open_writer(sink, WORLD_TABLES[name]) as writer:
            if table.num_rows:
                writer.write_table(table, row_group_size=_GROUP_ROWS)
        yield WORLD_TABLES[name].file_name, sink.getvalue().to_pybytes()


def check_sizes(document: Mapping[str, Any]) -> None:
    """Raise `DamagedRunError` unless the sizes in `meta.json` are valid for a world."""
    sizes = [document.get(name) for name in ("width", "height", "actors", "objects")]
    width, height, actors, objects = (size if type(size) is int and size >= 0 else -1 for size in sizes)
    if min(width, height, actors, objects) < 0:
        raise DamagedRunError("meta.json does not state the size of the world")
    MAX_TILES.check(width * height)
    MAX_ACTORS.check(max(actors, objects))


def _seed(document: Mapping[str, Any]) -> int | None:
    seed = document.get("seed")  # older runs have none
    if seed is not None and type(seed) is not int:
        raise ValueError("the seed is no whole number")
    return seed


def read_world(document: Mapping[str, Any], open_table: Callable[[TableSpec], TableFile]) -> WorldInfo:
    """Restore the world's description; `open_table` opens one of its tables."""
    check_sizes(document)
    tags_of = cache(lambda text: tuple(json.loads(text)))  # most of 10,000 actors have the tags of others
    try:
        tiles = document["width"] * document["height"]
        (found_codes,) = _read(open_table, MAP, ("floor_code",), tiles)
        codes = np.array(found_codes, dtype=np.uint8)
        fields = ("actor_id", "type", "tags_json", "spawn_tick", "inventory_json", "persona_json")
        *actors, inventories, personas = _read(open_table, ACTORS, fields, document["actors"])
        names = ("object_id", "kind", "x", "y", "state", "stock", "owner")
        *objects, owners = _read(open_table, OBJECTS, names, document["objects"])
        info = WorldInfo(
            **{name: document[name] for name in _SCALARS},
            seed=_seed(document),
            floors=tuple(map(floor_of, document["floors"])),
            floor_codes=codes.tobytes(),
            item_kinds=tuple(document["item_kinds"]),
            verbs=tuple(document["verbs"]),
            kinds=tuple(map(kind_of, document["kinds"])),
            objects=tuple(map(ObjectInfo, *objects, (owner or "" for owner in owners))),
            actors=tuple(
                EntityInfo(entity_id, kind, tags_of(tags), spawn_tick, persona_of(persona))
                for entity_id, kind, tags, spawn_tick, persona in zip(*actors, personas, strict=True)
            ),
            setting=setting_of(document.get("setting")),
            ground=tuple(
                GroundInfo(int(x), int(y), str(item), int(amount)) for x, y, item, amount in document.get("ground", ())
            ),
            inventories=_read_inventories(list(actors[0]), list(inventories)),
            goals=read_goals(document),
            own_needs=tuple(map(str, document.get("own_needs", ()))),
            items=tuple(map(item_of, document.get("items", ()))),
        )
    except _MALFORMED as error:
        raise DamagedRunError("the description of the world is malformed") from error
    begun = {heap.item for heap in info.ground} | {stack.item for stack in info.inventories or ()}
    if not begun.issubset(info.item_kinds):
        raise DamagedRunError("an item of the beginning is of an unknown kind")
    if len(codes) and codes.max() >= len(info.floors):
        raise DamagedRunError("the map has an unknown floor")
    return info


def _read(
    open_table: Callable[[TableSpec], TableFile], name: str, columns: Sequence[str], rows: int
) -> list[list[Any] | Column]:
    """Return some columns of a table with a known number of rows."""
    with open_table(WORLD_TABLES[name]) as file:
        if file.rows != rows:
            raise DamagedRunError(f"{name}.parquet has {file.rows:,} rows where there must be {rows:,}")
        parts = [file.group(group, columns) for group in range(file.groups)]
    if name == MAP:
        whole = [part.column(0).to_numpy() for part in parts]
        return [np.concatenate(whole) if whole else np.zeros(0, dtype=np.uint8)]
    return [[value for part in parts for value in values_of(part.column(place))] for place in range(len(columns))]
