"""One call that answers for several entities: their situations under their numbers, and the reply taken apart again."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tickmind.strategy.errors import ParseError
from tickmind.strategy.parsers import read_object

_INSTRUCTION = (
    "You decide for several characters. Answer with one JSON object whose keys are their numbers and whose values are "
    "what you would answer for each alone."
)


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
    return {"type": "object", "properties": dict.fromkeys(names, schema), "required": names}


def taken_apart(reply: str, entity_ids: Sequence[int]) -> dict[int, str | ParseError]:
    """What was answered for each; an error for those that were left out."""
    try:
        found = read_object(reply)
    except ParseError as error:
        return dict.fromkeys(entity_ids, error)
    answers: dict[int, str | ParseError] = {}
    for entity_id in entity_ids:
        if str(entity_id) in found:
            answers[entity_id] = json.dumps(found[str(entity_id)], ensure_ascii=False)
        else:
            answers[entity_id] = ParseError(f"the reply has nothing for character {entity_id}")
    return answers
