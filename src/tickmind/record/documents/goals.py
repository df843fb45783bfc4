"""Goals of a world, as they are recorded. Callers make `DamagedRunError` of errors in them."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from tickmind.protocol import GoalInfo


def goal_document(goal: GoalInfo) -> dict[str, Any]:
    """Return a goal without what it leaves open."""
    return {name: value for name, value in asdict(goal).items() if value}


def goal_of(document: Mapping[str, Any]) -> GoalInfo:
    """Return a goal that `goal_document` made."""
    all_in, each_in, object_id, state = (
        str(document.get(name, "")) for name in ("all_in", "each_in", "object_id", "state")
    )
    tags, types, ids = (tuple(map(str, document.get(name, ()))) for name in ("tags", "types", "ids"))
    return GoalInfo(
        name=str(document["name"]),
        score=int(document.get("score", 0)),
        ends=bool(document.get("ends", False)),
        tags=tags,
        types=types,
        ids=ids,
        all_in=all_in,
        each_in=each_in,
        carry=tuple((str(item), int(amount)) for item, amount in document.get("carry", ())),
        object_id=object_id,
        state=state,
        tick_id=int(document.get("tick_id", 0)),
    )
