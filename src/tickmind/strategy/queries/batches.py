"""One call that answers for several entities: their situations under their numbers, and the reply taken apart again."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tickmind.base import error_text
from tickmind.llm.structured.schema import compact
from tickmind.strategy.errors import CAUGHT, ParseError
from tickmind.strategy.replies.parsers import read_object

_INSTRUCTION = (
    "You decide for several characters. Answer with one JSON object whose keys are their numbers and whose values are "
    "what you would answer for each alone."
)


class Reply(NamedTuple):
    """What was answered for one entity, or for a batch: the words, and the object if the client has read one."""

    text: str
    data: Any = None


def share(total: int | None, number: int, place: int) -> int | None:
    """One entity's part of a common cost; the parts of all add up to it."""
    return None if total is None else total // number + (place < total % number)


def joined(situations: Sequence[tuple[int, str]]) -> str:
    """One user message for all of them."""
    parts = [f"Character {entity_id}:\n{text}" for entity_id, text in situations]
    return "\n\n".join([*parts, _INSTRUCTION])


def joined_schema(entity_ids: Sequence[int], schema: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """The form of the common reply, if there is one for each."""
    if schema is None:
        return None
    names = [str(entity_id) for entity_id in entity_ids]
    each = compact(schema)  # a reference would no longer find its place; those that stay are to the common definitions
    definitions = {"$defs": each.pop("$defs")} if "$defs" in each else {}
    return {"type": "object", "properties": dict.fromkeys(names, each), "required": names, **definitions}


def taken_apart(reply: Reply, entity_ids: Sequence[int]) -> dict[int, Reply | ParseError]:
    """What was answered for each; an error for those that were left out."""
    found: Any = reply.data
    if found is None:
        try:
            found = read_object(reply.text)
        except ParseError as error:
            return dict.fromkeys(entity_ids, error)
    if not isinstance(found, Mapping):
        return dict.fromkeys(entity_ids, ParseError(f"the reply was read as a {type(found).__name__}, not an object"))
    return {entity_id: _part(found, entity_id, read=reply.data is not None) for entity_id in entity_ids}


def _part(found: Mapping[str, Any], entity_id: int, *, read: bool) -> Reply | ParseError:
    name = str(entity_id)
    try:
        if name not in found:
            return ParseError(f"the reply has nothing for character {entity_id}")
        part = found[name]
        text = json.dumps(part, ensure_ascii=False)
    except CAUGHT as error:  # what a client read is anybody's object
        return ParseError(f"what the reply has for character {entity_id} is not JSON: {error_text(error)}")
    return Reply(text, part if read and isinstance(part, Mapping) else None)
