"""Batches: one call that answers for several entities, with their situations by number, and the reply split again."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tickmind.base import error_text
from tickmind.llm.structured.schema import compact
from tickmind.protocol.thought import ServedUsage
from tickmind.strategy.errors import CAUGHT, ParseError
from tickmind.strategy.replies.parsers import read_object

_INSTRUCTION = (
    "You decide for several characters. Answer with one JSON object whose keys are their numbers and whose values are "
    "what you would answer for each alone."
)


class Reply(NamedTuple):
    """The answer for one entity, or for a batch: its text, and the object if the client has read one."""

    text: str
    data: Any = None


def share(total: int | None, number: int, place: int) -> int | None:
    """Return one entity's part of a common cost; the parts of all add up to it."""
    return None if total is None else total // number + (place < total % number)


def usage_share(usage: ServedUsage, number: int, place: int) -> dict[str, Any]:
    """Return the usage of one entity of a common reply, as fields of `ServedUsage`."""
    return {
        **ServedUsage.values_of(usage),
        "prompt_tokens": share(usage.prompt_tokens, number, place),
        "completion_tokens": share(usage.completion_tokens, number, place),
        "cached_tokens": share(usage.cached_tokens, number, place),
        "cost_usd": None if usage.cost_usd is None else usage.cost_usd / number,
    }


def joined(situations: Sequence[tuple[int, str]]) -> str:
    """Return one user message for all of them."""
    parts = [f"Character {entity_id}:\n{text}" for entity_id, text in situations]
    return "\n\n".join([*parts, _INSTRUCTION])


def joined_schema(entity_ids: Sequence[int], schema: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return the form of the common reply, if each has one."""
    if schema is None:
        return None
    names = [str(entity_id) for entity_id in entity_ids]
    each = compact(schema)  # references would break inside the common schema; those that stay are to its definitions
    definitions = {"$defs": each.pop("$defs")} if "$defs" in each else {}
    return {"type": "object", "properties": dict.fromkeys(names, each), "required": names, **definitions}


def taken_apart(reply: Reply, entity_ids: Sequence[int]) -> dict[int, Reply | ParseError]:
    """Split a common reply by entity; an error for those that it leaves out."""
    parts: Any = reply.data
    if parts is None:
        try:
            parts = read_object(reply.text)
        except ParseError as error:
            return dict.fromkeys(entity_ids, error)
    if not isinstance(parts, Mapping):
        return dict.fromkeys(entity_ids, ParseError(f"the reply was read as a {type(parts).__name__}, not an object"))
    return {entity_id: _part(parts, entity_id, read=reply.data is not None) for entity_id in entity_ids}


def _part(parts: Mapping[str, Any], entity_id: int, *, read: bool) -> Reply | ParseError:
    name = str(entity_id)
    try:
        if name not in parts:
            return ParseError(f"the reply has nothing for character {entity_id}")
        part = parts[name]
        text = json.dumps(part, ensure_ascii=False)
    except CAUGHT as error:  # an object that a client read is user code
        return ParseError(f"what the reply has for character {entity_id} is not JSON: {error_text(error)}")
    return Reply(text, part if read and isinstance(part, Mapping) else None)
