"""Write a world as plain data: for each component type its fields, the ids that have it, and a row of values for each.

Format 1: `{"format": 1, "next_id": 3, "entities": [1, 2], "components": {"Position": {"fields": ["x", "y"],
"ids": [1, 2], "rows": [[0, 0], [3, 4]]}}}`. Columns of ids and rows without repeated names keep it small and quick.
"""

from operator import attrgetter
from typing import Any

from tickmind.tick.codec import PLAIN, ComponentTypes
from tickmind.tick.errors import SnapshotError
from tickmind.tick.query import Store

WORLD_FORMAT = 1


def check_format(data: object, what: str, known: int) -> None:
    """Raise `SnapshotError` for data of another version, or that is no snapshot at all."""
    given = data.get("format") if isinstance(data, dict) else type(data).__name__
    if given != known:
        raise SnapshotError(f"this version reads {what} snapshots of format {known}, not {given!r}")


def write_world(
    alive: dict[int, None], next_id: int, stores: dict[type, Store], types: ComponentTypes
) -> dict[str, Any]:
    """Return everything in a world as plain data."""
    components: dict[str, Any] = {}
    written = [(types.shape(kind, f"entity {min(store)}"), store) for kind, store in stores.items() if store]
    for shape, store in sorted(written, key=lambda pair: pair[0].name):
        ids = sorted(store)
        components[shape.name] = {
            "fields": list(shape.fields),
            "ids": ids,
            "rows": _write_rows(shape.name, shape.fields, ids, store, types),
        }
    return {"format": WORLD_FORMAT, "next_id": next_id, "entities": sorted(alive), "components": components}


def _write_rows(name: str, fields: tuple[str, ...], ids: list[int], store: Store, types: ComponentTypes) -> list[Any]:
    if not fields:
        return [[] for _ in ids]
    get = attrgetter(*fields)
    single = len(fields) == 1
    rows: list[Any] = []
    for entity_id in ids:
        row = [get(store[entity_id])] if single else list(get(store[entity_id]))
        for place, value in enumerate(row):
            if type(value) not in PLAIN:
                row[place] = types.encode(value, f"{name}.{fields[place]} of entity {entity_id}")
        rows.append(row)
    return rows


def read_world(data: dict[str, Any], types: ComponentTypes) -> tuple[dict[int, None], int, dict[type, Store]]:
    """Read a snapshot: return the living entities, the next id and the components."""
    check_format(data, "world", WORLD_FORMAT)
    try:
        alive = dict.fromkeys(data["entities"])
        stores = {}
        for name, table in data["components"].items():
            shape = types.shape_named(name)
            stores[shape.kind] = _read_rows(shape.name, tuple(table["fields"]), table, types)
            if stray := stores[shape.kind].keys() - alive.keys():
                raise SnapshotError(f"{name} belongs to entity {min(stray)}, which is not in the snapshot")
        next_id = data["next_id"]
    except RecursionError as error:
        raise SnapshotError("the snapshot is damaged: it is nested too deep") from error
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise SnapshotError(f"the snapshot is damaged: {type(error).__name__}: {error}") from error
    if not all(type(number) is int and number > 0 for number in (next_id, *alive)):
        raise SnapshotError("the snapshot is damaged: an entity's id is not a number above 0")
    if next_id <= max(alive, default=0):
        raise SnapshotError(f"the snapshot is damaged: the next id {next_id} is in use")
    return alive, next_id, stores


def _read_rows(name: str, fields: tuple[str, ...], table: dict[str, Any], types: ComponentTypes) -> Store:
    shape = types.shape_named(name)
    build, decode = shape.build, types.decode
    store: Store = {}
    for entity_id, row in zip(table["ids"], table["rows"], strict=True):
        store[entity_id] = build(fields, [decode(item) if type(item) in (dict, list) else item for item in row])
    return store
