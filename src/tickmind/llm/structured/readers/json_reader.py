"""Strict JSON: by orjson where the whole text is JSON, by the standard library's scanner where it must be found."""

import json
import re
from typing import Any, NoReturn

import orjson

from tickmind.llm.structured.readers.limits import MAX_DEPTH


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")


_LONG_NUMBER = re.compile(r"\d{19}")
_SCANNER = json.JSONDecoder(parse_constant=_refuse)


def strict_end(text: str, start: int) -> tuple[int, int]:
    """Return where the JSON value at this place ends (-1 if there is none), and how many characters were read."""
    try:
        _, end = _SCANNER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        return -1, error.pos - start + 1
    except (ValueError, RecursionError):
        return -1, len(text) - start
    return end, end - start


def strict_json(text: str) -> Any:
    """Parse a JSON text, or return None; NaN, infinities, half letters and deep nesting are no JSON here."""
    try:
        return checked_json(text)
    except ValueError:
        return None


def checked_json(text: str) -> Any:
    """Parse a JSON text as `strict_json` does; raises `ValueError` with the reason if it is none."""
    value = orjson.loads(text)
    if _LONG_NUMBER.search(text):
        value = json.loads(text)  # orjson makes a rounded float of an integer beyond 64 bits
    brackets = text.count("{") + text.count("[")
    if not MAX_DEPTH.allows(brackets) and not MAX_DEPTH.allows(_depth(value)):
        raise ValueError(f"it is nested more than {MAX_DEPTH.maximum} levels deep")
    return value


def _depth(value: Any) -> int:
    depth, level = 0, [value]
    while level := [item for item in level if isinstance(item, dict | list) and item]:
        depth += 1
        level = [inner for item in level for inner in (item.values() if isinstance(item, dict) else item)]
    return depth
