"""Slices of the observations of many actors, without copying shared data."""

from typing import TYPE_CHECKING, Any

import numpy as np

from tickmind.protocol import ObservationColumns, ResultDetail

if TYPE_CHECKING:
    from tickmind.protocol.columns import Int32, Int64

OF_OBSERVER = (
    "actor",
    "x",
    "y",
    "status_bits",
    "facing",
    "energy",
    "hunger",
    "inventory",
    "result_action",
    "result_reason",
    "visible",
)
LISTS = {  # column of offsets -> columns that they part
    "entity_offset": (
        "entity",
        "entity_dx",
        "entity_dy",
        "entity_status",
        "entity_facing",
        "entity_flags",
        "entity_action",
        "entity_reason",
    ),
    "left_offset": ("left",),
    "object_offset": ("object", "object_state", "object_work", "object_stock"),
    "ground_offset": ("ground_dx", "ground_dy", "ground_kind", "ground_amount"),
}


def slice_columns(columns: ObservationColumns, start: int, stop: int) -> ObservationColumns:
    """Return the observers from `start` to `stop`, with only the speech that they heard and the offers to them."""
    parts: dict[str, Any] = {name: getattr(columns, name)[start:stop] for name in OF_OBSERVER}
    for offsets, names in LISTS.items():
        first, last, parts[offsets] = _bounds(getattr(columns, offsets), start, stop)
        for name in names:
            parts[name] = getattr(columns, name)[first:last]
    first, last, heard_offset = _bounds(columns.heard_offset, start, stop)
    places, heard = np.unique(columns.heard[first:last], return_inverse=True)
    return ObservationColumns(
        tick_id=columns.tick_id,
        deadline_ms=columns.deadline_ms,
        radius=columns.radius,
        heard_offset=heard_offset,
        heard=heard.astype(np.int32),
        utterances=tuple(columns.utterances[place] for place in places.tolist()),
        placed=_placed(columns, parts["object"]) if columns.placed else (),
        details=_details(columns, parts["actor"], parts["entity"]) if columns.details else (),
        offers=tuple((place - start, offer) for place, offer in columns.offers if start <= place < stop),
        own_needs=None if columns.own_needs is None else columns.own_needs[start:stop],
        **parts,
    )


def _placed(columns: ObservationColumns, objects: "Int32") -> tuple[tuple[int, int, int], ...]:
    seen = frozenset(objects.tolist())
    return tuple(placed for placed in columns.placed if placed[0] in seen)


def _details(columns: ObservationColumns, *actors: "Int32") -> tuple[ResultDetail, ...]:
    seen = np.isin([detail.actor for detail in columns.details], np.concatenate(actors))
    return tuple(detail for detail, kept in zip(columns.details, seen.tolist(), strict=True) if kept)


def _bounds(offsets: "Int64", start: int, stop: int) -> "tuple[int, int, Int64]":
    part = offsets[start : stop + 1]
    return int(part[0]), int(part[-1]), part - part[0]
