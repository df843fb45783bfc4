"""Read single values: what unquoted text means, and which text is a number."""

import math
import re
from typing import Any

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")
_LONGEST_NUMBER = 64
_NULLS = frozenset({"", "~", "null", "none", "undefined", "nil"})


class Plain(str):
    """Text that stood without quotes: what it means depends on the field that it is for.

    `no` is the word "no" for a text field and False for a boolean one; YAML's own rules can't know.
    """

    __slots__ = ()


def number(text: str) -> int | float | None:
    """Parse a text that is a finite number as a whole; None for anything else, since prose holds no number."""
    text = text.strip().replace("\N{MINUS SIGN}", "-")
    if len(text) > _LONGEST_NUMBER or not _NUMBER.fullmatch(text):
        return None
    if text.lstrip("+-").isdigit():
        return int(text)
    value = float(text)
    return value if math.isfinite(value) else None


def is_finite_number(value: object) -> bool:
    """Return whether it is a number that JSON can carry; booleans are none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def is_null(value: object) -> bool:
    """Return whether it means "nothing": null itself, or an unquoted word for it."""
    return value is None or (isinstance(value, Plain) and value.lower() in _NULLS)


def meant(value: Plain) -> bool | int | float | str | None:
    """Return what unquoted text means where no field says what is expected; codes such as 007 stay text."""
    word = value.lower()
    if word in _NULLS:
        return None
    if word in {"true", "false"}:
        return word == "true"
    digits = value.lstrip("+-")
    if len(digits) > 1 and digits[0] == "0" and digits[1].isdigit():
        return str(value)
    parsed = number(value)
    return str(value) if parsed is None else parsed


def settle(value: Any) -> Any:
    """Return the value with all unquoted text replaced by what it means."""
    if isinstance(value, Plain):
        return meant(value)
    if isinstance(value, dict):
        return {str(key): settle(item) for key, item in value.items()}
    if isinstance(value, list):
        return [settle(item) for item in value]
    return value
