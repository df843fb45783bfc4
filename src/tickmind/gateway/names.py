"""What may be the name of an agent or a model: one rule for bodies, headers, statistics and the OpenAPI document."""

import re
from typing import Final

MAX_AGENT_CHARS: Final = 128
MAX_MODEL_CHARS: Final = 256
# Control characters, and those that hide or turn the text around them, have no place in a name.
NAME_PATTERN: Final = "^[^\\u0000-\\u001f\\u007f-\\u009f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff]*$"
_NAME: Final = re.compile(NAME_PATTERN[:-1] + r"\Z")


def is_name(text: str) -> bool:
    """Whether all of it can be shown."""
    return (text.isascii() and text.isprintable()) or _NAME.match(text) is not None
