"""Mask the secrets of a process in what it sends to a world, because all of that is recorded and shown."""

from dataclasses import replace
from typing import Any

from tickmind.base import mask_known
from tickmind.protocol import Intent, Say, Thought

_MAX_DEPTH = 16  # directives that are nested deeper are not sent anyhow


def masked_intent(intent: Intent) -> Intent:
    """Return an intent without known secrets in its text; the same object if there are none."""
    if type(intent) is Say and (text := mask_known(intent.text)) != intent.text:
        return replace(intent, text=text)
    return intent


def masked_thought(thought: Thought) -> Thought:
    """Return a thought without known secrets in its texts and directives."""
    return replace(
        thought,
        system_prompt=mask_known(thought.system_prompt),
        user_message=mask_known(thought.user_message),
        reply=mask_known(thought.reply),
        thinking=mask_known(thought.thinking),
        error=mask_known(thought.error),
        directives={mask_known(str(name)): _masked(value, 0) for name, value in thought.directives.items()},
    )


def _masked(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return mask_known(value)
    if depth < _MAX_DEPTH and isinstance(value, dict):
        return {_masked(name, depth + 1): _masked(item, depth + 1) for name, item in value.items()}
    if depth < _MAX_DEPTH and isinstance(value, (list, tuple)):
        return [_masked(item, depth + 1) for item in value]
    return value
