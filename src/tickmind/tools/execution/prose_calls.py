"""Recover tool calls that a model wrote as text instead of calling, if they name a known tool and fit it.

Understood are tags (`<tool_call>{...}</tool_call>`, `<function=name>{...}</function>`), code fences and bare JSON. A
call counts only where the model can't have quoted it: the calls are the whole message, or they stand in the tag that
the instructions asked for. A call that stands in a text which the model did not write (a user's turn, a board, a
tool's result) is a quotation, wherever the model repeats it. Thinking is not searched.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tickmind.base import Limit
from tickmind.llm.errors import ToolError
from tickmind.tools.definition.callable_tool import Tool
from tickmind.tools.jsontext import decode_arguments

MAX_PROSE_CHARS = Limit("length of a text that is searched for tool calls", 20_000, "characters")
MAX_TRIES = 64  # places in a text where an object might begin

_THINKING = re.compile(r"<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_NAMED_TAG = re.compile(r"<function=([\w-]{1,64})>\s*")
_BEFORE = re.compile(r"(?:<\|?(?:tool_calls?|function_calls?|tool_use|tools)\|?>|\[TOOL_CALLS\]|```[\w-]*)\s*\Z")
_AFTER = re.compile(r"\s*(?:<(?:/\|?|\|/)(?:tool_calls?|function_calls?|tool_use|tools|function)\|?>|```(?!\w))")
_TAG_NAMES = "tool_calls?|function_calls?|tool_use|tools"
_ASKED_TAG = re.compile(rf"<({_TAG_NAMES})>", re.IGNORECASE)
_FENCED = re.compile(r"(`{3,}|~{3,}).*?(?:\1|\Z)", re.DOTALL)
_QUOTED_LINE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_NOT_TELLING = re.compile(r"[\s\\\"'`]+")  # may differ between a text and its quotation in JSON or in prose
_NAME_KEYS = ("name", "tool", "tool_name", "function", "action")
_ARGUMENT_KEYS = ("arguments", "parameters", "args", "input", "action_input", "params")
_LIST_KEYS = ("tool_calls", "tool_call", "function_call", "calls")
_decoder = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class ProseCall:
    """A call found in prose; its arguments fit the tool."""

    name: str
    arguments: str  # JSON


def recover_calls(
    text: str, tools: Mapping[str, Tool], *, instructions: str = "", foreign: Iterable[str] = ()
) -> tuple[tuple[ProseCall, ...], str]:
    """Return the calls that a message makes, in order, and the message without them.

    `instructions` is the system prompt, which may ask for calls in a tag such as `<tool_call>`; `foreign` are the texts
    of the conversation that the model did not write.
    """
    if not MAX_PROSE_CHARS.allows(len(text)) or not any(name in text for name in tools):
        return (), text
    searched = _blanked(_THINKING, text)
    tags = {tag.lower() for tag in _ASKED_TAG.findall(instructions)}
    spans = list(_spans(searched, tools))
    if _without(searched, spans).strip():
        spans = [
            span for span in _spans(_blanked(_QUOTED_LINE, _blanked(_FENCED, searched)), tools) if span.tag in tags
        ]
    if not spans or _is_quoted([searched[span.start : span.end] for span in spans], foreign):
        return (), text
    return tuple(call for span in spans for call in span.calls), _without(text, spans).strip()


@dataclass(frozen=True, slots=True)
class _Span:
    """A part of a message that holds calls, with the marks around it."""

    begin: int  # of the opening mark
    start: int  # of the JSON
    end: int
    close: int  # end of the closing mark
    tag: str  # the tag that opens and closes it, or empty
    calls: tuple[ProseCall, ...]


def _spans(text: str, tools: Mapping[str, Tool]) -> Iterator[_Span]:
    kept_to = 0
    for start, end, calls in _objects(text, tools):
        if start < kept_to:
            continue
        opening = _BEFORE.search(text, kept_to, start)
        closing = _AFTER.match(text, end)
        begin, first_close = (opening.start() if opening else start), (closing[0].strip() if closing else "")
        kept_to = end
        while closing:
            kept_to = closing.end()
            closing = None if closing[0].endswith("`") else _AFTER.match(text, kept_to)  # the next fence is another's
        tag = _ASKED_TAG.match(opening[0].strip()) if opening else None
        name = tag[1].lower() if tag is not None and first_close.lower() == f"</{tag[1].lower()}>" else ""
        yield _Span(begin, start, end, kept_to, name, tuple(calls))


def _without(text: str, spans: Iterable[_Span]) -> str:
    rest: list[str] = []
    kept_to = 0
    for span in spans:
        rest.append(text[kept_to : span.begin])
        kept_to = span.close
    rest.append(text[kept_to:])
    return "".join(rest)


def _blanked(pattern: re.Pattern[str], text: str) -> str:
    return pattern.sub(lambda match: " " * len(match[0]), text)


def _is_quoted(written: Iterable[str], foreign: Iterable[str]) -> bool:
    """Return whether any of these calls stands in a text that the model did not write, however it is escaped there."""
    bare = [_NOT_TELLING.sub("", call) for call in written]
    return any(call in _NOT_TELLING.sub("", text) for text in foreign if "{" in text for call in bare)


def _objects(text: str, tools: Mapping[str, Tool]) -> Iterator[tuple[int, int, list[ProseCall]]]:
    """Yield where calls begin and end, and which they are."""
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
            calls = _fitting(tag[1], value, tools)
            start = tag.start()
        else:
            calls = _calls_in(value, tools)
        if calls:
            yield start, end, calls
        position = end


def _named_tag(text: str, start: int) -> re.Match[str] | None:
    """Return the `<function=name>` that ends right before a place."""
    begin = text.rfind("<function=", max(0, start - 100), start)
    tag = _NAMED_TAG.match(text, begin, start) if begin >= 0 else None
    return tag if tag and tag.end() == start else None


def _calls_in(value: Any, tools: Mapping[str, Tool]) -> list[ProseCall]:
    """Return all calls that a value stands for; none if any part of it is something else."""
    if isinstance(value, list):
        parts = [_calls_in(item, tools) for item in value]
        return [call for calls in parts for call in calls] if all(parts) else []
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
