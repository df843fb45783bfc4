"""Tool calls that a model wrote as prose instead of calling: found again if they name a known tool and fit it.

Understood are tags (`<tool_call>{...}</tool_call>`, `<function=name>{...}</function>`), code fences and bare JSON.
Thinking is not searched: a model that weighs a call has not made it.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tickmind.base import Limit
from tickmind.llm.errors import ToolError
from tickmind.llm.tools.callable_tool import Tool
from tickmind.llm.tools.jsontext import decode_arguments

MAX_PROSE_CHARS = Limit("length of a text that is searched for tool calls", 20_000, "characters")
MAX_TRIES = 64  # places in a text where an object might begin

_THINKING = re.compile(r"<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_NAMED_TAG = re.compile(r"<function=([\w-]{1,64})>\s*")
_BEFORE = re.compile(r"(?:<\|?(?:tool_calls?|function_calls?|tool_use|tools)\|?>|\[TOOL_CALLS\]|```[\w-]*)\s*\Z")
_AFTER = re.compile(r"\s*(?:</?\|?/?(?:tool_calls?|function_calls?|tool_use|tools|function)\|?>|```)")
_NAME_KEYS = ("name", "tool", "tool_name", "function", "action")
_ARGUMENT_KEYS = ("arguments", "parameters", "args", "input", "action_input", "params")
_LIST_KEYS = ("tool_calls", "tool_call", "function_call", "calls")
_decoder = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class ProseCall:
    """A call found in prose; its arguments fit the tool."""

    name: str
    arguments: str  # JSON


def recover_calls(text: str, tools: Mapping[str, Tool]) -> tuple[tuple[ProseCall, ...], str]:
    """The calls in a text, in order, and the text without them."""
    if not MAX_PROSE_CHARS.allows(len(text)) or not any(name in text for name in tools):
        return (), text
    searched = _THINKING.sub(lambda match: " " * len(match[0]), text)
    calls: list[ProseCall] = []
    rest: list[str] = []
    kept_to = 0
    for start, end, found in _objects(searched, tools):
        if start < kept_to:
            continue
        calls.extend(found)
        opening = _BEFORE.search(searched, kept_to, start)
        closing = _AFTER.match(searched, end)
        rest.append(text[kept_to : opening.start() if opening else start])
        kept_to = closing.end() if closing else end
        while closing := _AFTER.match(searched, kept_to):
            kept_to = closing.end()
    if not calls:
        return (), text
    rest.append(text[kept_to:])
    return tuple(calls), "".join(rest).strip()


def _objects(text: str, tools: Mapping[str, Tool]) -> Iterator[tuple[int, int, list[ProseCall]]]:
    """Where calls begin and end, and which they are."""
    position = 0
    for _ in range(MAX_TRIES):
        start = min((place for mark in "{[" if (place := text.find(mark, position)) >= 0), default=-1)
        if start < 0:
            return
        try:
            value, end = _decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            position = start + 1
            continue
        tag = _named_tag(text, start)
        if tag and isinstance(value, dict):
            found = _fitting(tag[1], value, tools)
            start = tag.start()
        else:
            found = _calls_in(value, tools)
        if found:
            yield start, end, found
        position = end


def _named_tag(text: str, start: int) -> re.Match[str] | None:
    """The `<function=name>` that ends right before a place."""
    begin = text.rfind("<function=", max(0, start - 100), start)
    tag = _NAMED_TAG.match(text, begin, start) if begin >= 0 else None
    return tag if tag and tag.end() == start else None


def _calls_in(value: Any, tools: Mapping[str, Tool]) -> list[ProseCall]:
    """All calls that a value stands for; none if any part of it is something else."""
    if isinstance(value, list):
        found = [_calls_in(item, tools) for item in value]
        return [call for calls in found for call in calls] if all(found) else []
    if not isinstance(value, dict):
        return []
    for key in _LIST_KEYS:
        if isinstance(value.get(key), (list, dict)):
            return _calls_in(value[key], tools)
    if isinstance(value.get("function"), dict):
        return _calls_in(value["function"], tools)
    for key in _NAME_KEYS:
        if isinstance(name := value.get(key), str) and name in tools:
            rest = {other: item for other, item in value.items() if other != key}
            return _fitting(name, _arguments_in(rest), tools)
    return []


def _arguments_in(rest: Mapping[str, Any]) -> Any:
    for key in _ARGUMENT_KEYS:
        if key in rest:
            return rest[key]
    return {key: item for key, item in rest.items() if key not in ("id", "type", "call_id")}


def _fitting(name: str, arguments: Any, tools: Mapping[str, Tool]) -> list[ProseCall]:
    if name not in tools:
        return []
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    try:
        decoded = decode_arguments(text, name)
    except ToolError:
        return []
    return [ProseCall(name, json.dumps(decoded))] if tools[name].accepts(decoded) else []
